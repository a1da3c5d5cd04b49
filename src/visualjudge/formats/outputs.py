"""Generated or restored images, with a table of scores given by people or by a metric.

Published layouts of ratings become rows of ours: TIFA (https://github.com/Yushi-Hu/tifa,
human_annotations), ImageReward (https://github.com/THUDM/ImageReward, data/test.json), EditScore
(https://github.com/VectorSpaceLab/EditScore, output of evaluation.py) and ImagenHub
(https://github.com/TIGER-AI-Lab/ImagenHub, eval/human_ratings).
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.core.tables import check_table
from visualjudge.formats.hugging_face import is_hugging_face, read_data_set
from visualjudge.formats.sample import Found, Sample, check_type, read_json, read_table, stated_file
from visualjudge.vision.predictions import WholeImage
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.tasks import TASKS

TYPES = ("generation", "restoration")


def outputs(
    task: str,
    table: str,
    source: str | None = None,
    root: Path = Path(),
    layout: str = "rows",
    prompts: Path | None = None,
    score_range: tuple[float, float] | None = None,
    score_column: Sequence[str] = ("score",),
    *,
    mask_white: str = "fill",
    resize_mask: bool = False,
    column: Mapping[str, str] | None = None,
    scratch: Path | None = None,
) -> Found:
    """Yield the samples of a table with one row per output and rating.

    Parameters
    ----------
    table
        csv, tsv, jsonl, json or parquet.

        The columns are ``output`` (path or image), a score, and optionally ``image`` (source
        image), ``image_id``, ``prompt``, ``source``, ``mask`` and ``control``. Outputs for the same
        image and prompt are compared with each other. Without ``image_id``, the id is the image's
        name or, if there is no image, derived from the prompt. A pattern with one ``*`` selects
        several files.
    source
        Name of the model.

        Without it, rows that do not name their source are rejected.
    root
        Folder of the table's paths.
    layout
        rows, editscore, imagenhub, imagereward, tifa.

        See :data:`LAYOUTS`.
    prompts
        JSON of prompts by image_id.
    score_range
        Range of the scores.

        It is rescaled to 0–10.
    score_column
        Column of the score.

        A cell may be a list. Lists, several columns and several rows for the same output are all
        ratings of that output: the sample has their mean as its score and their number in
        ``metadata.raters``.
    mask_white
        White in a mask is to fill or keep.
    resize_mask
        Resize masks to images.
    column
        OURS=THEIRS, such as prompt=text.
    scratch
        Folder for images embedded in a data set; must be kept until the samples are written.

    Raises
    ------
    UsageError
        If the task's predictions are not images, or the column of outputs, scores or, for editing
        tasks, source images is missing.

    Warns
    -----
    UserWarning
        If no range was given and all scores are whole or half numbers from 1 to 5.
    """
    if mask_white not in ("fill", "keep"):
        raise UsageError(f"--mask-white must be fill or keep, got {mask_white!r}")
    check_type(task, TYPES, "output")
    if layout not in LAYOUTS:
        raise UsageError(f"--layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    form = LAYOUTS[layout]
    limits = form.limits if score_range is None else score_range
    if not limits[0] < limits[1]:
        raise UsageError("--score-range must have the lowest score first")
    read = [_renamed(row, column or {}) for row in form.rows(files_of(table), root, scratch)]
    rows = list(with_prompts(iter(read), prompts))
    _check_columns(table, rows, score_column, sourced=source is not None)
    if (
        TASKS[task].edits
        and rows
        and not any(isinstance(row, dict) and "image" in row for row in rows)
    ):
        raise UsageError(
            f"{table}: must have a column 'image' with the source images: {task} cannot be "
            "judged without them"
        )
    rated: dict[tuple[Any, ...], list[_Row]] = {}
    for number, row in enumerate(rows, 1):
        if isinstance(row, Problem):
            yield row
            continue
        try:
            one = _row(task, row, root, limits, score_column)
            if one.source is None and source is None:
                raise DataError("source: is missing; --source names the model of rows without one")
        except DataError as error:
            yield Problem.of(error, Path(table).name, f"row {number}")
            continue
        rated.setdefault((one.output, one.image_id, one.prompt, one.source), []).append(one)
    if score_range is None:
        warn_of_range(
            f"{table}: score",
            [value for ratings in rated.values() for one in ratings for value in one.given],
            limits,
        )
    masks = {"mask_white": mask_white, "resize_mask": resize_mask}
    yield from _samples(task, table, list(rated.values()), masks)


# Check that each required column occurs. A row without a value becomes a problem later.
def _check_columns(
    table: str,
    rows: Sequence[dict[str, Any] | Problem],
    scores: Sequence[str],
    *,
    sourced: bool,
) -> None:
    known = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
    if not known:
        return
    remedies = {"output": "--column output=NAME maps another name"}
    remedies |= dict.fromkeys(scores, "--score-column names another")
    remedies |= {} if sourced else {"source": "--source names the model of all rows"}
    for name, remedy in remedies.items():
        if name not in known:
            raise UsageError(
                f"{table}: must have a column {name!r}, got {', '.join(known)}; {remedy}"
            )


def _renamed(row: dict[str, Any] | Problem, columns: Mapping[str, str]) -> dict[str, Any] | Problem:
    if isinstance(row, Problem):
        return row
    return {**row, **{ours: row[theirs] for ours, theirs in columns.items() if theirs in row}}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its paths resolved. ``given`` contains its scores as given, ``scores`` as
    ``final_score``.
    """

    output: Path
    image_id: str
    named: bool
    files: Mapping[str, Path | None]
    prompt: str | None
    source: str | None
    given: tuple[float, ...]
    scores: tuple[float, ...]


# Yield one sample per output with the mean of its ratings; number outputs with the same file name.
def _samples(
    task: str, table: str, rated: Sequence[Sequence[_Row]], masks: Mapping[str, Any]
) -> Found:
    seen: Counter[tuple[str, str, str | None]] = Counter()
    for ratings in rated:
        first = ratings[0]
        place = (first.output.stem, first.image_id, first.source)
        seen[place] += 1
        files = first.files
        given = [value for one in ratings for value in one.given]
        scores = [value for one in ratings for value in one.scores]
        metadata: dict[str, Any] = {"given_score": round(sum(given) / len(given), 6)}
        if len(given) > 1:
            metadata |= {"raters": len(given), "given_scores": given}
        try:
            yield Sample(
                image_id=first.image_id,
                image=files["image"] or files["control"] if TASKS[task].sourced else files["image"],
                prediction=WholeImage(read_rgb(first.output)),
                key=f"{first.output.stem}.{seen[place]}" if seen[place] > 1 else first.output.stem,
                prompt=first.prompt,
                source=first.source,
                file=first.output,
                final_score=round(sum(scores) / len(scores), 4),
                mask=files["mask"],
                control=files["control"],
                metadata=metadata,
                named=first.named,
                **masks,
            )
        except DataError as error:
            yield Problem(Path(table).name, str(first.output.name), "output", str(error))


def warn_of_range(where: str, ratings: Sequence[float], limits: tuple[float, float]) -> None:
    """Warn about ratings that look like a scale up to 1 or 5 if another range is assumed."""
    low, high = limits
    if len(ratings) < 2 or high <= 1:
        return
    if all(0 <= value <= 1 for value in ratings) and any(ratings):
        look, range_ = "numbers from 0 to 1", "0 1"
    elif high > 5 and all(1 <= value <= 5 and value * 2 % 1 == 0 for value in ratings):
        look, range_ = "whole or half numbers from 1 to 5", "1 5"
    else:
        return
    warnings.warn(
        f"{where}: all {len(ratings)} values are {look}, and were read as ranging from {low:g} to "
        f"{high:g}; state their range: --score-range {range_}, or --score-range {low:g} {high:g}",
        stacklevel=3,
    )


def given_score(value: Any, limits: tuple[float, float]) -> float:
    """Convert a table's score to ``final_score``: ``limits`` become 0 and 10, rounded to 4
    decimals.

    Raises
    ------
    DataError
        If the score is not a number, or is outside the limits.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise DataError(f"score: must be a number, got {value!r}") from None
    low, high = limits
    if not math.isfinite(number) or not low <= number <= high:
        raise DataError(
            f"score: must be from {low:g} to {high:g}, got {value}; --score-range sets another "
            "range"
        )
    return round(10 * (number - low) / (high - low), 4) + 0.0


def _row(
    task: str,
    row: Mapping[str, Any],
    root: Path,
    limits: tuple[float, float],
    columns: Sequence[str],
) -> _Row:
    output = _path(row, "output", root)
    if output is None:
        raise DataError("output: the field is missing")
    for column in columns:
        if column not in row:
            raise DataError(f"{column}: the field is missing")
    cells = [row[column] for column in columns]
    ratings = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
    if not ratings:
        raise DataError(f"{columns[0]}: must contain a rating, got an empty list")
    scores = tuple(given_score(value, limits) for value in ratings)
    files = {name: _path(row, name, root) for name in ("image", "mask", "control")}
    if TASKS[task].edits and files["image"] is None:
        raise DataError(f"image: is missing; {task} cannot be judged without the source image")
    prompt = str(row["prompt"]) if row.get("prompt") not in (None, "") else None
    named = row.get("image_id") not in (None, "")
    image_id = str(row["image_id"]) if named else _image_id(files, prompt)
    source = str(row.get("source") or "") or None
    given = tuple(float(value) for value in ratings)
    return _Row(output, image_id, named, files, prompt, source, given, scores)


def _image_id(files: Mapping[str, Path | None], prompt: str | None) -> str:
    image = files["image"] or files["control"]
    if image is not None:
        return image.stem
    if prompt is None:
        raise DataError(
            "image_id: is missing, and there is neither an image nor a prompt to make it from"
        )
    return f"prompt_{hashlib.sha256(prompt.encode()).hexdigest()[:12]}"


def _path(row: Mapping[str, Any], field: str, root: Path) -> Path | None:
    stated = row.get(field)
    if isinstance(stated, DataError):
        raise DataError(f"{field}: {stated}")
    if stated in (None, ""):
        return None
    return stated if isinstance(stated, Path) else stated_file(root, stated, field)


# ---------------------------------------------------------------- layouts

Rows = Iterator[dict[str, Any] | Problem]
PROMPT_FIELDS = ("prompt", "instruction", "text", "caption")
# ImagenHub's folders other than those of models, and the columns for their files.
FOLDERS = {"input": "image", "control": "control", "mask": "mask"}


@dataclass(frozen=True)
class Layout:
    """A layout: a function (files, root, scratch) → rows, and the range of its scores."""

    rows: Callable[[Sequence[Path], Path, Path | None], Rows]
    limits: tuple[float, float]


def files_of(table: str | Path) -> list[Path]:
    """Return the files of a table: one, or all that match a pattern with one ``*`` in its name.

    Raises
    ------
    UsageError
        If no file matches.
    """
    path = Path(table)
    found = (
        sorted(path.parent.glob(path.name))
        if "*" in path.name and path.suffix != ".parquet"
        else [path]
    )
    if not found:
        raise UsageError(f"{table}: no file matches")
    return found


def with_prompts(rows: Rows, file: Path | None) -> Rows:
    """Yield the rows with prompts from a JSON object, by ``image_id``, output file name or ``key``.

    The values of the JSON object are strings, or objects with ``prompt``, ``instruction``, ``text``
    or ``caption``.
    """
    if file is None:
        yield from rows
        return
    prompts = read_json(file)
    if not isinstance(prompts, dict):
        raise DataError(f"{file}: must be a JSON object of prompts by image_id")
    for row in rows:
        if isinstance(row, dict) and not row.get("prompt"):
            name = PurePosixPath(str(row.get("output", "")))
            keys = (row.get("image_id"), row.get("key"), name.name, name.stem)
            value = next((prompts[key] for key in keys if key in prompts), None)
            row["prompt"] = _prompt(value)
        yield row


def _prompt(value: Any) -> Any:
    if isinstance(value, Mapping):
        return next((value[name] for name in PROMPT_FIELDS if value.get(name)), None)
    return value


def _plain(files: Sequence[Path], _root: Path, scratch: Path | None) -> Rows:
    for file in files:
        if scratch is not None and is_hugging_face(file):
            if file.suffix == ".parquet":
                check_table(file)
            yield from read_data_set(file, scratch).rows
        else:
            yield from read_table(file)


def _tifa(files: Sequence[Path], _root: Path, _scratch: Path | None) -> Rows:
    for file in files:
        content = read_json(file)
        if not isinstance(content, dict):
            raise DataError(
                f"{file}: must be a JSON object of annotations by image, as in TIFA's "
                "human_annotations.json"
            )
        for key, row in content.items():
            if (
                not isinstance(row, dict)
                or not {"image_path", "text", "human_scores"} <= row.keys()
            ):
                yield Problem(
                    file.name, key, "human_scores", "must be given with image_path and text"
                )
                continue
            text_id = str(row.get("text_id", key))
            source = key.removeprefix(text_id).strip("_") or None
            names = {
                "output": row["image_path"],
                "prompt": row["text"],
                "score": row["human_scores"],
            }
            yield {**row, **names, "image_id": text_id, "source": source}


# Convert a rank r of n images to the score (n − r) / (n − 1), of which only the order is
# meaningful. If a rank is larger than n, ranks were left out (as in a tenth of the test split); r
# is then one more than the number of better images.
def _imagereward(files: Sequence[Path], _root: Path, _scratch: Path | None) -> Rows:
    for file in files:
        for number, row in enumerate(read_table(file)):
            images: Any = row.get("generations")
            ranks: Any = row.get("ranking")
            if not _ranked(images, ranks):
                reason = (
                    "must contain a rank from 1 (best) for each of 'generations', and "
                    "there must be two or more"
                )
                if images is None and ranks is None:
                    reason = "is missing, as is generations; does --layout fit the table?"
                yield Problem(file.name, f"[{number}]", "ranking", reason)
                continue
            if max(ranks) > len(ranks):
                ranks = [1 + sum(other < rank for other in ranks) for rank in ranks]
            for image, rank in zip(images, ranks, strict=True):
                score = (len(ranks) - rank) / (len(ranks) - 1)
                yield {
                    "output": image,
                    "image_id": row.get("id"),
                    "prompt": row.get("prompt"),
                    "score": score,
                }


def _ranked(images: Any, ranks: Any) -> bool:
    if (
        not isinstance(images, list)
        or not isinstance(ranks, list)
        or not len(images) == len(ranks) > 1
    ):
        return False
    return all(isinstance(rank, int) and not isinstance(rank, bool) and rank >= 1 for rank in ranks)


# Read one pair per line. Paths end in images/NAME, relative to the results folder.
def _editscore(files: Sequence[Path], _root: Path, _scratch: Path | None) -> Rows:
    for file in files:
        for number, row in enumerate(read_table(file), 1):
            lists: list[Any] = [row.get(name) for name in ("output_images", "score", "key")]
            if not all(isinstance(one, list) and len(one) == 2 for one in lists) or not row.get(
                "input_image"
            ):
                reason = "must be two, with input_image and two each of 'score' and 'key'"
                yield Problem(file.name, f"line {number}", "output_images", reason)
                continue
            for output, score, key in zip(*lists, strict=True):
                paths = {"output": _last_two(output), "image": _last_two(row["input_image"])}
                yield {**paths, "score": score, "key": key, "prompt": row.get("instruction")}


def _last_two(path: Any) -> str:
    return "/".join(PurePosixPath(str(path).replace("\\", "/")).parts[-2:])


# Read one file per rater, with a row per input and a column per model. A cell is [SC, PQ], and the
# score is √(SC · PQ).
def _imagenhub(files: Sequence[Path], root: Path, _scratch: Path | None) -> Rows:
    for file in files:
        for row in read_table(file):
            uid = row.pop("uid", None)
            if uid is None:
                raise DataError(f"{file}: must have a column 'uid', as in ImagenHub's ratings")
            given = {
                name: f"{folder}/{uid}"
                for folder, name in FOLDERS.items()
                if (root / folder / uid).is_file()
            }
            for model, cell in row.items():
                try:
                    meaning, quality = (float(value) for value in json.loads(cell))
                except (TypeError, ValueError):
                    yield Problem(file.name, uid, model, f"must be [SC, PQ], got {cell!r}")
                    continue
                scores = {
                    "SC": meaning,
                    "PQ": quality,
                    "score": math.sqrt(max(0.0, meaning * quality)),
                }
                yield {
                    **given,
                    **scores,
                    "output": f"{model}/{uid}",
                    "image_id": Path(uid).stem,
                    "source": model,
                }


LAYOUTS = {
    "rows": Layout(_plain, (0, 10)),
    "editscore": Layout(_editscore, (0, 10)),
    "imagenhub": Layout(_imagenhub, (0, 1)),
    "imagereward": Layout(_imagereward, (0, 1)),
    "tifa": Layout(_tifa, (1, 5)),
}
