"""Inspect: a dataset as a task (``pip install visualjudge[inspect]``). Logs of Inspect
are read in ``apps/adopt/logs/inspect.py``.

``inspect eval visualjudge/judge -T dataset=DATASET --model openai/gpt-4o-mini`` asks a
model the questions and scores its verdicts.
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, generate

from visualjudge.apps.connectors.training_rewards import reward, truth_of
from visualjudge.core.records import FAILED, Question
from visualjudge.dataset.exports.media import answer_text, truth_columns
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.options import Choice
from visualjudge.prompts.spans import interleaved
from visualjudge.runs.asks import check_images


@task  # type: ignore[untyped-decorator]
def judge(
    dataset: str, tasks: str | None = None, limit: int | None = None
) -> Task:
    """Return the questions of a dataset for the model as judge; those without a right
    answer only if no other has one.

    Parameters
    ----------
    dataset
        Folder that ``visualjudge build`` wrote.
    tasks
        Only these tasks, separated by commas.
    limit
        Maximum number of questions, from the first.
    """
    read = load_dataset(dataset).choose(
        Choice(tasks=tuple(tasks.split(",")) if tasks else ())
    )
    check_images(read, read.questions)
    chosen = list(read.with_answers.questions)[:limit]
    samples = MemoryDataset(
        [_sample(read, question) for question in chosen],
        name=Path(dataset).name,
    )
    return Task(dataset=samples, solver=generate(), scorer=verdict())


def _sample(read: Dataset, question: Question) -> Sample:
    content = [
        ContentImage(image=str(read.image_path(text).resolve()))
        if is_image
        else ContentText(text=text)
        for text, is_image in interleaved(question.prompt, question.images)
    ]
    about = {
        "task": question.task,
        "encoding": question.encoding,
        "image_id": question.image_id,
    }
    return Sample(
        id=question.id,
        input=[ChatMessageUser(content=content)],
        target=answer_text(question.answer),
        metadata={**about, "truth": truth_columns(question)},
    )


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator]
def verdict() -> Scorer:
    """Score 1 for a right verdict, and 0 for a wrong one or an unreadable reply
    (explained in the explanation).

    A score counts 1 − |error| / 10.
    """

    async def score(state: TaskState, target: Target) -> Score:
        truth = truth_of(state.metadata["truth"])
        text = state.output.completion
        result = truth.read(text, str(state.output.stop_reason))
        if result.value == FAILED:
            return Score(
                value=0.0,
                answer=FAILED,
                explanation=f"not read: {result.cause or result.status}",
            )
        return Score(
            value=reward(text, state.metadata["truth"]),
            answer=str(result.value),
            explanation=text,
        )

    return score
