"""COCO's 17 person keypoints: names, limbs, and the constants of object keypoint
similarity.

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


def check_names(names: Sequence[object]) -> None:
    """Refuse names of keypoints that are not COCO's in COCO's order, by which they are
    read.

    Raises
    ------
    DataError
        If one differs, in more than case and separators.
    """
    plain = ["".join(filter(str.isalnum, str(name).lower())) for name in names]
    for place, (name, known) in enumerate(
        zip(plain, KEYPOINT_NAMES, strict=False), 1
    ):
        if name != known.replace("_", ""):
            raise DataError(
                f"must be the 17 of COCO in their order; number {place} must be "
                f"{known}, got {names[place - 1]!r:.40}"
            )
