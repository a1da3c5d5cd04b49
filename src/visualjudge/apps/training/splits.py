"""Train and test by image: no image of one is in the other, whatever its task, encoding or question type."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from visualjudge.core.records import Question

TEST_SHARE = 0.1
SEED = 42


def split_by_image(questions: Sequence[Question], share: float = TEST_SHARE) -> dict[str, list[Question]]:
    """``{"train": […], "test": […]}``; about ``share`` of the images are in test, at least one where there are two.

    An image's place depends on its id alone, whatever other images there are, so that it is the same in
    each export of a dataset (but for the one that stands in where none falls into test). Images are known by their
    ``image_id`` and, since one file may have two names, by the original that is shown.
    """
    groups = _groups(questions)
    places = {name: _place(name) for name in set(groups.values())}
    test = {name for name, place in places.items() if place < share}
    if len(places) > 1 and not 0 < len(test) < len(places):
        test = {min(places, key=places.__getitem__)}
    elif len(places) == 1:
        test = set()
    out: dict[str, list[Question]] = {"train": [], "test": []}
    for question in questions:
        out["test" if groups[question.image_id] in test else "train"].append(question)
    return out


def _place(name: str) -> float:
    """A number from 0 to 1 that is drawn by a name."""
    return int.from_bytes(hashlib.sha256(f"{SEED}\0{name}".encode()).digest()[:8], "big") / 2**64


def _groups(questions: Sequence[Question]) -> dict[str, str]:
    """The group of each image_id: ids of which questions share an image file stand together."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    first: dict[str, str] = {}
    for question in questions:
        root(question.image_id)
        for path in question.images:
            one, other = root(first.setdefault(path, question.image_id)), root(question.image_id)
            parent[max(one, other)] = min(one, other)
    return {name: root(name) for name in parent}
