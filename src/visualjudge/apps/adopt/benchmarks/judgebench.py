"""JudgeBench (Tan et al. 2024, ScalerLab/JudgeBench): pairs of answers to hard
questions, one of them wrong. Text only.

``FOLDER/**/*.jsonl`` (or .json, .parquet): rows ``pair_id, source, question,
response_A, response_B, label`` ("A>B" or "B>A"), and in the authors' outputs
``judgments: [{"judgment", "decision"}, …]``: the decision in the stored order, then
with the responses exchanged, in the letters shown. Files with ``decisions: ["A>B",
"B>A"]`` and no texts are read too; the dataset then has only labels. A file's judge is
its ``judge_model=…``, or else its name up to ``_decisions``.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
    by_part,
)
from visualjudge.apps.adopt.files import Images, at, contents, records
from visualjudge.apps.adopt.items import Item, Reply
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
    {
        "key": ("pair_id",),
        "truth": ("label",),
        "request": ("question",),
        "cluster": ("original_id",),
        "text": ("response_{}",),
    },
    {"A>B": "A", "B>A": "B"},
    ("A", "B"),
    ("tie",),
)


def read(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs of all files of ``folder``."""
    items: dict[str, Item] = {}
    for path in sorted(folder.rglob("*")):
        content = (
            contents(path)
            if path.suffix in (".jsonl", ".json", ".parquet")
            else None
        )
        is_table = at(content, "0.pair_id") is not None
        for row in records(path, content) if is_table else ():
            source = str(row.get("source") or "judgebench")
            starts = (
                part
                for start, part in PARTS.items()
                if source.startswith(start)
            )
            item = PAIRS.item(row, next(starts, source), Images())
            known = items.setdefault(item.key, item)
            if known.answer != item.answer:
                raise row.fault("label", "differs from another file's")
            items[item.key] = known if known.request else item
    return Study(list(items.values()))


def replies(path: Path, _: re.Match[str]) -> Iterator[Reply]:
    """Yield the judgments of a file in both orders."""
    for row in records(path):
        decisions = [{"decision": item} for item in row.get("decisions") or ()]
        for order, judgment in zip(
            ORDERS, row.get("judgments") or decisions, strict=False
        ):
            yield _reply(str(row.need("pair_id")), order, judgment or {})


def _reply(key: str, order: Order, judgment: Any) -> Reply:
    """Return a judgment: its text, or an object that contains it. A failed call is
    null; reward models have scores and an empty text."""
    value = DECISIONS.get(str(judgment.get("decision")), FAILED)
    text = at(judgment, "judgment.response", "judgment")
    value = TURNED.get(value, value) if order == "BA" else value
    return Reply(
        key, order, value, text if isinstance(text, str) and text else None
    )


ROW = Benchmark(
    "JudgeBench: hard questions of knowledge, reasoning, math and coding; text only",
    "MIT",
    "any",
    "https://github.com/ScalerLab/JudgeBench",
    "*.jsonl of its data or outputs folder",
    read,
    by_part("judgebench", "net", ("judgebench", "net"), digits=3),
    (
        r"(?:.*/)?[^/]*judge_model=(?P<judge>[^/,]+)(?:,[^/]*)?\.jsonl?",
        r"(?:.*/)?(?P<judge>[^/]+)_decisions\.jsonl?",
    ),
    replies,
)
