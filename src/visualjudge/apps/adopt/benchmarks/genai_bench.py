"""GenAI-Bench (Jiang et al. 2024, TIGER-AI-Lab/GenAI-Bench): votes of people on pairs
of generated images and videos.

``FOLDER/{image_generation,image_edition,video_generation}/MODEL/pairwise.json``:
``idx``, the text fields of the prompt, ``response``, ``model_vote``, ``human_vote``,
``correct``. Its score is the share of ``correct`` over all votes, including both kinds
of ties. These files have no images;
``FOLDER/{image_generation,image_edition}/*.parquet``, as on the Hub, do: ``idx`` is the
position of a row there. Of several splits ``test_v1`` is read, to which the published
votes belong, or else the first.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
    by_part,
)
from visualjudge.apps.adopt.files import Images, first_tables, records
from visualjudge.apps.adopt.items import Item, Reply
from visualjudge.core.records import FAILED, TIES

PARTS = ("image_generation", "image_edition", "video_generation")
MARKS = {
    "A>B": "A",
    "A>>B": "A",
    "B>A": "B",
    "B>>A": "B",
    "A=B": "tie",
    "A=B=Good": "tie",
}
MARKS |= {"A=B=Bad": "both_bad"}
LABELS = Pairs(
    {
        "key": ("idx",),
        "truth": ("human_vote", "vote_type"),
        "request": (
            "instruct_prompt",
            "prompt",
            "target_prompt",
            "source_prompt",
        ),
        "model": ("{}_model",),
    },
    {
        "leftvote": "A",
        "rightvote": "B",
        "tievote": "tie",
        "bothbad_vote": "both_bad",
    },
    ("left", "right"),
    TIES,
)
SHOWN = {"image": ("source_image",), "made": ("{}_image", "{}_output_image")}
PAIRS = replace(LABELS, fields={**LABELS.fields, **SHOWN})


def read(folder: Path, files: Sequence[JudgeFile]) -> Study:
    """Return the votes of every part, one cluster for each prompt."""
    home = folder / "results" if (folder / "results").is_dir() else folder
    images = Images(home, *(home / part for part in PARTS))
    items: dict[str, Item] = {}
    for part in PARTS:
        splits = first_tables((home / part,), "test_v1*.parquet", "*.parquet")
        for idx, row in enumerate(
            row for path in splits for row in records(path)
        ):
            items[f"{part}/{idx}"] = PAIRS.item(
                row, part, images, f"{part}/{idx}"
            )
    for path, match in sorted(
        files, key=lambda file: PARTS.index(file[1]["part"])
    ):
        for row in records(path):
            key = f"{match['part']}/{row.need('idx')}"
            item = LABELS.item(row, match["part"], images, key)
            before = items.setdefault(key, item)
            if before.answer != item.answer:
                raise row.fault(
                    "human_vote", "differs from another model's file"
                )
            # Files of some models lack the prompts.
            items[key] = replace(before, request=before.request or item.request)
    first: dict[tuple[str, str], str] = {}
    for key, item in items.items():
        if item.request:
            cluster = first.setdefault((item.task, item.request), key)
            items[key] = replace(item, cluster=cluster)
    return Study(list(items.values()), images.missing)


def replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the votes of a model on one part."""
    for row in records(path):
        right = row.get("correct")
        yield Reply(
            f"{match['part']}/{row.need('idx')}",
            value=MARKS.get(str(row.get("model_vote")).strip("[]"), FAILED),
            text=None if row.get("response") is None else str(row["response"]),
            right=right if isinstance(right, bool) else None,
        )


ROW = Benchmark(
    "GenAI-Bench: generated and edited images, generated videos; people's votes with "
    "ties",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/GenAI-Bench",
    "{image_generation,image_edition,video_generation}/MODEL/pairwise.json, "
    "{image_generation,image_edition}/*.parquet",
    read,
    by_part("genai-bench", "exact"),
    (
        rf"(?:results/)?(?P<part>{'|'.join(PARTS)})/(?P<judge>[^/]+)/pairwise\.jsonl?",
    ),
    replies,
)
