"""Vision-Judge, instance segmentation (ZhngQ1/Instance-Segmentation-for-MLLM-as-a-Judge): pairs of
predictions.

``FOLDER/[final_format/]instance_seg_pairwise_encoded.json`` or ``pairwise_metadata.json``: rows
``id, media, prompt`` (with ``<image>`` marks), ``choices, answer, metadata``. The first image is
the original if there is one more than options. Options may be text (encoding 7, cut at 4,000
characters: long ones are identical). Equal scores are answered A by the authors' code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    Item,
    Option,
    OwnPrompt,
    Row,
    records,
    table_of,
)
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK

FILES = ("instance_seg_pairwise_encoded", "pairwise_metadata")
LETTERS = {"A": "A", "B": "B"}
MEDIA = ("", "final_images", "final_format", "final_format/final_images")
_OPTIONS = re.compile(
    r"^A\.\s?(?P<A>.*?)\n+B\.\s?(?P<B>.*?)\s*(?=\nPlease answer|\Z)", re.DOTALL | re.MULTILINE
)


def read(folder: Path) -> Copy:
    """Return the pairs, with their images if the copy has all of them."""
    path = table_of((folder, folder / "final_format"), *FILES)
    if path is None:
        raise DataError(f"{folder}: must hold {FILES[0]}.json or {FILES[1]}.json, found neither")
    images = Images(*(folder / name for name in MEDIA))
    items = tuple(_item(row, images) for row in records(path))
    return Copy(items, images.missing > 0)


def _item(row: Row, images: Images) -> Item:
    key, prompt = str(row.need("id")), str(row.need("prompt"))
    about, media = row.get("metadata") or {}, images.all(*(row.get("media") or ()))
    match = _OPTIONS.search(prompt)
    if match is None:
        raise row.fault("prompt", "must show its options as 'A.' and 'B.' at the start of a line")
    spans = match.span("A"), match.span("B")
    texts = [prompt[start:end] for start, end in spans]
    shown = sum(text.count(IMAGE_MARK) for text in texts)
    original, rest = media[: len(media) - shown], media[len(media) - shown :]
    first = texts[0].count(IMAGE_MARK)
    split = (rest[:first], rest[first:])
    options = tuple(
        Option(
            text.replace(IMAGE_MARK, "").strip(),
            held,
            about.get(f"model_name_{letter}"),
            _named(about, letter),
        )
        for text, held, letter in zip(texts, split, "ab", strict=True)
    )
    return Item(
        key,
        f"instance_segmentation/{about.get('encoding') or 'image'}",
        str(about.get("image_id") or about.get("image_key") or key),
        prompt[: spans[0][0]].rstrip().removesuffix("A.").replace(IMAGE_MARK, "").strip(),
        options,
        row.one_of("answer", LETTERS),
        scores=_scores(about),
        images=original,
        own=OwnPrompt(prompt, media, spans),
    )


def _named(about: dict[str, Any], letter: str) -> str | None:
    name = about.get(f"ann_id_{letter}")
    return None if name is None else str(name)


def _scores(about: dict[str, Any]) -> tuple[float, float] | None:
    """Return ten times the IoU of each prediction, if the row states both."""
    for first, second in (("final_score_a", "final_score_b"), ("iou_a", "iou_b")):
        values = about.get(first), about.get(second)
        if all(isinstance(value, int | float) and 0 <= value <= 1 for value in values):
            return round(10 * float(values[0]), 9), round(10 * float(values[1]), 9)  # type: ignore[arg-type]
    return None


ROW = Benchmark(
    "vision-judge",
    "Vision-Judge: instance segmentations, seven encodings",
    "none stated",
    "evaluation only",
    "https://github.com/ZhngQ1/Instance-Segmentation-for-MLLM-as-a-Judge",
    read,
    lambda parts: (Score("vision-judge/instance_segmentation", "exact"),),
    "instance_seg_pairwise_encoded.json or pairwise_metadata.json with its media; "
    "replies/MODEL.jsonl for replies",
)
