"""Optical flow for visualjudge: the task ``optical_flow``, whose predictions have the type ``flow``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import visualjudge as vj


def register() -> None:
    """Register every row; visualjudge calls this once in each process."""
    from visualjudge_flow import drawing, errors, importing, scoring, vectors

    metrics = (
        vj.Metric("flow", "epe", scoring.end_point, frozenset({"limit"})),
        vj.Metric("flow", "outliers", scoring.inliers),
    )
    task = vj.Task("optical_flow", "optical flow estimation", "flow")
    row = replace(vectors.FLOW, tasks=(task,), encodings=drawing.ROWS, metrics=metrics, errors=errors.ROWS)
    vj.register_type(row)
    vj.register_importer(importing.ROW)
    vj.register_prompts(Path(__file__).parent / "prompts")
