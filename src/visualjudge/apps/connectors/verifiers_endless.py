"""verifiers v1: endless questions about the ground truths of a data folder (``pip install
verifiers``).

``EndlessTaskset(EndlessConfig(data="DATA", seed=7)).take(1000)`` adds new controlled errors to the
ground truths in every round (:mod:`visualjudge.apps.training.endless_questions`); the same seed
gives the same tasks.
"""

from __future__ import annotations

from collections.abc import Iterator

import verifiers.v1 as vf

from visualjudge.apps.connectors.verifiers_tasks import JudgeTask, data_of
from visualjudge.apps.training.endless_questions import endless

__all__ = ["EndlessTaskset"]


class EndlessConfig(vf.TasksetConfig):  # type: ignore[misc]
    """``data`` is a data folder with annotations of source ``truth``, ``tasks`` restricts the
    tasks, and ``seed`` is that of every draw.
    """

    data: str
    seed: int = 42
    tasks: list[str] | None = None


class EndlessTaskset(vf.Taskset[JudgeTask, EndlessConfig]):  # type: ignore[misc]
    """Questions about errors that are drawn as long as tasks are requested."""

    INFINITE = True

    def load(self) -> Iterator[JudgeTask]:
        """Yield one task per question, endlessly.

        Raises
        ------
        UsageError
            If the data folder has no ground truths.
        """
        drawn = endless(self.config.data, seed=self.config.seed, tasks=self.config.tasks)
        return (JudgeTask(data_of(one.dataset, one.question), self.config.task) for one in drawn)
