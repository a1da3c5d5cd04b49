"""The verdicts that are furthest from the truth, with what the judge was shown and what it said."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from visualjudge.analysis.join import Study
from visualjudge.analysis.load import read_reply
from visualjudge.analysis.scores import rank_taus
from visualjudge.confine import confined_path
from visualjudge.errors import DataError
from visualjudge.raster.images import read_rgb
from visualjudge.records import Question

SHOWN = {"pairwise": 6, "ranking": 2, "scoring": 2}
THUMBNAIL = 360
LONGEST_REPLY = 1500


def _distance(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Usable but wrong replies with ``distance``, larger = worse."""
    usable = table.filter((pl.col("kind") == kind) & pl.col("parsed"))
    if kind == "pairwise":
        return usable.filter(~pl.col("right")).with_columns(distance=pl.col("margin"))
    if kind == "ranking":
        return usable.with_columns(distance=-pl.Series(rank_taus(usable))).filter(pl.col("distance") > 0)
    return usable.with_columns(distance=(pl.col("number") - pl.col("truth")).abs()).filter(pl.col("distance") > 1)


def worst(study: Study, run: int) -> list[dict[str, Any]]:
    """Up to ten verdicts of one run, each on another pair, ranking or annotation, whatever its encoding and order."""
    rows = []
    for kind, most in SHOWN.items():
        table = _distance(study.joined[run], kind).sort(["distance", "id"], descending=[True, False])
        firsts = table.unique(["item", "image"], keep="first", maintain_order=True)
        rows += list(firsts.head(most).iter_rows(named=True))
    known = study.find([row["id"] for row in rows])
    return [_entry(study, run, row, known.get(row["id"])) for row in rows]


def _entry(study: Study, run: int, row: dict[str, Any], question: Question | None) -> dict[str, Any]:
    reply = read_reply(study.runs[run], row["offset"])
    raw = reply.get("raw_response")
    return {
        "id": row["id"],
        "kind": row["kind"],
        "task": row["task"],
        "encoding": row["encoding"],
        "image": row["image"],
        "error_type": row["error_type"],
        "order": row["order"],
        "said": row["text"] if row["text"] is not None else row["number"],
        "answer": row["answer"] if row["answer"] is not None else row["truth"],
        "scores": row["scores"],
        "sources": [source or "" for source in row["sources"]],
        "prompt": question.prompt if question else "",
        "reply": raw[:LONGEST_REPLY] if isinstance(raw, str) else "",
        "pictures": [thumbnail(study.root, name) for name in question.images] if question and study.root else [],
    }


def thumbnail(root: Path | None, name: str) -> dict[str, str | None]:
    """A picture of the dataset, at most 360 px, as a data URI; ``src`` is None where it cannot be read."""
    try:
        small = Image.fromarray(read_rgb(confined_path(root or Path(), name)))
    except DataError:
        return {"name": name, "src": None}
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    held = io.BytesIO()
    small.save(held, "JPEG", quality=82)
    return {"name": name, "src": "data:image/jpeg;base64," + base64.b64encode(held.getvalue()).decode()}
