"""COCO's 17 person keypoints: names, limbs, and the constants of object keypoint
similarity. Drawing them is in ``draw.py``.

Source: COCO's person keypoint category and pycocotools' ``Params.kpt_oks_sigmas``.
"""

from collections.abc import Sequence

from visualjudge.core.errors import DataError

KEYPOINT_NAMES = (
    "nose",
    "left_eye",
    "right_eye",
    "left_ear",
    "right_ear",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
)

# Pairs of keypoint numbers (0-based) joined by a line.
LIMBS = (
    (15, 13), (13, 11), (16, 14), (14, 12), (11, 12), (5, 11), (6, 12), (5, 6), (5, 7), (6, 8),
    (7, 9), (8, 10), (1, 2), (0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6),
)  # fmt: skip

# Pairs of keypoint numbers: the left and right keypoint of the same part.
MIRRORED = tuple((k, k + 1) for k in range(1, 17, 2))

# Per-keypoint standard deviation of annotators, as a fraction of the object's scale.
OKS_SIGMAS = (
    0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072,
    0.062, 0.062, 0.107, 0.107, 0.087, 0.087, 0.089, 0.089,
)  # fmt: skip


_SIDED = [name.split("_") for name in KEYPOINT_NAMES[1:]]
# The place of a keypoint by its name's letters: left_eye, LeftEye, l_eye, eye_left.
_PLACES = {"nose": 0} | {
    spelling: place
    for place, (side, part) in enumerate(_SIDED, 1)
    for spelling in (side + part, part + side, side[0] + part, part + side[0])
}


NO_NAME_KNOWN = "no name is one of COCO's keypoints, so they are read as COCO's 17 in COCO's order"


def joint_order(names: Sequence[object]) -> list[int] | None:
    """Return the place of each of COCO's keypoints among ``names``, which differ from
    COCO's in order, case, separators and in how a side is written at most; None if none
    is one of COCO's, so that only their places tell.

    Raises
    ------
    DataError
        If some are COCO's and others are not, as in other skeletons.
    """
    plain = ["".join(filter(str.isalnum, str(name).lower())) for name in names]
    places = [_PLACES.get(name) for name in plain]
    if not any(place is not None for place in places):
        return None
    for place, name in enumerate(KEYPOINT_NAMES):
        if places.count(place) != 1:
            foreign = [
                str(names[k])
                for k, other in enumerate(places)
                if other is None or places.count(other) > 1
            ]
            raise DataError(
                f"must be the 17 of COCO in any order; {name} must occur once, got "
                f"{', '.join(foreign)[:60] or 'none'}"
            )
    return [places.index(place) for place in range(len(KEYPOINT_NAMES))]
