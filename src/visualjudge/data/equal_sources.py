"""Find sources that have the same predictions, such as one file given twice."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress

from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError
from visualjudge.core.plurals import pluralize
from visualjudge.core.records import Annotation
from visualjudge.data.folder import DataFolder, inside
from visualjudge.vision.predictions import type_of


def equal_sources(folder: DataFolder, task: str) -> list[str]:
    """Return a sentence for each source whose predictions all equal those of another one.

    Predictions are read only for sources whose scores are equal on all images.
    """
    by_source: dict[str, list[Annotation]] = defaultdict(list)
    same_scores: dict[tuple[str, ...], list[str]] = defaultdict(list)
    sentences = []
    for entry in folder.entries(task):
        if entry.annotation.source is not None:
            by_source[entry.annotation.source].append(entry.annotation)
    for name, notes in sorted(by_source.items()):
        notes.sort(key=_scored)
        same_scores[tuple(map(_scored, notes))].append(name)
    for names in same_scores.values():
        first: dict[tuple[str, ...], str] = {}
        for name in names if len(names) > 1 else ():
            with suppress(DataError, OSError):  # `build` reports a file that cannot be read
                notes = by_source[name]
                twin = first.setdefault(tuple(_content(note, folder) for note in notes), name)
                if twin != name:
                    images = pluralize(len({note.image_id for note in notes}), "image")
                    sentences.append(
                        f"sources {twin!r} and {name!r} have the same predictions on all {images}; "
                        "import one of them again with its own predictions and --replace"
                    )
    return sentences


# Return what a record shares with that of an equal source.
def _scored(note: Annotation) -> str:
    return repr(
        (note.image_id, note.class_of_interest, note.error_type, note.prompt, note.final_score)
    )


# Return the prediction with the checksum of each file in place of its path.
def _content(note: Annotation, folder: DataFolder) -> str:
    text = json.dumps(note.prediction, sort_keys=True)
    for _, path in type_of(note.task).files(note.prediction):
        text = text.replace(json.dumps(path), file_sha256(inside(folder.root, path)))
    return text
