"""Optical flow for visualjudge: the task ``optical_flow``, whose predictions have the type ``flow``."""

from __future__ import annotations

from pathlib import Path

import visualjudge as vj

TYPE = "flow"


def register() -> None:
    """Register every row; visualjudge calls this once in each process."""
    from visualjudge_flow import drawing, errors, importing, scoring, vectors

    vj.register_type(vectors.FLOW)
    vj.register_task(vj.Task("optical_flow", "optical flow estimation", TYPE))
    vj.register_metric(TYPE, "epe", scoring.end_point, options=("limit",))
    vj.register_metric(TYPE, "outliers", scoring.inliers)
    for error in errors.ROWS:
        vj.register_error(error)
    for encoding in drawing.ROWS:
        vj.register_encoding(encoding)
    vj.register_importer(importing.ROW)
    vj.register_prompts(Path(__file__).parent / "prompts")
