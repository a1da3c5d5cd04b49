"""MLLM-as-a-Judge (Chen et al. 2024, Dongping-Chen/MLLM-Judge): answers about images, as scores,
pairs and batches.

``FOLDER/[Dataset/]Benchmark/{score,pair,batch}.jsonl`` (or ``…_lite.jsonl``, .json, .parquet):
``instruction``, ``image_path``, ``original_dataset``; a score has ``score_id, name, answer, human``
(1 to 5), a pair ``pair_id, answer1, answer2, human_answer`` ("A", "B", "C" for a tie), a batch
``id, answers, human_answer`` ("CDAB", best first). Replies: ``{mode}_{MODEL}.jsonl``, the same
records with ``mllm_judge``. Its prompts for pairs and batches are read from
``FOLDER/scripts/prompt.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

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
    files_by_model,
    name_of,
    on_ten,
    records,
    table_of,
)
from visualjudge.core.errors import DataError
from visualjudge.core.records import LETTERS

IDS = {"score": "score_id", "pair": "pair_id", "batch": "id"}
HOMES = (
    "",
    "Benchmark",
    "Dataset/Benchmark",
    "Datasets/Benchmark",
    "Dataset/Benchmark_Lite",
    "Benchmark_Lite",
)
IMAGES = ("", "image", "Images", "Dataset", "Dataset/image", "Datasets/Images")
CHOICES = {"A": "A", "B": "B", "C": "tie"}
SCALE = (1.0, 5.0)
PROMPTS = "scripts/prompt.py"
Texts = Mapping[str, Mapping[str, str]]


def read(folder: Path) -> Copy:
    """Return the three kinds of question, with their images if the copy has all of them."""
    tables = {
        mode: path
        for mode in IDS
        if (
            path := table_of(
                (folder / home for home in HOMES), mode, f"{mode}_lite", mode.capitalize()
            )
        )
        is not None
    }
    if not tables:
        raise DataError(
            f"{folder}: must hold Dataset/Benchmark/score.jsonl, pair.jsonl or batch.jsonl, "
            "found none"
        )
    images = Images(
        *(folder / name for name in IMAGES),
        *(path.parent.parent / "image" for path in tables.values()),
    )
    items, left_out, texts = [], [], _texts(folder)
    for mode, path in tables.items():
        for key, row in _keyed(mode, path):
            item = _MAKERS[mode](key, row, images)
            if item is None:
                left_out.append(f"{path}: record {row.number}: has no label that can be used")
            else:
                items.append(_asked(item, texts))
    return Copy(
        tuple(items), images.missing > 0, _judges(folder, {item.key for item in items}), left_out
    )


def _keyed(mode: str, path: Path) -> Iterator[tuple[str, Row]]:
    keys = Keys()
    for row in records(path):
        name = row[IDS[mode]] if row.get(IDS[mode]) is not None else row.number
        yield keys.unique(f"{mode}/{name}"), row


def _about(key: str, row: Row, images: Images) -> dict[str, Any]:
    image, request = row.get("image_path") or row.get("image"), str(row.get("instruction") or "")
    return {"cluster": name_of(image, key), "request": request, "images": images.all(image)}


def _task(mode: str, row: Row) -> str:
    return f"{mode}/{row.get('original_dataset') or 'all'}"


def _option(answer: Any) -> Option:
    held = answer if isinstance(answer, dict) else {"answer": answer}
    return Option(str(held.get("answer") or ""), source=held.get("name"))


def _score(key: str, row: Row, images: Images) -> Item | None:
    label = str(row.get("human", row.get("human_score"))).removesuffix(
        ".0"
    )  # a column with gaps contains floats
    if label not in ("1", "2", "3", "4", "5"):
        return None
    about = _about(key, row, images)
    answer = on_ten(float(label), SCALE)
    return Item(
        key,
        _task("score", row),
        options=(_option(row),),
        answer=answer,
        kind="scoring",
        scale=SCALE,
        **about,
    )


def _pair(key: str, row: Row, images: Images) -> Item | None:
    label = CHOICES.get(str(row.get("human_answer", row.get("human"))))
    if label is None:
        return None
    options = _option(row.get("answer1")), _option(row.get("answer2"))
    return Item(
        key,
        _task("pair", row),
        options=options,
        answer=label,
        ties=("tie",),
        **_about(key, row, images),
    )


def _batch(key: str, row: Row, images: Images) -> Item | None:
    options = tuple(_option(answer) for answer in row.get("answers") or ())
    label = str(row.get("human_answer", row.get("human")))
    if len(options) < 3 or sorted(label) != list(LETTERS[: len(options)]):
        return None
    return Item(
        key,
        _task("batch", row),
        options=options,
        answer=label,
        kind="ranking",
        **_about(key, row, images),
    )


def _texts(folder: Path) -> Texts:
    """Return their texts for pairs and batches, if the copy has their script."""
    held = python_literal(file_of(folder, PROMPTS), "prompt")
    try:
        settings, tasks = held["setting"], held["tasks"]
        common = {"start": held["start"], "setting": settings["No COT"], "notice": held["notice"]}
        return {mode: {**common, "task": tasks[mode]} for mode in ("pair", "batch")}
    except (TypeError, KeyError):
        return {}


def _asked(item: Item, texts: Texts) -> Item:
    """Return the item with their prompt, unless it is a score: their scale of 1 to 5 is not
    supported for reading replies.
    """
    mode = item.task.partition("/")[0]
    if mode not in texts:
        return item
    values = {**texts[mode], "instruction": item.request}
    about = Option(images=item.images)
    return replace(
        item,
        own=own_prompt(shipped(f"mllm-judge-{mode}"), values, item.options, about, ties=item.ties),
    )


_MAKERS = {"score": _score, "pair": _pair, "batch": _batch}
_REPLIES = re.compile(r"(?P<part>score|pair|batch)_(?!lite\.)(?P<model>.+)\.jsonl")


def _judges(folder: Path, known: set[str]) -> dict[str, Any]:
    files = files_by_model(folder, "*.jsonl", _REPLIES)
    return {model: partial(_replies, paths, known) for model, paths in files.items()}


def _replies(files: list[tuple[str, Path]], known: set[str]) -> Iterator[PublishedReply]:
    for mode, path in files:
        for key, row in _keyed(mode, path):
            if key in known:
                yield PublishedReply(key, "AB", None, str(row.get("mllm_judge") or ""))


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    rows = (
        ("pair", "pair", "exact", 1.0),
        ("pair without ties", "pair", "no_tie_label", 1.0),
        ("score", "score", "pearson", 1.0),
        ("batch", "batch", "levenshtein", 1.0),
    )
    held = [
        (name, rule, scale, [p for p in parts if p.startswith(f"{mode}/")])
        for name, mode, rule, scale in rows
    ]
    return tuple(
        Score(f"mllm-as-a-judge/{name}{suffix}", rule, tasks, scale, 3)
        for name, rule, scale, tasks_of in held
        for suffix, tasks in (
            ("", tuple(tasks_of)),
            *((f"/{p.partition('/')[2]}", (p,)) for p in tasks_of),
        )
        if tasks
    )


ROW = Benchmark(
    "mllm-as-a-judge",
    "MLLM-as-a-Judge: answers about images; scores, pairs with ties, rankings",
    "MIT",
    "any",
    "https://github.com/Dongping-Chen/MLLM-Judge",
    read,
    _scores,
    "Dataset/Benchmark/{score,pair,batch}.jsonl and Dataset/image/; {mode}_MODEL.jsonl for replies",
    own=PROMPTS,
)
