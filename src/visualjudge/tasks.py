"""The 15 vision tasks, one row each.

``family`` groups the tasks that share a prediction type; code branches on a row's field, never on a task's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from visualjudge.errors import UsageError

Family = Literal["detection", "instance", "semantic", "referring", "keypoint", "depth", "restoration", "generation"]


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its name on disk, its name in prose, and what its predictions are made of."""

    name: str
    prose: str
    family: Family
    classed: bool = False
    """Predictions are shown and scored for a class of interest."""
    expression: bool = False
    """The annotation's ``prompt`` is a referring expression."""
    instructed: bool = False
    """The annotation's ``prompt`` is an edit instruction."""
    sourced: bool = True
    """A question shows the image of the image index, where it has one."""

    @property
    def article(self) -> str:
        """The indefinite article of the prose name."""
        return "an" if self.prose[0] in "aeiou" else "a"


_ROWS = (
    Task("object_detection", "object detection", "detection", classed=True),
    Task("instance_segmentation", "instance segmentation", "instance", classed=True),
    Task("semantic_segmentation", "semantic segmentation", "semantic"),
    Task("referring_segmentation", "referring segmentation", "referring", expression=True),
    Task("keypoint", "keypoint detection", "keypoint"),
    Task("depth_estimation", "depth estimation", "depth"),
    Task("lowlevel-deblur", "image deblurring", "restoration"),
    Task("lowlevel-derain", "image deraining", "restoration"),
    Task("lowlevel-desnow", "image desnowing", "restoration"),
    Task("lowlevel-super-resolution", "image super-resolution", "restoration"),
    Task("generation_controllable", "controllable image generation", "generation"),
    Task("generation_editing", "image editing", "generation", instructed=True),
    Task("generation_inpainting_high_level", "high-level image inpainting", "generation"),
    Task("generation_inpainting_low_level", "low-level image inpainting", "generation"),
    Task("generation_t2i", "text-to-image generation", "generation", sourced=False),
)

TASKS: dict[str, Task] = {row.name: row for row in _ROWS}


def task_named(name: str) -> Task:
    """The row of ``name``.

    Raises
    ------
    UsageError
        If there is no such task; the message lists those there are.
    """
    try:
        return TASKS[name]
    except KeyError:
        raise UsageError(f"unknown task {name!r}; one of: {', '.join(TASKS)}") from None
