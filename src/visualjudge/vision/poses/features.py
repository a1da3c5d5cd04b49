"""Features of poses: the lengths of limbs, the symmetry of the body, and the positions of left and
right.
"""

from __future__ import annotations

import numpy as np

from visualjudge.vision import view_places
from visualjudge.vision.poses.record import People, Person
from visualjudge.vision.poses.skeleton import LIMBS, MIRRORED
from visualjudge.vision.view import Features, Given, View

# Typical limb lengths relative to the trunk in front view, based on Drillis and Contini's body
# proportions (1966).
LENGTHS = {
    (5, 6): 0.80,
    (11, 12): 0.52,
    (5, 11): 1.0,
    (6, 12): 1.0,
    (5, 7): 0.62,
    (6, 8): 0.62,
    (7, 9): 0.55,
    (8, 10): 0.55,
    (11, 13): 0.88,
    (12, 14): 0.88,
    (13, 15): 0.86,
    (14, 16): 0.86,
    (0, 1): 0.12,
    (0, 2): 0.12,
    (1, 3): 0.17,
    (2, 4): 0.17,
    (1, 2): 0.15,
    (3, 5): 0.42,
    (4, 6): 0.42,
}
SIDES = ((5, 6), (11, 12), (13, 14), (15, 16), (7, 8), (9, 10), (1, 2), (3, 4))
TWINS = (
    *(((5, 7), (6, 8)), ((7, 9), (8, 10)), ((11, 13), (12, 14)), ((13, 15), (14, 16))),
    *(((5, 11), (6, 12)), ((0, 1), (0, 2)), ((1, 3), (2, 4)), ((3, 5), (4, 6))),
)
# Limbs below the head.
BODY = tuple(limb for limb in LIMBS if min(limb) >= 5)
# Number of points sampled along each limb.
ALONG = 8
# Half the width of a limb, and the distance at which the background begins, relative to the trunk.
THICK, ASIDE = 0.13, 0.4
_PERSON = (
    *("flat", "uneven", "crossed", "mirrored", "twins_apart"),
    *view_places.NOWHERE,
)


def pose_features(poses: People, given: Given) -> Features:
    """Return the features of the people in one image: their number, and means over them."""
    rows = [_person(given.view, person) for person in poses.items]
    means = {name: float(np.mean([row[name] for row in rows] or [0.0])) for name in _PERSON}
    return {"present": float(sum(row["present"] for row in rows)), **means}


def _person(view: View, person: Person) -> dict[str, float]:
    points, present = person.keypoints[:, :2], person.present
    unit = _trunk(points, present)
    ratios = {
        limb: float(np.linalg.norm(points[limb[0]] - points[limb[1]]))
        / (unit * LENGTHS[_sorted(limb)])
        for limb in LIMBS
        if present[list(limb)].all()
    }
    logs = np.log(np.maximum(list(ratios.values()), 0.05)) if ratios else np.zeros(1)
    return {
        "present": float(present.sum()),
        "flat": float(np.minimum(logs, 0).mean()),
        "uneven": _asymmetry(ratios),
        "crossed": _crossed(points, present),
        "mirrored": _mirrored(points, present),
        "twins_apart": _twins_apart(view, points, present),
        **_places(view, points, present, unit),
    }


# Return measurements along and beside the limbs, at their position and at others.
def _places(view: View, points: np.ndarray, present: np.ndarray, unit: float) -> dict[str, float]:
    limbs = np.array([limb for limb in BODY if present[list(limb)].all()], dtype=int)
    if not len(limbs):
        return dict(view_places.NOWHERE)
    scale = np.array(view.scale)
    start, end = (points[limbs[:, k]] * scale for k in (0, 1))
    along = end - start
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-6)
    share = (np.arange(ALONG) + 0.5)[:, None, None] / ALONG
    line, trunk = start + share * along, unit * float(np.sqrt(scale.prod()))
    beside = {
        wide: np.concatenate([line + side * wide * trunk * across for side in (-1, 1)])
        for wide in (THICK, ASIDE)
    }
    normals = np.abs(np.broadcast_to(across, beside[THICK].shape)).reshape(-1, 2)
    inside, ring, outline = (one.reshape(-1, 2) for one in (line, beside[ASIDE], beside[THICK]))
    return view_places.evidence(view, view_places.Samples(inside, ring, outline, normals))


# Return the fraction of pairs whose left keypoint is on the left of the image, if the nose and both
# eyes are visible; otherwise 0.
def _mirrored(points: np.ndarray, present: np.ndarray) -> float:
    if not present[:3].all():
        return 0.0
    wrong = [float(points[a, 0] < points[b, 0]) for a, b in SIDES if present[a] and present[b]]
    return float(np.mean(wrong)) if wrong else 0.0


# Return the mean colour distance between left joints and their right counterparts, in units of 20.
def _twins_apart(view: View, points: np.ndarray, present: np.ndarray) -> float:
    twins = np.array([(a, b) for a, b in MIRRORED if present[a] and present[b]], dtype=int)
    if not len(twins):
        return 0.0
    left, right = (_colours_at(view, points[side]) for side in twins.T)
    return float(np.linalg.norm(left - right, axis=1).mean()) / 20


# Return the view's colours at …×2 points of the full image, each from the nearest pixel.
def _colours_at(view: View, points: np.ndarray) -> np.ndarray:
    height, width = view.edges.shape
    x, y = (
        np.clip(points[..., k] * view.scale[k], 0, n - 1).astype(int)
        for k, n in enumerate((width, height))
    )
    return np.asarray(view.soft[y, x])


def _sorted(limb: tuple[int, int]) -> tuple[int, int]:
    return (min(limb), max(limb))


# Return the length of the trunk in pixels: the median estimate from all visible limbs.
def _trunk(points: np.ndarray, present: np.ndarray) -> float:
    said = [
        np.linalg.norm(points[a] - points[b]) / LENGTHS[_sorted((a, b))]
        for a, b in LIMBS
        if present[a] and present[b]
    ]
    return max(float(np.median(said)), 1e-3) if said else 1.0


# Return the mean |log ratio| of left limbs to their right counterparts.
def _asymmetry(ratios: dict[tuple[int, int], float]) -> float:
    by_pair = {_sorted(limb): value for limb, value in ratios.items()}
    found = [
        abs(np.log(max(by_pair[a], 0.05) / max(by_pair[b], 0.05)))
        for a, b in TWINS
        if a in by_pair and b in by_pair
    ]
    return float(np.mean(found)) if found else 0.0


# Return the disagreement between pairs about which side of the body is left: 0 if all agree, 1 if
# half do.
def _crossed(points: np.ndarray, present: np.ndarray) -> float:
    signs = [np.sign(points[a, 0] - points[b, 0]) for a, b in SIDES if present[a] and present[b]]
    return 1 - abs(float(np.mean(signs))) if signs else 0.0
