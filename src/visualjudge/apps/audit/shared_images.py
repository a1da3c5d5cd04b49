"""Images that two datasets share, by the same rule for the audit and for exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.apps.audit.image_digests import ImageLook, images, near
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import IMAGE_MARK, FloatArray, Question
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import spans_of

Tick = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Image ids of a dataset that another dataset shares, each with a description of where."""

    images: Mapping[str, str]

    def left_out(self, dataset: Dataset) -> Dataset:
        """Return the questions of ``dataset`` about other images."""
        return dataset.filter(lambda question: question.image_id not in self.images)


def original(question: Question) -> str | None:
    """Return the file of the image that a question is about; None if it shows only options."""
    try:
        spans = spans_of(question)
    except DataError:
        return None
    first = question.prompt.find(IMAGE_MARK)
    inside = any(start <= first < end for start, end in spans.options)
    return question.images[0] if first >= 0 and not inside and question.images else None


def compared(dataset: Dataset) -> dict[str, list[str]]:
    """Return the files that identify known images, each with its image_ids: originals, or else all
    that are shown.
    """
    found: dict[str, list[str]] = {}
    for question in dataset:
        known = original(question)
        for path in question.images if known is None else (known,):
            ids = found.setdefault(path, [])
            if question.image_id not in ids:
                ids.append(question.image_id)
    return found


def overlap(
    dataset: Dataset,
    others: Sequence[Dataset],
    seen: Mapping[str, ImageLook] | None = None,
    tick: Tick = lambda done, total: None,
) -> Overlap:
    """Return the images of ``dataset`` that ``others`` share: with the same pixels, or nearly the
    same.

    Parameters
    ----------
    seen
        The images of ``dataset``, if already read.

    Raises
    ------
    UsageError
        If one of ``others`` has only labels.
    """
    for other in others:
        if other.labels_only:
            raise UsageError(f"{other.root}: must have images to compare with, got labels only")
    found: dict[str, str] = {}
    if others:
        own = compared(dataset)
        read = images(dataset, tick, own) if seen is None else seen
        paths, looks = thumbnails({path: read[path] for path in own if path in read})
    for other in others:
        theirs = compared(other)
        other_paths, other_looks = thumbnails(images(other, tick, theirs))
        for i, j in near(looks, other_looks):
            where = f"{theirs[other_paths[j]][0]} of {other.root}"
            for name in own[paths[i]]:
                found.setdefault(name, f"image {name} is nearly the same as {where}")
    return Overlap(found)


def thumbnails(seen: Mapping[str, ImageLook]) -> tuple[list[str], list[FloatArray]]:
    """Return the names of readable images, and their thumbnails."""
    known = {name: look.thumbnail for name, look in seen.items() if look.thumbnail is not None}
    return list(known), list(known.values())
