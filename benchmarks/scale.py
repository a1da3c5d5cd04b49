"""What build, judge, report and the rest cost over many questions: time, CPU and memory, beside the
goals.

    python benchmarks/scale.py --questions 1000000

A data folder of drawn 160×120 images, 50 questions each (object detection, four sources, pairs,
rankings and scores in three drawn and three text encodings), is built with two workers into Parquet
and tar shards, in three sizes: a hundredth, a tenth and all of the questions. Each is judged by a
baseline and reported on, since what one more question costs should not depend on how many there
are. On the largest, runs are killed and resumed, compacted, and converted.

``CPU s`` counts all processes of a command, ``peak MB`` adds up those of all its processes. With
``--home`` the data are kept, and what is there is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from visualjudge.core.seeding import rng_for
from visualjudge.vision.raster.images import write_png

BASELINE = ("--backend", "baseline", "--model", "oracle:0.8")
TASK = "object_detection"
SIZE = (120, 160)
PER_IMAGE = 50
SOURCES = ("one", "two", "three", "four")
ENCODINGS = 6
GROWN = ("build", "judge", "report")


# ---------------------------------------------------------------- the data


def data_folder(root: Path, images: int) -> Path:
    """``images`` drawn images with an annotation from each source; what is there already is
    taken.
    """
    if (root / "images").is_dir():
        return root
    for name in ("annotations", "photos", "images"):
        (root / name).mkdir(parents=True)
    records = [record for k in range(images) for record in _annotated(root, k)]
    (root / f"annotations/{TASK}_annotations.jsonl").write_bytes(
        b"\n".join(map(orjson.dumps, records))
    )
    files = {f"image-{k:06d}": {"file": f"photos/{k:06d}.png"} for k in range(images)}
    (root / f"images/{TASK}.json").write_bytes(orjson.dumps(files))
    return root


def _annotated(root: Path, number: int) -> list[dict[str, Any]]:
    rng = rng_for(7, "image", number)
    pixels = np.full((*SIZE, 3), rng.integers(60, 200, 3), dtype=np.uint8)
    boxes = [_box(rng) for _ in range(3)]
    for x1, y1, x2, y2 in boxes:
        pixels[int(y1) : int(y2), int(x1) : int(x2)] = rng.integers(0, 255, 3)
    write_png(root / f"photos/{number:06d}.png", pixels)
    scores = rng.choice(np.arange(0, 10, 0.25), len(SOURCES), replace=False).tolist()
    return [_record(number, k, boxes, score, rng) for k, score in enumerate(scores)]


def _record(
    number: int,
    source: int,
    boxes: Sequence[Sequence[float]],
    score: float,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """The boxes of an image, moved the farther the lower the score."""
    moved = [[round(v + rng.uniform(0, 10 - score), 1) for v in box] for box in boxes]
    return {
        "annotation_id": f"{number:06d}-{SOURCES[source]}",
        "image_id": f"image-{number:06d}",
        "task": TASK,
        "class_of_interest": ["dog"],
        "error_type": ("localization", "missed", "boundary")[number % 3],
        "prompt": None,
        "prediction": {"detections": [{"label": "dog", "bbox": box} for box in moved]},
        "final_score": score,
        "source": SOURCES[source],
    }


def _box(rng: np.random.Generator) -> list[float]:
    x, y = rng.uniform(1, 90), rng.uniform(1, 60)
    return [float(v) for v in (x, y, x + rng.uniform(10, 50), y + rng.uniform(10, 40))]


def caps(images: int) -> list[object]:
    """Options of ``build`` that give 50 questions an image."""
    pairs = round(images * (PER_IMAGE / ENCODINGS - len(SOURCES) - 1))
    counts = {
        "judge-pairs": pairs,
        "encoding-pairs": pairs,
        **dict.fromkeys(
            ("judge-groups", "encoding-groups", "scoring-groups", "ranking-groups"), images
        ),
    }
    return [word for name, count in counts.items() for word in (f"--{name}", count)]


# ---------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took."""

    count: int
    seconds: float
    cpu: float
    peak: float
    status: int = 0

    @property
    def each(self) -> float:
        """Microseconds of CPU a question."""
        return 1e6 * self.cpu / self.count


def measured(name: str, count: int, *words: object) -> Cost:
    """Run a command in a process of its own; print its row."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    given = [int(str(words[words.index(flag) + 1])) for flag in ("--workers",) if flag in words]
    script = (
        "import resource as r, sys; from visualjudge.cli.main import run\ntry: run()\nfinally: "
        f"print('peak', (r.getrusage(r.RUSAGE_SELF).ru_maxrss + {sum(given)} * "
        "r.getrusage(r.RUSAGE_CHILDREN).ru_maxrss) // 1024, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cost = Cost(
        count, seconds, cpu, float(done.stderr.strip().rpartition("peak ")[2]), done.returncode
    )
    row(name, cost)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return cost


def row(name: str, cost: Cost) -> None:
    """A line of the table; the rates are of seconds and of CPU seconds."""
    rates = (
        f"{cost.count / cost.seconds:.0f} | {cost.count / cost.cpu:.0f}" if cost.count else " | "
    )
    peak = f"{cost.peak:.0f}" if cost.peak else ""
    print(
        f"| {name} | {cost.seconds:.1f} | {cost.cpu:.1f} | {rates} | {peak} | {cost.status} |",
        flush=True,
    )


def resumed(count: int, out: Path, *words: object) -> tuple[float, int]:
    """Kill a run halfway; the seconds to its first new verdict when it is resumed, and its verdicts
    at the end.
    """
    command = [sys.executable, "-m", "visualjudge", *map(str, words), "--out", str(out)]
    journal = out / "verdicts.jsonl"
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    grown(journal, 60 * count, first)  # about half: a verdict of a baseline takes some 120 bytes
    first.kill()
    first.wait()
    size, begun = journal.stat().st_size, time.monotonic()
    again = subprocess.Popen(
        [*command, "--resume"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    grown(journal, size, again)
    seconds = time.monotonic() - begun
    fields = Path(f"/proc/{again.pid}/stat").read_text().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    row("start of a resumed run", Cost(0, seconds, cpu, 0, again.wait()))
    return seconds, len({orjson.loads(line)["id"] for line in journal.open("rb")})


def grown(path: Path, size: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a file is larger than ``size``, or the process has ended."""
    while process.poll() is None and not (path.is_file() and path.stat().st_size > size):
        time.sleep(0.02)


# ---------------------------------------------------------------- what is measured


class Goals:
    """The lines of the last table."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, what: str, goal: str, seen: str, holds: bool) -> None:
        """One line."""
        self._lines.append(f"| {what} | {goal} | {seen} | {'yes' if holds else '**no**'} |")

    def most(self, what: str, seen: float, goal: float, unit: str) -> None:
        """A line of what should not be more than the goal."""
        told = f"{seen:,.0f}" if seen >= 100 else f"{seen:.3g}"
        self.add(what, f"≤ {goal:,g} {unit}", f"{told} {unit}", seen <= goal)

    def same(self, what: str, first: object, second: object) -> None:
        """A line of two that should be equal."""
        self.add(
            what, "the same", "the same" if first == second else "not the same", first == second
        )

    def show(self) -> None:
        """Print them."""
        print("\n| line | goal | seen | holds |\n|---|---|---|---|", *self._lines, sep="\n")


def growing(place: Path, images: int) -> dict[str, Cost]:
    """What build, judge and report take over ``images`` images."""
    data, dataset, run = (
        data_folder(place / "data", images),
        fresh(place / "parquet"),
        fresh(place / "run"),
    )
    forms = ("--format", "parquet", "--media", "shards", "--workers", 2)
    built = measured(
        "build", images * PER_IMAGE, "build", data, "--out", dataset, *caps(images), *forms
    )
    count = json.loads((dataset / "dataset.json").read_text())["counts"]["questions"]
    judged = measured("judge", count, "judge", dataset, *BASELINE, "--out", run)
    costs = (
        Cost(count, built.seconds, built.cpu, built.peak),
        judged,
        reported("report", count, run, dataset),
    )
    return dict(zip(GROWN, costs, strict=True))


def reported(name: str, count: int, run: Path, data: Path) -> Cost:
    """Report on a run, with ``metrics.json`` in it."""
    out = ("--out", run / "report.html", "--json", run / "metrics.json")
    return measured(name, count, "report", run, "--dataset", data, *out)


def fresh(folder: Path) -> Path:
    """``folder``, which is not there any more."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def figures(run: Path) -> bytes:
    """``metrics.json`` without what says where and when a run was made."""
    metrics = orjson.loads((run / "metrics.json").read_bytes())
    for judge in metrics["judges"]:
        for name in ("run", "info", "judge"):
            judge.pop(name, None)
    return orjson.dumps(metrics)


def largest(place: Path, count: int, goals: Goals) -> None:
    """What is measured on all questions alone; ``growing`` comes before."""
    data = place / "parquet"
    seconds, verdicts = resumed(count, fresh(place / "killed"), "judge", data, *BASELINE)
    goals.most("start of a run resumed after kill -9", seconds, 5, "s")
    goals.add("questions with a verdict after it", f"{count:,}", f"{verdicts:,}", verdicts == count)
    checked = measured("validate --sample 1000", 0, "validate", data, "--sample", 1000)
    goals.add("validate --sample 1000", "status 0", f"status {checked.status}", checked.status == 0)


def converted(place: Path, count: int, goals: Goals) -> None:
    """To the JSON form, to Parquet and back; media stay in shards."""
    there, back, again = (fresh(place / name) for name in ("json", "back", "again"))
    for form, source, target in (
        ("json", place / "parquet", there),
        ("parquet", there, back),
        ("json", back, again),
    ):
        measured(f"convert --to {form}", count, "convert", source, "--to", form, "--out", target)
    goals.same(
        "questions.json there and back",
        *((p / "questions.json").read_bytes() for p in (there, again)),
    )
    share = 100 * size_of(place / "parquet") / size_of(there)
    goals.most("questions as Parquet, of their bytes as JSON", share, 40, "%")
    for folder in (there, back, again):
        shutil.rmtree(folder)


def size_of(folder: Path) -> float:
    """Megabytes of a dataset's questions."""
    files = [folder / "questions.json", *folder.glob("questions/*")]
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def growth(name: str, costs: Sequence[Cost], goals: Goals) -> None:
    """What a question costs in all, and one more between each two sizes."""
    for less, more in pairwise(costs):
        each = 1e6 * (more.cpu - less.cpu) / (more.count - less.count)
        print(
            f"{name}: {more.each:,.1f} µs of CPU a question of {more.count:,}; beyond "
            f"{less.count:,}: {each:,.1f} each"
        )
    first, last = costs[0], costs[-1]
    grown_by = 100 * (last.each / first.each - 1)
    goals.add(
        f"{name}: CPU a question of {last.count:,} over that of {first.count:,}",
        "≤ +10 %",
        f"{grown_by:+.0f} % ({first.each:,.0f} and {last.each:,.0f} µs)",
        grown_by <= 10,
    )


def measure(home: Path, count: int) -> None:
    """Print the tables."""
    print(
        "| step | seconds | CPU s | questions/s | questions/CPU s | peak MB | status |\n"
        + "|---" * 7
        + "|"
    )
    goals, costs, place = Goals(), list[dict[str, Cost]](), home
    for size in (count // 100, count // 10, count):
        place = home / str(size)
        print(f"| **{size:,} questions** | | | | | | |")
        costs.append(growing(place, size // PER_IMAGE))
    last = costs[-1]
    rate = last["judge"].count / last["judge"].seconds
    goals.add("judge with a baseline", "≥ 8,000/s", f"{rate:,.0f}/s", rate >= 8000)
    goals.most("its memory", last["judge"].peak, 600, "MB")
    goals.most("report", last["report"].seconds, 20, "s")
    goals.most("its memory", last["report"].peak, 1500, "MB")
    largest(place, last["judge"].count, goals)
    print()
    for name in GROWN:
        growth(name, [cost[name] for cost in costs], goals)
    goals.show()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--home", type=Path, help="keep the data here, and take what is there")
    args = parser.parse_args()
    home = args.home or Path(tempfile.mkdtemp(prefix="scale_"))
    try:
        measure(home, args.questions)
    finally:
        if args.home is None:
            shutil.rmtree(home)


if __name__ == "__main__":
    main()
