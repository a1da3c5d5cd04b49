"""Many judges in one report: CPU seconds and the size of the page, tree by tree in
turn.

python benchmarks/many_runs.py [--runs 40 80] [--against SRC ...] [--questions 500]
[--home FOLDER]

As many simulated judges, each of another accuracy and seed, answer the same questions
(those of small.py) in both orders; `report` with page and metrics.json is a process of
its own, and the least of all rounds counts. With ``--home`` the runs are kept, and what
is there is taken.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from small import HERE, command, make

import visualjudge as vj


def judged(dataset: Path, home: Path, count: int, questions: int) -> list[Path]:
    """So many run folders; those that are there already are taken."""
    folders = [home / f"run-{k:04d}" for k in range(count)]
    asked = vj.load_dataset(dataset).sample(questions, seed=1)
    for k, folder in enumerate(folders):
        if not folder.is_dir():
            client = vj.client(
                "baseline", model=f"oracle:{0.6 + 0.35 * k / count:.3f}", seed=k
            )
            vj.judge(
                asked,
                client,
                folder,
                swap=True,
                name=folder.name,
                progress=False,
            )
    return folders


def main() -> None:
    """Print a line a tree and number of runs."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, nargs="*", default=[40, 80])
    parser.add_argument(
        "--against", type=Path, nargs="*", default=[], help="other trees' src"
    )
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--home", type=Path, help="where the dataset and the runs are kept"
    )
    options = parser.parse_args()
    trees = [*(path.resolve() for path in options.against), HERE]
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch)
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "dataset").is_dir():
            make(home, HERE)
        folders = judged(
            home / "dataset", home, max(options.runs), options.questions
        )
        print(
            "| tree | runs | CPU s | page MB | metrics.json MB "
            "|\n|---|---:|---:|---:|---:|"
        )
        for count in options.runs:
            least: dict[Path, float] = {}
            for _ in range(options.rounds):
                for number, tree in enumerate(trees):
                    page, figures = (
                        home / f"{number}.html",
                        home / f"{number}.json",
                    )
                    written = ("--out", page, "--json", figures)
                    spent = command(
                        tree,
                        home / "bytecode",
                        "report",
                        *folders[:count],
                        *written,
                    )
                    least[tree] = min(spent, least.get(tree, spent))
            for number, tree in enumerate(trees):
                sizes = [
                    (home / f"{number}.{end}").stat().st_size / 1e6
                    for end in ("html", "json")
                ]
                cells = " | ".join(
                    f"{value:.1f}" for value in (least[tree], *sizes)
                )
                print(f"| {tree} | {count} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
