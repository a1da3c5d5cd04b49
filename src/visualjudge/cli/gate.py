"""``visualjudge gate``: write a lock of a tested judge, and check a judge against it.
The work is done in ``apps/gate``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualjudge.cli.console import (
    Checked,
    following,
    remark,
    say,
    write as write_to,
)
from visualjudge.cli.main import command_of
from visualjudge.cli.options import ModelOptions, MovedDataset, output
from visualjudge.core.errors import UsageError
from visualjudge.core.output_files import OutputFile
from visualjudge.core.plurals import pluralize

if TYPE_CHECKING:
    from visualjudge.apps.gate.check import Check
    from visualjudge.apps.gate.lock import Lock
    from visualjudge.apps.gate.score_lock import ScoreLock
    from visualjudge.core.records import QuestionType
    from visualjudge.dataset.folder import Dataset

LockFile = Annotated[
    Path, typer.Option("--lock", help="File of `gate write`.", metavar="FILE")
]
SENT = ("temperature", "max_tokens", "top_p", "effort")
"""Parameters of a run that are the client's; others are options of judging."""


def write(
    run: Annotated[Path, typer.Argument(help="A finished run.", metavar="RUN")],
    out: Annotated[OutputFile, output("File to commit.")],
    dataset: MovedDataset = None,
) -> None:
    """Write who was asked what, the answer and the accuracy into a small file to
    commit.

    Example: visualjudge gate write runs/gpt --out judge.lock
    """
    from visualjudge.apps.gate.check import LEAST_IMAGES
    from visualjudge.apps.gate.lock import Lock, lock_of
    from visualjudge.apps.gate.score_lock import score_lock_of
    from visualjudge.core.text_tables import folded

    analysis, questions = _read(run, dataset)
    named = set(analysis.study.joined[0]["kind"].cast(str))
    lock = (
        None if "pairwise" in named else score_lock_of(analysis, run, questions)
    ) or lock_of(analysis, run, questions)
    lock.write(out)
    content = (
        f"{100 * lock.accuracy.value:.2f} % of all answers right, "
        f"{len(lock.canaries)} canaries"
        if isinstance(lock, Lock)
        else f"{len(lock.scores)} scores"
    )
    print(folded(f"{out}: {content}; answer: {lock.answer}"))
    failed = analysis.study.runs[0].answered["status"].eq("api_error").sum()
    remark(
        {
            f"{run}: {pluralize(failed, 'call')} failed, which the lock counts as "
            "wrong: ask again by `resume` of judge before you lock it": failed,
            f"{out}: never holds: at least {LEAST_IMAGES} images must be asked": isinstance(
                lock, Lock
            )
            and lock.accuracy.images < LEAST_IMAGES,
        }
    )
    following("gate", "check", run, "--lock", out)


def check(
    lock: LockFile,
    model: ModelOptions,
    run: Annotated[
        Path | None, typer.Argument(help="A finished run.", metavar="[RUN]")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(
            help="The dataset to ask, or of a run if it has moved.",
            metavar="FOLDER",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Loss of accuracy to exclude.",
            metavar="SHARE",
        ),
    ] = 0.1,
    max_calls: Annotated[
        int,
        typer.Option(min=1, help="Maximum number of calls.", metavar="N"),
    ] = 10_000,
    junit: Annotated[OutputFile | None, output("JUnit XML to write.")] = None,
    summary: Annotated[OutputFile | None, output("Markdown to write.")] = None,
) -> None:
    """Check a run, or a model that is asked now: a few questions (canaries) first, the
    rest only if needed.

    Exit status: 0 holds, 1 broken, 2 not checked, 3 can't tell, 4 stale.

    Example: visualjudge gate check --dataset data --model gpt-4o --lock judge.lock
    """
    from visualjudge.apps.gate import check_forms
    from visualjudge.apps.gate.check import check_run
    from visualjudge.apps.gate.score_lock import (
        ScoreLock,
        check_scores,
        read_lock,
    )
    from visualjudge.dataset.folder import load_dataset

    Checked.failed = 2  # 1 says that the judge is worse
    locked = read_lock(lock)
    compare: Any = check_scores if isinstance(locked, ScoreLock) else check_run
    if run is not None and (model.model is None or dataset is None):
        result = compare(locked, *_read(run, dataset), tolerance)
    elif run is None and model.model is not None and dataset is not None:
        first = (
            0
            if isinstance(locked, ScoreLock)
            else locked.asks * len(locked.canaries)
        )
        calls = first + locked.asks * locked.questions.number
        say(
            f"the lock asks for {first:,} calls for its canaries, and for "
            f"{calls - first:,} more for all questions if these do not decide"
            if first
            else f"the lock asks for {calls:,} calls"
        )
        if calls > max_calls:
            raise UsageError(
                f"--max-calls: {max_calls:,} are fewer than {calls:,} calls"
            )
        result = _asked(
            locked, model, load_dataset(dataset), tolerance, compare
        )
    else:
        raise UsageError("name a run, or --dataset and --model, to check")
    print(check_forms.text(result))
    write_to(junit, check_forms.junit(result))
    page = check_forms.markdown(result, locked)
    write_to(summary, page)
    if step := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(step).open("a", encoding="utf-8") as file:
            file.write(page)
    raise typer.Exit(result.status)


app = command_of(
    {"write": write, "check": check},
    help="Check in continuous integration that a judge is still as good as when it was "
    "tested.",
    epilog="Example: visualjudge gate check runs/new --lock judge.lock",
)


def _read(run: Path, dataset: Path | None) -> tuple[Any, Any]:
    from visualjudge.analysis.analysing import analyse
    from visualjudge.dataset.folder import load_dataset
    from visualjudge.runs.folder import RunFolder

    return (
        analyse([run], dataset=dataset),  # says so where there is no run
        load_dataset(RunFolder(run).dataset_path(dataset)),
    )


def _asked(
    lock: Lock | ScoreLock,
    model: ModelOptions,
    dataset: Dataset,
    tolerance: float,
    compare: Callable[..., Check],
) -> Check:
    """Ask the canaries, if there are any, and all questions of the lock if they do not
    decide."""
    from visualjudge.apps.gate.check import Check, changes, check_canaries
    from visualjudge.apps.gate.lock import (
        Lock,
        locked_questions,
        questions_of,
    )

    kind: QuestionType = "pairwise" if isinstance(lock, Lock) else "scoring"
    every = locked_questions(lock.questions, dataset, kind)
    if stale := tuple(changes(lock, lock.judge, questions_of(dataset, every))):
        return Check("stale", stale)
    with TemporaryDirectory(prefix="visualjudge-gate-") as scratch:
        if isinstance(lock, Lock):
            canaries = tuple(row.id for row in lock.canaries)
            few = _judged(lock, model, dataset, canaries, Path(scratch, "few"))
            result = check_canaries(lock, few, tolerance)
            if result.state != "can't tell" or len(canaries) == len(every):
                return result
            say(f"{len(canaries)} canaries do not decide; asking all questions")
        whole = _judged(lock, model, dataset, every, Path(scratch, "all"))
        return compare(lock, whole, dataset, tolerance)


def _judged(
    lock: Lock | ScoreLock,
    model: ModelOptions,
    dataset: Dataset,
    ids: tuple[str, ...],
    out: Path,
) -> Any:
    """Return the analysis of a run over some questions, asked as the lock says."""
    from visualjudge import judge
    from visualjudge.analysis.analysing import analyse
    from visualjudge.options import Choice, JudgeOptions
    from visualjudge.prompts.rubric import rubric_of_json

    stated = {
        name: value
        for part in (lock.judge.get("parameters") or {}, lock.judge)
        for name, value in part.items()
        if value is not None
    }
    rubric = stated.pop("rubric", None)
    reader = stated.pop("extractor", None)
    sent = {name: stated[name] for name in SENT if name in stated}
    # what the model answered before says nothing of the model now
    ask: Any = partial(ModelOptions.client, concurrency=16, cache=False, **sent)
    options = {
        field.name: stated[field.name]
        for field in fields(JudgeOptions)
        if field.name in stated
    }
    judge(
        dataset.choose(Choice(ids=ids)),
        ask(model),
        out,
        rubric=rubric and rubric_of_json(rubric),
        extractor=reader and ask(replace(model, model=reader["model"])),
        progress=False,
        **options,
    )
    return analyse([out])
