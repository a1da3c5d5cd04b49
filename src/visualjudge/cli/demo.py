"""``visualjudge demo``: a study from predictions to an answer, offline, on photographs;
with ``--all``, all tasks, judges and probes. The data are made in ``apps/demo``.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Collection
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.apps.demo import PROBED, PROBED_TASKS, STUDY_TASKS
from visualjudge.cli.console import shell, stages
from visualjudge.cli.options import SeedOption
from visualjudge.core.errors import RunError, UsageError
from visualjudge.core.text_tables import folded, screen_width

# Number of pairs of the study, and of those labelled by a person.
STUDIED = 300
LABELS = 40
# The two judges: one that needs the photograph and is good at one task only, and one
# that prefers option A.
STUDY_JUDGES = {
    "careful": "oracle:0.97,unseen=0.5,reason=0.8,instance_segmentation=0.6",
    "hasty": "oracle:0.75,bias=0.15,reason=0.4",
}
BASELINE = ("--backend", "baseline", "--model")
BLIND = ("--only", "grey", "--only", "other")
LOCAL = (
    "--backend",
    "local",
    "--model",
    "default",
    "--swap",
    "--type",
    "pairwise",
)
ANSWERS = {"card": "\n\n", "correct": "\nnext: "}
"""Commands whose output is printed, and before what it ends; the rest is on the
page."""

Step = Callable[[], object] | tuple[object, ...]


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for all output of the demo.")
    ] = Path("demo-out"),
    seed: SeedOption = 42,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also every task, encoding, and judge, and probes."
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace the output of an earlier demo."),
    ] = False,
) -> None:
    """Answer offline, on real photographs: may four detectors be ranked with this
    judge?

    Example: visualjudge demo --out demo-out
    """
    started = time.monotonic()
    _clear(out, force)
    if sys.stdout.isatty():
        # What the steps print goes to a buffer, which has no width.
        os.environ["COLUMNS"] = str(screen_width())
    study = out / "study"
    _follow(_study(study, seed))
    print(f"\nAnswered in {time.monotonic() - started:.0f} s.")
    if everything:
        _follow(_everything(out, seed))
        print(f"\nDone in {time.monotonic() - started:.0f} s.")
    print(f"\nOpen {(study / 'report.html').resolve()}\n\nWhat else there is:")
    for command, purpose in _further(out, everything=everything):
        print(f"  {purpose + ':':<31} {command}")


def _study(study: Path, seed: int) -> dict[str, list[Step]]:
    from visualjudge.apps.demo.study_data import fill_labels, make_study

    data = study / "data"
    dataset = study / "dataset"
    labels = study / "labels.csv"
    runs = [study / "runs" / name for name in STUDY_JUDGES]
    careful, hasty = runs
    first = ("--task", STUDY_TASKS[0])
    return {
        "1  Predictions of four models on 100 photographs, in two tasks: two or all four "
        "models for each photograph": [
            partial(_make, make_study, data, STUDY_TASKS, seed)
        ],
        "2  Questions: which of two predictions is better? Each is also asked with a "
        "grey image, and with another photograph, in place of its own": [
            (
                "probe",
                data,
                "--out",
                dataset,
                *BLIND,
                "--n",
                STUDIED,
                "--seed",
                seed,
            )
        ],
        "3  Two simulated judges answer, in both orders": [
            (
                "judge",
                dataset,
                *BASELINE,
                STUDY_JUDGES[run.name],
                "--set",
                f"name={run.name}",
                "--swap",
                "--rubric",
                "reason",
                "--out",
                run,
            )
            for run in runs
        ],
        "4  The answer for object detection: may the four models be ranked with the judge "
        "“careful”?": [
            ("card", careful, *first),
            (
                "report",
                *runs,
                *first,
                "--out",
                study / "report.html",
                "--json",
                study / "metrics.json",
            ),
        ],
        f"5  The other judge, “{hasty.name}”, fails requirements: its leaderboard for object "
        f"detection, corrected with {LABELS} human labels (here simulated by the ground truth)": [
            (
                *("label", hasty, "--kind", "pairwise", *first),
                *("--n", LABELS, "--out", labels),
            ),
            partial(fill_labels, dataset, labels),
            (
                "correct",
                hasty,
                *first,
                "--labels",
                labels,
                "--json",
                study / "leaderboard.json",
            ),
        ],
    }


def _everything(out: Path, seed: int) -> dict[str, list[Step]]:
    from visualjudge.apps.demo.data import make_data
    from visualjudge.vision.tasks import TASKS

    data = out / "data"
    dataset = out / "dataset"
    runs = out / "runs"
    probes = out / "probes"
    probed = runs / "probes-local"
    restored = [
        ("--task", name) for name, task in TASKS.own.items() if task.restored
    ]
    judges = {
        "local": (*LOCAL, "--type", "ranking"),
        "sharpness": (*BASELINE, "sharpness", *sum(restored, ("--swap",))),
        "simulated": (*BASELINE, "oracle:0.9,bias=0.3", "--swap"),
    }
    seeded = ("--seed", seed)
    tasks = sum((("--task", task) for task in PROBED_TASKS), ())
    page = ("--out", out / "report.html", "--json", out / "metrics.json")
    return {
        "6  Every task: photographs, ground truth made for this demo, controlled "
        "errors in it": [partial(_make, make_data, data, TASKS.own, seed)],
        "7  The dataset: pairwise, ranking and scoring questions in every encoding": [
            ("build", data, "--out", dataset, *seeded)
        ],
        "8  Judges that need no network: the local judge, a rule for restored images, "
        "and one that answers A in 30 % of the pairs whatever it is shown, which the "
        "report should find": [
            *(
                ("judge", dataset, *how, "--out", runs / name)
                for name, how in judges.items()
            ),
            ("report", *(runs / name for name in judges), *page),
        ],
        "9  Probes: do irrelevant changes influence the local judge?": [
            ("probe", data, "--out", probes, "--n", PROBED, *seeded, *tasks),
            ("judge", probes, *LOCAL, "--out", probed),
            ("report", probed, "--out", out / "probes.html"),
        ],
    }


def _further(out: Path, *, everything: bool) -> list[tuple[str, str]]:
    """Return commands and what they are for; with ``everything``, on what was made."""
    dataset = out / ("dataset" if everything else "study/dataset")
    runs = out / "study/runs"
    commands: list[tuple[tuple[object, ...], str]] = [
        (("studio", dataset, runs), "browse it"),
        (
            ("card", runs / "hasty", "--task", STUDY_TASKS[0]),
            "see the other judge",
        ),
        (("judge", dataset, "--model", "NAME", "--out", "run"), "ask a model"),
        (
            ("gate", "write", runs / "careful", "--out", "judge.lock"),
            "fail CI if it gets worse",
        ),
        (("init", "FOLDER"), "which command your data need"),
        (
            ("adopt", "verdicts.csv", "--out", "mine"),
            "use verdicts that you have",
        ),
        (("agreement", "ratings.csv"), "measure how far people agree"),
        (("doctor",), "check keys and servers"),
        (("demo", "--all", "--out", "demo-all"), "try every task, and probes"),
        (("--help",), "list every command"),
    ]
    return [
        (shell("visualjudge", *words), purpose) for words, purpose in commands
    ]


def _follow(steps: dict[str, list[Step]]) -> None:
    for title, commands in steps.items():
        print(folded(title), flush=True)
        for step in commands:
            if isinstance(step, tuple):
                _visualjudge(*step)
            else:
                step()


def _clear(out: Path, force: bool) -> None:
    marker = out / ".visualjudge-demo"
    if out.exists() and any(out.iterdir()) and not (force and marker.exists()):
        raise UsageError(
            f"{out} is not empty; name another --out, or give --force to replace what "
            "an earlier demo wrote"
        )
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    marker.touch()


def _make(
    fill: Callable[..., int], data: Path, tasks: Collection[str], seed: int
) -> None:
    from visualjudge.core.workers import Workers

    total = 0
    with (
        stages() as progress,
        Workers(min(os.cpu_count() or 1, len(tasks))) as workers,
    ):
        made = workers.map(partial(fill, data, seed=seed), tasks)
        for done, annotations in enumerate(made, 1):
            total += annotations
            progress("putting errors into the ground truth", done, len(tasks))
    print(f"{total} predictions of {len(tasks)} tasks in {data}")


def _visualjudge(*arguments: object) -> None:
    from visualjudge.cli.main import app as visualjudge

    words = [str(argument) for argument in arguments]
    if words[0] != "judge":  # a simulated one has options that no other needs
        print(f"$ {shell('visualjudge', *words)}", flush=True)
    printed = StringIO()
    with redirect_stdout(printed):
        status = visualjudge(words, standalone_mode=False)
    if words[0] in ANSWERS:
        print(printed.getvalue().partition(ANSWERS[words[0]])[0])
    if status:
        raise RunError(
            f"the demo stopped: visualjudge {words[0]} ended with status {status}"
        )
