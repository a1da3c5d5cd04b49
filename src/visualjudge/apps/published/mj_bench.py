"""MJ-Bench (Chen et al. 2024, MJ-Bench/MJ-Bench on the Hub): pairs of generated images, one of
which is faulty.

``FOLDER/[data/]*.parquet`` (or .jsonl, or a .json of rows or of rows by perspective): ``caption,
image0, image1, label`` (0 or 1: the better image; older files ``label_0``: 1, 0 or 0.5 for a tie),
``category``, ``model``. Replies: ``{MODEL}_{perspective}.json``, in the order of the rows, with
``vlm_pred``. If a copy's label is always the same (the published rows have only 0), the key of each
pair determines the sides. Its prompts for two images, which exist for alignment, quality and
safety, are read from ``FOLDER/prompt_template`` because they have no stated licence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.prompts import file_of, of_copy, own_prompt
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    Item,
    Option,
    PublishedReply,
    Replies,
    Row,
    dealt,
    document,
    files_by_model,
    records,
    rows,
    tables,
)
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TURNED
from visualjudge.prompts.store import PromptTemplate

LABELS = {"0": "A", "1": "B", "0.5": "tie", "tie": "tie"}
OLD_LABELS = {"1": "A", "0": "B", "0.5": "tie"}
SPLITS = ("alignment", "safety", "quality", "bias", "composition", "visualization")
FEWEST = 20
"""Number of pairs from which a single label throughout is the benchmark's form rather than
chance.
"""
PREDICTIONS = {
    "0": "A",
    "1": "B",
    "1.0": "B",
    "0.0": "A",
    "tie": "tie",
    "image-1": "A",
    "image-2": "B",
}
PROMPTS = "prompt_template/prompts_multi_image"
OWN = {"alignment": "alignment", "quality": "artifacts", "safety": "safety"}
_REPLIES = re.compile(rf"(?P<model>.+)_(?P<part>{'|'.join(SPLITS)})\.json")


def read(folder: Path) -> Copy:
    """Return the pairs of every perspective."""
    files = [path for path in tables(folder) if not _REPLIES.fullmatch(path.name)]
    found = [row for path in files for row in _rows(path)]
    if not found:
        raise DataError(
            f"{folder}: must hold *.parquet with caption, image0, image1, label, found none"
        )
    images = Images(folder, *sorted({path.parent for path in files}))
    items = [_item(key, part, row, images) for key, part, row in found]
    same = (
        len({item.answer for item in items}) == 1
        and len(items) >= FEWEST
        and items[0].answer in ("A", "B")
    )
    assets = {part: _prompt(folder, name) for part, name in OWN.items()}
    placed = [_asked(_dealt(item) if same else item, assets.get(item.task)) for item in items]
    return Copy(tuple(placed), images.missing > 0, _judges(folder, items, placed))


def _rows(path: Path) -> Iterator[tuple[str, str, Row]]:
    held = document(path) if path.suffix == ".json" else None
    # One file for all perspectives, or one each ("alignment-00000-of-00003.parquet").
    named = next((name for name in SPLITS if path.stem.startswith(name)), None)
    by_part = held.items() if isinstance(held, dict) else [(named, None)]
    for part, listed in by_part:
        for row in records(path) if listed is None else rows(path, listed):
            task = str(part or row.get("category") or "all")
            yield f"{task}/{path.stem if listed is None else part}/{row.number}", task, row


def _item(key: str, part: str, row: Row, images: Images) -> Item:
    old = row.get("label") is None
    label = f"{row.need('label_0' if old else 'label')}".removesuffix(".0")
    answer = (OLD_LABELS if old else LABELS).get(label)
    if answer is None:
        raise row.fault("label", f"must be 0, 1 or tie, got {label!r}")
    source = row.get("model")
    options = tuple(
        Option(images=images.all(row.get(name)), source=source) for name in ("image0", "image1")
    )
    caption = str(row.get("caption") or "")
    return Item(
        key,
        part,
        caption or key,
        caption,
        options,
        answer,
        ties=("tie",) if answer == "tie" else (),
    )


def _dealt(item: Item) -> Item:
    better, worse = item.options if item.answer == "A" else item.options[::-1]
    options, answer = dealt(item.key, better, worse)
    return replace(item, options=options, answer=answer)


def _prompt(folder: Path, name: str) -> PromptTemplate | None:
    """Return their prompt for a perspective, in which both images follow the text."""
    file = f"{PROMPTS}/{name}_multi_number_scale10.txt"
    path = file_of(folder, file)
    text = (
        None
        if path is None
        else path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    )
    return (
        None
        if text is None
        else of_copy(f"mj-bench/{file}", text + "\n{{a}}\n{{b}}", {"{caption}": "{{caption}}"})
    )


def _asked(item: Item, asset: PromptTemplate | None) -> Item:
    if asset is None:
        return item
    return replace(
        item, own=own_prompt(asset, {"caption": item.request}, item.options, ties=("tie",))
    )


def _judges(folder: Path, stored: list[Item], placed: list[Item]) -> Replies:
    files = files_by_model(folder, "*.json", _REPLIES)
    return {model: partial(_replies, paths, stored, placed) for model, paths in files.items()}


def _replies(
    files: list[tuple[str, Path]], stored: list[Item], placed: list[Item]
) -> Iterator[PublishedReply]:
    for part, path in files:
        pairs = [pair for pair in zip(stored, placed, strict=True) if pair[0].task == part]
        for row in records(path):
            if row.number > len(pairs) or row.get("caption") not in (
                None,
                pairs[row.number - 1][0].request,
            ):
                raise row.fault("caption", f"is not that of pair {row.number} of {part}")
            before, after = pairs[row.number - 1]
            said = PREDICTIONS.get(str(row.get("vlm_pred")).strip().lower(), FAILED)
            turned = before.answer != after.answer and said in ("A", "B")
            yield PublishedReply(after.key, "AB", TURNED[said] if turned else said)


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    rules = (("with tie", "exact"), ("without tie", "no_tie"))
    return tuple(
        Score(f"mj-bench/{part}/{name}", rule, (part,), digits=1)
        for part in parts
        for name, rule in rules
    )


ROW = Benchmark(
    "mj-bench",
    "MJ-Bench: generated images; alignment, safety, quality, bias",
    "none stated",
    "evaluation only",
    "https://huggingface.co/datasets/MJ-Bench/MJ-Bench",
    read,
    _scores,
    "[data/]*.parquet with caption, image0, image1, label; {MODEL}_{perspective}.json for replies",
    own=f"{PROMPTS}/*_multi_number_scale10.txt",
    hub="MJ-Bench/MJ-Bench",
)
