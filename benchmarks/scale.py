"""Peak memory and time of judge, resume, report, validate and convert over many questions.

A small dataset's questions are repeated under new ids (images are shared), so that only questions are many.

    python benchmarks/scale.py DATASET --questions 1000000

``CPU s`` counts all processes of a command, ``peak MB`` adds up those of all its processes.
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
from pathlib import Path

import orjson

from visualjudge.dataset.build import counts
from visualjudge.dataset.folder import load_dataset


def replicate(source: Path, out: Path, count: int) -> None:
    """The dataset at ``source`` again and again, until there are ``count`` questions."""
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


def measured(name: str, count: int, *words: object) -> None:
    """Run a command in a process of its own; its seconds, CPU seconds and peak."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    processes = int(words[words.index("--processes") + 1]) if "--processes" in words else 0
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


def size(folder: Path) -> float:
    files = [folder / "questions.json", *folder.glob("questions/*")]
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="A dataset that visualjudge build has made")
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="also the JSON form")
    args = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="scale_", dir=args.dataset.resolve().parent))
    count = args.questions
    try:
        replicate(args.dataset, home / "json", count)
        head = "| step | seconds | CPU s | questions/s | questions/CPU s | peak MB | status |"
        print(head + "\n" + "|---" * 7 + "|")
        measured("convert --to parquet", count, "convert", home / "json", "--to", "parquet", "--out", home / "parquet")
        measured("convert --to json", count, "convert", home / "parquet", "--to", "json", "--out", home / "back")
        baseline = ("--backend", "baseline", "--model", "oracle:0.8")
        for form in ("parquet", *(["json"] if args.json else [])):
            run, words = home / f"run-{form}", ("judge", home / form, *baseline)
            measured(f"judge, {form}", count, *words, "--out", run)
            measured(f"judge --processes 2, {form}", count, *words, "--processes", 2, "--out", home / f"two-{form}")
            resumed(count, home / f"killed-{form}", *words)
            measured(f"validate --sample 1000, {form}", count, "validate", home / form, "--sample", 1000)
            measured(f"report, {form}", count, "report", run, "--dataset", home / form, "--out", home / f"rep-{form}")
            same = (run / "verdicts.jsonl").read_bytes() == (home / f"two-{form}" / "verdicts.jsonl").read_bytes()
            print(f"verdicts of one and of two processes: {'the same bytes' if same else 'NOT THE SAME'}")
        print(f"questions: {size(home / 'json'):.1f} MB as JSON, {size(home / 'parquet'):.1f} MB as Parquet")
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
