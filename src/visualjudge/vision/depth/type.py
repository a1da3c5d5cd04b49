"""The row of depth maps: their tasks, metrics, encodings, errors and faults, which are
in the other files of this folder. What a row has is in ``vision/rows.py``.
"""

from visualjudge.vision import fields
from visualjudge.vision.contexts import type_sentence
from visualjudge.vision.depth import (
    draw,
    errors,
    faults,
    features,
    misread,
    record,
    score,
)
from visualjudge.vision.rows import (
    ErrorType,
    Faults,
    Metric,
    PredictionType,
    Task,
    drawn,
)

DEPTH = PredictionType(
    "depth",
    record.DepthMap,
    record.read,
    record.write,
    arrays=record.from_arrays,
    files=fields.named_file("depth"),
    file_field="depth",
    tasks=(Task("depth_estimation", "depth estimation", "depth"),),
    encodings=drawn(
        "depth",
        "pixel",
        draw.draw_depth,
        ("plasma", "Depth in plasma colours", draw.DepthStyle("plasma")),
        ("turbo", "Depth in turbo colours", draw.DepthStyle("turbo")),
        ("gray", "Depth in grey", draw.DepthStyle("gray")),
    ),
    metrics=(
        Metric(
            "depth",
            "delta1",
            score.delta1,
            frozenset({"align"}),
            note=score.note,
            defaults={"delta": score.RATIO},
        ),
    ),
    errors=(
        ErrorType(
            "depth",
            "scale",
            errors.scale,
            matched=errors.misplaced(errors.scale),
        ),
        ErrorType(
            "depth", "blur", errors.blur, matched=errors.misplaced(errors.blur)
        ),
        ErrorType(
            "depth",
            "noise",
            errors.noise,
            matched=errors.misplaced(errors.noise),
        ),
        ErrorType(
            "depth", "ordinal", errors.ordinal, matched=errors.misplaced(None)
        ),
    ),
    context=type_sentence,
    look=features.depth_features,
    look_drawn=features.drawn_features,
    misreadings=misread.MISREADINGS,
    faults=Faults(faults.KINDS, faults.depth_faults),
)
