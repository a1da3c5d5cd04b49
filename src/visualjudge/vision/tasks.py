"""The 15 vision tasks, one row each, and those that plug-ins register.

Code branches on a row's field, or looks up a table by ``type``; it never compares a task's or a type's name.
"""

from __future__ import annotations

from dataclasses import dataclass

from visualjudge.core.registry import Registry


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its name on disk, its name in prose, and what its predictions are made of."""

    name: str
    prose: str
    type: str
    """Name of the prediction type, a row of :data:`visualjudge.vision.predictions.TYPES`."""
    classed: bool = False
    """Predictions are shown and scored for a class of interest."""
    expression: bool = False
    """The annotation's ``prompt`` is a referring expression."""
    instructed: bool = False
    """The annotation's ``prompt`` is an edit instruction."""
    restored: bool = False
    """The given image is the degraded one that the prediction restores."""
    edits: bool = False
    """Predictions are made from the image: they cannot be judged without it."""
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
    Task("lowlevel-deblur", "image deblurring", "restoration", restored=True),
    Task("lowlevel-derain", "image deraining", "restoration", restored=True),
    Task("lowlevel-desnow", "image desnowing", "restoration", restored=True),
    Task("lowlevel-super-resolution", "image super-resolution", "restoration", restored=True),
    Task("generation_controllable", "controllable image generation", "generation"),
    Task("generation_editing", "image editing", "generation", instructed=True, edits=True),
    Task("generation_inpainting_high_level", "high-level image inpainting", "generation", edits=True),
    Task("generation_inpainting_low_level", "low-level image inpainting", "generation", edits=True),
    Task("generation_t2i", "text-to-image generation", "generation", sourced=False),
)

TASKS: Registry[str, Task] = Registry("task", {row.name: row for row in _ROWS})


def task_named(name: str) -> Task:
    """The row of ``name``.

    Raises
    ------
    UnknownName
        If there is no such task; the message lists those there are.
    """
    return TASKS.find(name)
