"""Published layouts of ratings of generated images, converted to rows of visualjudge's layout.

TIFA (https://github.com/Yushi-Hu/tifa, human_annotations), ImageReward
(https://github.com/THUDM/ImageReward, data/test.json), EditScore
(https://github.com/VectorSpaceLab/EditScore, output of evaluation.py) and ImagenHub
(https://github.com/TIGER-AI-Lab/ImagenHub, eval/human_ratings).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.formats.hugging_face import is_hugging_face, read_data_set
from visualjudge.formats.sample import read_json, read_table

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


def _imagereward(files: Sequence[Path], _root: Path, _scratch: Path | None) -> Rows:
    """Convert a rank r of n images to the score (n − r) / (n − 1), of which only the order is
    meaningful.

    If a rank is larger than n, ranks were left out (as in a tenth of the test split); r is then one
    more than the number of better images.
    """
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


def _editscore(files: Sequence[Path], _root: Path, _scratch: Path | None) -> Rows:
    """Read one pair per line. Paths end in ``images/NAME``, relative to the results folder."""
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


def _imagenhub(files: Sequence[Path], root: Path, _scratch: Path | None) -> Rows:
    """Read one file per rater, with a row per input and a column per model. A cell is ``[SC, PQ]``,
    and the score is √(SC · PQ).
    """
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
