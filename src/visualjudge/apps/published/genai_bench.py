"""GenAI-Bench (Jiang et al. 2024, TIGER-AI-Lab/GenAI-Bench): votes of people on pairs of generated
images and videos.

``FOLDER/{image_generation,image_edition,video_generation}/MODEL/pairwise.json``: an array of
objects ``idx``, the text fields of the prompt, ``response``, ``model_vote``, ``human_vote``,
``correct``. Its score is the share of ``correct`` over all votes, including both kinds of ties.
These files have no images. ``FOLDER/{image_generation,image_edition}/*.parquet``, as on the Hub,
do: ``left_image, right_image`` (``source_image, left_output_image, right_output_image``),
``vote_type``; ``idx`` is the position of a row. If there are several splits, ``test_v1`` is read,
to which the published votes belong, or else the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from visualjudge.apps.published.prompts import own_prompt, shipped
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    Item,
    Option,
    PublishedReply,
    Row,
    by_part,
    records,
    tables,
)
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TIES

PARTS = ("image_generation", "image_edition", "video_generation")
VOTES = {"leftvote": "A", "rightvote": "B", "tievote": "tie", "bothbad_vote": "both_bad"}
MARKS = {
    "[[A>B]]": "A",
    "[[A>>B]]": "A",
    "[[B>A]]": "B",
    "[[B>>A]]": "B",
    "[[A=B]]": "tie",
    "[[A=B=Good]]": "tie",
    "[[A=B=Bad]]": "both_bad",
}
PROMPTS = ("instruct_prompt", "prompt", "target_prompt", "source_prompt")
OWN = {"image_generation": "genai-generation", "image_edition": "genai-edition"}
FILES = ("pairwise.json", "pairwise.jsonl")


def read(folder: Path) -> Copy:
    """Return the votes of every part in ``folder``, and the replies of every model."""
    folder = folder / "results" if (folder / "results").is_dir() else folder
    files, images = _files(folder), Images(folder, *(folder / part for part in PARTS[:2]))
    items = {item.key: item for part in PARTS[:2] for item in _shown(part, folder / part, images)}
    if not files and not items:
        raise DataError(f"{folder}: must hold {'|'.join(PARTS)}/MODEL/pairwise.json, found none")
    by_model: dict[str, dict[str, Path]] = {}
    for part, models in files.items():
        for model, path in models.items():
            by_model.setdefault(model, {})[part] = path
            _add(items, part, path)
    labels_only = not all(option.images for item in items.values() for option in item.options)
    return Copy(tuple(items.values()), labels_only, _replies(by_model))


def _files(folder: Path) -> dict[str, dict[str, Path]]:
    """Return the results by part and model; ``folder`` may also be the folder of one part."""
    homes = {part: folder / part for part in PARTS if (folder / part).is_dir()}
    if not homes and folder.name in PARTS:
        homes = {folder.name: folder}
    found = {
        part: {
            model.name: next(model / name for name in FILES if (model / name).is_file())
            for model in sorted(home.iterdir())
            if any((model / name).is_file() for name in FILES)
        }
        for part, home in homes.items()
    }
    return {part: models for part, models in found.items() if models}


def _shown(part: str, home: Path, images: Images) -> Iterator[Item]:
    """Yield the pairs of the Hub's tables, with their images."""
    splits: dict[str, list[Path]] = {}
    for path in tables(home):
        splits.setdefault(path.stem.partition("-")[0], []).append(path)
    chosen = splits.get("test_v1") or next(iter(splits.values()), [])
    first: dict[str, str] = {}
    for idx, row in enumerate(row for path in chosen for row in records(path)):
        key, request = f"{part}/{idx}", _request(row)
        a, b = (_made(row, side, images) for side in ("left", "right"))
        about = images.all(*(row[name] for name in ("source_image",) if row.get(name)))
        answer = row.one_of("vote_type", VOTES)
        own = own_prompt(
            shipped(OWN[part]),
            {name: row.get(name) for name in PROMPTS},
            (a, b),
            Option(images=about),
            ties=TIES,
        )
        cluster = first.setdefault(request, key) if request else key
        yield Item(key, part, cluster, request, (a, b), answer, ties=TIES, images=about, own=own)


def _made(row: Row, side: str, images: Images) -> Option:
    image = row.get(f"{side}_image") or row.get(f"{side}_output_image")
    return Option(images=images.all(image), source=row.get(f"{side}_model"))


def _add(items: dict[str, Item], part: str, path: Path) -> None:
    """Add the pairs of one model's file; their votes must equal those of the other files."""
    first: dict[str, str] = {
        item.request: item.cluster for item in items.values() if item.task == part
    }
    for row in records(path):
        key = f"{part}/{row.need('idx')}"
        answer = row.one_of("human_vote", VOTES)
        request = _request(row)
        if key in items:
            if items[key].answer != answer:
                raise row.fault("human_vote", "differs from another model's file")
            # Files of some models lack the prompts.
            if items[key].request or not request:
                continue
        cluster = first.setdefault(request, key) if request else key
        items[key] = Item(key, part, cluster, request, (Option(), Option()), answer, ties=TIES)


def _request(row: Mapping[str, Any]) -> str:
    return next((str(row[name]) for name in PROMPTS if row.get(name)), "")


def _replies(
    by_model: Mapping[str, Mapping[str, Path]],
) -> dict[str, Callable[[], Iterator[PublishedReply]]]:
    return {model: partial(_read_replies, files) for model, files in sorted(by_model.items())}


def _read_replies(files: Mapping[str, Path]) -> Iterator[PublishedReply]:
    for part, path in files.items():
        for row in records(path):
            right = row.get("correct")
            yield PublishedReply(
                f"{part}/{row.need('idx')}",
                "AB",
                MARKS.get(row.get("model_vote") or "", FAILED),
                None if row.get("response") is None else str(row["response"]),
                right if isinstance(right, bool) else None,
            )


ROW = Benchmark(
    "genai-bench",
    "GenAI-Bench: generated and edited images, generated videos; people's votes with ties",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/GenAI-Bench",
    read,
    by_part("genai-bench", "exact"),
    "{image_generation,image_edition,video_generation}/MODEL/pairwise.json, "
    "{image_generation,image_edition}/*.parquet",
    hub="TIGER-Lab/GenAI-Bench",
    hub_parts=PARTS[:2],
)
