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

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.prompts import own_prompt, shipped
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Item,
    Option,
    PublishedReply,
    Row,
    by_part,
    document,
    records,
)
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TURNED, Order

LABELS = {"A>B": "A", "B>A": "B"}
DECISIONS = {**LABELS, "A=B": "tie"}
ORDERS: tuple[Order, Order] = ("AB", "BA")
PARTS = {
    "mmlu-pro": "knowledge",
    "livebench-reasoning": "reasoning",
    "livebench-math": "math",
    "livecodebench": "coding",
}
KINDS = ("jsonl", "json", "parquet")
_JUDGE = re.compile(r"judge_model=([^,]+)")


def read(folder: Path) -> Copy:
    """Return the pairs of all files of ``folder``, and the decisions of each judge."""
    items: dict[str, Item] = {}
    outputs: dict[str, list[Path]] = {}
    for path in sorted(path for kind in KINDS for path in folder.rglob(f"*.{kind}")):
        rows = _rows(path)
        if rows and "pair_id" in rows[0]:
            _add(items, rows)
            if _judged(rows[0]):
                outputs.setdefault(_judge(path), []).append(path)
    if not items:
        raise DataError(f"{folder}: must hold *.jsonl with pair_id and label, found none")
    labels_only = any(not item.request for item in items.values())
    return Copy(
        tuple(items.values()),
        labels_only,
        {name: partial(_replies, files) for name, files in outputs.items()},
    )


def _rows(path: Path) -> list[Row]:
    """Return the rows of a file; empty for a JSON file that is not a table, such as a
    configuration.
    """
    return [] if path.suffix == ".json" and not isinstance(document(path), list) else records(path)


def _add(items: dict[str, Item], rows: list[Row]) -> None:
    for row in rows:
        key = str(row.need("pair_id"))
        answer = row.one_of("label", LABELS)
        known = items.get(key)
        if known is not None and known.answer != answer:
            raise row.fault("label", "differs from another file's")
        if known is None or not known.request:
            source = str(row.get("source") or "judgebench")
            part = next(
                (name for prefix, name in PARTS.items() if source.startswith(prefix)), source
            )
            options = (
                Option(str(row.get("response_A") or "")),
                Option(str(row.get("response_B") or "")),
            )
            cluster = str(row.get("original_id") or key)
            question = str(row.get("question") or "")
            own = own_prompt(shipped("judgebench"), {"question": question}, options, ties=("tie",))
            items[key] = Item(key, part, cluster, question, options, answer, ties=("tie",), own=own)


def _judged(row: Row) -> bool:
    return bool(row.get("judgments") or row.get("decisions"))


def _judge(path: Path) -> str:
    named = _JUDGE.search(path.name)
    return named[1].removesuffix(".jsonl") if named else path.stem.removesuffix("_decisions")


def _replies(files: list[Path]) -> Iterator[PublishedReply]:
    for path in files:
        for row in records(path):
            key = str(row.need("pair_id"))
            for order, (decision, text) in zip(ORDERS, _said(row), strict=False):
                yield _reply(key, order, decision, text)


def _said(row: Row) -> list[tuple[Any, str | None]]:
    if row.get("decisions"):
        return [(decision, None) for decision in row["decisions"]]
    # A failed call is null.
    held = [one or {} for one in row.get("judgments") or ()]
    return [(one.get("decision"), _text(one.get("judgment"))) for one in held]


def _text(judgment: Any) -> str | None:
    """Return the reply, given as text or as an object that contains it. Reward models have scores
    and an empty text.
    """
    inner = judgment.get("response") if isinstance(judgment, dict) else judgment
    return inner if isinstance(inner, str) and inner else None


def _reply(key: str, order: Order, decision: Any, text: str | None) -> PublishedReply:
    value = DECISIONS.get(decision, FAILED) if isinstance(decision, str) else FAILED
    return PublishedReply(key, order, TURNED.get(value, value) if order == "BA" else value, text)


ROW = Benchmark(
    "judgebench",
    "JudgeBench: hard questions of knowledge, reasoning, math and coding; text only",
    "MIT",
    "any",
    "https://github.com/ScalerLab/JudgeBench",
    read,
    by_part("judgebench", "net", Score("judgebench", "net", digits=3), digits=3),
    "*.jsonl of its data or outputs folder",
    hub="ScalerLab/JudgeBench",
)
