"""The options that name a part of the questions, of ``card`` and ``report``."""

from __future__ import annotations

from collections.abc import Sequence

TASK = "Only questions of this task."
WHERE = "Only questions with FIELD=VALUE, such as encoding=text_xyxy; may be repeated."


def conditions(task: str | None, where: Sequence[str] | None) -> tuple[str, ...]:
    """``--task`` and ``--where`` as conditions ``FIELD=VALUE``."""
    return (*(() if task is None else (f"task={task}",)), *(where or ()))
