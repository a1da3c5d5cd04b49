"""Oriented boxes for visualjudge: the task ``oriented_detection``, whose predictions
have the type ``oriented``.
"""

from __future__ import annotations

from pathlib import Path

import visualjudge as vj


def register() -> None:
    """Register every row; visualjudge calls this once in each process."""
    from visualjudge.vision.contexts import classes
    from visualjudge_oriented import errors, importing, record, score, show

    row = vj.PredictionType(
        "oriented",
        record.OrientedBoxes,
        record.read,
        record.write,
        tasks=(
            vj.Task(
                "oriented_detection",
                "oriented object detection",
                "oriented",
                classed=True,
            ),
        ),
        encodings=show.ROWS,
        metrics=(
            vj.Metric(
                "oriented", "f1", score.f1, frozenset({"class_of_interest"})
            ),
        ),
        errors=errors.ROWS,
        ranked=vj.Ranked("obb", score.coco_annotation, 100),
        context=classes,
        look=show.features,
        example=show.example,
    )
    vj.register_type(row)
    vj.register_importer(importing.ROW)
    vj.register_prompts(Path(__file__).parent / "prompts")
