"""Visible faults of questions: identical options, duplicate images, images too small or damaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from visualjudge.apps.audit.findings import Finding, finding
from visualjudge.apps.audit.image_digests import ImageLook, near
from visualjudge.apps.audit.shared_images import original, overlap, thumbnails
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import images_within, spans_of

COMPARED = ("pairwise", "ranking")


def identical_options(dataset: Dataset, seen: Mapping[str, ImageLook]) -> Finding:
    """Return questions with an answer in which two options have the same text and pixels."""
    faults, total = [], 0
    for question in dataset:
        shown = contents(question, seen) if question.question_type in COMPARED else None
        if shown is None or question.answer in (question.ties or ()):
            continue
        total += 1
        if len(set(shown)) < len(shown):
            faults.append(
                f"{question.id}: {question.task}: two options are the same, the answer is "
                f"{question.answer}"
            )
    return finding("identical_options", faults, total)


def contents(question: Question, seen: Mapping[str, ImageLook]) -> list[tuple[str, ...]] | None:
    """Return the text and the image digests of each option; None if the prompt does not show the
    options.
    """
    try:
        spans = spans_of(question).options
    except DataError:
        return None
    found = []
    for span in spans:
        names = question.images[images_within(question, span)]
        digests = [seen[name].digest or name if name in seen else name for name in names]
        found.append((question.prompt[slice(*span)].replace(IMAGE_MARK, "").strip(), *digests))
    return found if any(any(option) for option in found) else None


def unreadable(dataset: Dataset, seen: Mapping[str, ImageLook]) -> Finding:
    """Return images that are missing, damaged or tiny, and prompts whose image marks and images
    differ in number.
    """
    faults = [f"{name}: {image.problem}" for name, image in seen.items() if image.problem]
    for question in dataset:
        marks = question.prompt.count(IMAGE_MARK)
        if marks != len(question.images):
            faults.append(
                f"{question.id}: the prompt has {marks} {IMAGE_MARK} marks for "
                f"{len(question.images)} images"
            )
    return finding("unreadable", faults, len(seen) + len(dataset))


def near_duplicates(
    dataset: Dataset, seen: Mapping[str, ImageLook], others: Sequence[Dataset]
) -> Finding:
    """Return images of one task that occur under two names, or also in another dataset.

    A split by image can put the two names of one image on both sides.

    Raises
    ------
    UsageError
        If one of ``others`` has only labels.
    """
    own = originals(dataset)
    faults = [line for task, files in own.items() for line in _pairs(task, files, seen)]
    faults += overlap(dataset, others, seen).images.values()
    return finding("near_duplicates", faults, sum(len(files) for files in own.values()))


def originals(dataset: Dataset) -> dict[str, dict[str, str]]:
    """Return the file of each image's original: task → image_id → path. Questions without an
    original have none.
    """
    found: dict[str, dict[str, str]] = {}
    for question in dataset:
        name = original(question)
        if name is not None:
            found.setdefault(question.task, {}).setdefault(question.image_id, name)
    return found


def _pairs(task: str, files: Mapping[str, str], seen: Mapping[str, ImageLook]) -> Iterator[str]:
    names, looks = thumbnails({name: seen[path] for name, path in files.items() if path in seen})
    for i, j in near(looks, looks):
        if i < j:
            yield f"{task}: images {names[i]} and {names[j]} are nearly the same"
