"""VL-RewardBench (Li et al. 2024): pairs of answers about an image, one of them preferred.

``FOLDER/data.json`` (or the only table there, or ``[data/]*.parquet``): ``id, query, response:
[first, second], image`` (``image_path`` in the repository's ``data/data.jsonl``), ``human_ranking``
(0 = better, 1 = worse), ``models``. The parts follow from the image's folder if it names its
source, else from the ``id``. Images are read from the rows or from ``FOLDER/[data/]<image>`` if all
exist; otherwise the dataset has only labels. Its score (``cal.py``) ignores unreadable replies.
"""

from __future__ import annotations

from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.prompts import own_prompt, shipped
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    ImageSource,
    Item,
    Keys,
    Option,
    Row,
    by_part,
    records,
    tables,
)
from visualjudge.core.errors import DataError

SOURCES = {
    "vlfeedback": "general",
    "wildvision-battle": "general",
    "povid": "hallucination",
    "rlhf-v": "hallucination",
    "rlaif-v": "hallucination",
    "reasoning_tasks": "reasoning",
}
PARTS = (
    ("hallucination", ("hallucination_pair", "RLAIF-V", "RLHF-V")),
    ("reasoning", ("mathverse", "mmmu")),
    ("general", ("wildvision", "vlfeedback")),
)


def read(folder: Path) -> Copy:
    """Return the pairs, with their images if the copy has all of them."""
    images, keys = Images(folder, folder / "data"), Keys()
    items = []
    for path in _tables(folder):
        for row in records(path):
            key = keys.unique(row.need("id"))
            row.setdefault("image", row.get("image_path"))
            items.append(_item(key, row, images.all(row["image"])))
    return Copy(tuple(items), images.missing > 0)


def _tables(folder: Path) -> list[Path]:
    if (folder / "data.json").is_file():
        return [folder / "data.json"]
    found = tables(folder)
    if not found or (len(found) > 1 and found[0].suffix != ".parquet"):
        raise DataError(f"{folder}: must hold data.json or *.parquet, found {len(found)} tables")
    return found


def _item(key: str, row: Row, images: tuple[ImageSource, ...]) -> Item:
    responses, ranks = (row.need(name) for name in ("response", "human_ranking"))
    if len(responses) != 2 or sorted(ranks) != [0, 1]:
        raise row.fault("human_ranking", f"must rank two responses 0 and 1, got {ranks!r}")
    models = row.get("models") or (None, None)
    a, b = (Option(str(text), source=model) for text, model in zip(responses, models, strict=True))
    name = row.get("image")
    cluster = name if isinstance(name, str) and name else key
    part = SOURCES.get(cluster.split("/")[1] if cluster.count("/") > 1 else "", part_of(key))
    query = str(row.get("query") or "")
    own = own_prompt(
        shipped("vl-rewardbench"),
        {"query": query.replace("<image>\n", "")},
        (a, b),
        Option(images=images),
    )
    return Item(key, part, cluster, query, (a, b), "AB"[ranks.index(0)], images=images, own=own)


def part_of(name: str) -> str:
    """Return the part to which an ``id`` belongs."""
    return next((part for part, starts in PARTS if name.startswith(starts)), "general")


ROW = Benchmark(
    "vl-rewardbench",
    "VL-RewardBench: answers about images; general, hallucination, reasoning",
    "MIT",
    "any",
    "https://huggingface.co/datasets/MMInstruction/VL-RewardBench",
    read,
    by_part(
        "vl-rewardbench",
        "read",
        Score("vl-rewardbench/overall", "read", digits=1),
        Score("vl-rewardbench/macro", "macro", digits=1),
        digits=1,
    ),
    "data.json or *.parquet, and images/ where there are any; replies/MODEL.jsonl for replies",
    hub="MMInstruction/VL-RewardBench",
)
