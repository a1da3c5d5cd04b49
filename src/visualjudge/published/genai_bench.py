"""GenAI-Bench (Jiang et al. 2024, TIGER-AI-Lab/GenAI-Bench): votes of people on pairs of generated images and videos.

``FOLDER/{image_generation,image_edition,video_generation}/MODEL/pairwise.json``: an array of objects ``idx``, the text
fields of the prompt, ``response``, ``model_vote``, ``human_vote``, ``correct``. Its score counts ``correct``, for all
votes, both ties included. The files hold no images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from visualjudge.errors import DataError
from visualjudge.published.files import field, one_of, records
from visualjudge.published.items import Benchmark, Copy, Item, Option, PublishedReply, by_part
from visualjudge.records import FAILED, TIES

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
FILES = ("pairwise.json", "pairwise.jsonl")


def read(folder: Path) -> Copy:
    """The votes of every part that ``folder`` holds, and the replies of every model."""
    files = _files(folder)
    if not files:
        raise DataError(f"{folder}: must hold {'|'.join(PARTS)}/MODEL/pairwise.json, found none")
    items: dict[str, Item] = {}
    by_model: dict[str, dict[str, Path]] = {}
    for part, models in files.items():
        for model, path in models.items():
            by_model.setdefault(model, {})[part] = path
            _add(items, part, path)
    return Copy(tuple(items.values()), True, _replies(by_model))


def _files(folder: Path) -> dict[str, dict[str, Path]]:
    """The results by part and model; ``folder`` may be the folder of one part too."""
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


def _add(items: dict[str, Item], part: str, path: Path) -> None:
    """The pairs of one model's file; the votes must be those of the others' files."""
    first: dict[str, str] = {item.request: item.cluster for item in items.values() if item.task == part}
    for number, row in enumerate(records(path), 1):
        key = f"{part}/{field(row, 'idx', path, number)}"
        answer = one_of(row, "human_vote", path, number, VOTES)
        request = _request(row)
        if key in items:
            if items[key].answer != answer:
                raise DataError(f"{path}: record {number}: human_vote: differs from another model's file")
            # Files of some models lack the prompts.
            if items[key].request or not request:
                continue
        cluster = first.setdefault(request, key) if request else key
        items[key] = Item(key, part, cluster, request, (Option(), Option()), answer, ties=TIES)


def _request(row: Mapping[str, Any]) -> str:
    return next((str(row[name]) for name in PROMPTS if row.get(name)), "")


def _replies(by_model: Mapping[str, Mapping[str, Path]]) -> dict[str, Callable[[], Iterator[PublishedReply]]]:
    return {model: partial(_read_replies, files) for model, files in sorted(by_model.items())}


def _read_replies(files: Mapping[str, Path]) -> Iterator[PublishedReply]:
    for part, path in files.items():
        for number, row in enumerate(records(path), 1):
            right = row.get("correct")
            yield PublishedReply(
                f"{part}/{field(row, 'idx', path, number)}",
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
    "{image_generation,image_edition,video_generation}/MODEL/pairwise.json",
)
