"""Run one judge over one dataset: find the remaining questions and write verdicts to the run
folder.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from visualjudge import __version__
from visualjudge.clients.base import Client, Diagnostics
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import image_finder
from visualjudge.core.records import Question
from visualjudge.core.registry import in_use
from visualjudge.dataset.folder import Dataset
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.dataset.question_storage import columns
from visualjudge.judges.base import Ask, Judge, Judged, Key, most_calls
from visualjudge.judges.schema_trial import trial_of
from visualjudge.runs.budget import Budget
from visualjudge.runs.folder import COMPACTED_ABOVE, RunFolder
from visualjudge.runs.job_runner import Ask as AskOne, Listener, Outcome, Progress, RunControl, Stop
from visualjudge.runs.journal import Journal
from visualjudge.runs.questions_left import Answered, Todo, answered, left_of
from visualjudge.runs.resume_check import (
    changes,
    check_changes,
    edited_images,
    fallen_out,
    media_checksum,
    recorded,
)
from visualjudge.runs.spending import Spending, paid_beside, priced, spent_before
from visualjudge.runs.verdict_lines import verdict_line


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The extent of a run and how to continue it. ``limit`` is a number of questions; None means
    all.
    """

    swap: bool = False
    repeats: int = 1
    limit: int | None = None
    concurrency: int = 8
    resume: bool = False
    retry_errors: bool = False
    """With ``resume``: repeat asks that ended in an api_error."""
    name: str | None = None
    accept_changes: bool = False
    """With ``resume``: continue with different settings, and record both."""


class Engine(Protocol):
    """An engine, which passes the asks of a run to its judge."""

    async def __call__(self, todo: Todo, ask: AskOne[Ask], control: RunControl) -> Progress:
        """Do all of ``todo``, which may be iterated repeatedly; return the progress of
        ``control``.
        """
        ...


async def live(todo: Todo, ask: AskOne[Ask], control: RunControl) -> Progress:
    """Run live calls: each ask once, at most ``concurrency`` at the same time."""
    return await control.run(todo(), ask)


@dataclass(frozen=True)
class RunReport:
    """How a run ended: the number of verdicts by status in the run folder, and what this invocation
    did."""

    statuses: Counter[str]
    causes: Counter[str]
    progress: Progress
    failures: Counter[str] = field(default_factory=Counter)
    """Failed calls by cause, including those that succeeded on retry."""
    missing: int = 0
    from_cache: int = 0
    """Number of verdicts of this invocation from replies in the cache."""
    torn_bytes: int = 0
    server: str | None = None
    """The base URL of the server, without secrets."""
    last_error: str | None = None
    """The error message of the last verdict without a reply, from the server or socket, with
    secrets masked.
    """
    adjustments: tuple[str, ...] = ()
    """Parameters that the server refused and later requests omit."""
    schema: str | None = None
    """How the server treated a JSON schema, if one was tried."""
    total: Spending = field(default_factory=Spending)
    """Total spending of all invocations of the run."""


def still_to_ask(
    folder: str | Path, questions: Sequence[Question], options: RunSettings
) -> Iterator[Ask]:
    """Return everything that an invocation with these options would ask, excluding questions
    answered in ``folder`` if it resumes.
    """
    run, done = RunFolder(folder), None
    if options.resume and run.verdicts_path.is_file():
        done = answered(run.verdicts_path, without="api_error" if options.retry_errors else None)
    return left_of(
        questions[: options.limit], swap=options.swap, repeats=options.repeats, done=done
    )()


def check_images(dataset: Dataset, questions: Sequence[Question]) -> None:
    """Check, before anything is asked, that all images exist.

    Raises
    ------
    DataError
        If one is missing or lies outside of the dataset (the message names the first and counts the
        others), or if the dataset holds only labels.
    """
    if dataset.labels_only:
        raise DataError(
            f"{dataset.root}: cannot be judged: it contains only labels, because the copy that it "
            "was imported from has no images or texts; report on the runs that `visualjudge bench "
            "import --replies` wrote"
        )
    find = image_finder(dataset.root)
    # Only hashes of names are kept, as there may be millions.
    seen, missing = (
        set[int](),
        dict[str, str](),
    )
    for (some,) in columns(questions, "images"):
        fresh = [name for name in some if hash(name) not in seen]
        seen.update(map(hash, fresh))
        missing |= {name: reason for name in fresh if (reason := _unusable(find, name))}
    for question_id, images in columns(questions, "id", "images") if missing else ():
        first = next((missing[name] for name in images if name in missing), None)
        if first is not None:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise DataError(f"{dataset.root}: question {question_id}: images: {first}{more}")


def _unusable(find: Callable[[object], object], name: str) -> str | None:
    try:
        find(name)
    except DataError as error:
        return str(error)
    return None


async def run_judge(
    dataset: Dataset,
    judge: Judge,
    out: str | Path,
    options: RunSettings,
    *,
    budget: Budget | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
    engine: Engine = live,
) -> RunReport:
    """Ask all questions that have no verdict yet, then close the judge.

    Raises
    ------
    UsageError
        If the folder holds another run, a run although ``resume`` is off, or verdicts that are no
        longer asked for; or if one question may take more calls than the budget allows.
    """
    folder, budget = RunFolder(out), budget or Budget()
    budget.expect(most_calls(judge))
    manifest = {**_manifest(dataset, judge, options), **priced(budget)}
    with _journal(folder, dataset, options) as journal:
        spent = (
            spent_before(folder.verdicts_path, folder.manifest()) if options.resume else Spending()
        )
        before = answered(folder.verdicts_path)
        # An invocation that repeated errors was killed.
        if before.statuses.total() > len(before):
            _drop_replaced(journal)
            before = answered(folder.verdicts_path)
        todo = _todo(dataset, before, options)
        manifest["asked"] = todo.total
        if options.resume:
            unasked = len(before) - (todo.total - len(todo.numbers))
            manifest = _continued(folder, dataset, manifest, before, unasked, options)
            _recall_schema(folder, manifest, judge)
        again = options.retry_errors and before.statuses["api_error"] > 0
        if again:
            todo = _todo(dataset, answered(folder.verdicts_path, without="api_error"), options)
        manifest["total"] = spent.as_dict()
        folder.write_manifest(manifest)
        left = len(todo.numbers)
        try:
            counts = Progress(
                total=left,
                budget=budget,
                server=manifest.get("base_url"),
                failed_calls=_diagnostics(engine, judge).failures,
                again=again,
            )
            control = RunControl(journal, options.concurrency, counts, on_event, stop or Stop())
            progress = await engine(todo, _noting_schema(folder, manifest, judge), control)
        finally:
            await asyncio.shield(judge.aclose())
        diagnostics = _diagnostics(engine, judge)
        statuses, causes, missing = (
            before.statuses + progress.statuses,
            before.causes + progress.causes,
            left - progress.done,
        )
        if again:
            _drop_replaced(journal)
            now = answered(folder.verdicts_path)
            statuses, causes, missing = (
                now.statuses,
                now.causes,
                len(_todo(dataset, now, options).numbers),
            )
        report = RunReport(
            statuses,
            causes,
            progress,
            diagnostics.failures,
            missing,
            0 if getattr(judge, "client", None) is None else progress.free,
            journal.torn_bytes,
            manifest.get("base_url"),
            progress.error or before.error,
            diagnostics.adjustments,
            manifest.get("schema") or diagnostics.schema,
            spent.and_by(budget),
        )
    folder.write_manifest({**manifest, **_ending(report)})
    if not report.missing and report.statuses.total() > COMPACTED_ABOVE:
        folder.compact()
    return report


def _todo(dataset: Dataset, done: Answered, options: RunSettings) -> Todo:
    return left_of(
        dataset.questions[: options.limit], swap=options.swap, repeats=options.repeats, done=done
    )


def _drop_replaced(journal: Journal) -> None:
    """Remove failures that were asked again and have a later verdict."""
    left = Counter[Key]()
    for line in journal.records():
        if line["status"] == "api_error" or _key(line) in left:
            left[_key(line)] += 1

    def is_replaced(line: Mapping[str, Any]) -> bool:
        left[_key(line)] -= 1
        return left[_key(line)] > 0

    journal.drop(is_replaced)


def _key(line: Mapping[str, Any]) -> Key:
    return line["id"], line.get("order") or "AB", line.get("repeat") or 0


def _journal(folder: RunFolder, dataset: Dataset, options: RunSettings) -> Journal:
    """Open the run's journal. A compacted run with nothing left to ask stays as it is, without a
    journal.
    """
    idle = folder.is_compacted and options.resume and not options.retry_errors
    if idle and next(still_to_ask(folder.path, dataset.questions, options), None) is None:
        return Journal(folder.journal_path)
    return folder.open_journal(resume=options.resume)


def _recall_schema(folder: RunFolder, manifest: Mapping[str, Any], judge: Judge) -> None:
    """Continue in the mode that the first invocation chose. With another server or model, repeat
    the trial.
    """
    trial, is_same = trial_of(judge), manifest.get("changes") == folder.manifest().get("changes")
    if trial is not None and is_same and manifest.get("schema"):
        trial.recall(manifest["schema"])


def _noting_schema(folder: RunFolder, manifest: dict[str, Any], judge: Judge) -> AskOne[Ask]:
    """Ask the judge, and record in ``run.json`` how its trial of a schema ended.

    This happens before the deciding verdict is in the journal, so that a killed run continues in
    the same mode.
    """
    trial = trial_of(judge)

    async def asked(ask: Ask) -> Outcome:
        outcome = await outcome_of(judge, ask)
        if trial is not None and trial.outcome not in (None, manifest.get("schema")):
            manifest["schema"] = trial.outcome
            folder.write_manifest(manifest)
        return outcome

    return asked


async def outcome_of(judge: Judge, ask: Ask) -> Outcome:
    try:
        judged: Judged = await judge(ask)
    except Exception as error:  # user-defined judges may not have a trial
        error.add_note(f"while it was asked question {ask.question.id}, order {ask.order}")
        raise
    verdict = judged.verdict
    line = verdict_line(verdict) | paid_beside(verdict, judged.paid)
    return Outcome(
        line, verdict.status, verdict.cause, judged.paid, judged.calls, line.get("error")
    )


def _diagnostics(engine: Engine, judge: Judge) -> Diagnostics:
    """Return what happened to the judge's clients, if it has any."""
    known: Diagnostics | None = getattr(engine, "diagnostics", None) or getattr(
        judge, "diagnostics", None
    )
    client: Client | None = getattr(judge, "client", None)
    return known or (Diagnostics() if client is None else client.diagnostics)


# ---------------------------------------------------------------- run.json


def _manifest(dataset: Dataset, judge: Judge, options: RunSettings) -> dict[str, Any]:
    described = dict(judge.describe())
    return {
        **described,
        "judge": options.name or str(described.get("judge", described["model"])),
        "simulated": judge.simulated,
        "swap": options.swap,
        "repeats": options.repeats,
        "limit": options.limit,
        "asked": 0,
        "concurrency": options.concurrency,
        "dataset": {"path": str(dataset.root.resolve()), "checksum": checksum_of(dataset)},
        "media_checksum": media_checksum(dataset),
        "version": __version__,
        **_plugins(dataset, described),
        "started": _now(),
        "finished": None,
    }


def _plugins(dataset: Dataset, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plug-ins that made the dataset and those whose backend or judge answers, if there
    are any.
    """
    backend = described.get("backend")
    own = in_use({("backend", backend), ("question judge", backend)})
    stated = dataset.meta.get("plugins")
    both = [*(stated if isinstance(stated, list) else []), *own]
    return {"plugins": both} if both else {}


def checksum_of(dataset: Dataset) -> str:
    """Return the SHA-256 of questions.json as read, regardless of what dataset.json states."""
    return dataset.digest or hashlib.sha256((dataset.root / QUESTIONS).read_bytes()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _ending(report: RunReport) -> dict[str, Any]:
    budget = report.progress.budget
    return {
        "finished": _now(),
        "stopped": report.progress.stopped,
        "statuses": dict(report.statuses),
        "causes": dict(report.causes),
        "missing": report.missing,
        "adjustments": list(report.adjustments),
        "schema": report.schema,
        "total": report.total.as_dict(),
        "last_invocation": {
            "verdicts": report.progress.done,
            "calls": budget.calls,
            "from_cache": report.from_cache,
            "seconds": round(report.progress.seconds, 2),
            **Spending().and_by(budget).as_dict(),
            "failed_calls": dict(report.failures),
        },
    }


def _continued(
    folder: RunFolder,
    dataset: Dataset,
    manifest: dict[str, Any],
    before: Answered,
    unasked: int,
    options: RunSettings,
) -> dict[str, Any]:
    """Return the manifest of a resumed run, with its first start and every accepted change."""
    old = folder.manifest()
    if not old:
        return manifest
    found = (
        changes(old, manifest) + edited_images(dataset, old) + fallen_out(old, manifest, unasked)
    )
    check_changes(folder.path, found, accept=options.accept_changes)
    kept = list(old.get("changes") or [])
    if found:
        kept.append(recorded(found, at=_now(), verdicts=before.statuses.total()))
    started = old.get("started") or manifest["started"]
    schema = {"schema": old["schema"]} if old.get("schema") else {}
    beside = {"unasked": unasked} if unasked > 0 else {}
    return {
        **manifest,
        "started": started,
        **schema,
        **beside,
        **({"changes": kept} if kept else {}),
    }
