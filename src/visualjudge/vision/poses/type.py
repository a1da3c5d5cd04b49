"""The row of poses: their tasks, metrics, encodings, errors and faults, which are in
the other files of this folder. What a row has is in ``vision/rows.py``.
"""

from visualjudge.vision.contexts import type_sentence
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.errors import items
from visualjudge.vision.poses import (
    draw,
    errors,
    faults,
    misread,
    record,
    score,
)
from visualjudge.vision.rows import (
    ErrorType,
    Faults,
    Metric,
    PredictionType,
    Ranked,
    Task,
    drawn,
)
from visualjudge.vision.scoring.matching import TEN_THRESHOLDS

KEYPOINT = PredictionType(
    "keypoint",
    record.People,
    record.read,
    record.write,
    tasks=(Task("keypoint", "keypoint detection", "keypoint"),),
    encodings=(
        *drawn(
            "keypoint",
            "pixel",
            draw.draw_people,
            (
                "pixel_s0_c1_m0",
                "Points coloured by person",
                draw.PoseStyle(limbs=False),
            ),
            (
                "pixel_s1_c0_m0",
                "Skeletons in one colour",
                draw.PoseStyle(colors="single"),
            ),
            (
                "pixel_s1_c1_m0",
                "Skeletons coloured by person",
                draw.PoseStyle(),
            ),
            (
                "pixel_s1_c2_m0",
                "Skeletons coloured by body part",
                draw.PoseStyle(colors="part"),
            ),
            (
                "pixel_s1_c1_m1",
                "Skeletons coloured by person, on black",
                draw.PoseStyle(canvas="black"),
            ),
        ),
        *drawn(
            "keypoint",
            "text",
            draw.people_text,
            (
                "text_flat_list",
                "Keypoints as a flat list",
                TextStyle("flat_list"),
            ),
            (
                "text_part_keyed_json",
                "Keypoints by body part",
                TextStyle("part_keyed"),
            ),
            (
                "text_coco_style",
                "Keypoints in COCO order",
                TextStyle("coco_list"),
            ),
        ),
    ),
    metrics=(
        Metric(
            "keypoint",
            "oks_f1",
            score.keypoint_f1,
            note=score.note,
            defaults={
                "oks": TEN_THRESHOLDS,
                "sigmas": "COCO",
                "area_of_box": score.BOX_TO_AREA,
            },
        ),
    ),
    errors=(
        ErrorType(
            "keypoint",
            "jitter",
            errors.jitter,
            items.something,
            matched=errors.displaced(errors.jitter),
        ),
        ErrorType(
            "keypoint",
            "inversion",
            errors.inversion,
            errors.a_mirrored_pair,
            matched=errors.displaced(errors.inversion),
        ),
        ErrorType(
            "keypoint",
            "swap",
            errors.swap,
            errors.two_people,
            matched=errors.displaced(errors.swap),
        ),
        ErrorType(
            "keypoint",
            "missed",
            errors.missed,
            items.something,
            matched=errors.displaced(errors.missed),
        ),
    ),
    arrays=record.from_arrays,
    ranked=Ranked("keypoints", score.coco_annotation, 20),
    context=type_sentence,
    places=record.corners,
    misreadings=misread.MISREADINGS,
    faults=Faults(faults.KINDS, faults.pose_faults),
)
