"""The prediction type of boxes."""

from __future__ import annotations

from visualjudge.vision.boxes import draw, errors, features, misread, record, score
from visualjudge.vision.boxes.errors_matched import MATCHED
from visualjudge.vision.contexts import classes
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.errors import items
from visualjudge.vision.rows import Encoding, ErrorType, Metric, PredictionType, Ranked, Task, combo

_DETECTION = (
    Encoding("detection", "pixel_s0_m0", "pixel", draw.draw_boxes, draw.BoxStyle(), title="Boxes"),
    Encoding(
        "detection",
        "pixel_s1_m0",
        "pixel",
        draw.draw_boxes,
        draw.BoxStyle(tags=True),
        title="Boxes with labels",
    ),
    Encoding(
        "detection",
        "pixel_s1_m1",
        "pixel",
        draw.draw_boxes,
        draw.BoxStyle(tags=True, canvas="black"),
        title="Boxes with labels on black",
    ),
    Encoding(
        "detection",
        "text_xyxy",
        "text",
        draw.boxes_text,
        TextStyle("xyxy"),
        title="Boxes as text (x1 y1 x2 y2)",
    ),
    Encoding(
        "detection",
        "text_xywh",
        "text",
        draw.boxes_text,
        TextStyle("xywh"),
        title="Boxes as text (x y width height)",
    ),
)
DETECTION = PredictionType(
    "detection",
    record.Detections,
    record.read,
    record.write,
    tasks=(Task("object_detection", "object detection", "detection", classed=True),),
    encodings=(
        *_DETECTION,
        combo("0305", _DETECTION, "text_xyxy", "pixel_s1_m0", title="Boxes as text and image"),
    ),
    metrics=(
        Metric(
            "detection", "f1", score.box_f1, frozenset({"class_of_interest"}), score.box_f1_by_class
        ),
    ),
    errors=(
        ErrorType(
            "detection",
            "classification",
            items.classification,
            items.two_labels,
            matched=MATCHED.classification,
        ),
        ErrorType(
            "detection",
            "localization",
            errors.localization,
            items.something,
            matched=MATCHED.localization,
        ),
        ErrorType(
            "detection", "duplicate", errors.duplicate, items.something, matched=MATCHED.duplicate
        ),
        ErrorType(
            "detection",
            "background",
            errors.background,
            items.something,
            matched=MATCHED.background,
        ),
        ErrorType("detection", "missed", items.missed, items.something, matched=MATCHED.missed),
    ),
    arrays=record.from_arrays,
    ranked=Ranked("bbox", score.coco_annotation, 100),
    context=classes,
    look=features.box_features,
    places=record.corners,
    misreadings=misread.MISREADINGS,
)
