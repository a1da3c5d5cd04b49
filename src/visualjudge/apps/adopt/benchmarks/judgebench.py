"""JudgeBench (Tan et al. 2024, ScalerLab/JudgeBench): pairs of answers to hard questions, one of
them wrong. Text only.

``FOLDER/**/*.jsonl`` (or .json, .parquet): rows ``pair_id, source, question, response_A,
response_B, label`` ("A>B" or "B>A"), and in the authors' outputs ``judgments: [{"judgment",
"decision"}, …]``: the decision in the stored order, then with the responses exchanged, in the
letters shown. Files with ``decisions: ["A>B", "B>A"]`` and no texts are read too; the dataset then
has only labels. A file's judge is its ``judge_model=…``, or else its name up to ``_decisions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.benchmarks.layout import Benchmark, Pairs, by_part
from visualjudge.apps.adopt.files import Images, Row, contents, records
from visualjudge.apps.adopt.items import Item, Reply, Study
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TURNED, Order

DECISIONS = {"A>B": "A", "B>A": "B", "A=B": "tie"}
ORDERS: tuple[Order, Order] = ("AB", "BA")
PARTS = {
    "mmlu-pro": "knowledge",
    "livebench-reasoning": "reasoning",
    "livebench-math": "math",
    "livecodebench": "coding",
}
PAIRS = Pairs(
    key="pair_id",
    truth=("label",),
    answers={"A>B": "A", "B>A": "B"},
    sides=("A", "B"),
    request=("question",),
    cluster=("original_id",),
    text=("response_{}",),
    ties=("tie",),
)
_JUDGE = re.compile(r"judge_model=([^,]+)")


def read(folder: Path) -> Study:
    """Return the pairs of all files of ``folder``, and the decisions of each judge."""
    items: dict[str, Item] = {}
    outputs: dict[str, list[Path]] = {}
    kinds = ("jsonl", "json", "parquet")
    for path in sorted(path for kind in kinds for path in folder.rglob(f"*.{kind}")):
        rows = _rows(path)
        if rows and "pair_id" in rows[0]:
            _add(items, rows)
            if rows[0].get("judgments") or rows[0].get("decisions"):
                named = _JUDGE.search(path.name)
                judge = named[1].removesuffix(".jsonl") if named else path.stem
                outputs.setdefault(judge.removesuffix("_decisions"), []).append(path)
    if not items:
        raise DataError(f"{folder}: must hold *.jsonl with pair_id and label, found none")
    labels_only = any(not item.request for item in items.values())
    judges = {name: partial(_replies, files) for name, files in outputs.items()}
    return Study(list(items.values()), labels_only, judges)


def _rows(path: Path) -> list[Row]:
    """Return the rows of a file; none for a JSON file that is not a table, as configurations."""
    return [] if path.suffix == ".json" and not isinstance(contents(path), list) else records(path)


def _add(items: dict[str, Item], rows: list[Row]) -> None:
    for row in rows:
        source = str(row.get("source") or "judgebench")
        part = next((name for prefix, name in PARTS.items() if source.startswith(prefix)), source)
        item = PAIRS.item(row, part, Images())
        known = items.setdefault(item.key, item)
        if known.answer != item.answer:
            raise row.fault("label", "differs from another file's")
        items[item.key] = known if known.request else item


def _replies(files: list[Path]) -> Iterator[Reply]:
    for path in files:
        for row in records(path):
            judgments = row.get("judgments") or [{"decision": one} for one in row["decisions"]]
            for order, judgment in zip(ORDERS, judgments, strict=False):
                yield _reply(str(row.need("pair_id")), order, judgment or {})


def _reply(key: str, order: Order, judgment: Any) -> Reply:
    """Return a judgment: its text, or an object that contains it. A failed call is null; reward
    models have scores and an empty text.
    """
    value = DECISIONS.get(str(judgment.get("decision")), FAILED)
    text = judgment.get("judgment")
    text = text.get("response") if isinstance(text, dict) else text
    return Reply(
        key,
        order,
        TURNED.get(value, value) if order == "BA" else value,
        text if isinstance(text, str) and text else None,
    )


ROW = Benchmark(
    "JudgeBench: hard questions of knowledge, reasoning, math and coding; text only",
    "MIT",
    "any",
    "https://github.com/ScalerLab/JudgeBench",
    "*.jsonl of its data or outputs folder",
    read,
    by_part("judgebench", "net", ("judgebench", "net"), digits=3),
)
