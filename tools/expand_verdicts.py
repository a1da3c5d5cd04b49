"""Write ``verdicts.jsonl`` of runs whose verdicts version 1.0 compacted in
``verdicts.parquet``.

python tools/expand_verdicts.py RUN...
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from visualjudge.core.atomic import atomic_path
from visualjudge.runs.folder import COMPACTED, RunFolder
from visualjudge.runs.verdicts import verdict_line, verdict_of

_NAMED = ("id", "order", "status", "raw_response", "latency_s", "repeat")
_OPTIONAL = ("probability_a", "expected_score", "cause")
_ROWS = 4096


def expand(run: Path) -> None:
    """Write the journal, and remove the Parquet file."""
    source, rows = run / COMPACTED, pl.scan_parquet(run / COMPACTED)
    count = rows.select(pl.len()).collect().item()
    with (
        atomic_path(RunFolder(run).journal_path) as scratch,
        scratch.open("wb") as file,
    ):
        for first in range(0, count, _ROWS):
            for row in rows.slice(first, _ROWS).collect().iter_rows(named=True):
                # ``json`` holds the line where the columns cannot.
                file.write((row["json"] or orjson.dumps(_line(row))) + b"\n")
    source.unlink()


def _line(row: dict[str, Any]) -> dict[str, Any]:
    counts = row["usage"]
    named = {name: row[name] for name in (*_NAMED, *_OPTIONAL)}
    named["value"] = (
        row["value"] if row["number"] is None else orjson.loads(row["value"])
    )
    named["usage"] = (
        None
        if counts is None
        else {one["name"]: one["count"] for one in counts}
    )
    more = orjson.loads(row["more"]) if row["more"] is not None else {}
    return verdict_line(verdict_of({**named, **more}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("runs", nargs="+", type=Path)
    for folder in parser.parse_args().runs:
        expand(folder)
