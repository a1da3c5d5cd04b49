"""Peak memory and time of judge, resume, report, validate and convert over many questions.

A small dataset's questions are repeated under new ids (images are shared), so that only questions are many.

    python benchmarks/scale.py DATASET --questions 1000000

``CPU s`` counts all processes of a command, ``peak MB`` adds up those of all its processes. judge and report are
measured over a hundredth and a tenth of the questions too: what one more question costs should not depend on how many
there are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import orjson

from visualjudge.dataset.build import counts
from visualjudge.dataset.folder import load_dataset

BASELINE = ("--backend", "baseline", "--model", "oracle:0.8")


def replicate(source: Path, out: Path, count: int) -> None:
    """The dataset at ``source`` again and again, until there are ``count`` questions."""
    out.mkdir(parents=True)
    shutil.copytree(source / "media", out / "media", copy_function=lambda a, b: Path(b).hardlink_to(a))
    questions = orjson.loads((source / "questions.json").read_bytes())
    digest = hashlib.sha256()
    with (out / "questions.json").open("wb") as file:

        def write(part: bytes) -> None:
            file.write(part)
            digest.update(part)

        for number in range(count):
            question = dict(questions[number % len(questions)])
            turn = number // len(questions)
            question["id"] = f"{question['id']}-{turn}"
            question["annotation_ids"] = [f"{name}-{turn}" for name in question["annotation_ids"]]
            write((b",\n" if number else b"[\n") + orjson.dumps(question))
        write(b"\n]\n")
    meta = json.loads((source / "dataset.json").read_text())
    media = {name: stated for name, stated in meta["files"].items() if name.startswith("media/")}
    meta["files"] = {**media, "questions.json": digest.hexdigest()}
    meta.pop("undecidable", None)
    (out / "dataset.json").write_text(json.dumps(meta))
    meta["counts"] = counts(load_dataset(out))
    (out / "dataset.json").write_text(json.dumps(meta))


# ---------------------------------------------------------------- measuring


def measured(name: str, count: int, *words: object) -> float:
    """Run a command in a process of its own; print its row; its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    processes = int(str(words[words.index("--processes") + 1])) if "--processes" in words else 0
    script = (
        "import resource as r, sys; from visualjudge.cli.main import run\ntry: run()\nfinally: "
        f"print('peak', (r.getrusage(r.RUSAGE_SELF).ru_maxrss + {processes} * "
        "r.getrusage(r.RUSAGE_CHILDREN).ru_maxrss) // 1024, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = done.stderr.strip().splitlines()[-1].removeprefix("peak ")
    row(name, seconds, cpu, count, peak, done.returncode)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return cpu


def row(name: str, seconds: float, cpu: float, count: int, peak: str, status: int) -> None:
    """A line of the table; the rates are of seconds and of CPU seconds."""
    rates = f"{count / seconds:.0f} | {count / cpu:.0f}" if count else " | "
    print(f"| {name} | {seconds:.1f} | {cpu:.1f} | {rates} | {peak} | {status} |", flush=True)


def resumed(count: int, out: Path, *words: object) -> None:
    """Kill a run halfway; how long it takes to its first new verdict when it is resumed."""
    command = [sys.executable, "-m", "visualjudge", *map(str, words), "--out", str(out)]
    journal = out / "verdicts.jsonl"
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    grown(journal, 60 * count, first)  # about half: a verdict of a baseline takes some 120 bytes
    first.kill()
    first.wait()
    size, begun = journal.stat().st_size, time.monotonic()
    again = subprocess.Popen([*command, "--resume"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    grown(journal, size, again)
    seconds = time.monotonic() - begun
    fields = Path(f"/proc/{again.pid}/stat").read_text().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    row("start of a resumed run", seconds, cpu, 0, "", again.wait())
    lines = journal.read_bytes().count(b"\n")
    print(f"verdicts after the resumed run: {lines} of {count}")


def grown(path: Path, size: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a file is larger than ``size``, or the process has ended."""
    while process.poll() is None and not (path.is_file() and path.stat().st_size > size):
        time.sleep(0.02)


def told(name: str, first: bytes, second: bytes) -> None:
    print(f"{name}: {'the same' if first == second else 'NOT THE SAME'}", flush=True)


# ---------------------------------------------------------------- what is measured


def prepared(source: Path, place: Path, count: int) -> None:
    """``count`` questions in both forms at ``place``; what is there already is taken."""
    if not (place / "json/dataset.json").is_file():
        shutil.rmtree(place, ignore_errors=True)
        replicate(source, place / "json", count)
    if not (place / "parquet").is_dir():
        words = ("convert", place / "json", "--to", "parquet", "--out", place / "parquet")
        measured("convert --to parquet", count, *words)


def growing(place: Path, count: int) -> list[float]:
    """CPU seconds of judge and of report."""
    run, data = fresh(place / "run"), place / "parquet"
    judged = measured("judge", count, "judge", data, *BASELINE, "--out", run)
    return [judged, reported("report", count, run, data)]


def reported(name: str, count: int, run: Path, data: Path) -> float:
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


def largest(place: Path, count: int, form: str) -> None:
    """What is measured on all questions alone; ``growing`` comes before."""
    run, two, data = place / "run", fresh(place / "two"), place / form
    journals = run / "verdicts.jsonl", two / "verdicts.jsonl"
    measured(f"judge --processes 2, {form}", count, "judge", data, *BASELINE, "--processes", 2, "--out", two)
    told("verdicts of one and of two processes", *(path.read_bytes() for path in journals))
    resumed(count, fresh(place / "killed"), "judge", data, *BASELINE)
    measured(f"validate --sample 1000, {form}", count, "validate", data, "--sample", 1000)
    measured("convert RUN --to parquet", count, "convert", two, "--to", "parquet")
    reported(f"report on verdicts.parquet, {form}", count, two, data)
    told("metrics.json of both forms of the verdicts", figures(run), figures(two))
    measured("convert RUN --to json", count, "convert", two, "--to", "json")
    told("verdicts after going to Parquet and back", *(path.read_bytes() for path in journals))


def slopes(sizes: list[int], costs: list[list[float]]) -> None:
    """What one more question costs, between each two sizes."""
    for name, cpu in zip(("judge", "report"), zip(*costs, strict=True), strict=True):
        for (few, less), (many, more) in pairwise(zip(sizes, cpu, strict=True)):
            each = 1e6 * (more - less) / (many - few)
            print(f"{name}, {few:,} to {many:,} questions: {each:.0f} µs of CPU for one more")


def size_of(folder: Path) -> float:
    """Megabytes of a dataset's questions."""
    files = [folder / "questions.json", *folder.glob("questions/*")]
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def measure(source: Path, home: Path, count: int, both: bool) -> None:
    """Print the table."""
    print("| step | seconds | CPU s | questions/s | questions/CPU s | peak MB | status |\n" + "|---" * 7 + "|")
    sizes, costs, place = [count // 100, count // 10, count], list[list[float]](), home
    for size in sizes:
        place = home / str(size)
        print(f"| **{size:,} questions** | | | | | | |")
        prepared(source, place, size)
        costs.append(growing(place, size))
    for form in ("parquet", *(["json"] if both else [])):
        largest(place, count, form)
    back = fresh(place / "back")
    measured("convert --to json", count, "convert", place / "parquet", "--to", "json", "--out", back)
    told(
        "questions.json there and back", *((place / name / "questions.json").read_bytes() for name in ("json", "back"))
    )
    slopes(sizes, costs)
    print(f"questions: {size_of(place / 'json'):.1f} MB as JSON, {size_of(place / 'parquet'):.1f} MB as Parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="A dataset that visualjudge build has made")
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="also the JSON form")
    parser.add_argument("--home", type=Path, help="keep the data here, and take what is there")
    args = parser.parse_args()
    home = args.home or Path(tempfile.mkdtemp(prefix="scale_", dir=args.dataset.resolve().parent))
    try:
        measure(args.dataset, home, args.questions, args.json)
    finally:
        if args.home is None:
            shutil.rmtree(home)


if __name__ == "__main__":
    main()
