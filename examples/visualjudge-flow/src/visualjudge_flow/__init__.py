"""Optical flow for visualjudge: the task ``optical_flow``, whose predictions have the type
``flow``.
"""

from __future__ import annotations

from pathlib import Path

import visualjudge as vj


def register() -> None:
    """Register every row; visualjudge calls this once in each process."""
    from visualjudge.vision import fields
    from visualjudge_flow import drawing, errors, importing, scoring, vectors

    row = vj.PredictionType(
        "flow",
        vectors.Flow,
        vectors.read,
        vectors.write,
        files=fields.named_file("flow"),
        file_field="flow",
        tasks=(vj.Task("optical_flow", "optical flow estimation", "flow"),),
        encodings=drawing.ROWS,
        metrics=(
            vj.Metric("flow", "epe", scoring.end_point, frozenset({"limit"})),
            vj.Metric("flow", "outliers", scoring.inliers),
        ),
        errors=errors.ROWS,
        example=drawing.example,
    )
    vj.register_type(row)
    vj.register_importer(importing.ROW)
    vj.register_prompts(Path(__file__).parent / "prompts")
