"""VIEScore on ImagenHub (Ku et al. 2024, TIGER-AI-Lab/VIEScore): scores of generated images by
people and judges.

``FOLDER/{human,_human_annotations}/[…/][ImagenHub_]TASK/*_rater{1,2,3}.tsv``: ``uid`` and one
column per model with ``[SC, PQ]``, each 0, 0.5 or 1. Replies:
``FOLDER/[_answers/][results_]JUDGE/[ImagenHub_]TASK/MODEL/{SC,PQ}.json``: ``{uid: {"score":
[…]}}``. A judge's list counts as its minimum; O is √(SC · PQ), for people computed per person and
then averaged. The files contain no images.

The scores in their table (``counted``) are computed as in the authors' notebook
(analyze_json.ipynb, ``map_to_nearest_higher``): scores in lists are truncated to integers and
clipped to 0 to 10, and means and roots are not rounded, which would introduce ties.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Item,
    Option,
    PublishedReply,
    Row,
    document,
    records,
)
from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, Answer

HUMAN = ("human", "_human_annotations", "human_annotations")
PARTS = ("SC", "PQ", "O")
PREFIX = "ImagenHub_"


def read(folder: Path) -> Copy:
    """Return one question per image and part (SC, PQ, O); the answer is the mean of people's
    scores, 0 to 10.
    """
    folder = next((path for path in (folder / "paper_implementation",) if path.is_dir()), folder)
    home = next((folder / name for name in HUMAN if (folder / name).is_dir()), None)
    tasks = [] if home is None else sorted({path.parent for path in home.rglob("*_rater*.tsv")})
    if not tasks:
        raise DataError(f"{folder}: must hold human/TASK/*_rater1.tsv, found none")
    items = [item for task in tasks for item in _items(task)]
    known = {item.key for item in items}
    judges = sorted(
        path for base in (folder, folder / "_answers") if base.is_dir() for path in base.iterdir()
    )
    names = {
        path.name.removeprefix("results_"): path
        for path in judges
        if path.is_dir() and _tasks(path)
    }
    return Copy(
        tuple(items), True, {name: partial(_replies, path, known) for name, path in names.items()}
    )


def _tasks(judge: Path) -> list[tuple[str, Path]]:
    """Return the task folders of a judge's answers: those with a model that has SC.json."""
    found = sorted(path.parent.parent for path in judge.glob("*/*/SC.json"))
    return [(path.name.removeprefix(PREFIX), path) for path in dict.fromkeys(found)]


def _items(folder: Path) -> Iterator[Item]:
    name = folder.name.removeprefix(PREFIX)
    ratings: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for path in sorted(folder.glob("*_rater*.tsv")):
        for row in records(path):
            uid = str(row.need("uid"))
            for model, cell in row.items():
                if model != "uid" and cell:
                    ratings.setdefault((uid, model), []).append(_pair(row, model))
    for (uid, model), found in ratings.items():
        for part, values in zip(
            PARTS, ((s for s, _ in found), (p for _, p in found), map(_both, found)), strict=True
        ):
            score = sum(values) / len(found) * 10
            key, task = f"{name}/{part}/{model}/{uid}", f"{name}/{part}"
            yield Item(
                key,
                task,
                f"{name}/{uid}",
                "",
                (Option(source=model),),
                score,
                kind="scoring",
            )


def _pair(row: Row, model: str) -> tuple[float, float]:
    try:
        first, second = jsons.loads(row[model])
        return float(first), float(second)
    except (ValueError, TypeError):
        raise row.fault(model, f"must be [SC, PQ], got {row[model]!r}") from None


def _both(rating: tuple[float, float]) -> float:
    return math.sqrt(rating[0] * rating[1])


def _replies(judge: Path, known: set[str]) -> Iterator[PublishedReply]:
    for task, folder in _tasks(judge):
        for model in sorted(path for path in folder.iterdir() if path.is_dir()):
            held = {part: _answers_of(model / f"{part}.json") for part in PARTS[:2]}
            for uid in held["SC"] | held["PQ"]:
                found = [held[part].get(uid) for part in PARTS[:2]]
                values = [_least(one) for one in found]
                every = None if None in values else _both((values[0] or 0.0, values[1] or 0.0))
                counted = _counted(found)
                own = (*values, every)
                for part, value, theirs in zip(PARTS, own, counted, strict=True):
                    key = f"{task}/{part}/{model.name}/{uid}"
                    if key in known and (theirs != FAILED or part != "O"):
                        yield PublishedReply(
                            key, "AB", FAILED if value is None else value, counted=theirs
                        )


def _answers_of(path: Path) -> dict[str, Any]:
    held: Any = document(path) if path.is_file() else {}
    return held if isinstance(held, dict) else {}


def _numbers(said: Any) -> list[float]:
    """Return a judge's scores; empty if one of them is not a number."""
    values = said.get("score") if isinstance(said, dict) else None
    listed = values if isinstance(values, list) else [values]
    numbers = [float(v) for v in listed if isinstance(v, int | float) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(listed) else []


def _least(said: Any) -> float | None:
    """Return the minimum of a judge's scores; None without a score from 0 to 10."""
    numbers = _numbers(said)
    return min(numbers) if numbers and 0 <= min(numbers) <= 10 else None


def _counted(found: list[Any]) -> tuple[Answer, ...]:
    """Return the scores in their table: only images with both scores."""
    shares = []
    for said in found:
        numbers = _numbers(said)
        if isinstance(said, dict) and isinstance(said.get("score"), list):
            numbers = [float(int(number)) for number in numbers]
        if not numbers:
            return (FAILED,) * 3
        shares.append(min(max(min(numbers) / 10, 0.0), 1.0))
    return shares[0] * 10, shares[1] * 10, _both((shares[0], shares[1])) * 10


ROW = Benchmark(
    "imagenhub",
    "VIEScore on ImagenHub: scores of generated and edited images by people and judges",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/VIEScore",
    read,
    lambda parts: tuple(Score(f"viescore/{part}", "viescore", (part,), 1.0, 4) for part in parts),
    "human/TASK/*_rater1.tsv …; JUDGE/TASK/MODEL/{SC,PQ}.json for replies",
)
