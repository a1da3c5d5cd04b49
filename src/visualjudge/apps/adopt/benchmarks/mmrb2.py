"""Multimodal RewardBench 2 (facebookresearch/MMRB2): pairs of generated images, edits,
interleaved texts and answers.

``FOLDER/[benchmark/]{t2i,edit,interleaved,reasoning}[_full|_response_only].json`` (or
.jsonl): ``{"pairs": [{"id", "prompt_content", "response_a": {"model_name",
"response_content": [["image", file] | ["text", text], …]}, "response_b", "chosen": "A"
| "B"}]}``, which the authors' scripts complete with images. Replies:
``FOLDER/**/MODEL_task{1,2,3,4}_*.json`` or ``task{1,2,3,4}_MODEL.json``: ``{id:
{"forward": [{"judgement"}], "reverse": [{"judgement"}]}}``, the reverse in the letters
shown.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Study,
    by_part,
    unique,
)
from visualjudge.apps.adopt.files import (
    Images,
    Row,
    at,
    contents,
    first_tables,
    records,
)
from visualjudge.apps.adopt.items import Item, Option, Reply, safe
from visualjudge.core.records import FAILED, IMAGE_MARK, TURNED, Order

PARTS = ("t2i", "edit", "interleaved", "reasoning")
FORMS = ("", "_full", "_response_only")
CHOSEN = {"A": "A", "B": "B"}
ORDERS: tuple[tuple[str, Order], ...] = (("forward", "AB"), ("reverse", "BA"))


def read(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs of every part, and those of an id, which may stand for
    several."""
    home = folder / "benchmark" if (folder / "benchmark").is_dir() else folder
    pairs: list[tuple[str, str, Row]] = []
    for part in PARTS:
        for path in first_tables(
            (home,), *(f"{part}{form}.json*" for form in FORMS)
        ):
            content = contents(path)
            rows = records(
                path,
                content.get("pairs") if isinstance(content, dict) else content,
            )
            pairs += [
                (part, str(at(row, "id") or row.need("pair_id")), row)
                for row in rows
            ]
    often = Counter(name for _, name, _ in pairs)
    seen = Counter[str]()
    images = Images(home, home / "images", home / "input_images")
    keys = defaultdict[str, list[str]](list)
    items = []
    for part, name, row in pairs:
        key = unique(seen, name if often[name] == 1 else f"{part}/{name}")
        keys[f"{part}/{name}"].append(key)
        items.append(_item(key, part, row, images))
    return Study(items, images.missing, keys=keys)


def _item(key: str, part: str, row: Row, images: Images) -> Item:
    about = _option(row, "prompt", images)
    options = (
        _option(row, "response_a", images),
        _option(row, "response_b", images),
    )
    chosen = (
        str(row.get("chosen") or row.get("human_preference") or "")
        .strip()
        .upper()
    )
    answer = Row({"chosen": chosen or None}, row.place, {}).one_of(
        "chosen", CHOSEN
    )
    name = at(row, "prompt_metadata.id")
    cluster = key if name is None else f"{row.get('prompt_source')}/{name}"
    return Item(
        key, part, cluster, about.text, options, answer, images=about.images
    )


def _option(row: Row, name: str, images: Images) -> Option:
    """Return the prompt or a response, with its texts and images in their order."""
    content = at(row, f"{name}.response_content", f"{name}_content", name)
    if content is None and name != "prompt":
        row.need(name)
    segments = (
        [("text", content)] if isinstance(content, str) else list(content or ())
    )
    if not all(
        isinstance(segment, list | tuple) and len(segment) == 2
        for segment in segments
    ):
        raise row.fault(name, 'must be a list of ["text" | "image", value]')
    displayed = images.all(
        *(value for kind, value in segments if kind == "image")
    )
    text = "\n".join(str(value) for kind, value in segments if kind == "text")
    marked = (
        IMAGE_MARK if kind == "image" else safe(str(value))
        for kind, value in segments
    )
    source = at(row, f"{name}.model_name", f"{name}.model", f"{name}_model")
    return Option(text, displayed, source, marked="\n".join(marked))


def replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the first judgement of each direction that was asked; one that is neither
    letter counts as wrong.
    """
    part = PARTS[int(match["part"]) - 1]
    for name, answers in contents(path).items():
        for direction, order in ORDERS:
            if answers.get(direction):
                judgement = at(answers, f"{direction}.0.judgement")
                value = CHOSEN.get(str(judgement), FAILED)
                wrong = False if judgement and value == FAILED else None
                value = TURNED.get(value, value) if order == "BA" else value
                yield Reply(f"{part}/{name}", order, value, right=wrong)


ROW = Benchmark(
    "Multimodal RewardBench 2: images, edits, interleaved texts, reasoning",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/MMRB2",
    "benchmark/{t2i,edit,interleaved,reasoning}_response_only.json, and "
    "MODEL_task1_image.json … for replies",
    read,
    by_part("mmrb2", "both_orders", ("mmrb2", "both_orders")),
    (
        r"(?:.*/)?(?P<judge>[^/]+)_task(?P<part>[1-4])(?:_[^/]+)?\.json",
        r"(?:.*/)?task(?P<part>[1-4])_(?P<judge>[^/]+)\.json",
    ),
    replies,
)
