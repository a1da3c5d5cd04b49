"""How predicted poses are wrong, measured: named as in Ronchi and Perona (ICCV 2017),
with their thresholds of keypoint similarity: 0.85 for a good keypoint, 0.5 for one in
place. Errors made on purpose are in ``errors.py``, files read in another form than
theirs in ``misread.py``.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from visualjudge.core.records import Fault, Pixels, Xyxy
from visualjudge.vision.poses.record import NEAR, People, Person, corners
from visualjudge.vision.poses.score import (
    keypoint_similarity,
    person_area,
    similarities,
)
from visualjudge.vision.poses.skeleton import MIRRORED, OKS_SIGMAS
from visualjudge.vision.scoring.matching import pairs

KINDS = {
    "jitter": "a keypoint is slightly out of place",
    "inversion": "left and right of a person are exchanged",
    "swap": "a keypoint lies on another person",
    "missed": "a keypoint or a person is missing or far away",
    "background": "a person is marked where there is none",
}
GOOD = 0.85
IN_PLACE = 0.5
# Object keypoint similarity from which a predicted person is compared with a real one.
SAME_PERSON = 0.1
_AS_IS = np.arange(17)
_MIRROR = np.array([0, *(k for pair in MIRRORED for k in pair[::-1])])


def pose_faults(
    prediction: People,
    truth: People,
    _labels: Collection[str] | None,
    _input_image: Pixels | None,
) -> Iterator[Fault]:
    """Yield the keypoints out of place, and the people missed or added.

    A keypoint's weight is 1 − its similarity, divided by the labelled keypoints of its
    person; a whole person weighs 1. People are matched by decreasing OKS from 0.1, left
    and right as predicted or exchanged.
    """
    real = truth.without_crowds().items
    values, shares = similarities(prediction, truth)
    mirrored = [
        replace(person, keypoints=person.keypoints[_MIRROR])
        for person in prediction.items
    ]
    values = np.maximum(values, similarities(People(tuple(mirrored)), truth)[0])
    partners = {j: i for i, j, _ in pairs(values, SAME_PERSON)}
    for j, person in enumerate(real):
        if j in partners:
            yield from _joints(
                prediction.items[partners[j]],
                person,
                real,
            )
        else:
            yield Fault("missed", _box(person), 1.0)
    for i in set(range(len(prediction.items))) - {*partners.values()}:
        person = prediction.items[i]
        if person.present.any() and shares[i].max(initial=0.0) < IN_PLACE:
            yield Fault("background", _box(person), 1.0)


def _joints(
    person: Person,
    real: Person,
    people: tuple[Person, ...],
) -> Iterator[Fault]:
    own, mirrored = (
        keypoint_similarity(person, real, at) for at in (_AS_IS, _MIRROR)
    )
    others = [
        keypoint_similarity(person, other, order)
        for other in people
        if other is not real
        for order in (_AS_IS, _MIRROR)
    ]
    swapped = np.max([np.zeros(17), *others], axis=0)
    kinds = np.select(
        [side >= IN_PLACE for side in (own, mirrored, swapped)],
        ["jitter", "inversion", "swap"],
        "missed",
    ).tolist()
    # half the similarity is lost at this distance in pixels
    spread = 2 * np.array(OKS_SIGMAS) * person_area(real) ** 0.5
    reach = np.maximum(NEAR, spread * np.sqrt(2 * np.log(2)))
    for k in np.flatnonzero(real.present & (own < GOOD)).tolist():
        x, y, _ = real.keypoints[k].tolist()
        box = x - reach[k], y - reach[k], x + reach[k], y + reach[k]
        yield Fault(
            kinds[k],
            box,
            float(1 - own[k]) / int(real.present.sum()),
        )


def _box(person: Person) -> Xyxy:
    x1, y1, x2, y2 = person.bbox or corners(People((person,)))[0].tolist()
    return x1, y1, x2, y2
