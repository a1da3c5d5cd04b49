"""Multimodal RewardBench 2 (facebookresearch/MMRB2): pairs of generated images, edits, interleaved texts and answers.

``FOLDER/[benchmark/]{t2i,edit,interleaved,reasoning}[_response_only].json``: ``{"pairs": [{"id", "prompt_content",
"response_a": {"model_name", "response_content": [["image", file] | ["text", text], …]}, "response_b", "chosen": "A" |
"B"}]}`` (the documentation also names ``pair_id``, ``model``, ``human_preference``). Images are shown where the copy
has all of them; where texts and images alternate, the images of a response stand before its text.
Replies: ``FOLDER/**/MODEL_task{1,2,3,4}_*.json``: ``{id: {"forward": [{"judgement"}], "reverse": [{"judgement"}]}}``,
the reverse in the letters shown. CC BY-NC, for evaluation only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.errors import DataError
from visualjudge.published.files import Images, Row, document, field, one_of
from visualjudge.published.items import Benchmark, Copy, Item, Option, PublishedReply, by_part
from visualjudge.records import FAILED, Order

PARTS = ("t2i", "edit", "interleaved", "reasoning")
CHOSEN = {"A": "A", "B": "B"}
TURNED = {"A": "B", "B": "A"}
_REPLIES = re.compile(r"(?P<model>.+)_task[1-4](?:_[a-z]+)?\.json")


def read(folder: Path) -> Copy:
    """The pairs of every part that ``folder`` holds, with their images where the copy has all of them."""
    home = folder / "benchmark" if (folder / "benchmark").is_dir() else folder
    tables = {part: path for part in PARTS if (path := _table(home, part)) is not None}
    if not tables:
        raise DataError(f"{folder}: must hold {'|'.join(PARTS)}_response_only.json, found none")
    images = Images(home, home / "images")
    items = tuple(item for part, path in tables.items() for item in _items(part, path, images))
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*_task*.json")):
        if (match := _REPLIES.fullmatch(path.name)) is not None:
            files.setdefault(match["model"], []).append(path)
    complete = images.missing == 0 and all(item.request for item in items)
    known = {item.key for item in items}
    return Copy(items, not complete, {model: partial(_replies, paths, known) for model, paths in files.items()})


def _table(home: Path, part: str) -> Path | None:
    paths = (home / f"{part}{suffix}.json" for suffix in ("", "_response_only"))
    return next((path for path in paths if path.is_file()), None)


def _items(part: str, path: Path, images: Images) -> Iterator[Item]:
    held = document(path)
    if not isinstance(held, dict) or not isinstance(held.get("pairs"), list):
        raise DataError(f"{path}: must hold an object with an array pairs")
    for number, row in enumerate(held["pairs"], 1):
        key = str(field(row, "id" if row.get("id") is not None else "pair_id", path, number))
        about = row.get("prompt_metadata") or {}
        cluster = f"{row.get('prompt_source')}/{about.get('id')}" if about.get("id") is not None else key
        a, b = (_option(field(row, name, path, number), images) for name in ("response_a", "response_b"))
        answer = one_of(row, "chosen" if row.get("chosen") else "human_preference", path, number, CHOSEN)
        prompt = _option({"response_content": row.get("prompt_content") or row.get("prompt")}, images)
        yield Item(key, part, cluster, prompt.text, (a, b), answer, images=prompt.images)


def _option(held: Row, images: Images) -> Option:
    """The texts and images of a list of ["text" | "image", value]; a text as it is."""
    content = held.get("response_content") or ()
    if isinstance(content, str):
        content = [("text", content)]
    texts = (str(value) for kind, value in content if kind == "text")
    shown = images.all(*(value for kind, value in content if kind == "image"))
    return Option("\n".join(texts), shown, held.get("model_name") or held.get("model"))


def _replies(paths: list[Path], known: set[str]) -> Iterator[PublishedReply]:
    for path in paths:
        held = document(path)
        if not isinstance(held, dict):
            raise DataError(f"{path}: must hold an object of pairs")
        for key, said in held.items():
            if key in known:
                yield from _both(key, said)


def _both(key: str, said: Row) -> Iterator[PublishedReply]:
    """The first judgement of each direction that was asked; one that is neither letter counts as wrong."""
    orders: tuple[tuple[str, Order], ...] = (("forward", "AB"), ("reverse", "BA"))
    for direction, order in orders:
        for row in (said.get(direction) or ())[:1]:
            found = row.get("judgement")
            value = CHOSEN.get(found or "", FAILED)
            wrong = False if found and value == FAILED else None
            yield PublishedReply(key, order, TURNED.get(value, value) if order == "BA" else value, right=wrong)


ROW = Benchmark(
    "mmrb2",
    "Multimodal RewardBench 2: images, edits, interleaved texts, reasoning",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/MMRB2",
    read,
    by_part("mmrb2", "both_orders", Score("mmrb2", "both_orders")),
    "benchmark/{t2i,edit,interleaved,reasoning}_response_only.json, and MODEL_task1_image.json … for replies",
)
