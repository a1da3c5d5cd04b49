"""Thousands of questions through each fake of a batch interface, all faults, killed at random
moments.

    python tests/batch/soak_batches.py --questions 5000 --kills 20

Ends with status 1 unless every question has exactly one verdict, the same as live, and no request
was paid twice.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import orjson

from batch.fake_batches import ALL
from faults.lying_batches import LyingBatches, lies
from runs.made_dataset import make_dataset
from visualjudge.core.seeding import rng_for
from visualjudge.runs.batch.ledger import parts_of

KEY = "sk-soak-0123456789abcdef"


LIES = frozenset(
    {"HTTP 401 with text", "HTTP 403 with HTML", "HTTP 404 with text", "307 to another host"}
)
"""Of a batch or the file of its results: after them each batch can be had again, so that nothing is
paid twice.
"""


def soak(
    backend: str,
    dataset: Path,
    run: Path,
    *,
    questions: int,
    kills: int,
    size: int,
    seed: int,
    lying: bool = False,
) -> list[str]:
    """What is wrong at the end; nothing if all is well."""
    rng = rng_for(seed, "kills")
    begun, killed = time.monotonic(), 0
    told = [lie for lie in lies() if lie.name in LIES and lie.step != "create"] * 3 if lying else []
    with LyingBatches(told, ALL, seed) as fake:
        command = _command(backend, fake.url, dataset)
        batched = [
            *command,
            "--batch",
            "--batch-size",
            str(size),
            "--poll",
            "0.3",
            "--out",
            str(run),
            "--resume",
        ]
        while killed < kills:
            process = subprocess.Popen(
                batched, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                process.wait(rng.uniform(0.5, 6.0))
            except subprocess.TimeoutExpired:
                killed += 1
                process.kill()
                process.wait()
            else:
                break
        if lying:
            subprocess.run(batched, env=_environment(), capture_output=True, check=False)
            closed = sum(part.status == "closed" for part in parts_of(run).values())
            batched, fake.told = [*batched, "--set", "retry_errors=true"], []
            print(f"{backend}: {closed} batches closed")
        ended = subprocess.run(
            batched, env=_environment(), capture_output=True, text=True, check=False
        )
        failed = any(
            row["status"] == "api_error" for row in _verdicts(run)
        )  # a request may fail four times in a row
        faults = (
            [f"status {ended.returncode}: {ended.stderr[-300:]}"]
            if ended.returncode != failed
            else []
        )
        faults += [f"{sum(n > 1 for n in fake.paid.values())} requests were paid twice"] * (
            max(fake.paid.values()) > 1
        )
        live_calls, paid, batches = fake.live, sum(fake.paid.values()), len(fake.batches)
        faults += [f"{live_calls} live calls"] * (live_calls > 0)
        live = run.with_name(f"{run.name}-live")
        subprocess.run(
            [*command, "--out", str(live)], env=_environment(), capture_output=True, check=True
        )
    rows, expected = _verdicts(run), _verdicts(live)
    counts = Counter(row["id"] for row in rows)
    faults += [f"{len(counts)} of {questions} questions have a verdict"] * (
        len(counts) != questions
    )
    faults += [f"{sum(n > 1 for n in counts.values())} have several"] * (max(counts.values()) > 1)
    theirs = {row["id"]: row["value"] for row in expected}
    answered = [row for row in rows if row["status"] == "ok"]
    faults += ["a verdict differs from the live one"] * any(
        row["value"] != theirs[row["id"]] for row in answered
    )
    held = any(KEY.encode() in path.read_bytes() for path in run.rglob("*") if path.is_file())
    faults += ["a file holds the key"] * held
    statuses = Counter(row["cause"] if row["status"] != "ok" else "ok" for row in rows)
    seconds = time.monotonic() - begun
    print(
        f"{backend}: {len(rows)} verdicts {dict(statuses)}, {batches} batches, {killed} kills, "
        f"{paid} paid"
        f", {seconds:.0f} s"
    )
    return faults


def _command(backend: str, url: str, dataset: Path) -> list[str]:
    server = [
        "--backend",
        backend,
        "--model",
        "m",
        "--base-url",
        f"{url}/v1" if backend == "api" else url,
    ]
    return [
        sys.executable,
        "-m",
        "visualjudge",
        "judge",
        str(dataset),
        *server,
        "--api-key-env",
        "SOAK_KEY",
        "--set",
        "cache=false",
    ]


def _environment() -> dict[str, str]:
    return {**os.environ, "SOAK_KEY": KEY}


def _verdicts(run: Path) -> list[dict[str, str]]:
    return [orjson.loads(line) for line in (run / "verdicts.jsonl").read_bytes().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--lying", action="store_true", help="about whole batches too, as tests/faults does"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", nargs="*", default=["api", "anthropic", "google"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dataset = make_dataset(
            Path(folder) / "dataset", pairwise=options.questions, ranking=0, scoring=0
        )
        wrong = 0
        for backend in options.backend:
            sizes = {
                "questions": options.questions,
                "kills": options.kills,
                "size": max(1, options.questions // 20),
            }
            faults = soak(
                backend,
                dataset,
                Path(folder) / backend,
                **sizes,
                seed=options.seed,
                lying=options.lying,
            )
            wrong += len(faults)
            print(
                *(f"{backend}: {fault}" for fault in faults), sep="\n", end="\n" if faults else ""
            )
    raise SystemExit(min(wrong, 1))


if __name__ == "__main__":
    main()
