"""The built-in types, in the order of the tables. Each is a row of ``<type>/type.py``,
which names all that is of its type. What a row has is in ``rows.py``.
"""

from visualjudge.vision.boxes.type import DETECTION
from visualjudge.vision.depth.type import DEPTH
from visualjudge.vision.images.type import GENERATION, RESTORATION
from visualjudge.vision.masks.type import INSTANCE, REFERRING, SEMANTIC
from visualjudge.vision.poses.type import KEYPOINT
from visualjudge.vision.rows import PredictionType

BUILT_IN: tuple[PredictionType, ...] = (
    DETECTION, INSTANCE, SEMANTIC, REFERRING, KEYPOINT, DEPTH, RESTORATION, GENERATION,
)  # fmt: skip
