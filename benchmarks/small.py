"""What a small job costs, most of it start-up: CPU seconds of `report`, `card` and
`describe` on 500 questions, tree by tree in turn.

python benchmarks/small.py [--against SRC ...] [--rounds 5] [--no-cache]

A data folder of 100 drawn images with annotations of four sources is built; a baseline
answers 500 questions in both orders; each command is a process of its own, and the
least of all rounds counts. Bytecode is kept in a folder of its own, as an installed
package has it; `--no-cache` compiles every module anew, as where
PYTHONDONTWRITEBYTECODE is set.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from making import make_folder

TASK = "object_detection"
RUN = "from visualjudge.cli.main import run; run()"
HERE = Path(__file__).resolve().parent.parent / "src"
QUESTIONS = 500


def command(tree: Path, cache: Path | None, *words: object) -> float:
    """CPU seconds of one command; bytecode is kept in ``cache``."""
    env = os.environ | {"PYTHONPATH": str(tree)}
    if cache is not None:
        env["PYTHONPYCACHEPREFIX"] = str(cache)
        env.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(
            f"{words[0]} ended with {done.returncode}:\n{done.stderr}"
        )
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make(work: Path, tree: Path) -> tuple[Path, Path]:
    """The dataset and the run, made by ``tree``."""
    data, dataset, run = work / "data", work / "dataset", work / "run"
    make_folder(data, tasks=[TASK], images=100, annotations=4, size=(120, 160))
    caps = ("--judge-groups", 100, "--judge-pairs", 50)
    command(tree, None, "build", data, "--out", dataset, "--workers", 1, *caps)
    path = dataset / "questions.json"
    questions = orjson.loads(path.read_bytes())
    print(f"{len(questions)} questions")
    model = ("--backend", "baseline", "--model", "oracle:0.8", "--swap")
    command(
        tree,
        None,
        "judge",
        dataset,
        *model,
        "--sample",
        QUESTIONS,
        "--out",
        run,
    )
    return dataset, run


def main() -> None:
    """Print a line a tree."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--against", type=Path, nargs="*", default=[], help="other trees' src"
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="compile all modules anew"
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    trees = [*(path.resolve() for path in options.against), HERE]
    with tempfile.TemporaryDirectory() as folder:
        dataset, run = make(Path(folder), trees[0])
        cache = None if options.no_cache else Path(folder) / "bytecode"
        cost: dict[tuple[str, str], list[float]] = {}
        for number in range(options.rounds + 1):
            for tree in trees:
                for words in (
                    (
                        "report",
                        run,
                        "--dataset",
                        dataset,
                        "--out",
                        f"{folder}/{number}.html",
                    ),
                    ("card", run, "--dataset", dataset),
                    ("describe", dataset),
                ):
                    spent = command(tree, cache, *words)
                    if number:
                        cost.setdefault((str(tree), str(words[0])), []).append(
                            spent
                        )
        print(
            "| tree | report | card | describe | all |\n|---|---:|---:|---:|---:|"
        )
        for tree in trees:
            least = [
                min(cost[str(tree), name])
                for name in ("report", "card", "describe")
            ]
            cells = " | ".join(
                f"{seconds:.2f}" for seconds in (*least, sum(least))
            )
            print(f"| {tree} | {cells} |")


if __name__ == "__main__":
    main()
