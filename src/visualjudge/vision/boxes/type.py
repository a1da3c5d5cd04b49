"""The row of boxes: their tasks, metrics, encodings, errors and faults, which are in
the other files of this folder. What a row has is in ``vision/rows.py``.
"""

from visualjudge.vision.boxes import (
    draw,
    errors,
    faults,
    features,
    misread,
    record,
    score,
)
from visualjudge.vision.boxes.errors_matched import MATCHED
from visualjudge.vision.contexts import classes
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.errors import items
from visualjudge.vision.rows import (
    Faults,
    Metric,
    PredictionType,
    Ranked,
    Task,
    combo,
    drawn,
)
from visualjudge.vision.scoring.item_faults import KINDS
from visualjudge.vision.scoring.matching import TEN_THRESHOLDS

_DETECTION = (
    *drawn(
        "detection",
        "pixel",
        draw.draw_boxes,
        ("pixel_s0_m0", "Boxes", draw.BoxStyle()),
        ("pixel_s1_m0", "Boxes with labels", draw.BoxStyle(tags=True)),
        (
            "pixel_s1_m1",
            "Boxes with labels on black",
            draw.BoxStyle(tags=True, canvas="black"),
        ),
    ),
    *drawn(
        "detection",
        "text",
        draw.boxes_text,
        ("text_xyxy", "Boxes as text (x1 y1 x2 y2)", TextStyle("xyxy")),
        ("text_xywh", "Boxes as text (x y width height)", TextStyle("xywh")),
    ),
)
DETECTION = PredictionType(
    "detection",
    record.Detections,
    record.read,
    record.write,
    tasks=(
        Task("object_detection", "object detection", "detection", classed=True),
    ),
    encodings=(
        *_DETECTION,
        combo(
            "0305",
            _DETECTION,
            "text_xyxy",
            "pixel_s1_m0",
            title="Boxes as text and image",
        ),
    ),
    metrics=(
        Metric(
            "detection",
            "f1",
            score.box_f1,
            by_class=score.box_f1_by_class,
            how="mean F1 over IoU .50 to .95, matched within a label",
            defaults={"iou": TEN_THRESHOLDS},
        ),
    ),
    errors=items.item_errors(
        "detection",
        MATCHED,
        errors.localization,
        errors.duplicate,
        errors.background,
    ),
    arrays=record.from_arrays,
    ranked=Ranked("bbox", score.coco_annotation, 100),
    context=classes,
    look=features.box_features,
    places=record.corners,
    misreadings=misread.MISREADINGS,
    misplacements=misread.FORMS,
    faults=Faults(KINDS, faults.BOX_FAULTS, faults.BOX_FAULTS.by_class),
)
