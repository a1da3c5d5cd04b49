"""One million verdicts, from disk to report: time and memory.

    python benchmarks/analysis.py [--questions 250000] [--judges 2]

Writes a dataset of pairwise, ranking and scoring questions and one run a judge, each
question asked in both orders, then runs `visualjudge report` on them in a process of
its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.json_form import json_file

TASKS = (
    "object_detection",
    "instance_segmentation",
    "semantic_segmentation",
    "keypoint",
    "depth_estimation",
)
STEMS = ("pixel_a", "pixel_b", "pixel_c", "text_a", "text_b", "combo")
PROMPT = (
    "You are shown two predictions for one image. Which is better? "
    "<image><image><image>\n" * 6
)


def question(i: int, images: int, rng: np.random.Generator) -> dict[str, Any]:
    """One pairwise question (one in fifty is a ranking, one in fifty a scoring
    question)."""
    kind = {0: "ranking", 1: "scoring"}.get(i % 50, "pairwise")
    count = {"ranking": 3, "scoring": 1, "pairwise": 2}[kind]
    pair = i // len(STEMS)
    scores = [round(float(s), 4) for s in rng.uniform(0, 10, count)]
    order = "".join("ABC"[k] for k in np.argsort(scores)[::-1])
    features = [
        {
            "severity": round(float(rng.random()), 3),
            "text_chars": int(rng.integers(50, 900)),
            "png_bytes": int(rng.integers(9000, 900000)),
            "count": int(rng.integers(0, 9)),
            "area": float(rng.random()),
        }
        for _ in range(count)
    ]
    return {
        "id": f"q{i:07d}",
        "task": TASKS[pair % len(TASKS)],
        "encoding": STEMS[i % len(STEMS)],
        "question_type": kind,
        "subset": ["judge_analysis"],
        "image_id": f"image{pair % images:06d}",
        "class_of_interest": None,
        "error_type": ("missed", "localization", None)[pair % 3],
        "annotation_ids": [f"a{pair}-{k}" for k in range(count)],
        "final_scores": scores,
        "sources": [f"model{(pair + k) % 8}" for k in range(count)],
        "prompt": PROMPT,
        "images": ["media/original.png", "media/a.png", "media/b.png"],
        "answer": scores[0]
        if kind == "scoring"
        else order[0]
        if kind == "pairwise"
        else order,
        "features": features,
    }


def verdict(
    q: dict[str, Any], order: str, rng: np.random.Generator
) -> dict[str, Any]:
    """A judge that is right four times in five, and fails once in fifty."""
    value: Any = q["answer"]
    if q["question_type"] == "scoring":
        value = float(np.clip(round(value + rng.normal()), 0, 10))
    elif rng.random() < 0.2:
        value = (
            {"A": "B", "B": "A"}[value]
            if q["question_type"] == "pairwise"
            else "ABC"
        )
    failed = rng.random() < 0.02
    return {
        "id": q["id"],
        "order": order,
        "value": "Failed" if failed else value,
        "status": "unparseable" if failed else "ok",
        "raw_response": "Option A follows the outline more closely. Answer: A",
        "usage": {"prompt_tokens": 1500, "completion_tokens": 12},
        "latency_s": 0.8,
    }


def write(home: Path, questions: int, judges: int) -> tuple[list[Path], int]:
    """The dataset and the runs; returns the run folders and the number of verdicts."""
    rng = rng_for(0, "benchmark")
    rows = [
        question(i, max(100, questions // 60), rng) for i in range(questions)
    ]
    dataset = home / "dataset"
    dataset.mkdir()
    (dataset / "questions.json").write_bytes(
        b"".join(json_file(map(orjson.dumps, rows)))
    )
    (dataset / "dataset.json").write_bytes(
        orjson.dumps({"version": "2.1", "files": {}})
    )
    checksum = load_dataset(dataset).digest
    folders, total = [], 0
    for j in range(judges):
        run = home / f"run{j}"
        run.mkdir()
        info = {
            "judge": f"judge{j}",
            "simulated": True,
            "dataset": {"path": str(dataset), "checksum": checksum},
        }
        (run / "run.json").write_bytes(orjson.dumps(info))
        with (run / "verdicts.jsonl").open("wb") as journal:
            for q in rows:
                orders = (
                    ("AB", "BA")
                    if q["question_type"] == "pairwise"
                    else ("AB",)
                )
                total += len(orders)
                journal.writelines(
                    orjson.dumps(verdict(q, order, rng)) + b"\n"
                    for order in orders
                )
        folders.append(run)
    return folders, total


def main() -> None:
    """Print time and peak memory."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--questions", type=int, default=256_000)
    parser.add_argument("--judges", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        folders, total = write(home, args.questions, args.judges)
        code = "from visualjudge.cli.main import run; run()"
        command = [sys.executable, "-c", code, "report", *map(str, folders)]
        outputs = [
            "--out",
            str(home / "report.html"),
            "--json",
            str(home / "metrics.json"),
            "--csv",
            str(home / "csv"),
        ]
        started = time.perf_counter()
        done = subprocess.run(
            [*command, *outputs],
            check=True,
            capture_output=True,
            env=os.environ,
        )
        wall = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak, cpu = used.ru_maxrss / 2**20, used.ru_utime + used.ru_stime
        print(done.stdout.decode())
        what = f"{total:,} verdicts on {args.questions:,} questions"
        print(f"{what}: {wall:.1f} s ({cpu:.1f} s CPU), peak {peak:.2f} GiB")


if __name__ == "__main__":
    main()
