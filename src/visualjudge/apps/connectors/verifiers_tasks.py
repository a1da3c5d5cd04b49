"""verifiers v1: a dataset as a taskset with our reward (``pip install verifiers``).

``JudgeTaskset(JudgeConfig(dataset="DATASET"))`` yields one task per question, with images as data
URIs. Benchmarks for evaluation only are refused.
:mod:`visualjudge.apps.connectors.verifiers_endless` draws endless questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf

from visualjudge.apps.training.reward import reward
from visualjudge.apps.training.trainer_exports import truth_row
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Question
from visualjudge.dataset.exports.media import image_uri
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.prompts.spans import interleaved

__all__ = ["JudgeTaskset"]


class JudgeConfig(vf.TasksetConfig):  # type: ignore[misc]
    """``dataset`` is a folder that ``visualjudge build`` wrote."""

    dataset: str


class JudgeData(vf.TaskData):  # type: ignore[misc]
    """A question; ``truth`` has the columns that the reward reads."""

    truth: dict[str, Any]


class JudgeTask(vf.Task[JudgeData]):  # type: ignore[misc]
    """Scores the last reply of a rollout."""

    @vf.reward(weight=1.0)  # type: ignore[untyped-decorator]
    async def right(self, trace: Any) -> float:
        """Return 1 for a right answer, 0 for a wrong one, 1 − |error| / 10 for a score, and −1 for
        a truncated reply or one without an answer.
        """
        reason = "length" if trace.is_truncated else "stop"
        return reward(trace.last_reply, self.data.truth, finish_reason=reason)


class JudgeTaskset(vf.Taskset[JudgeTask, JudgeConfig]):  # type: ignore[misc]
    """The questions of a dataset."""

    def load(self) -> Iterator[JudgeTask]:
        """Return one task per question.

        Raises
        ------
        UsageError
            If the dataset is a benchmark for evaluation only, or has only labels.
        """
        read = load_dataset(self.config.dataset)
        if read.labels_only or read.benchmark.get("use") == "evaluation only":
            raise UsageError(
                f"{read.root}: must be a dataset that may be used for training and has its images"
            )
        for question in read:
            yield JudgeTask(data_of(read, question), self.config.task)


def data_of(read: Dataset, question: Question) -> JudgeData:
    """Return a question with its images as data URIs."""
    return JudgeData(
        id=question.id,
        name=question.task,
        prompt=_prompt(read, question),
        truth=truth_row(question),
    )


def _prompt(read: Dataset, question: Question) -> list[Any]:
    parts = [
        {"type": "image_url", "image_url": {"url": image_uri(read, text)}}
        if is_image
        else {"type": "text", "text": text}
        for text, is_image in interleaved(question.prompt, question.images)
    ]
    return [vf.UserMessage(content=parts)]
