"""Generated (or restored) pictures whose scores are given, by people or by a metric, in a table."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from visualjudge.data.importers.sample import Found, Sample, check_type, read_table
from visualjudge.errors import DataError, Problem, UsageError
from visualjudge.predictions import WholeImage
from visualjudge.raster.images import read_rgb
from visualjudge.tasks import TASKS

TYPES = ("generation", "restoration")


def outputs(
    task: str, table: Path, root: Path, score_range: tuple[float, float] = (0, 10), score_column: str = "score"
) -> Found:
    """Samples of a table with a row an output.

    Parameters
    ----------
    table
        CSV, TSV, JSONL or JSON with ``output`` (path) and a score, and where there are such: ``image`` (source
        picture), ``image_id``, ``prompt``, ``source``, ``mask``, ``control``. Outputs of one picture and prompt are
        compared with each other: without ``image_id`` it is the picture's name, else one made of the prompt.
    root
        Folder that paths start from.
    score_range
        Lowest and highest score of the table, which become 0 and 10.
    """
    check_type(task, TYPES, "output")
    if not score_range[0] < score_range[1]:
        raise UsageError("score range: the lowest score comes first")
    seen: dict[tuple[str, str], int] = {}
    for number, row in enumerate(read_table(table), 1):
        record = f"row {number}"
        try:
            yield _sample(TASKS[task].sourced, row, root, score_range, score_column, seen)
        except DataError as error:
            field, _, reason = str(error).partition(": ")
            yield Problem(table.name, record, field, reason)


def given_score(value: Any, limits: tuple[float, float]) -> float:
    """A table's score as ``final_score``: ``limits`` become 0 and 10; 4 decimals.

    Raises
    ------
    DataError
        If it is no number or lies outside.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(f"score: is a number, not {value!r}") from None
    low, high = limits
    if not math.isfinite(number) or not low <= number <= high:
        raise DataError(f"score: {value} lies outside {low:g} to {high:g}; give --score-range")
    return round(10 * (number - low) / (high - low), 4) + 0.0


def _sample(
    sourced: bool,
    row: Mapping[str, Any],
    root: Path,
    limits: tuple[float, float],
    column: str,
    seen: dict[tuple[str, str], int],
) -> Sample:
    output = _path(row, "output", root)
    if output is None:
        raise DataError("output: the field is missing")
    if column not in row:
        raise DataError(f"{column}: the field is missing")
    files = {name: _path(row, name, root) for name in ("image", "mask", "control")}
    prompt = str(row["prompt"]) if row.get("prompt") not in (None, "") else None
    image_id = str(row.get("image_id") or "") or _image_id(files, prompt)
    source = str(row.get("source") or "") or None
    place = (image_id, source or "")
    seen[place] = seen.get(place, 0) + 1
    return Sample(
        image_id=image_id,
        picture=files["image"] or files["control"] if sourced else files["image"],
        prediction=WholeImage(read_rgb(output)),
        key=f"{output.stem}.{seen[place]}" if seen[place] > 1 else output.stem,
        prompt=prompt,
        source=source,
        file=output,
        final_score=given_score(row[column], limits),
        mask=files["mask"],
        control=files["control"],
        metadata={"given_score": float(row[column])},
    )


def _image_id(files: Mapping[str, Path | None], prompt: str | None) -> str:
    picture = files["image"] or files["control"]
    if picture is not None:
        return picture.stem
    if prompt is None:
        raise DataError("image_id: is missing, and there is neither an image nor a prompt to make it from")
    return f"prompt_{hashlib.sha256(prompt.encode()).hexdigest()[:12]}"


def _path(row: Mapping[str, Any], field: str, root: Path) -> Path | None:
    stated = row.get(field)
    if stated in (None, ""):
        return None
    path = root / str(stated)
    if not path.is_file():
        raise DataError(f"{field}: there is no file {path}")
    return path
