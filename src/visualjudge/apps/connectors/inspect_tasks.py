"""Inspect: a dataset as a task, and graders that see the images (``pip install
visualjudge[inspect]``).

``inspect eval visualjudge/judge -T dataset=DATASET --model openai/gpt-4o-mini`` asks a model the
questions and scores its verdicts. ``graded()`` is a scorer for your own tasks: it shows the grader
the images of the sample.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from visualjudge.apps.training import LARGEST_SCORE, reward, truth_of
from visualjudge.core.records import FAILED, IMAGE_MARK, Question
from visualjudge.dataset.exports.media import answer_text, truth_columns
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.options import Choice
from visualjudge.prompts.spans import interleaved
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.replies import read_reply
from visualjudge.runs.asks import check_images


@task  # type: ignore[untyped-decorator]
def judge(dataset: str, tasks: str | None = None, limit: int | None = None) -> Task:
    """Return the questions of a dataset for the model as judge.

    Parameters
    ----------
    dataset
        Folder that ``visualjudge build`` wrote.
    tasks
        Only these tasks, separated by commas.
    limit
        Maximum number of questions, from the first.
    """
    read = load_dataset(dataset).choose(Choice(tasks=tuple(tasks.split(",")) if tasks else ()))
    check_images(read, read.questions)
    chosen = list(read.questions)[:limit]
    samples = MemoryDataset(
        [_sample(read, question) for question in chosen], name=Path(dataset).name
    )
    return Task(dataset=samples, solver=generate(), scorer=verdict())


def _sample(read: Dataset, question: Question) -> Sample:
    content = [
        ContentImage(image=str(read.image_path(text).resolve()))
        if is_image
        else ContentText(text=text)
        for text, is_image in interleaved(question.prompt, question.images)
    ]
    about = {"task": question.task, "encoding": question.encoding, "image_id": question.image_id}
    return Sample(
        id=question.id,
        input=[ChatMessageUser(content=content)],
        target=answer_text(question.answer),
        metadata={**about, "truth": truth_columns(question)},
    )


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator]
def verdict() -> Scorer:
    """Score 1 for a right verdict, and 0 for a wrong one or an unreadable reply (explained in the
    explanation).

    A score counts 1 − |error| / 10.
    """

    async def score(state: TaskState, target: Target) -> Score:
        truth = truth_of(state.metadata["truth"])
        text, reason = state.output.completion, state.output.stop_reason
        found = truth.read(text, str(reason))
        if found.value == FAILED:
            return Score(
                value=0.0, answer=FAILED, explanation=f"not read: {found.cause or found.status}"
            )
        return Score(
            value=reward(text, state.metadata["truth"]), answer=str(found.value), explanation=text
        )

    return score


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def graded(model: str | Model | None = None) -> Scorer:
    """Score the answer from 0 to 1 with a grader that sees the request, its images, and the answer.

    A reply without a score, or a truncated one, has the value NaN, which Inspect's metrics ignore
    as not scored; the explanation says why, and ``metadata["read"]`` is False.

    Parameters
    ----------
    model
        The grader; None: the model role ``grader``, else the model under evaluation.
    """

    async def score(state: TaskState, target: Target) -> Score:
        grader = get_model(model) if model is not None else get_model(role="grader")
        content = [
            part
            for message in state.messages
            if message.role == "user"
            for part in _parts(message.content)
        ]
        request = "\n".join(part.text for part in content if isinstance(part, ContentText))
        images = [part for part in content if isinstance(part, ContentImage)]
        prompt = _grading_prompt(request, state.output.completion or "(no answer)", len(images))
        numbers = tuple(str(k) for k in range(len(images)))
        asked = [
            images[int(part)] if is_image else ContentText(text=part)
            for part, is_image in interleaved(prompt, numbers)
        ]
        output = await grader.generate([ChatMessageUser(content=asked)])
        text = output.completion
        read = read_reply(text, "scoring", 1, finish_reason=output.stop_reason)
        if isinstance(read.value, str):
            cause = read.cause or read.status
            return Score(
                value=math.nan, explanation=f"not read: {cause}: {text}", metadata={"read": False}
            )
        return Score(value=read.value / LARGEST_SCORE, explanation=text, metadata={"read": True})

    return score


def _parts(content: Any) -> list[Any]:
    return [ContentText(text=content)] if isinstance(content, str) else list(content)


def _grading_prompt(request: str, response: str, images: int) -> str:
    """Return the prompt that asks for a score of a response, with a mark for each image."""
    asset = PromptAssetStore().get_prompt("published/pair")
    marks = "\n".join([IMAGE_MARK] * images)
    shown = [asset.part("image" if images == 1 else "images") + "\n" + marks] if images else []
    parts = [
        asset.part("head_scoring"),
        *shown,
        asset.part("request", {"request": _unmarked(request)}),
        asset.part("response_scoring", {"content": _unmarked(response)}),
        asset.part("final_scoring"),
    ]
    return "\n\n".join(parts)


def _unmarked(text: str) -> str:
    """Return a text of others without our image marks, which would name images."""
    return text.replace(IMAGE_MARK, "[image]")
