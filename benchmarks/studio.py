"""The studio at scale: start, filters, cards, thumbnails and memory, measured from
outside.

    python benchmarks/studio.py --questions 200000 --out /tmp/studio-bench

Makes a dataset with questions of all kinds (each with images of its own name) and two
runs, starts the server as a process, and prints: start with a cold and a warm index,
latency of filters and of scrolling through the whole grid (cards and thumbnails, none
of them cached) and of pages of questions, and the memory of the server.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode

import numpy as np
import orjson

from visualjudge.core.records import Verdict
from visualjudge.dataset.json_form import (
    BETWEEN,
    FIRST,
    LAST,
    question_from_wire,
    question_to_wire,
)
from visualjudge.runs.verdicts import verdict_line
from visualjudge.studio.studio_data import READING
from visualjudge.vision.raster.images import write_png

TASKS = {
    "object_detection": ("pixel_s0_m0", "pixel_s1_m0", "text_xyxy"),
    "semantic_segmentation": ("pixel_ss0_m0", "text_polygon"),
    "keypoint": ("pixel_s1_c1_m0", "text_flat_list"),
    "lowlevel-deblur": ("pixel",),
    "generation_editing": ("pixel",),
}
CLASSES = [f"class {i}" for i in range(300)]
WORDS = [
    "cat",
    "dog",
    "street",
    "bicycle",
    "red",
    "small",
    "edge",
    "sky",
    "person",
    "holding",
    "umbrella",
    "window",
]
PHOTOGRAPHS = 40


def main() -> None:
    """Make the data, start the server, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--questions", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=Path("studio-bench"))
    parser.add_argument("--requests", type=int, default=150)
    parser.add_argument(
        "--reply-words",
        type=int,
        default=180,
        help="words of a chain of thought, 12 to 1000",
    )
    arguments = parser.parse_args()
    if not (arguments.out / "ds" / "dataset.json").is_file():
        make(arguments.out, arguments.questions, arguments.reply_words)
    shutil.rmtree(arguments.out / "cache", ignore_errors=True)
    print(
        f"{arguments.questions} questions, questions.json "
        f"{size(arguments.out / 'ds/questions.json'):.0f} MB"
    )
    plain = read_by_polars(arguments.out)
    print(f"the same files read by polars: {plain:.1f} s")
    for name in ("cold", "warm"):
        with Server(arguments.out) as server:
            print(f"start, {name} index: answers after {server.seconds:.2f} s")
            followed(server)
            print(
                f"all indexed after {server.age():.1f} s ({server.cpu():.1f} s of "
                f"CPU), {server.memory():.0f} MB in all processes, at most "
                f"{server.most:.0f} MB"
            )
            if name == "warm":
                measure(server, arguments.questions, arguments.requests)


# ---------------------------------------------------------------- data


def make(out: Path, count: int, reply_words: int) -> None:
    """A dataset of ``count`` questions and two runs with chains of thought of
    ``reply_words`` words.
    """
    rng = np.random.default_rng(0)
    root = out / "ds"
    (root / "media").mkdir(parents=True)
    base = photographs(root, rng)
    with (root / "questions.json").open(
        "wb"
    ) as file:  # as `visualjudge build` writes it
        for i in range(count):
            wire = question_to_wire(
                question_from_wire(question(i, rng, root, base))
            )
            file.write((BETWEEN if i else FIRST) + orjson.dumps(wire))
        file.write(LAST)
    (root / "dataset.json").write_text(
        json.dumps({"version": "2.1", "counts": {"questions": count}})
    )
    for name, right in (("one", 0.8), ("two", 0.65)):
        run(out / "runs" / name, root, count, right, reply_words, rng)


def photographs(root: Path, rng: np.random.Generator) -> list[Path]:
    """Images of 640 × 480 with content that is not trivially small."""
    found = []
    for i in range(PHOTOGRAPHS):
        coarse = rng.integers(0, 255, (24, 32, 3), dtype=np.uint8)
        pixels = np.repeat(np.repeat(coarse, 20, 0), 20, 1).astype(
            np.int16
        ) + rng.integers(-9, 9, (480, 640, 3))
        found.append(root / "media" / f"base_{i}.png")
        write_png(found[-1], np.clip(pixels, 0, 255).astype(np.uint8))
    return found


def question(
    i: int, rng: np.random.Generator, root: Path, base: list[Path]
) -> dict[str, Any]:
    """One pairwise question; images are hard links, so that each has a name of its own
    and no thumbnail is shared.
    """
    task = list(TASKS)[int(rng.integers(len(TASKS)))]
    stem = TASKS[task][int(rng.integers(len(TASKS[task])))]
    names = (
        [f"media/{i}_{letter}.png" for letter in "ab"]
        if not stem.startswith("text")
        else []
    )
    for name in names:
        os.link(base[int(rng.integers(PHOTOGRAPHS))], root / name)
    scores = [round(float(s), 4) for s in rng.uniform(0, 10, 2)]
    boxes = "\n".join(
        json.dumps({"label": CLASSES[int(c)], "bbox": [int(c), 2, 3, 4]})
        for c in rng.integers(300, size=14)
    )
    options = [boxes, boxes] if not names else ["<image>", "<image>"]
    words = " ".join(rng.choice(WORDS, 30))
    shown = f"Options:\n\nA. {options[0]}\n\nB. {options[1]}"
    return {
        "id": f"{i:020x}",
        "task": task,
        "encoding": stem,
        "question_type": "pairwise",
        "subset": ["judge_analysis"],
        "image_id": f"image_{int(rng.integers(50_000))}",
        "class_of_interest": [
            CLASSES[int(c)] for c in rng.integers(300, size=4)
        ],
        "error_type": ["missed", "localization", None][int(rng.integers(3))],
        "annotation_ids": [f"{i}-a", f"{i}-b"],
        "final_scores": scores,
        "sources": ["one", "two"],
        "prompt": f"You are a judge. {words}\n\n{shown}\n\nWhich is better, A or B?",
        "images": names,
        "answer": "A" if scores[0] > scores[1] else "B",
    }


def vocabulary(
    rng: np.random.Generator, size: int = 4000
) -> tuple[np.ndarray, np.ndarray]:
    """Words and how often each is said, by Zipf's law; those that are searched are
    among the frequent ones.
    """
    made = [
        "".join(
            chr(97 + int(c))
            for c in rng.integers(0, 26, int(rng.integers(2, 10)))
        )
        for _ in range(size)
    ]
    chances = 1 / np.arange(10, size + len(WORDS) + 10)
    return np.array(WORDS + made), chances / chances.sum()


def run(
    folder: Path,
    root: Path,
    count: int,
    right: float,
    reply_words: int,
    rng: np.random.Generator,
) -> None:
    """A run with replies of some words."""
    folder.mkdir(parents=True)
    words, chances = vocabulary(rng)
    with (folder / "verdicts.jsonl").open("wb") as file:
        for i in range(count):
            value = "AB"[int(rng.random() < right)]
            reply = (
                f"{' '.join(rng.choice(words, reply_words, p=chances))}. Answer: "
                f"{value}"
            )
            verdict = Verdict(
                f"{i:020x}",
                "AB",
                value,
                "ok",
                reply,
                {"prompt_tokens": 900},
                latency_s=0.5,
            )
            file.write(orjson.dumps(verdict_line(verdict)) + b"\n")
    info = {
        "judge": folder.name,
        "asked": count,
        "dataset": {"path": str(root.resolve())},
        "finished": "2026-01-01",
    }
    (folder / "run.json").write_text(json.dumps(info))


def read_by_polars(out: Path) -> float:
    """Seconds in which polars reads the questions and the replies, in a process of its
    own."""
    code = (
        "import sys, polars as pl; pl.read_json(sys.argv[1]); "
        "[pl.read_ndjson(path) for path in sys.argv[2:]]"
    )
    files = [
        out / "ds/questions.json",
        *sorted(out.glob("runs/*/verdicts.jsonl")),
    ]
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *map(str, files)], check=True)
    return time.perf_counter() - started


# ---------------------------------------------------------------- the server


def children(process: int) -> list[int]:
    """All processes that one has started, and those that these have."""
    found = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *children(int(child))]
    return found


class Server:
    """``visualjudge studio`` as a process; ``seconds`` until it answered."""

    def __init__(self, out: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "visualjudge",
            "studio",
            str(out),
            "--port",
            str(self.port),
        ]
        started = time.perf_counter()
        environment = {**os.environ, "XDG_CACHE_HOME": str(out / "cache")}
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not self._answers():
            time.sleep(0.02)
        self.seconds = time.perf_counter() - started
        self.started = started
        self.most = 0.0
        self.watched = threading.Thread(target=self._watch, daemon=True)
        self.watched.start()

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise SystemExit("the server ended")
        try:
            socket.create_connection(("127.0.0.1", self.port), 0.2).close()
        except OSError:
            return False
        return True

    def _watch(self) -> None:
        while self.process.poll() is None:
            self.memory()
            time.sleep(0.1)

    def get(self, path: str) -> bytes:
        """The body of a reply."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.port}{path}"
        ) as reply:
            return bytes(reply.read())

    def age(self) -> float:
        """Seconds since it was started."""
        return time.perf_counter() - self.started

    def memory(self) -> float:
        """Memory in MB of all its processes, without what they share counted twice
        (PSS)."""
        total = 0
        for process in (self.process.pid, *children(self.process.pid)):
            with suppress(OSError):  # it has ended
                text = Path(f"/proc/{process}/smaps_rollup").read_text()
                total += int(text.split("Pss:")[1].split()[0])
        self.most = max(self.most, total / 1024)
        return total / 1024

    def cpu(self) -> float:
        """Seconds of CPU so far, of all threads and of the processes that it has
        ended."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat")
            .read_text()
            .rpartition(")")[2]
            .split()
        )
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


# ---------------------------------------------------------------- measuring


def followed(server: Server) -> None:
    """Use the grid while the index is made: when it has its first cards, and how long
    filters take until all is indexed.
    """
    slug = server.get("/").decode().split('href="/d/')[1].split('"')[0]
    while not first_cards(server, slug):
        time.sleep(0.05)
    print(
        f"the grid has cards after {server.age():.1f} s ({server.cpu():.1f} s of CPU)"
    )
    while any(READING in line for line in lines_of(server)):
        time.sleep(0.1)
    print(
        f"it has all questions after {server.age():.1f} s ({server.cpu():.1f} s of CPU)"
    )
    rng, times = np.random.default_rng(2), list[float]()
    while lines_of(server):
        query = next(filters(rng, ["none", "none"], 1))
        times.append(
            timed(lambda query=query: server.get(f"/d/{slug}/facets?{query}"))
        )
        time.sleep(0.3)
    if times:
        table("filter while replies are indexed", times)


def first_cards(server: Server, slug: str) -> list[Any]:
    """Return the first cards; empty while there are none."""
    try:
        return read(server, f"/d/{slug}/cards?count=60")
    except HTTPError:
        return []


def lines_of(server: Server) -> list[str]:
    """What the pages say of the index that is being made."""
    found: list[str] = json.loads(server.get("/progress"))["lines"]
    return found


def measure(server: Server, count: int, requests: int) -> None:
    """Filters, then scrolling, then memory."""
    home = server.get("/").decode()
    slug = home.split('href="/d/')[1].split('"')[0]
    runs = [part.split('"')[0] for part in home.split('data-run="')[1:]]
    rng = np.random.default_rng(1)
    queries = list(filters(rng, runs, requests))
    table(
        "filter: facets with counts",
        [
            timed(lambda q=q: server.get(f"/d/{slug}/facets?{q}"))
            for q in queries
        ],
    )
    starts = rng.integers(0, count, requests).tolist()
    cards: list[Any] = []
    pages = [
        timed(
            lambda s=s: cards.extend(
                read(server, f"/d/{slug}/cards?start={s}&count=60")
            )
        )
        for s in starts
    ]
    table("scroll: 60 cards", pages)
    names = [
        option["image"]
        for card in cards[: requests * 6]
        for option in card["options"]
        if option["image"]
    ]
    with ThreadPoolExecutor(6) as browser:
        address = f"/d/{slug}/thumb/320/"
        table(
            "scroll: thumbnails, 6 at once",
            list(
                browser.map(
                    lambda n: timed(lambda: server.get(address + quote(n))),
                    names,
                )
            ),
        )
    pages = [f"/d/{slug}/q/{card['id']}" for card in cards[:requests]]
    table(
        "page of a question", [timed(lambda p=p: server.get(p)) for p in pages]
    )
    print(
        f"memory after all that: {server.memory():.0f} MB in all processes, at most "
        f"{server.most:.0f} MB"
    )


def filters(
    rng: np.random.Generator, runs: list[str], count: int
) -> Iterator[str]:
    """Queries as a user clicks them together."""
    for _ in range(count):
        pairs = [
            ("task", list(TASKS)[int(rng.integers(len(TASKS)))]),
            ("class", CLASSES[int(rng.integers(300))]),
            ("error_type", "missed"),
            ("margin", "0.5 to 1"),
            (f"outcome.{runs[0]}", "wrong"),
            (f"outcome.{runs[1]}", "right"),
            ("q", WORDS[int(rng.integers(len(WORDS)))]),
            ("sort", "-disagreement"),
        ]
        yield urlencode(
            [
                pairs[k]
                for k in rng.permutation(len(pairs))[: int(rng.integers(1, 5))]
            ]
        )


def read(server: Server, path: str) -> list[Any]:
    """The cards of a reply."""
    found: list[Any] = json.loads(server.get(path))["cards"]
    return found


def timed(act: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - started)


def table(title: str, times: list[float]) -> None:
    """One line of the result."""
    median, high = np.percentile(times, [50, 95])
    print(
        f"{title}: median {median:.0f} ms, 95 % {high:.0f} ms, max {max(times):.0f} ms "
        f"({len(times)} requests)"
    )


def size(path: Path) -> float:
    """Megabytes of a file."""
    return path.stat().st_size / 1e6


if __name__ == "__main__":
    main()
