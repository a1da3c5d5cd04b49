"""Peak memory and time of judge, validate and convert over many questions.

A small dataset's questions are repeated under new ids (images are shared), so that only questions are many.
`python benchmarks/scale.py --questions 100000`
"""

from __future__ import annotations

import argparse
import hashlib
import json
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
    script = (
        "import resource, sys; from visualjudge.cli.main import run\ntry: run()\nfinally: "
        "print('peak', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = done.stderr.strip().splitlines()[-1].removeprefix("peak ")
    print(f"| {name} | {seconds:.1f} | {cpu:.1f} | {count / seconds:.0f} | {peak} | {done.returncode} |", flush=True)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)


def size(folder: Path) -> float:
    files = [folder / "questions.json", *folder.glob("questions/*")]
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="A dataset that visualjudge build has made")
    parser.add_argument("--questions", type=int, default=100_000)
    args = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="scale_", dir=args.dataset.resolve().parent))
    count = args.questions
    try:
        replicate(args.dataset, home / "json", count)
        print("| step | seconds | CPU s | questions/s | peak MB | status |\n|---|---:|---:|---:|---:|---:|")
        measured("convert --to parquet", count, "convert", home / "json", "--to", "parquet", "--out", home / "parquet")
        measured("convert --to json", count, "convert", home / "parquet", "--to", "json", "--out", home / "back")
        baseline = ("--backend", "baseline", "--model", "oracle:0.8")
        for form in ("json", "parquet"):
            run = home / f"run-{form}"
            measured(f"judge, {form}", count, "judge", home / form, *baseline, "--out", run)
            measured(f"validate, {form}", count, "validate", home / form)
            measured(f"report, {form}", count, "report", run, "--dataset", home / form, "--out", home / f"rep-{form}")
        print(f"questions: {size(home / 'json'):.1f} MB as JSON, {size(home / 'parquet'):.1f} MB as Parquet")
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
