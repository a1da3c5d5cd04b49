"""Prediction type of poses."""

from __future__ import annotations

from visualjudge.vision.contexts import type_sentence
from visualjudge.vision.drawing.styles import TextStyle
from visualjudge.vision.errors import items
from visualjudge.vision.poses import (
    draw,
    errors,
    errors_matched as matched,
    misread,
    record,
    score,
)
from visualjudge.vision.rows import Encoding, ErrorType, Metric, PredictionType, Ranked, Task

_KEYPOINT = (
    Encoding(
        "keypoint",
        "pixel_s0_c1_m0",
        "pixel",
        draw.draw_people,
        draw.PoseStyle(limbs=False),
        title="Points coloured by person",
    ),
    Encoding(
        "keypoint",
        "pixel_s1_c0_m0",
        "pixel",
        draw.draw_people,
        draw.PoseStyle(colors="single"),
        title="Skeletons in one colour",
    ),
    Encoding(
        "keypoint",
        "pixel_s1_c1_m0",
        "pixel",
        draw.draw_people,
        draw.PoseStyle(),
        title="Skeletons coloured by person",
    ),
    Encoding(
        "keypoint",
        "pixel_s1_c2_m0",
        "pixel",
        draw.draw_people,
        draw.PoseStyle(colors="part"),
        title="Skeletons coloured by body part",
    ),
    Encoding(
        "keypoint",
        "pixel_s1_c1_m1",
        "pixel",
        draw.draw_people,
        draw.PoseStyle(canvas="black"),
        title="Skeletons coloured by person, on black",
    ),
    Encoding(
        "keypoint",
        "text_flat_list",
        "text",
        draw.people_text,
        TextStyle("flat_list"),
        title="Keypoints as a flat list",
    ),
    Encoding(
        "keypoint",
        "text_part_keyed_json",
        "text",
        draw.people_text,
        TextStyle("part_keyed"),
        title="Keypoints by body part",
    ),
    Encoding(
        "keypoint",
        "text_coco_style",
        "text",
        draw.people_text,
        TextStyle("coco_list"),
        title="Keypoints in COCO order",
    ),
)
KEYPOINT = PredictionType(
    "keypoint",
    record.People,
    record.read,
    record.write,
    tasks=(Task("keypoint", "keypoint detection", "keypoint"),),
    encodings=_KEYPOINT,
    metrics=(Metric("keypoint", "oks_f1", score.keypoint_f1),),
    errors=(
        ErrorType("keypoint", "jitter", errors.jitter, items.something, matched=matched.jitter),
        ErrorType(
            "keypoint",
            "inversion",
            errors.inversion,
            errors.a_mirrored_pair,
            matched=matched.inversion,
        ),
        ErrorType("keypoint", "swap", errors.swap, errors.two_people, matched=matched.swap),
        ErrorType("keypoint", "missed", errors.missed, items.something, matched=matched.missed),
    ),
    arrays=record.from_arrays,
    ranked=Ranked("keypoints", score.coco_annotation, 20),
    context=type_sentence,
    places=record.corners,
    misreadings=misread.MISREADINGS,
)
