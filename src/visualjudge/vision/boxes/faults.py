"""How predicted boxes are wrong, measured: TIDE's kinds of fault by IoU
(``vision/scoring/item_faults.py``). Errors made on purpose are in ``errors.py``, files
read in another form than theirs in ``misread.py``.
"""

from visualjudge.vision.boxes.score import box_similarity
from visualjudge.vision.scoring.item_faults import Measure

BOX_FAULTS = Measure(
    box_similarity,
    lambda item: item.xyxy,
    lambda _item, _real: "localization",
)
