"""``visualjudge gate``: write a lock of a tested judge, and check a judge against it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualjudge.cli.options import ModelOptions, MovedDataset, with_groups
from visualjudge.cli.output import following, say
from visualjudge.core.atomic import write_text
from visualjudge.core.errors import UsageError

if TYPE_CHECKING:
    from visualjudge.apps.gate.check import Check
    from visualjudge.apps.gate.lock import Lock

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Check in continuous integration that a judge is still the one that was tested.",
    epilog="Example: visualjudge gate check runs/new --lock judge.lock",
)
LockFile = Annotated[Path, typer.Option("--lock", help="File of `gate write`.", metavar="FILE")]
# Parameters of a run that are options of judging; those of :data:`SENT` are the client's.
JUDGED = ("mode", "retries", "ties", "read", "tools", "max_tool_calls", "seed")
SENT = ("temperature", "max_tokens", "top_p", "effort")


@app.command(epilog="Example: visualjudge gate write runs/gpt --out judge.lock")
def write(
    run: Annotated[Path, typer.Argument(help="A finished run.", metavar="RUN")],
    out: Annotated[Path, typer.Option(help="File to commit.", metavar="FILE")],
    dataset: MovedDataset = None,
) -> None:
    """Write who was asked what, the answer and the accuracy into a small file to commit."""
    from visualjudge.apps.gate.lock import lock_of

    analysis, questions = _read(run, dataset)
    lock = lock_of(analysis, run, questions)
    lock.write(out)
    accuracy = 100 * lock.accuracy["value"]
    print(f"{out}: {accuracy:.1f} % right, answer {lock.answer}, {len(lock.canaries)} canaries")
    following("gate", "check", run, "--lock", out)


@app.command(
    epilog="Example: visualjudge gate check --dataset data --model gpt-4o --lock judge.lock"
)
@with_groups
def check(
    lock: LockFile,
    model: ModelOptions,
    run: Annotated[Path | None, typer.Argument(help="A finished run.", metavar="[RUN]")] = None,
    dataset: MovedDataset = None,
    tolerance: Annotated[
        float, typer.Option(help="Loss of accuracy that must not pass.", metavar="SHARE")
    ] = 0.1,
    junit: Annotated[Path | None, typer.Option(help="JUnit XML to write.", metavar="FILE")] = None,
    summary: Annotated[Path | None, typer.Option(help="Markdown to write.", metavar="FILE")] = None,
) -> None:
    """Check a run, or a model that is asked now: its canaries first, the rest only if needed.

    Exit status: 0 holds, 1 broken, 2 a mistake, 3 can't tell, 4 stale.
    """
    from visualjudge.apps.gate import results
    from visualjudge.apps.gate.check import check_run
    from visualjudge.apps.gate.lock import read_lock

    if not 0 < tolerance < 1:
        raise UsageError(f"--tolerance must be between 0 and 1, got {tolerance:g}")
    if (run is None) == (model.model is None):
        raise UsageError("name a run, or --dataset and --model, to check")
    locked = read_lock(lock)
    if run is not None:
        found = check_run(locked, *_read(run, dataset), tolerance)
    elif dataset is None:
        raise UsageError("--dataset is missing: the dataset that was asked")
    else:
        found = _of_model(locked, model, dataset, tolerance)
    print(results.text(found))
    if junit is not None:
        write_text(junit, results.junit(found))
    page = results.markdown(found, locked)
    if summary is not None:
        write_text(summary, page)
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(step).open("a", encoding="utf-8") as file:
            file.write(page)
    raise typer.Exit(found.status)


def _read(run: Path, dataset: Path | None) -> tuple[Any, Any]:
    """Return the analysis of a run, and the dataset that was asked."""
    from visualjudge.analysis.analysing import analyse
    from visualjudge.dataset.folder import load_dataset
    from visualjudge.runs.folder import RunFolder

    questions = load_dataset(RunFolder(run).dataset_path(dataset))
    return analyse([run], dataset=dataset), questions


def _of_model(lock: Lock, model: ModelOptions, dataset: Path, tolerance: float) -> Check:
    """Ask the canaries and, if they do not decide, all questions of the lock."""
    from visualjudge.analysis.analysing import analyse
    from visualjudge.apps.gate.check import Check, changes, check_canaries, check_run
    from visualjudge.apps.gate.lock import questions_of
    from visualjudge.dataset.folder import load_dataset
    from visualjudge.options import Choice

    read = load_dataset(dataset)
    pairs = [
        question.id
        for question in read
        if question.question_type == "pairwise"
        and (question.probe is None or question.probe.design == "control")
    ]
    asked = questions_of(read, pairs[: lock.questions["number"]])
    if stale := changes(lock, lock.judge, asked):
        return Check("stale", stale)
    with TemporaryDirectory(prefix="visualjudge-gate-") as scratch:
        canaries = tuple(row["id"] for row in lock.canaries)
        few = _judged(lock, model, read.choose(Choice(ids=canaries)), Path(scratch) / "canaries")
        found = check_canaries(lock, analyse([few]), tolerance)
        if found.state != "can't tell" or len(canaries) == lock.questions["number"]:
            return found
        say(f"{len(canaries)} canaries do not decide; asking the rest")
        ids = tuple(pairs[: lock.questions["number"]])
        whole = _judged(lock, model, read.choose(Choice(ids=ids)), Path(scratch) / "all")
        return check_run(lock, analyse([whole]), read, tolerance)


def _judged(lock: Lock, model: ModelOptions, dataset: Any, out: Path) -> Path:
    from visualjudge.apps.frontdoor.judge import judge

    parameters = lock.judge.get("parameters") or {}
    sent = {name: parameters[name] for name in SENT if parameters.get(name) is not None}
    options = {name: parameters[name] for name in JUDGED if parameters.get(name) is not None}
    options |= {name: lock.judge[name] for name in ("swap", "repeats") if lock.judge.get(name)}
    asked = model.asked({**sent, **model.config()}, 16)
    judge(dataset, asked, out, progress=False, **options)
    return out
