"""Parquet files, indexes, shards and cache entries that somebody wrote or damaged: one line, little
memory, no hang.

Each is read by a command in a fork, whose memory and time are measured. ``python
tests/faults/hostile_columns.py FOLDER STEP EACH`` tries every STEP-th by EACH of the commands, in
turn, and prints a line of JSON for each; nothing but forks uses polars, whose threads no fork
inherits.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import os
import re
import resource
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import polars as pl
from starlette.testclient import TestClient

from making import make_folder
from visualjudge.cli import studio
from visualjudge.cli.main import run
from visualjudge.clients import Request, ScriptedClient, TextPart
from visualjudge.clients.base import Reply
from visualjudge.clients.cache import Cached, default_cache_dir
from visualjudge.clients.reply_bounds import LARGEST_BODY
from visualjudge.clients.secret_files import cache_secret
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.parquet_files import parquet_parts
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.build import BuildOptions, build
from visualjudge.dataset.convert import convert
from visualjudge.dataset.parquet_form import INDEX, Shards, schema, write_index
from visualjudge.runs.compacting import GROUP

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
    return Ended(
        name, said or "ended without a word", used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
    )


def commanded(*words: object) -> None:
    """A command, as its own process runs it.

    Raises
    ------
    VisualJudgeError
        If it ends with another status than 0, with what it said.
    """
    sys.argv = ["visualjudge", *map(str, words)]
    status, said = 0, io.StringIO()
    try:
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            run()
    except SystemExit as end:
        status = int(end.code or 0)
    if status or "Traceback" in said.getvalue():
        raise VisualJudgeError(said.getvalue())


def looked_at(app: Any, port: int) -> None:
    """In place of the studio's server: the home page, the first cards, and their images."""
    client = TestClient(app, base_url=f"http://127.0.0.1:{port}")
    for slug in set(re.findall(r'href="/d/([\w-]+)"', client.get("/").text)):
        cards = client.get(f"/d/{slug}/cards").text
        for image in re.findall(r"media/[\w./-]+", cards)[:3]:
            client.get(f"/d/{slug}/image/{image}")


studio._run = looked_at
JUDGE = ("--backend", "baseline", "--model", "oracle:0.8", "--set", "cache=false")
READERS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "validate": lambda ds: ("validate", ds),
    "export": lambda ds: ("export", ds, "--format", "parquet", "--out", ds.parent / "out"),
    "judge": lambda ds: ("judge", ds, *JUDGE, "--out", ds.parent / "out"),
    "report": lambda ds: (
        "report",
        ds.parent / "run",
        "--dataset",
        ds,
        "--out",
        ds.parent / "r.html",
    ),
    "convert": lambda ds: ("convert", ds, "--to", "json", "--out", ds.parent / "out"),
    "studio": lambda ds: ("studio", ds),
    "audit": lambda ds: ("audit", ds),
    "export images": lambda ds: (
        "export",
        ds,
        "--format",
        "vlmevalkit",
        "--out",
        ds.parent / "out",
    ),
    "local judge": lambda ds: (
        "judge",
        ds,
        "--backend",
        "local",
        "--model",
        "default",
        "--out",
        ds.parent / "out",
    ),
}
"""Commands that read a dataset."""
RUN_READERS: dict[str, Callable[[Path], tuple[object, ...]]] = {
    "report": lambda ds: ("report", ds.parent / "run", "--out", ds.parent / "r.html"),
    "expand": lambda ds: ("convert", ds.parent / "run", "--to", "json"),
    "resume": lambda ds: ("judge", ds, *JUDGE, "--resume", "--out", ds.parent / "run"),
    "studio": lambda ds: ("studio", ds, ds.parent / "run"),
    "label": lambda ds: ("label", ds.parent / "run", "--n", 3, "--out", ds.parent / "l.csv"),
}
"""Commands that read the verdicts of a run as Parquet."""


def made(root: Path) -> None:
    """``ds``, a dataset as Parquet and shards, and ``run`` on it as Parquet, in ``root /
    "good"``.
    """
    make_folder(root / "data", tasks=["object_detection"], images=3, annotations=4)
    build(root / "data", root / "json", BuildOptions(tasks=("object_detection",)))
    convert(root / "json", root / "good/ds", "parquet", media="shards")
    commanded("judge", root / "good/ds", *JUDGE, "--out", root / "good/run")
    commanded("convert", root / "good/run", "--to", "parquet")


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
    found: dict[str, Any] = orjson.loads((root / INDEX).read_bytes())
    return found


def field(name: str, value: Any, where: Any = None) -> Spoil:
    """One field of all questions (or of some) with another value."""
    literal = pl.lit(value, schema()[name]) if value is not None else pl.lit(None, schema()[name])
    new = literal if where is None else pl.when(where).then(literal).otherwise(pl.col(name))
    return with_rows(lambda frame: frame.with_columns(new.alias(name)))


def many(value: Any, rows: int, name: str = "prompt") -> Spoil:
    """Many rows with one long text, which stands once in the file."""
    return with_rows(
        lambda frame: frame[[0] * rows].with_columns(pl.lit(value, schema()[name]).alias(name))
    )


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
    "zstd bomb": with_rows(
        lambda frame: frame.head(1).with_columns(prompt=pl.lit("x" * 140_000_000))
    ),
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
    "a list of shards with a hole": grown(INDEX, 20 << 30),
    "a dataset.json with a hole": grown("dataset.json", 20 << 30),
    "a dataset.json of brackets": lambda root: (root / "dataset.json").write_bytes(b"[" * 2**27),
    "an index that states 2**60 images": lambda root: (root / IMAGES).write_bytes(
        b"\x93NUMPY\x01\0v\0{'descr': '<u8', 'fortran_order': False, 'shape': (4, "
        b"1152921504606846976), }".ljust(128)
    ),
    "an index of objects": lambda root: np.save(
        root / IMAGES, np.array([[{}] * 4] * 4), allow_pickle=True
    ),
    "a shard with a hole": grown(TAR, 20 << 30),
    "no shard": lambda root: (root / TAR).unlink(),
    "an empty shard": lambda root: (root / TAR).write_bytes(b""),
    "a shard that is a pipe": lambda root: ((root / TAR).unlink(), os.mkfifo(root / TAR)),
    "a shard that is a device": lambda root: (
        (root / TAR).unlink(),
        (root / TAR).symlink_to("/dev/zero"),
    ),
    "a shard with a large header": lambda root: (root / TAR).write_bytes(
        (content := (root / TAR).read_bytes())[:124]
        + b"77777777777\0"
        + content[136:156]
        + b"x"
        + content[157:]
    ),
}
SPOILT |= {
    f"{name} cut to {share}": cut(name, share)
    for name in (SHARD, IMAGES, TAR, INDEX)
    for share in (0.1, 0.9)
}


def flipped(name: str, seed: int) -> Spoil:
    """Some bytes of a file changed; a changed shard of questions is vouched for by its index."""

    def spoil(root: Path) -> None:
        rng = rng_for(seed, "hostile columns", name)
        content = bytearray((root / name).read_bytes())
        low = (
            len(content) // 2 if name == SHARD and seed % 2 else 0
        )  # the footer, and headers of pages
        for place in rng.integers(low, len(content), 1 + seed % 6).tolist():
            content[place] = int(rng.integers(256))
        (root / name).write_bytes(content)
        if name == SHARD:
            told = load_json(root)
            write_index(
                root,
                Shards(
                    told["questions"], told["plain"], {Path(SHARD).name: file_sha256(root / SHARD)}
                ),
                told["questions_sha256"],
                bytes.fromhex(told["after"]),
            )

    return spoil


FLIPS = 10
SPOILT |= {
    f"{name} flipped {k}": flipped(name, k) for name in (SHARD, IMAGES, TAR) for k in range(FLIPS)
}


def verdicts(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Spoil:
    """Verdicts that were changed; the digest of the journal they were made from is another's."""

    def spoil(root: Path) -> None:
        frame = change(pl.read_parquet(root / RUN))
        frame.write_parquet(root / RUN, row_group_size=GROUP, metadata={"journal_sha256": "0" * 64})

    return spoil


def verdict(name: str, value: Any) -> Spoil:
    """One field of all verdicts with another value."""
    return verdicts(lambda frame: frame.with_columns(pl.lit(value, frame.schema[name]).alias(name)))


RUN, JOURNAL = "../run/verdicts.parquet", "../run/verdicts.jsonl"
SPOILT_RUNS: dict[str, Spoil] = {
    "long replies": verdict("raw_response", "x" * 500_000),
    "reply of 70 MB": verdicts(
        lambda frame: frame.head(2).with_columns(raw_response=pl.lit("x" * 70_000_000))
    ),
    "many verdicts": verdicts(lambda frame: frame[[0] * 2_000_000]),
    "no ids": verdict("id", None),
    "no value": verdict("value", None),
    "number that is none": verdict("number", float("nan")),
    "unknown order": verdict("order", "XY"),
    "repeat beyond": verdict("repeat", -(2**31)),
    "extra that is no JSON": verdict("more", "{"),
    "extra that is deep": verdict("more", "[" * 100_000),
    "lines that are no JSON": verdict("json", b"\xff"),
    "lines that are lists": verdict("json", b"[1]"),
    "lines of line breaks": verdict("json", b"\n\n\n"),
    "other columns": verdicts(lambda frame: frame.drop("status")),
    "no verdicts": verdicts(lambda frame: frame.head(0)),
    "with a hole": grown(RUN, 20 << 30),
    "a run.json with a hole": grown("../run/run.json", 20 << 30),
    "a run.json of brackets": lambda root: (root / "../run/run.json").write_bytes(b"[" * 2**24),
    "a run.json of numbers": lambda root: (root / "../run/run.json").write_bytes(
        b"[" + b"1e9," * 2**21 + b"0]"
    ),
    "a journal that is a hole": lambda root: (
        (root / JOURNAL).touch(),
        os.truncate(root / JOURNAL, 20 << 30),
    ),
    "a journal of one line": lambda root: (root / JOURNAL).write_bytes(b"x" * (70 << 20)),
    "a journal of line breaks": lambda root: (root / JOURNAL).write_bytes(b"\n" * (20 << 20)),
    "a journal of small objects": lambda root: (root / JOURNAL).write_bytes(b"{}\n" * 300_000),
    "no Parquet": lambda root: (root / RUN).write_bytes(b"PAR1" * 1000),
} | {f"cut to {share}": cut(RUN, share) for share in (0.1, 0.5, 0.9)}
SPOILT_RUNS |= {f"flipped {k}": flipped(RUN, k) for k in range(FLIPS)}


def spoiled(spoil: Spoil, root: Path) -> None:
    """Spoil in a process of its own: what making a file takes is not what reading it takes."""
    child = os.fork()
    if child == 0:
        try:
            spoil(root)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


# ---------------------------------------------------------------- entries of the reply cache


def asked_again(place: Path, spoil: Spoil) -> None:
    """A spoilt entry is no reply: its question is asked again, and what is kept then is read."""
    os.environ["XDG_CACHE_HOME"] = str(place / "home")
    request = Request((TextPart("?"),))
    first, again = (Cached(ScriptedClient([text]), place / "cache") for text in ("kept", "asked"))
    asyncio.run(first.ask(request))
    assert asyncio.run(again.ask(request)).text == "kept"
    spoil(again.path(request, 0))
    assert asyncio.run(again.ask(request)).text == "asked"


def signed(reply: Any) -> Spoil:
    """An entry of other fields that bears the user's own mark, as another version could have
    written it.
    """

    def spoil(path: Path) -> None:
        entry, secret = orjson.dumps(reply), cache_secret(default_cache_dir().parent)
        mac = hmac.new(secret, path.name.encode() + b"\0" + entry, hashlib.sha256).hexdigest()
        path.write_bytes(orjson.dumps({"mac": mac, "reply": orjson.Fragment(entry)}))

    return spoil


def instead(make: Spoil) -> Spoil:
    return lambda path: (path.unlink(), make(path))


GOOD = asdict(Reply("kept"))
ENTRIES: dict[str, Spoil] = {
    "a pipe": instead(os.mkfifo),
    "a device": instead(lambda path: path.symlink_to("/dev/zero")),
    "a link": instead(lambda path: path.symlink_to(path.parent.parent)),
    "a folder": instead(Path.mkdir),
    "a file with a hole": lambda path: os.truncate(path, 20 << 30),
    "a file at the bound with a hole": lambda path: os.truncate(path, LARGEST_BODY),
    "a file of brackets": lambda path: path.write_bytes(b"[" * LARGEST_BODY),
    "a deep reply": lambda path: path.write_bytes(
        b'{"mac":"' + b"0" * 64 + b'","reply":' + b"[" * 10**7 + b"}"
    ),
    "an empty file": lambda path: path.write_bytes(b""),
    **{
        f"signed: {value!r}": signed(value)
        for value in (None, 7, "x", [], {}, {"tokens": 3}, GOOD | {"notes": 5})
    },
    "signed: an unknown field": signed(GOOD | {"x": 1}),
    "signed: tokens of other kinds": signed(GOOD | {"tokens": [[1], {"token": 1}]}),
    "signed: a text that is none": signed(GOOD | {"text": 7}),
    "signed: counts that are none": signed(GOOD | {"usage": {"prompt_tokens": "x"}}),
    **{
        f"cut to {size}": (lambda path, size=size: os.truncate(path, size))
        for size in (1, 60, 90, 150)
    },
}


def tables() -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Parquet tables of any columns."""
    long = pl.Series("a", ["x" * 1_000_000]).new_from_index(0, 1000)
    yield (
        "long texts",
        lambda path: pl.DataFrame({"a": long}).write_parquet(path, row_group_size=1000),
    )
    yield (
        "nulls",
        lambda path: pl.DataFrame(
            {"a": pl.Series([None] * 20_000_000, dtype=pl.Int8)}
        ).write_parquet(path, row_group_size=20_000_000),
    )
    lists = pl.Series("a", [[["y" * 1000] * 1000]]).new_from_index(0, 500)
    yield "lists", lambda path: pl.DataFrame({"a": lists}).write_parquet(path, row_group_size=500)


def consume(path: Path) -> None:
    for part in parquet_parts(path, 4096):
        part.to_dicts()


def main(place: Path, step: int, each: int) -> None:
    os.environ["XDG_CACHE_HOME"] = str(place / "cache")
    spoiled(made, place)
    for what, spoilt, readers in (("", SPOILT, READERS), ("verdicts: ", SPOILT_RUNS, RUN_READERS)):
        chosen = [*readers]
        for number, (name, spoil) in enumerate([*spoilt.items()][::step]):
            for reader in [
                chosen[(each * number + k) % len(chosen)] for k in range(min(each, len(chosen)))
            ]:
                shutil.copytree(place / "good", place / "bad")
                (place / "bad/run/run.json").write_text(
                    (place / "good/run/run.json")
                    .read_text()
                    .replace(str(place / "good/ds"), str(place / "bad/ds"))
                )
                spoiled(spoil, place / "bad/ds")
                words = readers[reader](place / "bad/ds")
                tell(
                    read_in_a_fork(f"{what}{name}, {reader}", lambda words=words: commanded(*words))
                )
                shutil.rmtree(place / "bad")
    for name, spoil_entry in ENTRIES.items():
        tell(
            read_in_a_fork(
                f"entry: {name}", lambda spoil=spoil_entry: asked_again(place / "entry", spoil)
            )
        )
        shutil.rmtree(place / "entry")
    for name, write in tables():
        spoiled(write, place / "table.parquet")
        tell(read_in_a_fork(name, lambda: consume(place / "table.parquet")))


def tell(ended: Ended) -> None:
    print(json.dumps(asdict(ended)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
