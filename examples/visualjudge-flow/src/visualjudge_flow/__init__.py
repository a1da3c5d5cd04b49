"""Optical flow for visualjudge: the task ``optical_flow``, with a type of its own,
``flow``."""

from __future__ import annotations

from pathlib import Path

import visualjudge as vj


def register() -> None:
    """Register every row; visualjudge calls this once in each process."""
    from visualjudge.vision import fields
    from visualjudge_flow import errors, importing, record, show

    row = vj.PredictionType(
        "flow",
        record.Flow,
        record.read,
        record.write,
        files=fields.named_file("flow"),
        file_field="flow",
        tasks=(vj.Task("optical_flow", "optical flow estimation", "flow"),),
        encodings=show.ROWS,
        metrics=record.METRICS,
        errors=errors.ROWS,
        example=show.example,
    )
    vj.register_type(row)
    vj.register_importer(importing.ROW)
    vj.register_prompts(Path(__file__).parent / "prompts")
