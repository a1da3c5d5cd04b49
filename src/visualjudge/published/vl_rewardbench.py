"""VL-RewardBench (Li et al. 2024): pairs of answers about an image, one of them preferred.

``FOLDER/data.json`` (or the only .json or .jsonl there): ``id, query, response: [first, second], image, human_ranking``
(0 = better, 1 = worse), ``models``. The parts follow from the ``id``, as in the authors' code. Images are read from
``FOLDER/<image>`` where all of them are there, else the set is labels only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.errors import DataError
from visualjudge.published.files import field, records
from visualjudge.published.items import Benchmark, Copy, Item, Option
from visualjudge.published.replies import kept_replies

PARTS = (
    ("hallucination", ("hallucination_pair", "RLAIF-V", "RLHF-V")),
    ("reasoning", ("mathverse", "mmmu")),
    ("general", ("wildvision", "vlfeedback")),
)


def read(folder: Path) -> Copy:
    """The pairs, with their images where the copy has all of them."""
    path = _table(folder)
    rows = records(path)
    images = [_image(folder, row) for row in rows]
    labels_only = any(image is None for image in images)
    seen: dict[str, int] = {}
    items = []
    for number, (row, image) in enumerate(zip(rows, images, strict=True), 1):
        name = str(field(row, "id", path, number))
        seen[name] = seen.get(name, 0) + 1
        key = name if seen[name] == 1 else f"{name}#{seen[name]}"
        items.append(_item(key, row, None if labels_only else image, path, number))
    return Copy(tuple(items), labels_only, kept_replies(folder))


def _table(folder: Path) -> Path:
    if (folder / "data.json").is_file():
        return folder / "data.json"
    found = sorted([*folder.glob("*.json"), *folder.glob("*.jsonl")])
    if len(found) != 1:
        raise DataError(f"{folder}: must hold data.json, found {len(found)} tables")
    return found[0]


def _image(folder: Path, row: dict[str, Any]) -> Path | None:
    """The file of a row's image, where it lies inside the copy."""
    name = row.get("image")
    if not isinstance(name, str):
        return None
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder.resolve()) and path.is_file() else None


def _item(key: str, row: dict[str, Any], image: Path | None, path: Path, number: int) -> Item:
    responses, ranks = (field(row, name, path, number) for name in ("response", "human_ranking"))
    if len(responses) != 2 or sorted(ranks) != [0, 1]:
        raise DataError(f"{path}: record {number}: human_ranking: must rank two responses 0 and 1, got {ranks!r}")
    models = row.get("models") or (None, None)
    a, b = (Option(str(text), source=model) for text, model in zip(responses, models, strict=True))
    cluster = str(row.get("image") or key)
    return Item(key, part_of(key), cluster, str(row.get("query") or ""), (a, b), "AB"[ranks.index(0)], image=image)


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
    "data.json, and images/ where there are any",
)
