"""Find sources that have the same predictions, such as one file given twice."""

from __future__ import annotations

import json
from collections import defaultdict

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.plurals import pluralize
from visualjudge.data.folder import DataFolder, Entry, inside
from visualjudge.vision.predictions import type_of


def equal_sources(folder: DataFolder, task: str) -> list[str]:
    """Return a sentence for each source whose predictions all equal those of another one.

    Predictions are read only for sources whose scores are equal on all images.
    """
    by_source: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(folder.entries(task), key=_scored):
        if entry.annotation.source is not None:
            by_source[entry.annotation.source].append(entry)
    sentences, same_scores = [], defaultdict[tuple[str, ...], list[str]](list)
    for name, own in sorted(by_source.items()):
        others = same_scores[tuple(map(_scored, own))]
        twin = next((one for one in others if _are_equal(by_source[one], own, folder)), None)
        if twin is None:
            others.append(name)
            continue
        images = pluralize(len({entry.annotation.image_id for entry in own}), "image")
        sentences.append(
            f"sources {twin!r} and {name!r} have the same predictions on all {images}; import one "
            "of them again with its own predictions and --replace"
        )
    return sentences


# Return what a record shares with that of an equal source.
def _scored(entry: Entry) -> str:
    note = entry.annotation
    return repr(
        (note.image_id, note.class_of_interest, note.error_type, note.prompt, note.final_score)
    )


def _are_equal(first: list[Entry], second: list[Entry], folder: DataFolder) -> bool:
    try:
        return all(
            _content(one, folder) == _content(other, folder)
            for one, other in zip(first, second, strict=True)
        )
    except (DataError, OSError):  # `build` reports a file that cannot be read
        return False


# Return the prediction with the checksum of each file in place of its path.
def _content(entry: Entry, folder: DataFolder) -> str:
    payload = entry.annotation.prediction
    text = json.dumps(payload, sort_keys=True)
    for _, path in type_of(entry.annotation.task).files(payload):
        text = text.replace(json.dumps(path), file_sha256(inside(folder.root, path)))
    return text
