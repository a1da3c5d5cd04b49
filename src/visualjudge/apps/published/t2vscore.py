"""T2VScore's TVGE (Wu et al. 2024) as included in linzhiqiu/t2v_metrics: people's scores of
generated videos.

``FOLDER/[datasets/]t2vscore_{alignment,quality}_score.json``: ``{video: {"prompt", "models":
{model: [score]}}}``, 1 to 5. Replies: ``t2vscore_results.csv``, one column per metric; their ranges
are below. Videos are not shown: the dataset has only labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Item,
    Option,
    PublishedReply,
    document,
    on_ten,
    records,
    rows,
)
from visualjudge.core.errors import DataError

PARTS = ("alignment", "quality")
SCALE = (1.0, 5.0)
RANGES = {"CLIP Score": 100.0, "X-CLIP Score": 100.0, "BLIP-BLEU": 1.0, "T2VScore-A (GPT-4V)": 1.0}
"""Maximum value of each metric; the minimum is 0."""


def read(folder: Path) -> Copy:
    """Return one scoring question per video and part."""
    homes = (folder, folder / "datasets")
    tables = {
        part: path
        for part in PARTS
        for home in homes
        if (path := home / f"t2vscore_{part}_score.json").is_file()
    }
    if not tables:
        raise DataError(
            f"{folder}: must hold t2vscore_alignment_score.json or t2vscore_quality_score.json, "
            "found none"
        )
    items = tuple(item for part, path in tables.items() for item in _items(part, path))
    results = next(
        (path for home in homes if (path := home / "t2vscore_results.csv").is_file()), None
    )
    known = {item.key for item in items}
    metrics = (
        {}
        if results is None
        else {name: partial(_replies, name, results, known) for name in RANGES}
    )
    return Copy(items, True, metrics)


def _items(part: str, path: Path) -> Iterator[Item]:
    held = document(path)
    if not isinstance(held, dict):
        raise DataError(f"{path}: must hold an object of videos")
    for video, row in zip(held, rows(path, held.values()), strict=True):
        for model, scores in row.need("models").items():
            score, option = on_ten(sum(scores) / len(scores), SCALE), Option(source=model)
            key, prompt = f"{part}/{video}/{model}", str(row.get("prompt") or "")
            yield Item(key, part, str(video), prompt, (option,), score, kind="scoring", scale=SCALE)


def _replies(metric: str, path: Path, known: set[str]) -> Iterator[PublishedReply]:
    """Yield a metric's alignment scores, converted to the scale of people's scores."""
    low, high = SCALE
    for row in records(path):
        key = f"alignment/{row.get('video_id')}/{row.get('model_name')}"
        if key in known:
            share = min(1.0, max(0.0, row.number_of(metric) / RANGES[metric]))
            yield PublishedReply(key, "AB", low + share * (high - low))


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    rules = ("spearman", "kendall", "pearson")
    return tuple(
        Score(f"t2vscore/{part}/{rule}", rule, (part,), 1.0, 3) for part in parts for rule in rules
    )


ROW = Benchmark(
    "t2vscore",
    "T2VScore (TVGE): scores of generated videos; alignment and quality",
    "none stated",
    "evaluation only",
    "https://github.com/linzhiqiu/t2v_metrics",
    read,
    _scores,
    "t2vscore_{alignment,quality}_score.json, t2vscore_results.csv for replies",
)
