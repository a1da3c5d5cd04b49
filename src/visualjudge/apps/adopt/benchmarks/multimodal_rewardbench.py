"""Multimodal RewardBench (Yasunaga et al. 2025,
facebookresearch/multimodal_rewardbench): answers about images.

``FOLDER/[data/]all_data.json``: ``ID, Category, Image, Text, Output1, Output2, Better``
("Output1" or "Output2"); images are in the folder of that file; otherwise the dataset
has only labels. Replies: ``FOLDER/outputs/MODEL.jsonl`` with ``Meta`` (the row),
``Label`` and ``output``. Its score looks for ``[[A]]``, then ``[[B]]``, and tosses a
coin (Python's generator, seed 123) for a reply with neither; the same tosses are
reproduced here for each file.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
    by_part,
)
from visualjudge.apps.adopt.files import Images, Row, first_tables, records
from visualjudge.apps.adopt.items import Reply

LABELS = {"A": "Output1", "B": "Output2"}
SPLIT = {
    "safety": ("pairs", "safety/bias", "safety/toxicity"),
    "reasoning": ("math", "reasoning/math", "reasoning/coding"),
}
"""Categories that the authors' code splits by the start of an ID."""
PAIRS = Pairs(
    {
        "key": ("ID",),
        "truth": ("Better",),
        "request": ("Text",),
        "image": ("Image",),
        "text": ("Output{}",),
    },
    {"Output1": "A", "Output2": "B"},
    ("1", "2"),
)


def read(folder: Path, files: Sequence[JudgeFile]) -> Study:
    """Return the pairs of ``all_data.json``, or of the replies if the copy has nothing
    else."""
    tables = first_tables((folder / "data", folder), "all_data.*")
    rows = (
        records(tables[0])
        if tables
        else [_question(row) for row in _first(files)]
    )
    images = Images(tables[0].parent if tables else folder)
    items = [PAIRS.item(row, _part(row), images) for row in rows]
    return Study(items, images.missing + sum(not item.images for item in items))


def _first(files: Sequence[JudgeFile]) -> list[Row]:
    return records(files[0][0]) if files else []


def _question(row: Row) -> Row:
    """Return the row of a reply's question, whose ``Meta`` may contain only its
    category."""
    known = {
        "Better": row.one_of("Label", LABELS),
        "ID": row.get("ID"),
        "Image": row.get("Image"),
    }
    return Row({**known, **row.need("Meta")}, row.place, row.names)


def _part(row: Row) -> str:
    category = str(row.get("Category"))
    start, yes, no = SPLIT.get(category, ("", category, category))
    return yes if str(row.need("ID")).lower().startswith(start) else no


def replies(path: Path, _: re.Match[str]) -> Iterator[Reply]:
    """Yield the replies of a file, decided as its authors do."""
    bits = np.random.MT19937()
    bits._legacy_seeding([123])  # as Python's random.seed(123)
    coin = np.random.Generator(bits)
    for row in records(path):
        text = str(row.need("output"))
        letter = next(
            (letter for letter in "AB" if f"[[{letter}]]" in text), None
        )
        counted = letter or ("A" if coin.random() < 0.5 else "B")
        right = LABELS[counted] == row.one_of("Label", LABELS)
        yield Reply(str(row.need("ID")), "AB", letter or "Failed", text, right)


ROW = Benchmark(
    "Multimodal RewardBench: answers about images; correctness, preference, knowledge, "
    "reasoning, safety, VQA",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/multimodal_rewardbench",
    "data/all_data.json with its images, outputs/MODEL.jsonl for replies",
    read,
    by_part(
        "multimodal-rewardbench",
        "exact",
        ("multimodal-rewardbench", "exact"),
        digits=1,
    ),
    (r"outputs/(?P<judge>[^/]+)\.jsonl",),
    replies,
)
