"""``visualjudge demo``: from data to report, offline, on photographs from installed packages."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.apps.demo import PROBED, PROBED_TASKS
from visualjudge.cli.options import SeedOption
from visualjudge.cli.output import shell, stages
from visualjudge.core.errors import RunError, UsageError

# Number of pairs of the study, and of those labelled by a person.
STUDIED, LABELS = 300, 40
# The two judges: one that needs the photograph and is good at one task only, and one that
# prefers option A.
STUDY_JUDGES = {
    "careful": "oracle:0.97,unseen=0.5,instance_segmentation=0.6",
    "hasty": "oracle:0.75,bias=0.15",
}
LOCAL = ("--backend", "local", "--model", "default", "--swap", "--type", "pairwise")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for all output of the demo.")] = Path(
        "demo-out"
    ),
    seed: SeedOption = 42,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output of an earlier demo.")
    ] = False,
) -> None:
    """Run everything offline on real photographs: data folder, dataset, judges, report, probes and
    a study of two judges.

    Example: visualjudge demo --out demo-out
    """
    from visualjudge.vision.tasks import TASKS

    started = time.monotonic()
    _clear(out, force)
    data, dataset, runs = out / "data", out / "dataset", out / "runs"
    print("1  A data folder: photographs, ground truth made for this demo, controlled errors in it")
    _make(partial(_fill, data, seed), data, list(TASKS.own))
    print("2  The dataset: pairwise, ranking and scoring questions in every encoding")
    _visualjudge("build", data, "--out", dataset, "--seed", seed)
    print("3  Judges that need no network: the local judge, a rule for restored images, and one")
    print(
        "   that answers A in 30 % of the pairs whatever it is shown, which the report should find"
    )
    restored = [("--task", name) for name, task in TASKS.own.items() if task.restored]
    judges = {
        "local": (*LOCAL, "--type", "ranking"),
        "sharpness": ("--backend", "baseline", "--model", "sharpness", *sum(restored, ("--swap",))),
        "simulated": ("--backend", "baseline", "--model", "oracle:0.9,bias=0.3", "--swap"),
    }
    for name, options in judges.items():
        _visualjudge("judge", dataset, *options, "--out", runs / name)
    print("4  The report")
    written = ("--out", out / "report.html", "--json", out / "metrics.json")
    _visualjudge("report", *(runs / name for name in judges), *written)
    print("5  Probes: do irrelevant changes influence the local judge?")
    tasks = sum((("--task", task) for task in PROBED_TASKS), ())
    probes, probed = out / "probes", runs / "probes-local"
    _visualjudge("probe", data, "--out", probes, "--n", PROBED, "--seed", seed, *tasks)
    _visualjudge("judge", probes, *LOCAL, "--out", probed)
    _visualjudge("report", probed, "--out", out / "probes.html")
    _study(data, out / "study", seed)
    print(f"\nDone in {time.monotonic() - started:.0f} s.")
    print(f"All tasks and encodings: {(out / 'report.html').resolve()}")
    print(f"Probes of the local judge: {(out / 'probes.html').resolve()}")
    print(f"To browse the questions: {shell('visualjudge', 'studio', dataset)}")
    print(f"Open {(out / 'study' / 'report.html').resolve()}")


def _study(data: Path, out: Path, seed: int) -> None:
    """Simulate two judges on matched errors of four models, with and without the photographs."""
    from visualjudge.apps.demo.study import TASKS, fill_labels, make_study

    print("6  A study: may four models be ranked with either of two simulated judges? The models'")
    print("   errors look alike, so each question is also asked without its photograph")
    _make(partial(make_study, data, seed=seed), data, TASKS)
    blind = ("--only", "grey", "--only", "other", "--n", STUDIED)
    _visualjudge("probe", data, "--out", out / "dataset", *blind, "--seed", seed)
    runs = [out / "runs" / name for name in STUDY_JUDGES]
    for run, (name, model) in zip(runs, STUDY_JUDGES.items(), strict=True):
        asked = ("--backend", "baseline", "--model", model, "--set", f"name={name}", "--swap")
        _visualjudge("judge", out / "dataset", *asked, "--out", run)
    labels, hasty = out / "labels.csv", runs[-1]
    _visualjudge("report", *runs, "--out", out / "report.html", "--json", out / "metrics.json")
    print(f"7  The leaderboard of {hasty.name}, corrected with {LABELS} labels of a person")
    _visualjudge("label", hasty, "--kind", "pairwise", "--n", LABELS, "--out", labels)
    print(f"{fill_labels(out / 'dataset', labels)} labels, here answered by the ground truth")
    _visualjudge("correct", hasty, "--labels", labels, "--json", out / "leaderboard.json")


def _clear(out: Path, force: bool) -> None:
    marker = out / ".visualjudge-demo"
    if out.exists() and any(out.iterdir()):
        if not force:
            raise UsageError(
                f"{out} is not empty; name another --out, or give --force to replace an earlier "
                "demo"
            )
        if not marker.exists():
            raise UsageError(
                f"{out} was not written by the demo, so it is not replaced; name another --out"
            )
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    marker.touch()


def _make(fill: Callable[[str], int], data: Path, tasks: Collection[str]) -> None:
    """Write a part of the data folder for each task."""
    from visualjudge.core.workers import Workers

    total = 0
    with stages() as progress, Workers(min(os.cpu_count() or 1, len(tasks))) as workers:
        for done, annotations in enumerate(workers.map(fill, tasks), 1):
            total += annotations
            progress("putting errors into the ground truth", done, len(tasks))
    print(f"{total} predictions of {len(tasks)} tasks in {data}")


def _fill(data: Path, seed: int, task: str) -> int:
    from visualjudge.apps.demo.data import make_data

    return sum(annotations for _, annotations in make_data(data, seed=seed, tasks=[task]))


def _visualjudge(*arguments: object) -> None:
    """Run a command as a user would type it, and print it."""
    from visualjudge.cli.main import app as visualjudge

    words = [str(argument) for argument in arguments]
    print(f"$ {shell('visualjudge', *words)}", flush=True)
    status = visualjudge(words, standalone_mode=False)
    if status:
        raise RunError(f"the demo stopped: visualjudge {words[0]} ended with status {status}")
