"""``visualjudge demo``: from data to report, offline, on photographs from installed packages."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from visualjudge.apps.demo import PROBED, PROBED_TASKS
from visualjudge.cli.options import SeedOption
from visualjudge.cli.output import shell, stages
from visualjudge.core.errors import RunError, UsageError

# Number of pairs of the study, and of those labelled by a person.
STUDIED = 300
LABELS = 40
# The two judges: one that needs the photograph and is good at one task only, and one that
# prefers option A.
STUDY_JUDGES = {
    "careful": "oracle:0.97,unseen=0.5,reason=0.8,instance_segmentation=0.6",
    "hasty": "oracle:0.75,bias=0.15,reason=0.4",
}
BASELINE = ("--backend", "baseline", "--model")
BLIND = ("--only", "grey", "--only", "other")
LOCAL = ("--backend", "local", "--model", "default", "--swap", "--type", "pairwise")


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for all output of the demo.")
    ] = Path("demo-out"),
    seed: SeedOption = 42,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output of an earlier demo.")
    ] = False,
) -> None:
    """Run everything offline on real photographs: data folder, dataset, judges, report, probes and
    a study of two judges.

    Example: visualjudge demo --out demo-out
    """
    from visualjudge.apps.demo.data import make_data
    from visualjudge.apps.demo.study import (
        TASKS as STUDIED_TASKS,
        fill_labels,
        make_study,
    )
    from visualjudge.vision.tasks import TASKS

    started = time.monotonic()
    _clear(out, force)
    data = out / "data"
    dataset = out / "dataset"
    runs = out / "runs"
    study = out / "study"
    restored = [("--task", name) for name, task in TASKS.own.items() if task.restored]
    judges = {
        "local": (*LOCAL, "--type", "ranking"),
        "sharpness": (*BASELINE, "sharpness", *sum(restored, ("--swap",))),
        "simulated": (*BASELINE, "oracle:0.9,bias=0.3", "--swap"),
    }
    seeded = ("--seed", seed)
    tasks = sum((("--task", task) for task in PROBED_TASKS), ())
    probes = out / "probes"
    probed = runs / "probes-local"
    labels = study / "labels.csv"
    studied = {
        study / "runs" / name: (
            *(*BASELINE, model, "--set", f"name={name}", "--swap"),
            *("--rubric", "reason"),
        )
        for name, model in STUDY_JUDGES.items()
    }
    hasty = [*studied][-1]
    written, study_written = (
        ("--out", folder / "report.html", "--json", folder / "metrics.json")
        for folder in (out, study)
    )
    steps: dict[str, list[Any]] = {
        "1  A data folder: photographs, ground truth made for this demo, controlled errors in it": [
            partial(_make, make_data, data, TASKS.own, seed)
        ],
        "2  The dataset: pairwise, ranking and scoring questions in every encoding": [
            ("build", data, "--out", dataset, *seeded)
        ],
        "3  Judges that need no network: the local judge, a rule for restored images, and one\n"
        "   that answers A in 30 % of the pairs whatever it is shown, which the report should "
        "find": [
            ("judge", dataset, *how, "--out", runs / name)
            for name, how in judges.items()
        ],
        "4  The report": [("report", *(runs / name for name in judges), *written)],
        "5  Probes: do irrelevant changes influence the local judge?": [
            ("probe", data, "--out", probes, "--n", PROBED, *seeded, *tasks),
            ("judge", probes, *LOCAL, "--out", probed),
            ("report", probed, "--out", out / "probes.html"),
        ],
        "6  A study: may four models be ranked with either of two simulated judges? The models'\n"
        "   errors look alike, so each question is also asked without its photograph": [
            partial(_make, make_study, study / "data", STUDIED_TASKS, seed),
            (
                "probe",
                study / "data",
                "--out",
                study / "dataset",
                *BLIND,
                "--n",
                STUDIED,
                *seeded,
            ),
            *(
                ("judge", study / "dataset", *how, "--out", run)
                for run, how in studied.items()
            ),
            ("report", *studied, *study_written),
        ],
        f"7  The leaderboard of {hasty.name}, corrected with {LABELS} labels of a person,\n"
        "   who is here the ground truth": [
            ("label", hasty, "--kind", "pairwise", "--n", LABELS, "--out", labels),
            partial(fill_labels, study / "dataset", labels),
            (
                "correct",
                hasty,
                "--labels",
                labels,
                "--json",
                study / "leaderboard.json",
            ),
        ],
    }
    for title, commands in steps.items():
        print(title)
        for step in commands:
            step() if callable(step) else _visualjudge(*step)
    print(f"\nDone in {time.monotonic() - started:.0f} s.")
    print(f"To browse the questions: {shell('visualjudge', 'studio', dataset)}")
    print(f"Open {(study / 'report.html').resolve()}")


def _clear(out: Path, force: bool) -> None:
    marker = out / ".visualjudge-demo"
    if out.exists() and any(out.iterdir()) and not (force and marker.exists()):
        raise UsageError(
            f"{out} is not empty; name another --out, or give --force to replace what an earlier "
            "demo wrote"
        )
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    marker.touch()


def _make(
    fill: Callable[..., int], data: Path, tasks: Collection[str], seed: int
) -> None:
    from visualjudge.core.workers import Workers

    total = 0
    with stages() as progress, Workers(min(os.cpu_count() or 1, len(tasks))) as workers:
        made = workers.map(partial(fill, data, seed=seed), tasks)
        for done, annotations in enumerate(made, 1):
            total += annotations
            progress("putting errors into the ground truth", done, len(tasks))
    print(f"{total} predictions of {len(tasks)} tasks in {data}")


def _visualjudge(*arguments: object) -> None:
    from visualjudge.cli.main import app as visualjudge

    words = [str(argument) for argument in arguments]
    print(f"$ {shell('visualjudge', *words)}", flush=True)
    if status := visualjudge(words, standalone_mode=False):
        raise RunError(
            f"the demo stopped: visualjudge {words[0]} ended with status {status}"
        )
