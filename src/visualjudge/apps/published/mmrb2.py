"""Multimodal RewardBench 2 (facebookresearch/MMRB2): pairs of generated images, edits, interleaved
texts and answers.

``FOLDER/[benchmark/]{t2i,edit,interleaved,reasoning}[_full|_response_only].json`` (or .jsonl):
``{"pairs": [{"id", "prompt_content", "response_a": {"model_name", "response_content": [["image",
file] | ["text", text], …]}, "response_b", "chosen": "A" | "B"}]}`` (the documentation also names
``pair_id``, ``model``, ``human_preference``); or the Hub's rows, ``{part}/*.parquet`` or
``{part}.parquet``: ``pair_id, prompt_text, prompt_images, response_a_text`` (``<image_1>`` where an
image stands), ``response_a_images, response_a_model, …, chosen``. Images are shown if the copy has
all of them. Replies: ``FOLDER/**/MODEL_task{1,2,3,4}_*.json`` or ``task{1,2,3,4}_MODEL.json``:
``{id: {"forward": [{"judgement"}], "reverse": [{"judgement"}]}}``, the reverse in the letters
shown. Its licence is CC BY-NC, for evaluation only, so its prompts are read from
``FOLDER/evaluate``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.prompts import file_of, own_prompt, python_literal, shipped
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    Item,
    Keys,
    Option,
    PublishedReply,
    Row,
    by_part,
    document,
    records,
    rows,
    safe,
    tables,
)
from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, IMAGE_MARK, TURNED, Order

PARTS = ("t2i", "edit", "interleaved", "reasoning")
CHOSEN = {"A": "A", "B": "B"}
ORDERS: tuple[tuple[str, Order], ...] = (("forward", "AB"), ("reverse", "BA"))
PROMPTS = "evaluate/generate_judgements/evaluator_apis/llm_judges/evaluation_prompts.py"
RUBRICS = dict(zip(PARTS, ("image_gen", "image_edit", "interleaved", "reasoning"), strict=True))
_REPLIES = re.compile(r"(?:(?P<model>.+)_)?task(?P<part>[1-4])(?:_(?P<rest>.+))?\.json")
_PLACE = re.compile(r"<image_\d+>")
Named = Mapping[tuple[str, str], Sequence[str]]
"""Keys of the pairs of a part and id."""


def read(folder: Path) -> Copy:
    """Return the pairs of every part in ``folder``, with their images if the copy has all
    of them.
    """
    home = folder / "benchmark" if (folder / "benchmark").is_dir() else folder
    found = [(part, row) for part in PARTS for path in _tables(home, part) for row in _rows(path)]
    if not found:
        raise DataError(f"{folder}: must hold {'|'.join(PARTS)}_response_only.json, found none")
    ids = [str(row.need("id" if row.get("id") is not None else "pair_id")) for _, row in found]
    often, keys, named = Counter(ids), Keys(), defaultdict[tuple[str, str], list[str]](list)
    images = Images(home, home / "images", home / "input_images")
    rubrics = {
        part: python_literal(file_of(folder, PROMPTS), f"get_{name}_prompt")
        for part, name in RUBRICS.items()
    }
    items = []
    for name, (part, row) in zip(ids, found, strict=True):
        key = keys.unique(name if often[name] == 1 else f"{part}/{name}")
        named[part, name].append(key)
        items.append(_item(key, part, row, images, rubrics[part]))
    complete = images.missing == 0 and all(item.request or item.images for item in items)
    judges = {model: partial(_replies, files, named) for model, files in _judges(folder).items()}
    return Copy(tuple(items), not complete, judges)


def _tables(home: Path, part: str) -> list[Path]:
    names = [
        f"{part}{form}.{kind}"
        for form in ("", "_full", "_response_only")
        for kind in ("json", "jsonl")
    ]
    return tables(home, (*names, f"{part}.parquet", f"{part}-*.parquet")) or tables(home / part)


def _rows(path: Path) -> list[Row]:
    held = document(path) if path.suffix == ".json" else records(path)
    pairs = held.get("pairs") if isinstance(held, dict) else held
    if not isinstance(pairs, list) or not all(isinstance(row, dict) for row in pairs):
        raise DataError(f"{path}: must hold an object with an array pairs of objects")
    return rows(path, pairs)


def _item(key: str, part: str, row: Row, images: Images, rubric: Any) -> Item:
    about = _option(row, "prompt", images)
    options = _option(row, "response_a", images), _option(row, "response_b", images)
    row["chosen"] = (
        str(row.get("chosen") or row.get("human_preference") or "").strip().upper() or None
    )
    answer = row.one_of("chosen", CHOSEN)
    asset = shipped("mmrb2")
    own = own_prompt(asset, {"rubric": rubric}, options, about) if isinstance(rubric, str) else None
    return Item(
        key, part, _cluster(row, key), about.text, options, answer, images=about.images, own=own
    )


def _cluster(row: Row, key: str) -> str:
    """Return the prompt's name in its source; the Hub's rows have it as JSON text."""
    about = row.get("prompt_metadata") or {}
    if isinstance(about, str):
        try:
            about = jsons.loads(about)
        except orjson.JSONDecodeError:
            about = {}
    name = about.get("id") if isinstance(about, dict) else None
    return key if name is None else f"{row.get('prompt_source')}/{name}"


def _option(row: Row, name: str, images: Images) -> Option:
    """Return the prompt or a response, with its texts and images in their order."""
    given = row.get(name)
    held: dict[str, Any] = (
        given
        if isinstance(given, dict)
        else {"response_content": row.get(f"{name}_content", given)}
    )
    content = held.get("response_content")
    if content is None and f"{name}_text" in row:
        content = _placed(row[f"{name}_text"] or "", row.get(f"{name}_images") or ())
    elif content is None and name != "prompt":
        row.need(name)
    segments = [("text", content)] if isinstance(content, str) else list(content or ())
    if not all(
        isinstance(one, list | tuple) and len(one) == 2 and one[0] in ("text", "image")
        for one in segments
    ):
        raise row.fault(name, 'must be a list of ["text" | "image", value]')
    shown = images.all(*(value for kind, value in segments if kind == "image"))
    text = "\n".join(str(value) for kind, value in segments if kind == "text")
    marked = "\n".join(
        IMAGE_MARK if kind == "image" else safe(str(value)) for kind, value in segments
    )
    source = held.get("model_name") or held.get("model") or row.get(f"{name}_model")
    return Option(text, shown, source, marked=marked)


def _placed(text: str, images: Sequence[Any]) -> list[tuple[str, Any]]:
    """Split a text of the Hub's rows at its ``<image_1>`` marks; images without a mark follow."""
    left = list(images)
    found: list[tuple[str, Any]] = []
    for place, part in enumerate(_PLACE.split(text)):
        found += [("image", left.pop(0))] if place and left else []
        found += [("text", part.strip())] if part.strip() else []
    return found + [("image", image) for image in left]


def _judges(folder: Path) -> dict[str, list[tuple[str, Path]]]:
    files = defaultdict[str, list[tuple[str, Path]]](list)
    for path in sorted(folder.rglob("*task[1-4]*.json")):
        if match := _REPLIES.fullmatch(path.name):
            model = match["model"] or match["rest"] or path.parent.name
            files[model].append((PARTS[int(match["part"]) - 1], path))
    return files


def _replies(files: list[tuple[str, Path]], named: Named) -> Iterator[PublishedReply]:
    for part, path in files:
        held = document(path)
        if not isinstance(held, dict) or not all(isinstance(said, dict) for said in held.values()):
            raise DataError(f"{path}: must hold an object of pairs")
        for name, said in held.items():
            for key in named.get((part, name), ()):
                yield from _both(key, said)


def _both(key: str, said: dict[str, Any]) -> Iterator[PublishedReply]:
    """Yield the first judgement of each direction that was asked; one that is neither letter counts
    as wrong.
    """
    for direction, order in ORDERS:
        for row in (said.get(direction) or ())[:1]:
            found = row.get("judgement")
            value = CHOSEN.get(found, FAILED) if isinstance(found, str) else FAILED
            wrong = False if found and value == FAILED else None
            yield PublishedReply(
                key, order, TURNED.get(value, value) if order == "BA" else value, right=wrong
            )


ROW = Benchmark(
    "mmrb2",
    "Multimodal RewardBench 2: images, edits, interleaved texts, reasoning",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/MMRB2",
    read,
    by_part("mmrb2", "both_orders", Score("mmrb2", "both_orders")),
    "benchmark/{t2i,edit,interleaved,reasoning}_response_only.json, and MODEL_task1_image.json … "
    "for replies",
    own=PROMPTS,
    hub="rl-research/multimodal-rewardbench-2",
    hub_parts=PARTS,
)
