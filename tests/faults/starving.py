"""Every command that writes, without room, without the right to write, and ended by a
signal at some moment.

``python tests/faults/starving.py PLACE SECONDS [NAME,…] [--kill NAME,…]`` goes through
the table of :func:`commands` (those that are named; those after ``--kill`` are only
killed), and prints a line for each that leaves half a file, a hidden file or folder, a
traceback, or an exit status of 0 without its files, and for each of :data:`GOES_ON`
that, given again after ``kill -9``, does not make what it usually makes. Each case is a
fork of this process, which has imported everything.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import csv
import ctypes
import faulthandler
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import sys
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent.parent))

from faults.chaos import chaos
from making import make_folder
from visualjudge.cli.main import run
from visualjudge.core.seeding import rng_for
from visualjudge.studio import serving as studio_serving
from visualjudge.studio.people.pages import Tokens
from visualjudge.studio.places import cache_home
from visualjudge.vision.raster.images import png_bytes, write_png

warnings.simplefilter("ignore")
KEPT_ON = ("judge", "pipeline", "mmbench infer", "studio people")
"""Commands whose journals are meant to be there after an interruption, whole lines of
them; ``--resume`` goes on.
"""
FORMATS = [
    "parquet",
    "vlmevalkit",
    "lmms-eval",
    "trl",
    "json",
    "dataset-parquet",
]
AGAIN = {"adopt": "--force", "export": "--force", "perturb": "--replace"}
"""What other commands need to be given again after a kill, by their first word."""
GOES_ON = {
    "build": ("--force", "out/questions.json", "id"),
    "import": (
        "",
        "out/annotations/object_detection_annotations.json",
        "annotation_id",
    ),
    "judge": ("--resume", "out/verdicts.jsonl", "id"),
    "pipeline": ("--resume", "r.jsonl", "key"),
    "mmbench infer": ("--resume", "p.jsonl", "index"),
}
"""Commands that are always killed: the option to go on with, and the file and field
where each record stands once.
"""
LIMITS = (0, 100, 2_000, 20_000)
"""Bytes of a file, at most."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
LONGEST_S = 90.0
Case = tuple[str, Callable[[], object], Any, int]
"""What, what happens before, (seconds, signal), mode of the folder."""


@dataclass(frozen=True)
class Usual:
    """What a command takes and leaves if nothing is in its way."""

    seconds: float
    files: set[str]
    records: list[str]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status (negative: the signal), what it said, and
    after how many seconds.
    """

    status: int
    said: str
    seconds: float


def commands(made: Path, server: str) -> dict[str, list[str]]:
    """Name → words of the command line, relative to an empty folder, with inputs in
    ``made``."""
    asked = f"--model m --base-url {server} --set cache=false --concurrency 2"
    boxes = BOXES.format(made)
    lines = {
        "build": f"build {made}/data --out out --workers 1",
        "import": f"import coco {boxes} --pred {made}/pred.json --source a --out out",
        "perturb": f"perturb {boxes} --out out",
        "report": f"report {made}/run --out report.html --json m.json",
        "report pages": f"report {made}/run --out report.html --figures figures",
        "card": f"card {made}/run --json c.json",
        "label": f"label {made}/run --n 5 --out labels.csv",
        "correct": f"correct {made}/run --labels {made}/labels.csv --kind pairwise "
        "--json c.json",
        "probe": f"probe {made}/data --out out --n 4 --workers 1",
        "mmbench infer": f"mmbench infer {made}/t.tsv --out p.xlsx {asked}",
        "mmbench circular": f"mmbench circular {made}/t.tsv --out c.tsv",
        "mmbench eval": f"mmbench eval {made}/p.xlsx --data {made}/t.tsv --json s.json",
        "pipeline": f"pipeline {made}/c.yaml --input {made}/rows.jsonl --out r.jsonl "
        "--no-cache",
        "judge": f"judge {made}/dataset --out out {asked}",
        "benchmark": f"adopt {made}/judgebench --benchmark judgebench --out out",
        "describe dataset": f"describe {made}/dataset --json a.json",
        "gate write": f"gate write {made}/run --out judge.lock",
        "gate check": f"gate check {made}/run --lock {made}/judge.lock --junit g.xml "
        "--summary g.md",
        "accept": f"accept {made}/run --risk 0.9 --apply {made}/run --out a.csv "
        "--json a.json",
        "adopt": f"adopt {made}/verdicts.csv --out out",
        "agreement": f"agreement {made}/people.csv --json a.json",
        "describe": f"describe {made}/data --json described.json",
        "studio": f"studio {made}/dataset {made}/run",
        "studio people": f"studio {made}/dataset --people out --rater {RATER}",
    }
    for name in FORMATS:
        lines[f"export {name}"] = (
            f"export {made}/dataset --format {name} --out "
            f"out{'.jsonl' * (name in ONE_FILE)}"
        )
    return {name: line.split() for name, line in lines.items()}


ONE_FILE = ("trl",)
RATER = "anna"
BOXES = "--task object_detection --gt {0}/gt.json --images {0}/images"
USUAL = {"describe dataset": 1, "pipeline": 1, "gate check": 3}
"""The exit status where all is well, if it is not 0: ``describe`` has findings, the
replies give ``pipeline`` no value, and ``gate check`` has few images.
"""


class Browser(TestClient):
    """Signals wait for the answer, as they do with uvicorn: if one came while anyio
    starts a request's thread, anyio would wait for that thread for ever.
    """

    def request(self, *words: Any, **named: Any) -> Any:
        heard = list[int]()
        former = {
            number: signal.signal(
                number, lambda number, _frame: heard.append(number)
            )
            for number in SIGNALS[:2]
        }
        try:
            return super().request(*words, **named)
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
            for number in heard[:1]:
                signal.raise_signal(number)


def visit(app: Any, _host: str, port: int) -> None:
    """In place of a server until Ctrl-C: what a browser asks of the studio, or a rater
    who answers six questions.
    """
    client = Browser(app, base_url=f"http://127.0.0.1:{port}")
    if Path("out").exists():
        rate(client)
        return
    slug = re.findall(r'href="/d/([\w-]+)"', client.get("/").text)[0]
    cards = client.get(f"/d/{slug}/cards")
    if cards.status_code != 200:  # no room for the index, which was said
        return
    for card in cards.json()["cards"][:3]:
        for image in re.findall(r"media/[\w./-]+", json.dumps(card)):
            client.get(f"/d/{slug}/thumb/160/{image}")


def rate(client: TestClient) -> None:
    """Each answer that the server has confirmed stands in the journal."""
    confirmed, address = 0, f"/people/{RATER}"
    headers = {"x-studio-token": Tokens(cache_home(), Path("out")).token(RATER)}
    state = client.get(f"{address}/next", headers=headers).json()
    for _ in range(6):
        answer = {
            "slot": state["question"]["slot"],
            "seconds": 1,
            "cannot_tell": True,
        }
        reply = client.post(f"{address}/answer", headers=headers, json=answer)
        if reply.status_code != 200:
            print(reply.status_code, reply.text)
            break
        state, confirmed = reply.json(), confirmed + 1
    assert Path("out/verdicts.jsonl").read_bytes().count(b"\n") == confirmed


def prepare(made: Path, server: str, wanted: list[list[str]]) -> None:
    """The inputs of :func:`commands`; those that other commands make, as far as the
    ``wanted`` ones read them."""
    make_folder(
        made / "data", tasks=["object_detection"], images=6, annotations=4
    )
    for number in range(4):
        write_png(
            made / f"images/i{number}.png",
            (rng_for(number).random((96, 96, 3)) * 255).astype("uint8"),
        )
    boxes = [
        {
            "image_id": k,
            "category_id": 1,
            "bbox": [9, 9, 40 + k, 40],
            "iscrowd": 0,
            "area": 9,
        }
        for k in range(4)
    ]
    images = [
        {"id": k, "file_name": f"i{k}.png", "width": 96, "height": 96}
        for k in range(4)
    ]
    truths = [{"id": k} | box for k, box in enumerate(boxes)]
    labels = [{"id": 1, "name": "dog"}]
    (made / "gt.json").write_text(
        json.dumps(
            {"images": images, "categories": labels, "annotations": truths}
        )
    )
    (made / "pred.json").write_text(
        json.dumps([box | {"score": 0.9} for box in boxes])
    )
    image = base64.b64encode(
        png_bytes((rng_for(9).random((16, 16, 3)) * 255).astype("uint8"))
    ).decode()
    rows = [
        "index\tquestion\tA\tB\tanswer\timage",
        *(f"{k}\twhich?\tcat\tdog\tA\t{image}" for k in range(8)),
    ]
    (made / "t.tsv").write_text("\n".join(rows) + "\n")
    row = {
        "instruction": "x",
        "input_image": "images/i0.png",
        "edited_images": ["images/i1.png", "images/i2.png"],
    }
    (made / "rows.jsonl").write_text(
        "".join(json.dumps({"key": f"r{k}"} | row) + "\n" for k in range(8))
    )
    (made / "c.yaml").write_text(
        "metric_configs: {m: {pipe_name: pairwise-judge, init_config: {backend: api, "
        f"model_name: m, retries: 0, base_url: '{server}', prompt_info: {{prompt_id: "
        "vlm/assessment/visual_consistency/pairwise}}}}"
    )
    ratings = [
        f"{k},s,{who},boxes,{k + turn}"
        for k in range(6)
        for turn, who in enumerate(("anna", "ben"))
    ]
    (made / "verdicts.csv").write_text(
        "item,model_a,model_b,judge,verdict,truth\n"
        + "".join(f"{k},s,t,j,{'AB'[k % 2]},A\n" for k in range(12))
    )
    (made / "people.csv").write_text(
        "\n".join(["item,source,rater,dimension,score", *ratings]) + "\n"
    )
    one = {
        "pair_id": "p",
        "original_id": "1",
        "source": "mmlu",
        "question": "?",
        "response_model": "m",
    }
    pairs = [
        one
        | {
            "pair_id": str(k),
            "response_A": f"a{k}",
            "response_B": f"b{k}",
            "label": "A>B",
        }
        for k in range(6)
    ]
    (made / "judgebench").mkdir()
    (made / "judgebench/d.jsonl").write_text(
        "".join(json.dumps(pair) + "\n" for pair in pairs)
    )
    told = BOXES.format(made)
    oracle = "--backend baseline --model oracle:0.8"
    lines = [
        f"build {made}/data --out {made}/dataset --workers 1",
        f"judge {made}/dataset {oracle} --out {made}/run",
        f"judge {made}/dataset {oracle} --set seed=5 --out {made}/run2",
        f"import coco {told} --pred {made}/pred.json --source before --out "
        f"{made}/imported",
        f"mmbench infer {made}/t.tsv --out {made}/p.xlsx --model m --base-url {server} "
        "--set cache=false",
        f"gate write {made}/run --out {made}/judge.lock",
    ]
    read = "".join(f"{word} " for words in wanted for word in words)
    needed = list[str]()
    for line in reversed(lines):
        output = line.partition(" --out ")[2].split()[0]
        if f"{output} " in read or output.endswith(("dataset", "imported")):
            needed.insert(0, line)
            read += f"{line} "
    for line in needed:
        ended = forked(line.split(), made)
        assert ended.status == 0, (line, ended)
    asked = json.loads((made / "dataset/questions.json").read_bytes())
    answers = [
        f"{one['id']},{one['answer']}"
        for one in asked
        if one["question_type"] == "pairwise"
    ][::3]
    (made / "labels.csv").write_text(
        "\n".join(["question_id,answer", *answers]) + "\n"
    )


def forked(
    words: list[str],
    place: Path,
    before: Callable[[], object] = bool,
    after: Any = None,
) -> Ended:
    """Run a command in a fork of this process, in ``place``, after ``before``;
    ``after``: (seconds, signal).
    """
    reading, writing = os.pipe()
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            os.chdir(place)
            os.close(reading)
            for number in (1, 2):
                os.dup2(writing, number)
            sys.argv = ["visualjudge", *words]
            if words[0] == "studio":
                os.environ["XDG_CACHE_HOME"], studio_serving.serve = (
                    "cache",
                    visit,
                )
            faulthandler.dump_traceback_later(LONGEST_S - 2)
            before()
            run()
            status = 0
        except SystemExit as ending:
            status = (
                ending.code
                if isinstance(ending.code, int)
                else int(ending.code is not None)
            )
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    said = _said(reading, child, after)
    return Ended(
        os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]),
        said,
        time.monotonic() - begun,
    )


def _said(reading: int, child: int, after: Any) -> str:
    """All that a command says; it is sent ``after``'s signal, and is killed after
    :data:`LONGEST_S`.
    """
    begun, parts = time.monotonic(), list[bytes]()
    os.set_blocking(reading, False)
    while True:
        now = time.monotonic() - begun
        if after is not None and now >= after[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, after[1])
            after = None
        if now > LONGEST_S:
            os.killpg(child, signal.SIGKILL)
            parts.append(b"Error in time: killed")
            break
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(reading, 1 << 16):
                parts.append(piece)
            break
        time.sleep(0.002)
    os.close(reading)
    return b"".join(parts).decode(errors="replace")


# ---------------------------------------------------------------- what is taken from a
# command


def no_room(most: int) -> Callable[[], None]:
    """No file longer than ``most`` bytes; the pipes of the output are no files."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def no_rights() -> None:
    """Root loses the right to write where the mode forbids it: DAC_OVERRIDE,
    DAC_READ_SEARCH and FOWNER.
    """
    if os.geteuid() == 0:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        data = (ctypes.c_uint32 * 6)()
        libc = ctypes.CDLL(None)
        assert libc.capget(header, data) == 0
        data[0] &= ~0b1110
        assert libc.capset(header, data) == 0


# ---------------------------------------------------------------- what may be left


def faults(
    name: str, place: Path, ended: Ended, usual: set[str]
) -> Iterator[str]:
    """What is wrong after a command that had to fail, or was ended."""
    if (
        "Traceback" in ended.said
        or "Exception ignored" in ended.said
        or "Error in" in ended.said
    ):
        yield f"traceback: {ended.said[-1500:]}"
    lines = [line for line in ended.said.splitlines() if line.strip()]
    if ended.status > 0 and ended.status not in (130, 143) and not lines:
        yield f"status {ended.status} and not a word"
    files = {
        path.relative_to(place).as_posix(): path
        for path in place.rglob("*")
        if path.is_file()
    }
    missing = usual - _in(place)
    yield from (
        f"left over: {path.relative_to(place)}"
        for path in sorted(place.rglob(".*"))
        if ended.status != -signal.SIGKILL
        and path.relative_to(place).as_posix() not in usual
    )
    if ended.status == 0 and missing:
        yield f"status 0 without {sorted(missing)[:4]}"
    for inside, path in files.items():
        # the cache is SQLite's, and a process that fills it may still end
        if not any(
            part.startswith((".", "cache")) for part in inside.split("/")
        ):
            yield from half(name, path)
    if (place / "out/dataset.json").exists() and missing:
        yield f"a dataset without {sorted(missing)[:4]}"


def half(name: str, path: Path) -> Iterator[str]:
    """Whether a file is not whole."""
    try:
        _read(path)
    except Exception as error:
        if not (name in KEPT_ON and path.suffix == ".jsonl"):
            yield f"half a file: {path.name} ({path.stat().st_size} bytes): {error!r}"[
                :300
            ]


def _read(path: Path) -> None:
    content, suffix = path.read_bytes(), path.suffix
    if suffix == ".json":
        json.loads(content)
    elif suffix in (".jsonl", ".csv", ".tsv", ".md", ".yaml", ".py"):
        assert content.endswith(b"\n")
        if suffix == ".jsonl":
            [json.loads(line) for line in content.splitlines()]
        if suffix == ".csv":
            list(csv.reader(content.decode().splitlines()))
    elif suffix in (".png", ".jpg"):
        assert content.endswith(
            b"IEND\xaeB`\x82" if suffix == ".png" else b"\xff\xd9"
        )
    elif suffix in (".html", ".svg"):
        assert content.rstrip().endswith(
            b"</html>" if suffix == ".html" else b"</svg>"
        )
    elif suffix == ".parquet":
        assert (
            content[:4] == content[-4:] == b"PAR1"
        )  # polars would start threads here, which no fork survives
    elif suffix == ".xlsx":
        assert zipfile.ZipFile(path).testzip() is None
    elif suffix == ".sqlite":
        with contextlib.closing(sqlite3.connect(path)) as index:
            assert index.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    elif not suffix.startswith(".lock") and path.name != "LICENSE":
        assert content


# ---------------------------------------------------------------- all of it


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The URL of a good server, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:

        async def serve() -> None:
            async with chaos("api") as good:
                os.write(writing, f"{good.url}/v1\n".encode())
                await asyncio.Event().wait()

        asyncio.run(serve())
        os._exit(0)
    try:
        yield os.read(reading, 1000).decode().strip()
    finally:  # else it would hold this process's output open
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def records(name: str, place: Path) -> list[str]:
    """What stands once in the file that a command of :data:`GOES_ON` makes; nothing for
    other commands.
    """
    if name not in GOES_ON:
        return []
    _, file, field = GOES_ON[name]
    content = (place / file).read_bytes()
    rows = (
        map(json.loads, content.splitlines())
        if file.endswith(".jsonl")
        else json.loads(content)
    )
    return sorted(str(row[field]) for row in rows)


def not_completed(
    name: str, words: list[str], place: Path, usual: Usual
) -> Iterator[str]:
    """What lacks, or is doubled, after a killed command was given again."""
    option = GOES_ON[name][0] if name in GOES_ON else AGAIN.get(words[0], "")
    ended = forked([*words, *option.split()], place)
    if ended.status != USUAL.get(name, 0) or "Traceback" in ended.said:
        yield f"given again after a kill: {ended}"
        return
    hidden = {
        path.relative_to(place).as_posix() for path in place.rglob(".*")
    } - usual.files
    if hidden:
        yield f"left after a kill and a whole run: {sorted(hidden)}"
    if records(name, place) != usual.records or usual.files - _in(place):
        yield (
            f"given again after a kill: {records(name, place)} in "
            f"{sorted(_in(place))}"
        )


def cases(
    name: str, usual: float, seed: int, *, only_kill: bool
) -> Iterator[Case]:
    """One of each kind, another in each round; what can go on is killed in each."""
    numbers = {signal.SIGKILL} if only_kill or name in GOES_ON else set()
    if not only_kill:
        yield (
            f"files of {(most := LIMITS[seed % len(LIMITS)])} bytes",
            no_room(most),
            None,
            0o755,
        )
        yield "read-only folder", no_rights, None, 0o555
        numbers.add(SIGNALS[seed % len(SIGNALS)])
    for number in sorted(numbers):
        yield (
            number.name,
            bool,
            (
                float(rng_for(seed, name, number).uniform(0.02, 1.0)) * usual,
                number,
            ),
            0o755,
        )


def _in(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}


def main(
    place: Path, seconds: float, wanted: list[str], killed: list[str]
) -> int:
    """Print each fault; the number of them."""
    os.environ |= {
        "OPENAI_API_KEY": "sk-not-a-real-key-0123456789",
        "XDG_CACHE_HOME": str(place / "cache"),
    }
    made, count, done = place / "made", 0, 0
    (place / "tmp").mkdir(parents=True)
    os.environ["TMPDIR"] = str(place / "tmp")
    made.mkdir()
    with serving() as server:
        every = commands(made, server)
        table = {name: every[name] for name in ([*wanted, *killed] or every)}
        prepare(made, server, list(table.values()))
        before = {
            path: path.stat().st_mtime_ns
            for path in made.rglob("*")
            if path.is_file()
        }
        end, seed = time.monotonic() + seconds, int(time.time())
        usual = dict[str, Usual]()
        while True:
            for k, (name, words) in enumerate(table.items()):
                if name not in usual:
                    with _folder(place, made, name) as here:
                        ended = forked(words, here)
                        count += _told(
                            name,
                            "as usual",
                            []
                            if ended.status == USUAL.get(name, 0)
                            else [f"{ended}"],
                        )
                        usual[name] = Usual(
                            ended.seconds, _in(here), records(name, here)
                        )
                for what, first, after, mode in cases(
                    name,
                    usual[name].seconds,
                    seed + k,
                    only_kill=name in killed,
                ):
                    with _folder(place, made, name) as here:
                        _allow(here, mode)
                        ended = forked(words, here, first, after)
                        _allow(here, 0o755)
                        found = list(
                            faults(name, here, ended, usual[name].files)
                        )
                        if (
                            after is None
                            and ended.status == 0
                            and mode == 0o555
                        ):
                            found.append("status 0 in a read-only folder")
                        if (
                            ended.status == -signal.SIGKILL
                            and words[0] != "studio"
                        ):
                            found += not_completed(
                                name, words, here, usual[name]
                            )
                        if left := _in(place / "tmp"):
                            if ended.status != -signal.SIGKILL:
                                found.append(
                                    "left in the folder for temporary files: "
                                    f"{sorted(left)[:3]}"
                                )
                            shutil.rmtree(place / "tmp")
                            (place / "tmp").mkdir()
                        count, done = count + _told(name, what, found), done + 1
                        if os.environ.get("SHOW"):
                            print(
                                f"    {name}: {what}: {ended.status} "
                                f"{ended.seconds:.2f} s {ended.said[-200:]!r}"
                            )
            seed += 1
            print(f"{done} cases so far, seed {seed}", flush=True)
            if time.monotonic() >= end:
                break
        changed = [
            str(path)
            for path, mtime in before.items()
            if not path.exists() or path.stat().st_mtime_ns != mtime
        ]
        count += _told(
            "all", "inputs", [f"changed: {path}" for path in changed]
        )
    print(f"{done} cases of {len(table)} commands: {count} faults")
    return count


def _told(name: str, what: str, found: list[str]) -> int:
    for fault in found:
        print(f"{name}, {what}: {fault}", flush=True)
    return len(found)


def _allow(here: Path, mode: int) -> None:
    """Set the mode of the folder, and of the data folder to which an import adds."""
    for folder in (here, *here.glob("out")):
        folder.chmod(mode)


@contextlib.contextmanager
def _folder(place: Path, made: Path, name: str) -> Iterator[Path]:
    """An empty folder; of an import, a data folder is there to which it adds."""
    here = place / "here"
    here.mkdir()
    if name == "import":
        shutil.copytree(made / "imported", here / "out")
    try:
        yield here
    finally:
        shutil.rmtree(here)


if __name__ == "__main__":
    named, _, only_killed = " ".join(sys.argv[3:]).partition("--kill")
    names = [
        [name for name in part.split(",") if name]
        for part in (named.strip(), only_killed.strip())
    ]
    sys.exit(min(main(Path(sys.argv[1]), float(sys.argv[2]), *names), 100))
