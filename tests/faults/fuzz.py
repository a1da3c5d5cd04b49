"""Mutated inputs for every reader of foreign bytes: nothing but the project's own
errors may come out.

``python tests/faults/fuzz.py --seconds 60`` spends so long on each target; ``make
fuzz`` does. The seed corpus is in ``tests/faults/seeds/<target>/``; an input that
escapes is written beside it, to be fixed and kept.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.analysis.decisions.label_files import read_labels
from visualjudge.analysis.rating_table import read_ratings
from visualjudge.analysis.stored_tables import read_questions, read_verdicts
from visualjudge.apps.adopt.benchmarks.of_answers import read_judgebench
from visualjudge.apps.mmbench.evaluate import READERS
from visualjudge.apps.mmbench.reply_files import read_workbook
from visualjudge.apps.mmbench.table import read_table
from visualjudge.apps.pipelines.config import build_pipes, read_config
from visualjudge.apps.pipelines.rows import read_rows
from visualjudge.clients import (
    Request,
    TextPart,
    anthropic,
    api,
    google,
    server_errors,
)
from visualjudge.clients.http import Answer
from visualjudge.clients.image_parts import image_of_bytes
from visualjudge.clients.masked_secrets import Redactor
from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.jsons import lenient
from visualjudge.core.records import TIES
from visualjudge.core.seeding import rng_for
from visualjudge.data import folder
from visualjudge.data.folder import annotation_from_wire, image_from_wire
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.json_form import question_from_wire
from visualjudge.formats.coco import coco
from visualjudge.formats.labelling_tools import shapes
from visualjudge.formats.outputs import outputs
from visualjudge.formats.referring import referring
from visualjudge.formats.tables import class_table
from visualjudge.formats.voc import voc
from visualjudge.formats.yolo import yolo
from visualjudge.replies import read_reply
from visualjudge.runs.journal import read_records
from visualjudge.vision.predictions import read_prediction
from visualjudge.vision.raster.images import (
    image_size,
    opened,
    read_depth,
    rgb_of,
    write_png,
)
from visualjudge.vision.raster.masks import mask_from_wire

SEEDS = Path(__file__).parent / "seeds"
SIZE = (48, 64)
Target = Callable[[bytes, Path], object]
_BOXES = "object_detection"
_REDACT = Redactor(["sk-a-secret-of-some-length"])


def _file(suffix: str, read: Callable[[Path], object]) -> Target:
    def target(raw: bytes, place: Path) -> object:
        path = place / f"input{suffix}"
        path.write_bytes(raw)
        return read(path)

    return target


def _object(raw: bytes) -> dict[str, Any]:
    value = lenient(raw, "input")
    return value if isinstance(value, dict) else {"value": value}


def _prediction(task: str) -> Target:
    return lambda raw, place: read_prediction(
        task, _object(raw), size=SIZE, root=place, expression="it"
    )


def _imported(
    name: str, read: Callable[[Path, Path], Iterator[object]]
) -> Target:
    """An importer, to its end, on the file ``name`` beside the image x.png."""

    def target(raw: bytes, place: Path) -> object:
        folder = place / "import"
        (folder / "images").mkdir(parents=True, exist_ok=True)
        if not (folder / "images/x.png").is_file():
            write_png(
                folder / "images/x.png", np.zeros((*SIZE, 3), dtype=np.uint8)
            )
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
        return list(read(path, folder / "images"))

    return target


def _yolo(path: Path, images: Path) -> Iterator[object]:
    (images.parent / "names.txt").write_text("dog\ncat\n")
    return yolo(
        "instance_segmentation",
        path.parent,
        None,
        images,
        images.parent / "names.txt",
    )


def _reply(make: Any) -> Target:
    """A client whose server answers with the input."""
    client = make(
        "m", base_url="http://h", api_key="sk-a-secret-of-some-length"
    )

    def target(raw: bytes, _: Path) -> object:
        async def post(body: object) -> Answer:
            return Answer(200, {}, raw)

        return asyncio.run(client.ask(Request((TextPart("x"),)), post=post))

    return target


def _dataset(raw: bytes, place: Path) -> object:
    home = place / "dataset"
    home.mkdir(exist_ok=True)
    (home / "questions.json").write_bytes(raw)
    (home / "dataset.json").write_text("{}")
    read_questions(home)
    return list(load_dataset(home))


def _run(raw: bytes, place: Path) -> object:
    (place / "run").mkdir(exist_ok=True)
    (place / "run/verdicts.jsonl").write_bytes(raw)
    return read_verdicts(place / "run")


def _replies(raw: bytes, _: Path) -> object:
    """Every reader of a reply's text."""
    text = raw.decode("utf-8", "replace")
    kinds = [
        read_reply(text, kind, 3, ties=ties)
        for kind in ("pairwise", "ranking", "scoring")
        for ties in ((), TIES)
    ]
    return kinds, [
        read(text, {"A": "a dog", "B": "None"}) for read in READERS.values()
    ]


def _published(raw: bytes, place: Path) -> object:
    (place / "published/data").mkdir(parents=True, exist_ok=True)
    (
        place / "published/data/dataset=judgebench,response_model=m.jsonl"
    ).write_bytes(raw)
    return read_judgebench(place / "published", ())


TARGETS: dict[str, Target] = {
    "records-json": _file(".json", folder.read_records),
    "records-jsonl": _file(".jsonl", folder.read_records),
    "annotation": lambda raw, _: annotation_from_wire(
        _object(raw), file="f", task="object_detection", position=0
    ),
    "image-record": lambda raw, _: image_from_wire("x", _object(raw), file="f"),
    "boxes": _prediction("object_detection"),
    "instances": _prediction("instance_segmentation"),
    "segments": _prediction("semantic_segmentation"),
    "poses": _prediction("keypoint"),
    "mask": lambda raw, _: mask_from_wire(lenient(raw, "input"), SIZE),
    "npy": _file(".npy", read_depth),
    "npz": _file(".npz", read_depth),
    "pfm": _file(".pfm", read_depth),
    "image": lambda raw, _: _decoded(raw),
    "image-size": _file(".png", image_size),
    "image-sent": lambda raw, _: image_of_bytes(raw, "input"),
    "question": lambda raw, _: question_from_wire(lenient(raw, "input")),
    "chat-completion": _reply(api.ApiClient),
    "message": _reply(anthropic.AnthropicClient),
    "error-body": lambda raw, _: server_errors.api_error(
        429, raw, {"Retry-After": raw.decode("latin-1")}
    ),
    "redacted": lambda raw, _: _REDACT(raw.decode("utf-8", "replace")),
    "journal": _file(".jsonl", lambda path: list(read_records(path))),
    "table": _file(".tsv", read_table),
    "rows": _file(".jsonl", read_rows),
    "table-row": _file(
        ".csv",
        lambda path: list(
            outputs("generation_t2i", str(path), "m", path.parent)
        ),
    ),
    "coco": _imported(
        "gt.json",
        lambda path, images: coco("instance_segmentation", path, None, images),
    ),
    "voc": _imported(
        "voc/x.xml", lambda path, images: voc(_BOXES, path.parent, None, images)
    ),
    "yolo": _imported("yolo/x.txt", _yolo),
    "labelme": _imported(
        "me/x.json",
        lambda path, images: shapes(
            _BOXES, path.parent, None, images, "labelme"
        ),
    ),
    "label-studio": _imported(
        "ls.json",
        lambda path, images: shapes(_BOXES, path, None, images, "label-studio"),
    ),
    "refs": _imported(
        "refs.p",
        lambda path, images: referring(
            "referring_segmentation", path, path, images
        ),
    ),
    "class-names": _file(".yaml", class_table),
    "workbook": _file(".xlsx", read_workbook),
    "config": _file(".yaml", lambda path: build_pipes(read_config(path))),
    "dataset": _dataset,
    "verdicts": _run,
    "reply": _replies,
    "ratings": _file(".csv", read_ratings),
    "labels": _file(".csv", read_labels),
    "gemini": _reply(google.GoogleClient),
    "published": _published,
}


def _decoded(raw: bytes) -> object:
    with opened(io.BytesIO(raw)) as image:
        return rgb_of(image)


def seeds(name: str) -> list[bytes]:
    """The seed corpus of a target, with what escaped once."""
    return [path.read_bytes() for path in sorted((SEEDS / name).iterdir())]


_TOKENS = (
    b"1e308",
    b"-1",
    b"10" * 30,
    b"null",
    b"NaN",
    b"[]",
    b"{}",
    b'"',
    b"\\",
    b"\0",
    b"\xff",
    b"[" * 50,
    b"\n",
    b"\\ud800",
)


def mutated(raw: bytes, rng: np.random.Generator) -> bytes:
    """``raw`` with a few places flipped, cut, doubled, or overwritten by something
    odd."""
    data = bytearray(raw)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(0, len(data) + 1))
        match int(rng.integers(0, 6)):
            case 0 if data:
                data[at % len(data)] ^= 1 << int(rng.integers(0, 8))
            case 1:
                del data[at : at + int(rng.integers(1, 9))]
            case 2:
                data[at:at] = data[at : at + int(rng.integers(1, 40))]
            case 3:
                data[at:at] = _TOKENS[int(rng.integers(0, len(_TOKENS)))]
            case 4:
                data = data[:at] if rng.random() < 0.3 else data
            case _:
                token = _TOKENS[int(rng.integers(0, len(_TOKENS)))]
                data[at : at + len(token)] = token
    return bytes(data)


def inputs(name: str, seed: int) -> Iterator[bytes]:
    """Mutated inputs of a target, without end; the same for the same seed."""
    corpus, rng = seeds(name), rng_for(seed, "fuzz", name)
    yield from corpus
    while True:
        yield mutated(corpus[int(rng.integers(0, len(corpus)))], rng)


def escapes(name: str, raw: bytes, place: Path) -> str | None:
    """What is wrong: an error that is not the project's own, or reading that takes more
    than two seconds.
    """
    begun = time.process_time()
    try:
        TARGETS[name](raw, place)
    except VisualJudgeError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    seconds = time.process_time() - begun
    return f"took {seconds:.1f} s" if seconds > 2 else None


def main() -> int:
    """Fuzz every target for ``--seconds``; 1 where something escaped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for each target"
    )
    parser.add_argument(
        "--inputs", type=int, default=None, help="for each target, at most"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("targets", nargs="*", default=[])
    asked = parser.parse_args()
    found = total = 0
    with tempfile.TemporaryDirectory() as place:
        for name in asked.targets or TARGETS:
            end, number = time.monotonic() + asked.seconds, 0
            for number, raw in enumerate(inputs(name, asked.seed), 1):
                reason = escapes(name, raw, Path(place))
                if reason is not None:
                    found += 1
                    (SEEDS / name / f"escaped-{found}").write_bytes(raw)
                    print(f"{name}: {reason}")
                if (
                    time.monotonic() > end
                    or number == asked.inputs
                    or found > 20
                ):
                    break
            total += number
            print(f"{name}: {number} inputs", flush=True)
    print(json.dumps({"inputs": total, "escaped": found}))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
