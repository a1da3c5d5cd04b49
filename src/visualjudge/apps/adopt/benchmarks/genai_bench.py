"""GenAI-Bench (Jiang et al. 2024, TIGER-AI-Lab/GenAI-Bench): votes of people on pairs of generated
images and videos.

``FOLDER/{image_generation,image_edition,video_generation}/MODEL/pairwise.json``: ``idx``, the text
fields of the prompt, ``response``, ``model_vote``, ``human_vote``, ``correct``. Its score is the
share of ``correct`` over all votes, including both kinds of ties. These files have no images;
``FOLDER/{image_generation,image_edition}/*.parquet``, as on the Hub, do: ``idx`` is the position of
a row there. Of several splits ``test_v1`` is read, to which the published votes belong, or else the
first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from visualjudge.apps.adopt.benchmarks.layout import Benchmark, Pairs, by_part
from visualjudge.apps.adopt.files import Images, first_tables, records
from visualjudge.apps.adopt.items import Item, Reply, Study
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TIES

PARTS = ("image_generation", "image_edition", "video_generation")
FILES = ("pairwise.json", "pairwise.jsonl")
MARKS = {"A>B": "A", "A>>B": "A", "B>A": "B", "B>>A": "B", "A=B": "tie", "A=B=Good": "tie"}
MARKS |= {"A=B=Bad": "both_bad"}
PAIRS = Pairs(
    key="idx",
    truth=("human_vote", "vote_type"),
    answers={"leftvote": "A", "rightvote": "B", "tievote": "tie", "bothbad_vote": "both_bad"},
    sides=("left", "right"),
    request=("instruct_prompt", "prompt", "target_prompt", "source_prompt"),
    image=("source_image",),
    made=("{}_image", "{}_output_image"),
    model=("{}_model",),
    ties=TIES,
)
LABELS = replace(PAIRS, made=(), image=())


def read(folder: Path) -> Study:
    """Return the votes of every part in ``folder``, and the replies of every model."""
    folder = folder / "results" if (folder / "results").is_dir() else folder
    homes = {part: folder / part for part in PARTS if (folder / part).is_dir()}
    homes = homes or {folder.name: folder}
    images = Images(folder, *homes.values())
    items: dict[str, Item] = {}
    for part, home in homes.items():
        splits = first_tables((home,), "test_v1*.parquet", "*.parquet")
        for idx, row in enumerate(row for path in splits for row in records(path)):
            items[f"{part}/{idx}"] = PAIRS.item(row, part, images, f"{part}/{idx}")
    shown = bool(items) and not images.missing
    replies = defaultdict[str, dict[str, Path]](dict)
    for part, home in homes.items():
        for model in sorted(home.iterdir()):
            path = next((model / name for name in FILES if (model / name).is_file()), None)
            if path is not None:
                replies[model.name][part] = path
                shown &= _add(items, part, path)
    if not items:
        raise DataError(f"{folder}: must hold {'|'.join(PARTS)}/MODEL/pairwise.json, found none")
    judges = {model: partial(_replies, files) for model, files in sorted(replies.items())}
    return Study(_clustered(items.values()), not shown, judges)


def _add(items: dict[str, Item], part: str, path: Path) -> bool:
    """Add the pairs of one model's file, whose votes must equal those of others, and return whether
    all were there; files of some models lack the prompts.
    """
    known = True
    for row in records(path):
        item = LABELS.item(row, part, Images(), f"{part}/{row.need('idx')}")
        before = items.setdefault(item.key, item)
        known &= bool(before.options[0].images)
        if before.answer != item.answer:
            raise row.fault("human_vote", "differs from another model's file")
        items[item.key] = replace(before, request=before.request or item.request)
    return known


def _clustered(items: Iterable[Item]) -> list[Item]:
    """Return the items with one cluster for each prompt of a part."""
    first: dict[tuple[str, str], str] = {}
    return [
        replace(item, cluster=first.setdefault((item.task, item.request), item.key))
        if item.request
        else item
        for item in items
    ]


def _replies(files: dict[str, Path]) -> Iterator[Reply]:
    for part, path in files.items():
        for row in records(path):
            right = row.get("correct")
            yield Reply(
                f"{part}/{row.need('idx')}",
                value=MARKS.get(str(row.get("model_vote")).strip("[]"), FAILED),
                text=None if row.get("response") is None else str(row["response"]),
                right=right if isinstance(right, bool) else None,
            )


ROW = Benchmark(
    "GenAI-Bench: generated and edited images, generated videos; people's votes with ties",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/GenAI-Bench",
    "{image_generation,image_edition,video_generation}/MODEL/pairwise.json, "
    "{image_generation,image_edition}/*.parquet",
    read,
    by_part("genai-bench", "exact"),
)
