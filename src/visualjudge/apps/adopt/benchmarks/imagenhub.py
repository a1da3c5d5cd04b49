"""VIEScore on ImagenHub (Ku et al. 2024, TIGER-AI-Lab/VIEScore): scores of generated
images by people and judges.

``FOLDER/{human,_human_annotations}/[…/][ImagenHub_]TASK/*_rater{1,2,3}.tsv``: ``uid``
and one column per model with ``[SC, PQ]``, each 0, 0.5 or 1. Replies:
``FOLDER/[_answers/][results_]JUDGE/[ImagenHub_]TASK/MODEL/{SC,PQ}.json``: ``{uid:
{"score": […]}}``. A judge's list counts as its minimum; O is √(SC · PQ), for people
computed per person and then averaged. The files contain no images.

The scores in their table (``counted``) are computed as in the authors' notebook
(analyze_json.ipynb, ``map_to_nearest_higher``): scores in lists are truncated to
integers and clipped to 0 to 10, and means and roots are not rounded, which would
introduce ties. Images without both scores are left out.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from visualjudge.analysis.figures.published import Score
from visualjudge.apps.adopt.benchmarks.layout import Benchmark, JudgeFile, Study
from visualjudge.apps.adopt.files import Row, at, contents, records
from visualjudge.apps.adopt.items import Item, Option, Reply
from visualjudge.core import jsons
from visualjudge.core.records import FAILED

PARTS = ("SC", "PQ", "O")
PREFIX = "ImagenHub_"


def read(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return one question per image and part (SC, PQ, O); the answer is the mean of
    people's scores, 0 to 10.
    """
    tables = sorted(folder.rglob("*_rater*.tsv"))
    tasks = dict.fromkeys(
        path.parent for path in tables if "human" in path.as_posix()
    )
    return Study([item for task in tasks for item in _items(task)])


def _items(folder: Path) -> Iterator[Item]:
    name = folder.name.removeprefix(PREFIX)
    ratings: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for path in sorted(folder.glob("*_rater*.tsv")):
        for row in records(path):
            for model, cell in row.items():
                if model != "uid" and cell:
                    ratings[str(row.need("uid")), model].append(
                        _rating(row, model)
                    )
    for (uid, model), shares in ratings.items():
        for part, values in zip(PARTS, zip(*shares, strict=True), strict=True):
            score = sum(values) / len(values) * 10
            key = f"{name}/{part}/{model}/{uid}"
            task = f"{name}/{part}"
            options = (Option(source=model),)
            yield Item(
                key, task, f"{name}/{uid}", "", options, score, kind="scoring"
            )


def _rating(row: Row, model: str) -> tuple[float, ...]:
    try:
        first, second = map(float, jsons.loads(row[model]))
    except (ValueError, TypeError):
        raise row.fault(
            model, f"must be [SC, PQ], got {row[model]!r}"
        ) from None
    return first, second, math.sqrt(first * second)


def replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the scores of a judge for the images of one model."""
    task = match["task"]
    model = match["model"]
    beside = path.with_name("PQ.json")
    both = [contents(file) if file.is_file() else {} for file in (path, beside)]
    for uid in both[0] | both[1]:
        lists = [at(held, uid) for held in both]
        least = [min(_numbers(answer), default=-1.0) for answer in lists]
        shares = [_share(answer) for answer in lists]
        whole = _with_root(
            [share * 10 for share in shares],
            math.sqrt(abs(math.prod(shares))) * 10,
        )
        values = _with_root(least, math.sqrt(abs(math.prod(least))))
        for part, value, score in zip(PARTS, values, whole, strict=True):
            counted = FAILED if min(shares) < 0 else score
            if counted != FAILED or part != "O":
                known = value if 0 <= value <= 10 else FAILED
                yield Reply(
                    f"{task}/{part}/{model}/{uid}", value=known, counted=counted
                )


def _numbers(answer: Any) -> list[float]:
    """Return a judge's scores; empty if one of them is not a number."""
    values = answer.get("score") if isinstance(answer, dict) else None
    listed = values if isinstance(values, list) else [values]
    numbers = [
        float(v)
        for v in listed
        if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    return numbers if len(numbers) == len(listed) else []


def _share(answer: Any) -> float:
    """Return the score in their table as a share of 10, −1 if there is none."""
    numbers = _numbers(answer)
    if numbers and isinstance(answer["score"], list):
        numbers = [float(int(number)) for number in numbers]
    return min(max(min(numbers) / 10, 0.0), 1.0) if numbers else -1.0


def _with_root(scores: list[float], root: float) -> tuple[float, float, float]:
    """Return SC, PQ and O; O is −1 if one of them is no score from 0 to 10."""
    return (
        scores[0],
        scores[1],
        root if all(0 <= score <= 10 for score in scores) else -1.0,
    )


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    return tuple(
        Score(f"viescore/{part}", "viescore", (part,), 1.0, 4) for part in parts
    )


ROW = Benchmark(
    "VIEScore on ImagenHub: scores of generated and edited images by people and judges",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/VIEScore",
    "human/TASK/*_rater1.tsv …; JUDGE/TASK/MODEL/{SC,PQ}.json for replies",
    read,
    _scores,
    (
        rf"(?:.*/)?(?:results_)?(?P<judge>[^/]+)/(?:{PREFIX})?(?P<task>[^/]+)/(?P<model>[^/]+)"
        r"/SC\.json",
    ),
    replies,
)
