"""Parquet files, indexes, shards and cache entries that somebody wrote or damaged: one line, little memory, no hang.

Each is read in a fork, whose memory and time are measured. ``python tests/faults/hostile_columns.py FOLDER STEP`` tries
every STEP-th and prints a line of JSON for each; nothing but forks uses polars, whose threads no fork inherits.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from making import make_folder
from visualjudge.core.columnar import parquet_parts
from visualjudge.core.digests import file_sha256
from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.dataset.convert import convert
from visualjudge.dataset.exports import export
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.parquet_form import INDEX, Shards, schema, write_index
from visualjudge.dataset.validate import validate

Spoil = Callable[[Path], object]
SHARD, IMAGES, TAR = "questions/part-00000.parquet", "media/index.npy", "media/shard-00000.tar"


@dataclass(frozen=True)
class Ended:
    name: str
    said: str
    seconds: float
    megabytes: int


def read_in_a_fork(name: str, read: Callable[[], object]) -> Ended:
    """What reading leads to: the project's error, nothing, or a traceback."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        said = ""
        try:
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            read()
        except VisualJudgeError as error:
            said = str(error)
        except BaseException:
            said = traceback.format_exc()
        os.write(tell, said.encode(errors="backslashreplace")[:4000] or b"fine")
        os._exit(0)
    os.close(tell)
    said = os.read(told, 4000).decode()
    os.close(told)
    used = os.wait4(child, 0)[2]
    return Ended(name, said or "ended without a word", used.ru_utime + used.ru_stime, used.ru_maxrss >> 10)


def use(dataset: Path) -> None:
    """All that commands do with a dataset: every question, every check, every image."""
    _, problems = validate(dataset)
    found = load_dataset(dataset)
    export(found, "parquet", dataset.parent / "out", force=True)
    if problems:
        raise VisualJudgeError(str(problems[0]))


def made(root: Path) -> Path:
    """A dataset as Parquet and shards."""
    make_folder(root / "data", tasks=["object_detection"], images=3, annotations=4)
    build(root / "data", root / "json", BuildOptions(tasks=("object_detection",)))
    convert(root / "json", root / "good", "parquet", media="shards")
    return root / "good"


def with_rows(change: Callable[[pl.DataFrame], pl.DataFrame], **how: Any) -> Spoil:
    """Questions that were changed, in a shard that its index vouches for."""

    def spoil(root: Path) -> None:
        frame = change(pl.read_parquet(root / SHARD))
        frame.write_parquet(root / SHARD, **{"row_group_size": 2048, **how})
        digest = load_json(root)["questions_sha256"]
        shards = Shards(frame.height, False, {Path(SHARD).name: file_sha256(root / SHARD)})
        write_index(root, shards, digest, b"\n]\n")

    return spoil


def load_json(root: Path) -> dict[str, Any]:
    import orjson

    found: dict[str, Any] = orjson.loads((root / INDEX).read_bytes())
    return found


def field(name: str, value: Any, where: Any = None) -> Spoil:
    """One field of all questions (or of some) with another value."""
    literal = pl.lit(value, schema()[name]) if value is not None else pl.lit(None, schema()[name])
    new = literal if where is None else pl.when(where).then(literal).otherwise(pl.col(name))
    return with_rows(lambda frame: frame.with_columns(new.alias(name)))


def many(value: Any, rows: int, name: str = "prompt") -> Spoil:
    """Many rows with one long text, which stands once in the file."""
    return with_rows(lambda frame: frame[[0] * rows].with_columns(pl.lit(value, schema()[name]).alias(name)))


def index(change: Callable[[np.ndarray], np.ndarray]) -> Spoil:
    def spoil(root: Path) -> None:
        np.save(root / IMAGES, change(np.load(root / IMAGES)))

    return spoil


def row(number: int, value: int) -> Spoil:
    """One row of the index of images, for all images."""

    def change(rows: np.ndarray) -> np.ndarray:
        rows[number] = np.uint64(value)
        return rows

    return index(change)


def cut(name: str, share: float) -> Spoil:
    def spoil(root: Path) -> None:
        content = (root / name).read_bytes()
        (root / name).write_bytes(content[: int(len(content) * share)])

    return spoil


def grown(name: str, size: int) -> Spoil:
    """A file with a hole, which takes no room on the disk."""
    return lambda root: os.truncate(root / name, size)


SCORING = pl.col("question_type") == "scoring"
PAIRS = pl.col("question_type") == "pairwise"
SPOILT: dict[str, Spoil] = {
    "long prompts": many("x" * 500_000, 300),
    "very long prompts": many("x" * 70_000_000, 2),
    "long ids": many("x" * 500_000, 300, "id"),
    "long answers": many("x" * 500_000, 300, "answer"),
    "zstd bomb": with_rows(lambda frame: frame.head(1).with_columns(prompt=pl.lit("x" * 140_000_000))),
    "many rows": with_rows(lambda frame: frame[[0] * 100_000], row_group_size=100_000),
    "many images": field("images", ["media/x.png"] * 200_000, PAIRS & (pl.int_range(pl.len()) < 3)),
    "number as answer": field("answer", "A", SCORING),
    "no answer": field("answer", None),
    "nan as answer": field("answer", "nan", SCORING),
    "letter that is none": field("answer", "Z", PAIRS),
    "bytes that are no JSON": field("json", b"\xff{"),
    "bytes that are no question": field("json", b"[]"),
    "bytes of a deep JSON": field("json", b"[" * 100_000),
    "no images": field("images", []),
    "too few images": field("images", ["media/x.png"], PAIRS),
    "images outside": field("images", ["../../etc/passwd", "/etc/passwd"], PAIRS),
    "null images": field("images", [None, None], PAIRS),
    "no scores": field("final_scores", []),
    "nan scores": field("final_scores", [float("nan"), 1.0], PAIRS),
    "no type": field("question_type", None),
    "unknown type": field("question_type", "quiz"),
    "unknown task": field("task", "quiz"),
    "unknown encoding": field("encoding", "quiz"),
    "null prompt": field("prompt", None),
    "NUL in id": field("id", "a\0b"),
    "same id": field("id", "same"),
    "other columns": with_rows(lambda frame: frame.drop("answer")),
    "other types": with_rows(lambda frame: frame.with_columns(pl.lit(1).alias("prompt"))),
    "no rows": with_rows(lambda frame: frame.head(0)),
    "sizes of 2**32 - 1": row(3, 2**32 - 1),
    "starts of 2**63": row(2, 2**63),
    "starts of 2**64 - 1": row(2, 2**64 - 1),
    "shards that are not there": row(3, (7 << 32) + 100),
    "no image": index(lambda rows: rows[:, :0]),
    "one image": index(lambda rows: rows[:, :1]),
    "three rows": index(lambda rows: rows[:3]),
    "floats": index(lambda rows: rows.astype(float)),
    "shuffled": index(lambda rows: np.ascontiguousarray(rows[:, ::-1])),
    "an index with a hole": grown(IMAGES, 20 << 30),
    "an index that states 2**60 images": lambda root: (root / IMAGES).write_bytes(
        b"\x93NUMPY\x01\0v\0{'descr': '<u8', 'fortran_order': False, 'shape': (4, 1152921504606846976), }".ljust(128)
    ),
    "an index of objects": lambda root: np.save(root / IMAGES, np.array([[{}] * 4] * 4), allow_pickle=True),
    "a shard with a hole": grown(TAR, 20 << 30),
    "no shard": lambda root: (root / TAR).unlink(),
    "an empty shard": lambda root: (root / TAR).write_bytes(b""),
    "a shard that is a pipe": lambda root: ((root / TAR).unlink(), os.mkfifo(root / TAR)),
    "a shard that is a device": lambda root: ((root / TAR).unlink(), (root / TAR).symlink_to("/dev/zero")),
    "a shard with a large header": lambda root: (root / TAR).write_bytes(
        (content := (root / TAR).read_bytes())[:124] + b"77777777777\0" + content[136:156] + b"x" + content[157:]
    ),
}
SPOILT |= {f"{name} cut to {share}": cut(name, share) for name in (SHARD, IMAGES, TAR, INDEX) for share in (0.1, 0.9)}


def flipped(name: str, seed: int) -> Spoil:
    """Some bytes of a file changed; a changed shard of questions is vouched for by its index."""

    def spoil(root: Path) -> None:
        rng = rng_for(seed, "hostile columns", name)
        content = bytearray((root / name).read_bytes())
        low = len(content) // 2 if name == SHARD and seed % 2 else 0  # the footer, and headers of pages
        for place in rng.integers(low, len(content), 1 + seed % 6).tolist():
            content[place] = int(rng.integers(256))
        (root / name).write_bytes(content)
        if name == SHARD:
            told = load_json(root)
            write_index(
                root,
                Shards(told["questions"], told["plain"], {Path(SHARD).name: file_sha256(root / SHARD)}),
                told["questions_sha256"],
                bytes.fromhex(told["after"]),
            )

    return spoil


FLIPS = int(os.environ.get("VISUALJUDGE_SOAK", "0")) or 6
SPOILT |= {f"{name} flipped {k}": flipped(name, k) for name in (SHARD, IMAGES, TAR) for k in range(FLIPS)}


def spoiled(spoil: Spoil, root: Path) -> None:
    """Spoil in a process of its own: what making a file takes is not what reading it takes."""
    child = os.fork()
    if child == 0:
        try:
            spoil(root)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def tables() -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Parquet tables of any columns."""
    long = pl.Series("a", ["x" * 1_000_000]).new_from_index(0, 1000)
    yield "long texts", lambda path: pl.DataFrame({"a": long}).write_parquet(path, row_group_size=1000)
    yield (
        "nulls",
        lambda path: pl.DataFrame({"a": pl.Series([None] * 20_000_000, dtype=pl.Int8)}).write_parquet(
            path, row_group_size=20_000_000
        ),
    )
    lists = pl.Series("a", [[["y" * 1000] * 1000]]).new_from_index(0, 500)
    yield "lists", lambda path: pl.DataFrame({"a": lists}).write_parquet(path, row_group_size=500)


def consume(path: Path) -> None:
    for part in parquet_parts(path, 4096):
        part.to_dicts()


def main(place: Path, step: int) -> None:
    spoiled(made, place)
    for number, (name, spoil) in enumerate([*SPOILT.items()][::step]):
        root = place / f"{number}" / "ds"
        shutil.copytree(place / "good", root)
        spoiled(spoil, root)
        tell(read_in_a_fork(name, lambda root=root: use(root)))
        shutil.rmtree(root.parent)
    for name, write in tables():
        spoiled(write, place / "table.parquet")
        tell(read_in_a_fork(name, lambda: consume(place / "table.parquet")))


def tell(ended: Ended) -> None:
    print(json.dumps(asdict(ended)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
