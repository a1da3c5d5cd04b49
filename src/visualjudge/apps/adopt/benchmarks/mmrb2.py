"""Multimodal RewardBench 2 (facebookresearch/MMRB2): pairs of generated images, edits, interleaved
texts and answers.

``FOLDER/[benchmark/]{t2i,edit,interleaved,reasoning}[_full|_response_only].json`` (or .jsonl):
``{"pairs": [{"id", "prompt_content", "response_a": {"model_name", "response_content": [["image",
file] | ["text", text], …]}, "response_b", "chosen": "A" | "B"}]}``, which the authors' scripts
complete with images. Replies: ``FOLDER/**/MODEL_task{1,2,3,4}_*.json`` or
``task{1,2,3,4}_MODEL.json``: ``{id: {"forward": [{"judgement"}], "reverse": [{"judgement"}]}}``,
the reverse in the letters shown.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from visualjudge.apps.adopt.benchmarks.layout import Benchmark, by_part, unique
from visualjudge.apps.adopt.files import Images, Row, at, contents, first_tables
from visualjudge.apps.adopt.items import Item, Option, Reply, Study, safe
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, IMAGE_MARK, TURNED, Order

PARTS = ("t2i", "edit", "interleaved", "reasoning")
FORMS = ("", "_full", "_response_only")
CHOSEN = {"A": "A", "B": "B"}
ORDERS: tuple[tuple[str, Order], ...] = (("forward", "AB"), ("reverse", "BA"))
_REPLIES = re.compile(r"(?:(?P<model>.+)_)?task(?P<part>[1-4])(?:_(?P<rest>.+))?\.json")
Named = Mapping[tuple[str, str], Sequence[str]]
"""Keys of the pairs of a part and id."""


def read(folder: Path) -> Study:
    """Return the pairs of every part, with their images if the copy has all of them."""
    home = folder / "benchmark" if (folder / "benchmark").is_dir() else folder
    pairs = [(part, row) for part in PARTS for row in _rows(home, part)]
    if not pairs:
        raise DataError(f"{folder}: must hold {'|'.join(PARTS)}_response_only.json, found none")
    ids = [str(row["id"] if row.get("id") is not None else row.need("pair_id")) for _, row in pairs]
    often, keys, named = Counter(ids), Counter[str](), defaultdict[tuple[str, str], list[str]](list)
    images = Images(home, home / "images", home / "input_images")
    items = []
    for name, (part, row) in zip(ids, pairs, strict=True):
        key = unique(keys, name if often[name] == 1 else f"{part}/{name}")
        named[part, name].append(key)
        items.append(_item(key, part, row, images))
    complete = images.missing == 0 and all(item.request or item.images for item in items)
    files = defaultdict[str, list[tuple[str, Path]]](list)
    for path in sorted(folder.rglob("*task[1-4]*.json")):
        if match := _REPLIES.fullmatch(path.name):
            model = match["model"] or match["rest"] or path.parent.name
            files[model].append((PARTS[int(match["part"]) - 1], path))
    judges = {model: partial(_replies, paths, named) for model, paths in files.items()}
    return Study(items, not complete, judges)


def _rows(home: Path, part: str) -> Iterator[Row]:
    for path in first_tables((home,), *(f"{part}{form}.json*" for form in FORMS)):
        content = contents(path)
        pairs = content.get("pairs") if isinstance(content, dict) else content
        if not isinstance(pairs, list):
            raise DataError(f"{path}: must hold an object with an array pairs of objects")
        yield from (Row(pair, path, number) for number, pair in enumerate(pairs, 1))


def _item(key: str, part: str, row: Row, images: Images) -> Item:
    about = _option(row, "prompt", images)
    options = _option(row, "response_a", images), _option(row, "response_b", images)
    chosen = str(row.get("chosen") or row.get("human_preference") or "").strip().upper()
    answer = Row({"chosen": chosen or None}, row.path, row.number).one_of("chosen", CHOSEN)
    name = at(row, "prompt_metadata.id")
    cluster = key if name is None else f"{row.get('prompt_source')}/{name}"
    return Item(key, part, cluster, about.text, options, answer, images=about.images)


def _option(row: Row, name: str, images: Images) -> Option:
    """Return the prompt or a response, with its texts and images in their order."""
    content = at(row, f"{name}.response_content", f"{name}_content", name)
    if content is None and name != "prompt":
        row.need(name)
    segments = [("text", content)] if isinstance(content, str) else list(content or ())
    if not all(isinstance(one, list | tuple) and len(one) == 2 for one in segments):
        raise row.fault(name, 'must be a list of ["text" | "image", value]')
    shown = images.all(*(value for kind, value in segments if kind == "image"))
    text = "\n".join(str(value) for kind, value in segments if kind == "text")
    marked = (IMAGE_MARK if kind == "image" else safe(str(value)) for kind, value in segments)
    source = at(row, f"{name}.model_name", f"{name}.model", f"{name}_model")
    return Option(text, shown, source, marked="\n".join(marked))


def _replies(files: list[tuple[str, Path]], named: Named) -> Iterator[Reply]:
    """Yield the first judgement of each direction that was asked; one that is neither letter counts
    as wrong.
    """
    for part, path in files:
        for name, answers in contents(path).items():
            for direction, order in ORDERS:
                judgement = at(answers, f"{direction}.0.judgement")
                if not answers.get(direction):
                    continue
                value = CHOSEN.get(str(judgement), FAILED)
                wrong = False if judgement and value == FAILED else None
                value = TURNED.get(value, value) if order == "BA" else value
                for key in named.get((part, name), ()):
                    yield Reply(key, order, value, right=wrong)


ROW = Benchmark(
    "Multimodal RewardBench 2: images, edits, interleaved texts, reasoning",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/MMRB2",
    "benchmark/{t2i,edit,interleaved,reasoning}_response_only.json, and MODEL_task1_image.json … "
    "for replies",
    read,
    by_part("mmrb2", "both_orders", ("mmrb2", "both_orders")),
)
