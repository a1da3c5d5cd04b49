"""Multimodal RewardBench (Yasunaga et al. 2025, facebookresearch/multimodal_rewardbench): answers
about images.

``FOLDER/[data/]all_data.json``: ``ID, Category, Image, Text, Output1, Output2, Better`` ("Output1"
or "Output2"); images are in the folder of that file; otherwise the dataset has only labels.
Replies: ``FOLDER/outputs/MODEL.jsonl`` with ``Meta`` (the row), ``Label`` and ``output``. Its score
looks for ``[[A]]``, then ``[[B]]``, and tosses a coin (Python's generator, seed 123) for a reply
with neither; the same tosses are reproduced here for each file. Its prompt (CC BY-NC) is read from
``FOLDER/scripts/1_run_model_as_judge_gpt4o.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.prompts import file_of, of_copy, own_prompt, python_literal
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    ImageSource,
    Item,
    Option,
    PublishedReply,
    Row,
    by_part,
    name_of,
    records,
    table_of,
)
from visualjudge.core.errors import DataError
from visualjudge.prompts.store import PromptTemplate

BETTER = {"Output1": "A", "Output2": "B"}
BETTER_OF = {letter: name for name, letter in BETTER.items()}
LABELS = {"A": "A", "B": "B"}
SCRIPT = "scripts/1_run_model_as_judge_gpt4o.py"
SPLIT = {
    "safety": ("pairs", "safety/bias", "safety/toxicity"),
    "reasoning": ("math", "reasoning/math", "reasoning/coding"),
}


def read(folder: Path) -> Copy:
    """Return the pairs of ``all_data.json``, or of the replies if the copy has nothing else."""
    outputs = {path.stem: path for path in sorted((folder / "outputs").glob("*.jsonl"))}
    path = table_of((folder / "data", folder), "all_data")
    home = folder if path is None else path.parent
    if path is not None:
        rows = records(path)
    elif outputs:
        path = next(iter(outputs.values()))
        rows = [_answered(row) for row in records(path)]
    else:
        raise DataError(
            f"{folder}: must hold data/all_data.json or outputs/MODEL.jsonl, found neither"
        )
    images, asset = Images(home), _prompt(folder)
    shown = [images.all(row.get("Image")) for row in rows]
    labels_only = images.missing > 0 or not all(row.get("Output1") for row in rows)
    items = tuple(_item(row, seen, asset) for row, seen in zip(rows, shown, strict=True))
    return Copy(
        items, labels_only, {model: partial(_replies, place) for model, place in outputs.items()}
    )


def _answered(row: Row) -> Row:
    """Return the row of a reply's question, whose ``Meta`` may contain only its category."""
    better = BETTER_OF[row.one_of("Label", LABELS)]
    held = {"Better": better, "ID": row.get("ID"), "Image": row.get("Image"), **row.need("Meta")}
    return Row(held, row.path, row.number)


def _prompt(folder: Path) -> PromptTemplate | None:
    """Return their prompt if the copy has their script; the image follows the text in it."""
    text = python_literal(file_of(folder, SCRIPT), "judge_prompt")
    slots = {"{question}": "{{question}}", "{answer_a}": "{{a}}", "{answer_b}": "{{b}}"}
    return (
        of_copy(f"multimodal-rewardbench/{SCRIPT}", text + "\n{{image}}", slots)
        if isinstance(text, str)
        else None
    )


def _item(row: Row, images: tuple[ImageSource, ...], asset: PromptTemplate | None) -> Item:
    key = str(row.need("ID"))
    options = Option(str(row.get("Output1") or "")), Option(str(row.get("Output2") or ""))
    answer = row.one_of("Better", BETTER)
    cluster = name_of(row.get("Image"), key)
    request = str(row.get("Text") or "")
    own = (
        None
        if asset is None
        else own_prompt(asset, {"question": request}, options, Option(images=images))
    )
    return Item(key, _part(key, row), cluster, request, options, answer, images=images, own=own)


def _part(key: str, row: Row) -> str:
    """Return the category, two of which are split by ID as in the authors' code."""
    category = str(row.get("Category"))
    if category not in SPLIT:
        return category
    start, yes, no = SPLIT[category]
    return yes if key.lower().startswith(start) else no


def _replies(path: Path) -> Iterator[PublishedReply]:
    bits = np.random.MT19937()
    bits._legacy_seeding([123])  # as Python's random.seed(123)
    coin = np.random.Generator(bits)
    for row in records(path):
        text = str(row.need("output"))
        said = next((letter for letter in "AB" if f"[[{letter}]]" in text), None)
        value = said or ("A" if coin.random() < 0.5 else "B")
        right = value == row.one_of("Label", LABELS)
        yield PublishedReply(str(row.need("ID")), "AB", said or "Failed", text, right)


ROW = Benchmark(
    "multimodal-rewardbench",
    "Multimodal RewardBench: answers about images; correctness, preference, knowledge, "
    "reasoning, safety, VQA",
    "CC BY-NC 4.0",
    "evaluation only",
    "https://github.com/facebookresearch/multimodal_rewardbench",
    read,
    by_part(
        "multimodal-rewardbench",
        "exact",
        Score("multimodal-rewardbench", "exact", digits=1),
        digits=1,
    ),
    "data/all_data.json with its images, outputs/MODEL.jsonl for replies",
    own=SCRIPT,
)
