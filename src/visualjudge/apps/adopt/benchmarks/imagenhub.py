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
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.adopt.benchmarks.layout import Benchmark
from visualjudge.apps.adopt.files import Row, contents, records
from visualjudge.apps.adopt.items import Item, Option, Reply, Study
from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, Answer

HUMAN = ("human", "_human_annotations", "human_annotations")
PARTS = ("SC", "PQ", "O")
PREFIX = "ImagenHub_"
Pair = tuple[float, float]


def read(folder: Path) -> Study:
    """Return one question per image and part (SC, PQ, O); the answer is the mean of people's
    scores, 0 to 10.
    """
    inner = folder / "paper_implementation"
    folder = inner if inner.is_dir() else folder
    tables = [path for name in HUMAN for path in (folder / name).rglob("*_rater*.tsv")]
    tasks = sorted({path.parent for path in tables})
    if not tasks:
        raise DataError(f"{folder}: must hold human/TASK/*_rater1.tsv, found none")
    items = [item for task in tasks for item in _items(task)]
    known = {item.key for item in items}
    answers: dict[str, dict[Path, None]] = defaultdict(dict)
    for home in (folder, folder / "_answers"):
        for path in sorted(home.glob("*/*/*/SC.json")):
            task = path.parent.parent
            answers[task.parent.name.removeprefix("results_")][task] = None
    judges = {name: partial(_replies, list(paths), known) for name, paths in answers.items()}
    return Study(items, True, judges)


def _items(folder: Path) -> Iterator[Item]:
    name = folder.name.removeprefix(PREFIX)
    ratings: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for path in sorted(folder.glob("*_rater*.tsv")):
        for row in records(path):
            for model, cell in row.items():
                if model != "uid" and cell:
                    ratings[str(row.need("uid")), model].append(_rating(row, model))
    for (uid, model), pairs in ratings.items():
        shares = zip(*((sc, pq, math.sqrt(sc * pq)) for sc, pq in pairs), strict=True)
        for part, values in zip(PARTS, shares, strict=True):
            score = sum(values) / len(values) * 10
            key, task = f"{name}/{part}/{model}/{uid}", f"{name}/{part}"
            options = (Option(source=model),)
            yield Item(key, task, f"{name}/{uid}", "", options, score, kind="scoring")


def _rating(row: Row, model: str) -> Pair:
    try:
        first, second = jsons.loads(row[model])
        return float(first), float(second)
    except (ValueError, TypeError):
        raise row.fault(model, f"must be [SC, PQ], got {row[model]!r}") from None


def _replies(tasks: list[Path], known: set[str]) -> Iterator[Reply]:
    for folder in tasks:
        task = folder.name.removeprefix(PREFIX)
        for model in sorted(path for path in folder.iterdir() if path.is_dir()):
            answers = [_answers(model / f"{part}.json") for part in PARTS[:2]]
            for uid in answers[0] | answers[1]:
                both = [held.get(uid) for held in answers]
                for part, value, counted in zip(PARTS, _values(both), _counted(both), strict=True):
                    key = f"{task}/{part}/{model.name}/{uid}"
                    if key in known and (counted != FAILED or part != "O"):
                        yield Reply(key, value=value, counted=counted)


def _answers(path: Path) -> dict[str, Any]:
    answers: Any = contents(path) if path.is_file() else {}
    return answers if isinstance(answers, dict) else {}


def _numbers(answer: Any) -> list[float]:
    """Return a judge's scores; empty if one of them is not a number."""
    values = answer.get("score") if isinstance(answer, dict) else None
    listed = values if isinstance(values, list) else [values]
    numbers = [float(v) for v in listed if isinstance(v, int | float) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(listed) else []


def _values(both: list[Any]) -> tuple[Answer, ...]:
    """Return the least score of each part, if it is from 0 to 10, and their O."""
    least = [min(_numbers(answer), default=-1.0) for answer in both]
    values: list[Answer] = [value if 0 <= value <= 10 else FAILED for value in least]
    return (*values, FAILED if FAILED in values else math.sqrt(math.prod(least)))


def _counted(both: list[Any]) -> tuple[Answer, ...]:
    """Return the scores in their table: only images with both scores."""
    shares = []
    for answer in both:
        numbers = _numbers(answer)
        if not numbers:
            return (FAILED,) * 3
        if isinstance(answer["score"], list):
            numbers = [float(int(number)) for number in numbers]
        shares.append(min(max(min(numbers) / 10, 0.0), 1.0))
    return (*(share * 10 for share in shares), math.sqrt(math.prod(shares)) * 10)


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    return tuple(Score(f"viescore/{part}", "viescore", (part,), 1.0, 4) for part in parts)


ROW = Benchmark(
    "VIEScore on ImagenHub: scores of generated and edited images by people and judges",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/VIEScore",
    "human/TASK/*_rater1.tsv …; JUDGE/TASK/MODEL/{SC,PQ}.json for replies",
    read,
    _scores,
)
