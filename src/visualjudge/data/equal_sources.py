"""Find sources that have the same predictions, such as one file given twice."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.plurals import pluralize
from visualjudge.data.folder import DataFolder, Entry, inside
from visualjudge.vision.predictions import type_of


@dataclass(frozen=True, slots=True)
class _Row:
    """A record; ``scored`` is what its source shares with an equal one."""

    source: str
    image_id: str
    scored: str
    record: Entry | Mapping[str, Any]


def equal_sources(folder: DataFolder, task: str) -> list[str]:
    """Return a sentence for each source whose predictions all equal those of another one.

    Predictions are read only for sources whose scores are equal on all images.
    """
    rows = []
    for entry in folder.entries(task):
        note = entry.annotation
        keys = note.image_id, note.class_of_interest, note.error_type, note.prompt, note.final_score
        if note.source is not None:
            rows.append(_Row(note.source, note.image_id, repr(keys), entry))
    return _told(rows, folder.root, task)


def equal_sources_of(records: Iterable[Mapping[str, Any]], root: Path, task: str) -> list[str]:
    """Return what :func:`equal_sources` returns, from all records of a folder's task in memory."""
    names = "image_id", "class_of_interest", "error_type", "prompt", "final_score"
    rows = [
        _Row(
            str(record["source"]),
            str(record.get("image_id")),
            repr([record.get(name) for name in names]),
            record,
        )
        for record in records
        if record.get("source") is not None
    ]
    return _told(rows, root, task)


def _told(rows: Iterable[_Row], root: Path, task: str) -> list[str]:
    by_source: dict[str, list[_Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.scored):
        by_source[row.source].append(row)
    told, same_scores = [], defaultdict[tuple[str, ...], list[str]](list)
    for name in sorted(by_source):
        own = by_source[name]
        others = same_scores[tuple(row.scored for row in own)]
        twin = next((one for one in others if _are_equal(by_source[one], own, root, task)), None)
        if twin is None:
            others.append(name)
            continue
        images = pluralize(len({row.image_id for row in own}), "image")
        told.append(
            f"sources {twin!r} and {name!r} have the same predictions on all {images}; import one "
            "of them again with its own predictions and --replace"
        )
    return told


def _are_equal(first: list[_Row], second: list[_Row], root: Path, task: str) -> bool:
    try:
        return all(
            _content(one, root, task) == _content(other, root, task)
            for one, other in zip(first, second, strict=True)
        )
    except (DataError, OSError):  # `build` reports a file that cannot be read
        return False


def _content(row: _Row, root: Path, task: str) -> str:
    """Return the prediction with the checksum of each file in place of its path."""
    record = row.record
    payload = record.load().prediction if isinstance(record, Entry) else record["prediction"]
    text = json.dumps(payload, sort_keys=True)
    for _, path in type_of(task).files(payload):
        text = text.replace(json.dumps(path), file_sha256(inside(root, path)))
    return text
