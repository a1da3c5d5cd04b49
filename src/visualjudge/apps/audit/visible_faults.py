"""Faults that show when the questions are looked at: options that are the same, images twice,
images nobody can see.
"""

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
    """Questions with an answer among options two of which have the same text and the same
    pixels.
    """
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
    """The text and the digests of the images of each option; None where the prompt does not show
    the options.
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
    """Images that are missing, damaged or tiny, and prompts whose marks are not as many as their
    images.
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
    """Images of one task under two names, and images that another dataset holds too.

    A split by image puts the two names of one image on both sides.

    Raises
    ------
    UsageError
        If one of ``others`` holds labels only.
    """
    own = originals(dataset)
    faults = [line for task, files in own.items() for line in _pairs(task, files, seen)]
    faults += overlap(dataset, others, seen).images.values()
    return finding("near_duplicates", faults, sum(len(files) for files in own.values()))


def originals(dataset: Dataset) -> dict[str, dict[str, str]]:
    """The file of the original of each image: task → image_id → path. Questions without an original
    have none.
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
