"""VL-RewardBench (Li et al. 2024): pairs of answers about an image, one of them preferred.

``FOLDER/data.json`` (or the only table there, or ``[data/]*.parquet``): ``id, query, response: [first, second], image,
human_ranking`` (0 = better, 1 = worse), ``models``. The parts follow from the ``id``, as in the authors' code. Images
are read from the rows or from ``FOLDER/<image>`` where all of them are there, else the set is labels only.
"""

from __future__ import annotations

from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.errors import DataError
from visualjudge.published.files import Images, Keys, Row, field, lines_of, tables
from visualjudge.published.items import Benchmark, Copy, ImageSource, Item, Option
from visualjudge.published.replies import kept_replies

PARTS = (
    ("hallucination", ("hallucination_pair", "RLAIF-V", "RLHF-V")),
    ("reasoning", ("mathverse", "mmmu")),
    ("general", ("wildvision", "vlfeedback")),
)


def read(folder: Path) -> Copy:
    """The pairs, with their images where the copy has all of them."""
    images, keys = Images(folder), Keys()
    items = []
    for path in _tables(folder):
        for number, row in lines_of(path):
            key = keys.of(field(row, "id", path, number))
            items.append(_item(key, row, images.all(row.get("image")), path, number))
    return Copy(tuple(items), images.missing > 0, kept_replies(folder))


def _tables(folder: Path) -> list[Path]:
    if (folder / "data.json").is_file():
        return [folder / "data.json"]
    found = tables(folder)
    if not found or (len(found) > 1 and found[0].suffix != ".parquet"):
        raise DataError(f"{folder}: must hold data.json or *.parquet, found {len(found)} tables")
    return found


def _item(key: str, row: Row, images: tuple[ImageSource, ...], path: Path, number: int) -> Item:
    responses, ranks = (field(row, name, path, number) for name in ("response", "human_ranking"))
    if len(responses) != 2 or sorted(ranks) != [0, 1]:
        raise DataError(f"{path}: record {number}: human_ranking: must rank two responses 0 and 1, got {ranks!r}")
    models = row.get("models") or (None, None)
    a, b = (Option(str(text), source=model) for text, model in zip(responses, models, strict=True))
    name = row.get("image")
    cluster = name if isinstance(name, str) and name else key
    return Item(key, part_of(key), cluster, str(row.get("query") or ""), (a, b), "AB"[ranks.index(0)], images=images)


def part_of(name: str) -> str:
    """The part that an ``id`` belongs to."""
    return next((part for part, starts in PARTS if name.startswith(starts)), "general")


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    by_part = tuple(Score(f"vl-rewardbench/{part}", "exact", (part,), digits=1) for part in parts)
    return (
        Score("vl-rewardbench/overall", "exact", digits=1),
        Score("vl-rewardbench/macro", "macro", digits=1),
        *by_part,
    )


ROW = Benchmark(
    "vl-rewardbench",
    "VL-RewardBench: answers about images; general, hallucination, reasoning",
    "MIT",
    "any",
    "https://huggingface.co/datasets/MMInstruction/VL-RewardBench",
    read,
    _scores,
    "data.json or *.parquet, and images/ where there are any; replies/MODEL.jsonl for replies",
    hub="MMInstruction/VL-RewardBench",
)
