"""``visualjudge demo``: from data to report, offline, on photographs from installed packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.apps.demo import PROBED, PROBED_TASKS
from visualjudge.cli.output import shell, stages
from visualjudge.core.errors import RunError, UsageError

app = typer.Typer(pretty_exceptions_enable=False)

STUDIED, LABELS = 300, 40
"""Number of pairs of the study, and of those labelled by a person."""
STUDY_JUDGES = {
    "careful": "oracle:0.97,unseen=0.5,instance_segmentation=0.6",
    "hasty": "oracle:0.75,bias=0.15",
}
"""The two judges: one that needs the photograph and is good at one task only, and one that prefers
option A.
"""
LOCAL = ("--backend", "local", "--model", "default", "--swap", "--type", "pairwise")


@app.command(epilog="Example: visualjudge demo --out demo-out")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for all output of the demo.")] = Path(
        "demo-out"
    ),
    seed: Annotated[int, typer.Option(help="Random seed.")] = 42,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output of an earlier demo.")
    ] = False,
) -> None:
    """Run everything offline on real photographs: data folder, dataset, judges, report, probes and
    a study of two judges.
    """
    started = time.monotonic()
    _clear(out, force)
    print(
        "1  A data folder: photographs, ground truth made for this demo, controlled errors put "
        "into it"
    )
    _make_data(out / "data", seed)
    print("2  The dataset: pairwise, ranking and scoring questions in every encoding")
    _visualjudge("build", out / "data", "--out", out / "dataset", "--seed", seed)
    print(
        "3  Judges that need no network: the local judge, a rule for restored images, and a "
        "simulated one that"
    )
    print("   answers A in 30 % of the pairs whatever it is shown, which the report should find")
    runs = [out / "runs" / name for name, _ in _judges()]
    asked = [
        ("judge", out / "dataset", *options, "--out", run)
        for run, (_, options) in zip(runs, _judges(), strict=True)
    ]
    _together(asked[0], asked[1:])
    print("4  The report")
    report = ("report", *runs, "--out", out / "report.html", "--json", out / "metrics.json")
    _together(
        report,
        _probed(out, seed),
        "5  Probes: do irrelevant changes influence the local judge?",
    )
    _study(out / "study", seed)
    print(f"\nDone in {time.monotonic() - started:.0f} s.")
    print(f"All tasks and encodings: {(out / 'report.html').resolve()}")
    print(f"Probes of the local judge: {(out / 'probes.html').resolve()}")
    print(f"To browse the questions: {shell('visualjudge', 'studio', out / 'dataset')}")
    print(f"Open {(out / 'study' / 'report.html').resolve()}")


def _probed(out: Path, seed: int) -> tuple[tuple[object, ...], ...]:
    probes, run = out / "probes", out / "runs" / "probes-local"
    tasks = [word for task in PROBED_TASKS for word in ("--task", task)]
    return (
        ("probe", out / "data", "--out", probes, "--n", PROBED, "--seed", seed, *tasks),
        ("judge", probes, *LOCAL, "--out", run),
        ("report", run, "--out", out / "probes.html"),
    )


def _study(out: Path, seed: int) -> None:
    """Simulate two judges on matched errors of four models, with and without the photographs."""
    from visualjudge.apps.demo.study import TASKS, fill_labels
    from visualjudge.core.workers import Workers

    print(
        "6  A study: may four models be ranked with either of two simulated judges? The models' "
        "errors look alike, so each question is also asked without its photograph"
    )
    with Workers(min(os.cpu_count() or 1, len(TASKS))) as workers:
        total = sum(workers.map(_fill_study, [(out / "data", seed, task) for task in TASKS]))
    print(f"{total} predictions of {len(TASKS)} tasks in {out / 'data'}")
    blind = ("--only", "grey", "--only", "other", "--n", STUDIED)
    _visualjudge("probe", out / "data", "--out", out / "dataset", *blind, "--seed", seed)
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


def _fill_study(job: tuple[Path, int, str]) -> int:
    from visualjudge.apps.demo.study import make_study

    data, seed, task = job
    return make_study(data, task, seed=seed)


def _together(first: Sequence[object], others: Sequence[Sequence[object]], title: str = "") -> None:
    """Run a command here while others run in another process; print their output when both are
    done.
    """
    with ThreadPoolExecutor(1) as beside:
        later = beside.submit(_captured, others)
        _visualjudge(*first)
        print(title, later.result(), sep="\n" if title else "", end="", flush=True)


def _captured(commands: Sequence[Sequence[object]]) -> str:
    """Run the commands in turn and return their output."""
    said = ""
    for words in ([str(word) for word in command] for command in commands):
        done = subprocess.run(
            [sys.executable, "-m", "visualjudge", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said += f"$ {shell('visualjudge', *words)}\n{done.stdout}"
        if done.returncode:
            raise RunError(
                f"the demo stopped: visualjudge {words[0]} ended with {done.returncode}: "
                f"{done.stdout[-500:]}"
            )
    return said


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


def _make_data(data: Path, seed: int) -> None:
    from visualjudge.core.workers import Workers
    from visualjudge.vision.tasks import TASKS

    total = 0
    with (
        stages() as progress,
        Workers(min(os.cpu_count() or 1, len(TASKS.own))) as workers,
    ):
        jobs = [(data, seed, task) for task in TASKS.own]
        for done, annotations in enumerate(workers.map(_fill, jobs), 1):
            total += annotations
            progress("putting errors into the ground truth", done, len(jobs))
    print(f"{total} predictions of {len(TASKS)} tasks in {data}")


def _fill(job: tuple[Path, int, str]) -> int:
    """Write one task's part of the data folder; return its number of predictions."""
    from visualjudge.apps.demo.data import make_data

    data, seed, task = job
    return sum(annotations for _, annotations in make_data(data, seed=seed, tasks=[task]))


def _visualjudge(*arguments: object) -> None:
    """Run a command as a user would type it, and print it."""
    from visualjudge.cli.main import app as visualjudge

    words = [str(argument) for argument in arguments]
    print(f"$ {shell('visualjudge', *words)}", flush=True)
    status = visualjudge(words, standalone_mode=False)
    if status:
        raise RunError(f"the demo stopped: visualjudge {words[0]} ended with status {status}")


def _judges() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the folder and options of each judge.

    The first two look at the images; the last one has a known fault.
    """
    from visualjudge.vision.tasks import TASKS

    restored = tuple(
        word for name, task in TASKS.own.items() if task.restored for word in ("--task", name)
    )
    return (
        ("local", (*LOCAL, "--type", "ranking")),
        ("sharpness", ("--backend", "baseline", "--model", "sharpness", "--swap", *restored)),
        ("simulated", ("--backend", "baseline", "--model", "oracle:0.9,bias=0.3", "--swap")),
    )
