"""RewardBench 2 (Malik et al. 2025, allenai/reward-bench-2): the best of four answers. Text only.

``FOLDER/[data/]*.parquet`` (or .jsonl): ``id, prompt, chosen`` (list), ``rejected`` (list),
``subset``, ``models``. Each chosen answer is compared with each rejected one; the key determines
its side. The benchmark's score of a subset is the share of prompts in which the chosen answer wins
all its pairs; for Ties it is the part that depends only on the order (all right answers above all
wrong ones). The published Ties score also includes margins, which pairs do not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Item,
    Option,
    Row,
    dealt,
    records,
    tables,
)
from visualjudge.core.errors import DataError


def read(folder: Path) -> Copy:
    """Return the pairs of every prompt."""
    files = [path for path in tables(folder, ("*.parquet", "*.jsonl", "*.json")) if path.is_file()]
    items = [item for path in files for row in records(path) for item in _pairs(row)]
    if not items:
        raise DataError(
            f"{folder}: must hold *.parquet with id, prompt, chosen, rejected, found none"
        )
    return Copy(tuple(items), False)


def _pairs(row: Row) -> Iterator[Item]:
    key, subset = str(row.need("id")), str(row.get("subset") or "all")
    right, wrong = (_texts(row.need(name)) for name in ("chosen", "rejected"))
    models = row.get("models") or []
    for i, good in enumerate(right):
        for j, bad in enumerate(wrong):
            better = Option(good, source=_at(models, i, len(right) + len(wrong)))
            worse = Option(bad, source=_at(models, len(right) + j, len(right) + len(wrong)))
            name = f"{key}/{i}/{j}"
            options, answer = dealt(name, better, worse)
            yield Item(
                name, subset, f"{subset}/{key}", str(row.get("prompt") or ""), options, answer
            )


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(text) for text in value]


def _at(models: Sequence[Any], place: int, count: int) -> str | None:
    """Return the model of an answer, if the row names one for each."""
    return str(models[place]) if len(models) == count else None


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    names = ((part, "Ties-order" if part == "Ties" else part) for part in parts)
    return tuple(
        Score(f"rewardbench-2/{name}", "prompts", (part,), digits=1) for part, name in names
    )


ROW = Benchmark(
    "rewardbench-2",
    "RewardBench 2: the best of four answers; factuality, instructions, math, safety, focus, "
    "ties; text only",
    "ODC-BY",
    "any",
    "https://huggingface.co/datasets/allenai/reward-bench-2",
    read,
    _scores,
    "[data/]*.parquet with id, prompt, chosen, rejected, subset; replies/MODEL.jsonl for replies",
    hub="allenai/reward-bench-2",
)
