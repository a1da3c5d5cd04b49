"""Question sets: ``questions.json`` of version 2.1 with its images. Fields that the
judge dataset's document names are needed; others follow where a file does not state
them. Tables of verdicts are in ``adopt.py``.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import fields
from json import JSONDecoder
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from visualjudge.apps.adopt.fetch import (
    ADDRESS,
    Tick,
    download,
    texts_in,
)
from visualjudge.apps.adopt.files import Row, file_in, records
from visualjudge.apps.adopt.write import (
    DATASET,
    MediaFiles,
    check_targets,
    places,
    scores_of,
)
from visualjudge.clients.masked_secrets import public_url
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.jsons import Json
from visualjudge.core.output_files import OutputFile
from visualjudge.core.records import LETTERS, UNKNOWN, Question
from visualjudge.core.untrusted import MIB, read_file
from visualjudge.dataset.json_form import question_from_wire
from visualjudge.dataset.write_dataset import write_dataset

NAMED = ("task", "encoding", "question_type", "prompt", "images")
"""Fields that a question must have."""
_KNOWN = {field.name for field in fields(Question)}
_ORIGINAL = re.compile(r"original_(.+)\.\w+")


def is_question_set(path: Path) -> bool:
    """Return whether a JSON file holds questions of version 2.1."""
    try:
        head = (
            read_file(path, "table", size=MIB)
            .decode("utf-8", "replace")
            .lstrip("\ufeff \t\r\n[")
        )
        first, _ = JSONDecoder().raw_decode(head)
    except (DataError, ValueError, RecursionError):
        return False
    fields = (
        first.keys()
        if isinstance(first, dict) and path.suffix == ".json"
        else ()
    )
    return {"question_type", "prompt", "images"} <= {*fields}


def adopt_questions(
    questions: str | Path,
    out: str | Path,
    *,
    media: str | Path | None = None,
    fetched: bool = False,
    allow_private: bool = False,
    force: bool = False,
    tick: Tick = lambda done, total: None,
) -> int:
    """Write a published question set as a dataset, ``out/dataset``, and return its
    size. Fields that datasets do not have are written to ``out/other_fields.jsonl``.

    Parameters
    ----------
    questions
        ``questions.json``, whose ``images`` are paths or addresses.
    media
        Folder of the images; that of ``questions`` if not given. Of an address, the end
        of its path is looked for.
    fetched
        Download the addresses that are not in ``media``.

    Raises
    ------
    UsageError
        If ``questions`` are none, or the dataset exists.
    DataError
        If a question cannot be read, or an image is missing.
    """
    if not is_question_set(Path(questions)):
        raise UsageError(
            f"{questions}: must hold questions with {', '.join(NAMED)}"
        )
    home = Path(media or Path(questions).parent)
    target = Path(out)
    check_targets(target, (), force)
    others = OutputFile(target / "other_fields.jsonl", "`out`")
    others.check()
    rows = records(Path(questions))
    for row in rows:
        if not isinstance(row.need("images"), list):
            raise row.fault(
                "images", f"must be a list of paths, got {row['images']!r}"
            )
    named = dict.fromkeys(
        text for row in rows for text in texts_in(row["images"])
    )
    collected = {text: file_in([home], text) for text in named}
    paths = {text: path for text, path in collected.items() if path is not None}
    if len(set(paths.values())) < len(paths):
        raise DataError(
            f"{home}: two addresses have one file; keep the folders of the addresses"
        )
    done = download(
        (text for text in named if fetched and text not in paths),
        target,
        "fetched",
        allow_private,
        tick,
    )
    if done.failed:
        raise DataError(
            f"{len(done.failed)} images cannot be fetched, the first: "
            f"{done.failed[0]}; run the command again to resume"
        )
    with places(target, [DATASET]) as folders:
        files = MediaFiles(folders[DATASET])
        wires = [_wire(row, files, paths | done.paths, home) for row in rows]
        made = [question_from_wire(wire, k) for k, wire in enumerate(wires)]
        write_dataset(
            folders[DATASET], made, {"seed": None, "options": {}, "prompts": {}}
        )
    # fields that datasets do not have, beside the dataset
    lines = [
        orjson.dumps({"id": question.id, **more}) + b"\n"
        for row, question in zip(rows, made, strict=True)
        if (more := {name: row[name] for name in row if name not in _KNOWN})
    ]
    if lines:
        others.write(b"".join(lines))
    for path in done.paths.values():  # they are in the dataset now
        path.unlink()
    return len(made)


def _wire(
    row: Row, files: MediaFiles, paths: Mapping[str, Path], home: Path
) -> Any:
    images = []
    for name in map(str, row["images"]):
        if name not in paths:
            hint = "; `fetch` downloads it" if ADDRESS.fullmatch(name) else ""
            raise row.fault(
                "images",
                f"names {public_url(name)[:200]!r}: not in {home}{hint}",
            )
        images.append(files.add(paths[name]))
    return {**_completed(row), "images": images}


def _completed(row: Row) -> Json:
    """Return the record of a question with all fields of
    :class:`~visualjudge.core.records.Question`.

    ``id`` is derived from the fields by which the document tells questions apart, and
    where they have no annotation ids, from prompt and images. ``image_id``, by which
    intervals are clustered, is that of the image ``original_{image_id}.png``. Scores
    follow from the answer.

    Raises
    ------
    DataError
        If the record lacks a field of :data:`NAMED`, or its options cannot be counted.
    """
    for name in NAMED:
        row.need(name)
    kind = row["question_type"]
    answer = row.get("answer")
    if kind == "scoring" and row.get("answer_score") is not None:
        answer = row["answer_score"]
    subset = row.get("subset") or []
    known: Json = {name: row[name] for name in _KNOWN & row.keys()}
    names = row.get("annotation_ids")
    identity = [row["task"], row["encoding"], kind, names]
    if not names:
        identity += [row["prompt"], row["images"]]
    digest = hashlib.sha256(orjson.dumps(identity)).hexdigest()[:16]
    count = (
        len(names) if isinstance(names, list) else _options(row, kind, answer)
    )
    first = PurePosixPath(str(next(iter(row["images"]), ""))).name
    original = _ORIGINAL.fullmatch(first)
    usual: Json = {
        "id": digest,
        "annotation_ids": [f"{digest}-{letter}" for letter in LETTERS[:count]],
        "final_scores": [*scores_of(answer, count)],
        "sources": [None] * count,
        "image_id": original[1] if original else digest,
        "class_of_interest": None,
        "error_type": None,
        "answer": UNKNOWN,
    }
    stated = {name: value for name, value in known.items() if value is not None}
    stated["subset"] = [subset] if isinstance(subset, str) else subset
    if answer is not None:
        stated["answer"] = answer
    record = usual | stated
    for name in ("id", "image_id"):
        record[name] = str(record[name])
    if isinstance(names, list):
        record["annotation_ids"] = [str(item) for item in names]
    return record


def _options(row: Row, kind: str, answer: Any) -> int:
    if kind == "ranking":
        if not isinstance(answer, str):
            raise row.fault(
                "answer", f"must be an order of letters, got {answer!r}"
            )
        return len(answer)
    return 1 if kind == "scoring" else 2
