"""Images that models made or restored, with a table of scores given by people or by a
metric (``visualjudge import outputs``). Restored images with a clean one are in
``image_pairs.py``.
"""

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from visualjudge.core.errors import (
    DataError,
    Problem,
    UsageError,
    check_score_range,
)
from visualjudge.core.parquet import check_table
from visualjudge.formats.hugging_face import read_data_set
from visualjudge.formats.pairing import stated_file
from visualjudge.formats.samples import Sample, Samples, check_type
from visualjudge.formats.tables import first_row, read_table, whole
from visualjudge.vision.predictions import WholeImage
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.tasks import TASKS

TYPES = ("generation", "restoration")
# The part of a stated range in which not all scores lie.
LOWEST = 0.1
# Names of columns whose lowest value is the best.
DISTANCES = {"lpips", "dists", "fid", "niqe", "brisque", "mse", "rmse", "mae"}
# Path of an output, and its image_id, prompt and source.
Output = tuple[Path, str, str | None, str | None]
Files = Mapping[str, Path | None]


def outputs(
    task: str,
    table: str,
    source: str | None = None,
    root: Path = Path(),
    score_range: tuple[float, float] | None = None,
    score_column: Sequence[str] = ("score",),
    *,
    mask_white: str = "fill",
    resize_mask: bool = False,
    column: Mapping[str, str] | None = None,
    scratch: Path | None = None,
) -> Samples:
    """Yield the samples of a table with one row per output and rating.

    Parameters
    ----------
    table
        csv, tsv, jsonl, json or parquet.

        The columns are ``output`` (path or image), a score, and optionally ``image``
        (source image), ``image_id``, ``prompt``, ``source``, ``mask`` and ``control``.
        Outputs for the same image and prompt are compared with each other. Without
        ``image_id``, the id is the image's name or, if there is no image, derived from
        the prompt.
    source
        Name of the model.

        Without it, rows that do not name their source are rejected.
    root
        Folder of the table's paths.
    score_range
        Range of the scores.

        It is rescaled to 0–10.
    score_column
        Column of the score.

        A cell may be a list. Lists, several columns and several rows for the same
        output are all ratings of that output: the sample has their mean as its score
        and their number in ``metadata.raters``.
    mask_white
        What white in a mask means: fill or keep.
    resize_mask
        Resize masks to images.
    column
        OURS=THEIRS, such as prompt=text.
    scratch
        Folder for images embedded in a data set; must be kept until the samples are
        written.

    Raises
    ------
    UsageError
        If the task's predictions are not images, or the column of outputs, scores or,
        for editing tasks, source images is missing.

    Warns
    -----
    UserWarning
        If no range was given and all scores look like a scale up to 1, 5 or 7.
    """
    if mask_white not in ("fill", "keep"):
        raise UsageError(
            f"`mask_white` must be fill or keep, got {mask_white!r}"
        )
    check_type(task, TYPES, "output")
    low, high = limits = (0, 10) if score_range is None else score_range
    check_score_range(limits)
    needed = (
        {"output": "`column` output=NAME maps another name"}
        | dict.fromkeys(
            score_column,
            "`score_column` names another; of images without scores, `visualjudge "
            "adopt` reads questions",
        )
        | (
            {}
            if source is not None
            else {"source": "`source` names the model of all rows"}
        )
        | (
            {"image": f"{task} cannot be judged without it"}
            if TASKS[task].edits
            else {}
        )
    )
    rows = _rows(Path(table), scratch, column or {}, needed)
    # the files of each (output, image_id, prompt, source), and its ratings
    rated: dict[Output, tuple[Files, list[float]]] = {}
    for number, row in enumerate(rows, first_row(table)):
        try:
            output, paths, stated = _row(task, row, root, limits, score_column)
            if output[-1] is None and source is None:
                raise DataError(
                    "source: is missing; `source` names the model of rows without one"
                )
        except DataError as error:
            yield Problem.of(error, Path(table).name, f"row {number}")
            continue
        rated.setdefault(output, (paths, []))[1].extend(stated)
    values = [value for _, stated in rated.values() for value in stated]
    if score_range is None:
        warn_of_range(f"{table}: score", values, limits)
    doubts = {
        f"score: all {len(values)} values lie in the lowest tenth of `score_range` "
        f"{low:g} {high:g}, up to {max(values, default=low):g}; is it that of the "
        "scores?": score_range is not None
        and len(values) > 1
        and 0 < max(values) - low <= LOWEST * (high - low),
        f"{', '.join(score_column)}: the name is of what is better the lower it is, and "
        "the highest score is the best here; negate such values and their "
        "`score_range`": DISTANCES & {*map(str.lower, score_column)},
    }
    for doubt in filter(doubts.get, doubts):
        warnings.warn(f"{table}: {doubt}", stacklevel=2)
    seen: Counter[tuple[str, str, str | None]] = Counter()
    for (path, image_id, prompt, model), (paths, stated) in rated.items():
        seen[path.stem, image_id, model] += 1
        count = seen[path.stem, image_id, model]
        scores = [given_score(value, limits) for value in stated]
        metadata: dict[str, Any] = {
            "given_score": round(sum(stated) / len(stated), 6)
        }
        if len(stated) > 1:
            metadata |= {"raters": len(stated), "given_scores": stated}
        try:
            yield Sample(
                image_id=image_id,
                image=paths["image"]
                or (paths["control"] if TASKS[task].sourced else None),
                prediction=WholeImage(read_rgb(path)),
                key=f"{path.stem}.{count}" if count > 1 else path.stem,
                prompt=prompt,
                source=model,
                file=path,
                final_score=round(sum(scores) / len(scores), 4),
                mask=paths["mask"],
                control=paths["control"],
                metadata=metadata,
                mask_white=mask_white,  # type: ignore[arg-type]
                resize_mask=resize_mask,
            )
        except DataError as error:
            yield Problem(Path(table).name, path.name, "output", str(error))


def warn_of_range(
    where: str, ratings: Sequence[float], limits: tuple[float, float]
) -> None:
    """Warn about ratings that look like a scale up to 1, 5 or 7 if another range is
    assumed."""
    halves = all(value * 2 % 1 == 0 for value in ratings)
    likely = [
        scale
        for scale in ((0, 1), (1, 5), (1, 7))
        if (scale != (1, 7) or (halves and {1, 7} <= {*ratings}))
        and all(scale[0] <= value <= scale[1] for value in ratings)
    ]
    if (
        len(ratings) < 2
        or not any(ratings)
        or not likely
        or limits[1] <= likely[0][1]
    ):
        return
    least, most = likely[0]
    low, high = limits
    warnings.warn(
        f"{where}: all {len(ratings)} values are "
        f"{'whole or half ' if halves else ''}numbers from {least} to {most}, and were "
        f"read as ranging from {low:g} to {high:g}; state their range: `score_range` "
        f"{least} {most}, or `score_range` {low:g} {high:g}",
        stacklevel=3,
    )


def given_score(value: Any, limits: tuple[float, float]) -> float:
    """Convert a table's score to ``final_score``: ``limits`` become 0 and 10, rounded
    to 4 decimals.

    Raises
    ------
    DataError
        If the score is not a number, or is outside the limits.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(
            f"score: must be a number{' with a decimal point' * (',' in str(value))}, "
            f"got {value!r}"
        ) from None
    low, high = limits
    if not math.isfinite(number) or not low <= number <= high:
        raise DataError(
            f"score: must be from {low:g} to {high:g}, got {value}; `score_range` sets "
            "another range; if it stands for no score, empty such cells"
        )
    return round(10 * (number - low) / (high - low), 4) + 0.0


def _row(
    task: str,
    row: Mapping[str, Any],
    root: Path,
    limits: tuple[float, float],
    columns: Sequence[str],
) -> tuple[Output, Files, list[float]]:
    output = _path(row, "output", root)
    if output is None:
        raise DataError("output: the field is missing")
    cells: list[Any] = [row.get(column) for column in columns]
    ratings = [
        rating
        for cell in cells
        for rating in (cell if isinstance(cell, list) else [cell])
        # a rater who left it out
        if not (rating in (None, "") or rating != rating)
    ]
    if not ratings:
        raise DataError(
            f"{', '.join(columns)}: must contain a rating, got none"
        )
    for value in ratings:
        given_score(value, limits)
    files = {
        name: _path(row, name, root) for name in ("image", "mask", "control")
    }
    if TASKS[task].edits and files["image"] is None:
        raise DataError(
            f"image: is missing; {task} cannot be judged without it"
        )
    prompt = (
        str(row["prompt"]).strip()
        if row.get("prompt") not in (None, "")
        else None
    )
    stated = row.get("image_id")
    image_id = (
        _image_id(files, prompt) if stated in (None, "") else str(whole(stated))
    )
    return (
        (
            output,
            image_id,
            prompt,
            str(row.get("source") or "").strip() or None,
        ),
        files,
        [float(value) for value in ratings],
    )


def _image_id(files: Mapping[str, Path | None], prompt: str | None) -> str:
    image = files["image"] or files["control"]
    if image is not None:
        return image.stem
    if prompt is None:
        raise DataError(
            "image_id: is missing, and there is neither an image nor a prompt to make "
            "it from"
        )
    return f"prompt_{hashlib.sha256(prompt.encode()).hexdigest()[:12]}"


def _path(row: Mapping[str, Any], field: str, root: Path) -> Path | None:
    stated = row.get(field)
    if isinstance(stated, DataError):
        raise DataError(f"{field}: {stated}")
    if stated in (None, ""):
        return None
    return (
        stated if isinstance(stated, Path) else stated_file(root, stated, field)
    )


def _rows(
    file: Path,
    scratch: Path | None,
    column: Mapping[str, str],
    needed: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the rows with columns renamed. A row without a value of a needed column
    becomes a problem later."""
    stored = scratch is not None and (
        file.is_dir() or file.suffix in (".parquet", ".arrow")
    )
    if stored and file.is_file():
        check_table(file)
    read = (
        read_data_set(file, scratch)[1]
        if stored and scratch
        else read_table(file)
    )
    rows = [
        {**row, **{k: row[v] for k, v in column.items() if v in row}}
        for row in read
    ]
    known = dict.fromkeys(name for row in rows for name in row)
    absent = [name for name in needed if known and name not in known]
    if absent:
        raise UsageError(
            f"{file}: must have a column {absent[0]!r}, got {', '.join(known)}; "
            f"{needed[absent[0]]}"
        )
    return rows
