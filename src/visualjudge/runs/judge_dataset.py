"""Run one judge over one dataset: find the remaining questions and write verdicts to
the run folder. The steps are in ``asks.py``, ``settings_changes.py``, ``live.py`` and
``batches.py``.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from visualjudge import __version__
from visualjudge.clients.base import Diagnostics
from visualjudge.core.errors import VisualJudgeError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import Served, Verdict
from visualjudge.core.registry import in_use
from visualjudge.core.untrusted import read_file
from visualjudge.dataset.folder import Dataset
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.judges.base import Ask, Judge, most_calls
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import RunSettings
from visualjudge.runs.asks import Answered, asks_of, count_asks
from visualjudge.runs.budget import Budget, Spending, spent_before
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.job_runner import (
    Ask as AskOne,
    Listener,
    Progress,
    Runner,
    Stop,
)
from visualjudge.runs.live import Engine, LiveEngine, client_of
from visualjudge.runs.settings_changes import (
    changes,
    check_changes,
    fallen_out,
    media_checksum,
)
from visualjudge.runs.verdicts import verdict_line


@dataclass(frozen=True)
class RunReport:
    """How a run ended: the number of verdicts by status in the run folder, and what
    this invocation did."""

    statuses: Counter[str]
    causes: Counter[str]
    progress: Progress
    missing: int = 0
    torn_bytes: int = 0
    # The base URL of the server, without secrets.
    server: str | None = None
    # The error message of the last verdict without a reply, from the server or socket,
    # with secrets masked.
    last_error: str | None = None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    # Total spending of all invocations of the run.
    total: Spending = field(default_factory=Spending)
    # Number of verdicts by who answered.
    served: Counter[Served] = field(default_factory=Counter)
    has_client: bool = False

    @property
    def from_cache(self) -> int:
        """Number of verdicts of this invocation from replies in the cache."""
        return self.progress.free if self.has_client else 0


async def run_judge(
    dataset: Dataset,
    judge: Judge,
    out: str | Path,
    options: RunSettings,
    *,
    budget: Budget | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
    engine: Engine | None = None,
) -> RunReport:
    """Ask all questions that have no verdict yet, then close the judge.

    Parameters
    ----------
    engine
        How the questions are passed to the judge; by default live.

    Raises
    ------
    UsageError
        If the folder holds another run, a run although ``resume`` is off, or verdicts
        that are no longer asked for; or if one question may take more calls than the
        budget allows.
    RunError
        If the first question shows that the model cannot be asked.
    """
    folder = RunFolder(out)
    budget = budget or Budget()
    budget.expect(most_calls(judge))
    with folder.open_journal(resume=options.resume) as journal:
        before = Answered.of(folder, retry_errors=options.retry_errors)
        old = folder.manifest() if options.resume else {}
        spent = spent_before(before.paid, old) if options.resume else Spending()
        total, left = count_asks(dataset.questions, options, before.keys)
        manifest = _manifest(dataset, judge, options, budget) | {"asked": total}
        if old:
            unasked = len(before.keys) - (total - left)
            manifest |= _continued(
                folder, old, manifest, before, unasked, options
            )
            # Continue in the mode that the first invocation chose. Another server or
            # model may treat a schema differently.
            same = old.get("schema") and old.get("changes") == manifest.get(
                "changes"
            )
            if same and isinstance(judge, QuestionJudge) and judge.tries_schema:
                judge.schema = old["schema"]
        again = options.retry_errors and bool(
            journal.drop(lambda line: line.get("status") == "api_error")
        )
        folder.write_manifest({**manifest, "total": spent.as_dict()})
        progress = Progress(
            total=left,
            budget=budget,
            server=manifest.get("base_url"),
            failed_calls=_diagnostics(judge).failures,
            again=again,
        )
        control = Runner(
            journal,
            verdict_line,
            progress,
            options.concurrency,
            on_event,
            stop or Stop(),
        )
        engine = engine or LiveEngine(
            judge, list(before.served), options.accept_changes
        )
        try:
            await engine(
                lambda: asks_of(dataset.questions, options, before.keys),
                _noting_schema(folder, manifest, judge),
                control,
            )
        except VisualJudgeError:
            if not old:
                folder.remove_empty()
            raise
        finally:
            await asyncio.shield(judge.aclose())
    after = Answered.of(folder)
    report = RunReport(
        after.statuses,
        after.causes,
        progress,
        left - progress.done,
        journal.torn_bytes,
        manifest.get("base_url"),
        after.error,
        _diagnostics(judge),
        spent.and_by(budget),
        after.served,
        client_of(judge) is not None,
    )
    schema = manifest.get("schema") or report.diagnostics.schema
    folder.write_manifest({**manifest, **_ending(report), "schema": schema})
    return report


def _noting_schema(
    folder: RunFolder, manifest: Json, judge: Judge
) -> AskOne[Ask, Verdict]:
    async def asked(ask: Ask) -> Verdict:
        """Ask the judge, and record in ``run.json`` how the server treats a schema.
        This happens before the deciding verdict is in the journal, so that a killed run
        continues in the same mode."""
        try:
            verdict = await judge(ask)
        except Exception as error:
            where = f"question {ask.question.id}, order {ask.order}"
            error.add_note(f"while it was asked {where}")
            raise
        schema = getattr(judge, "schema", None)
        if schema not in (None, manifest.get("schema")):
            manifest["schema"] = schema
            folder.write_manifest(manifest)
        return verdict

    return asked


def _diagnostics(judge: Judge) -> Diagnostics:
    own: Diagnostics = getattr(judge, "diagnostics", Diagnostics())
    return own


# ---------------------------------------------------------------- run.json


def _manifest(
    dataset: Dataset, judge: Judge, options: RunSettings, budget: Budget
) -> Json:
    described = dict(judge.describe())
    return {
        **described,
        "judge": options.name
        or str(described.get("judge", described["model"])),
        "simulated": judge.simulated,
        "swap": options.swap,
        "repeats": options.repeats,
        "limit": options.limit,
        "asked": 0,
        "concurrency": options.concurrency,
        "dataset": {
            # JSON has no bytes that are no text: then `dataset` names the folder
            "path": str(dataset.root.resolve())
            .encode("utf-8", "backslashreplace")
            .decode(),
            "checksum": checksum_of(dataset),
        },
        "media_checksum": media_checksum(dataset),
        "version": __version__,
        **_plugins(dataset, described),
        "started": _now(),
        "finished": None,
        **budget.prices.noted,
    }


def _plugins(dataset: Dataset, described: Fields) -> Json:
    # Return the plug-ins that made the dataset and those whose backend or judge
    # answers, if there are any.
    backend = described.get("backend")
    own = in_use({("backend", backend), ("question judge", backend)})
    stated = dataset.meta.get("plugins")
    both = [*(stated if isinstance(stated, list) else []), *own]
    return {"plugins": both} if both else {}


def checksum_of(dataset: Dataset) -> str:
    """Return the SHA-256 of questions.json as read, regardless of what dataset.json
    states."""
    return (
        dataset.digest
        or hashlib.sha256(
            read_file(dataset.root / QUESTIONS, "json")
        ).hexdigest()
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def identities(served: Mapping[Served, int]) -> list[Json]:
    """Return who answered how many verdicts, in the form of ``run.json``, most frequent
    first."""
    rows = sorted(served.items(), key=lambda row: (-row[1], str(row[0])))
    return [{**asdict(item), "n": n} for item, n in rows]


def _ending(report: RunReport) -> Json:
    budget = report.progress.budget
    progress = report.progress
    return {
        "finished": _now(),
        "stopped": progress.stopped,
        "statuses": dict(report.statuses),
        "causes": dict(report.causes),
        "missing": report.missing,
        "adjustments": list(report.diagnostics.adjustments),
        "total": report.total.as_dict(),
        **({"identity": identities(report.served)} if report.served else {}),
        "last_invocation": {
            "verdicts": progress.done,
            "calls": budget.calls,
            "from_cache": report.from_cache,
            "seconds": round(progress.seconds, 2),
            **Spending().and_by(budget).as_dict(),
            "failed_calls": dict(report.diagnostics.failures),
        },
    }


def _continued(
    folder: RunFolder,
    old: Fields,
    manifest: Fields,
    before: Answered,
    unasked: int,
    options: RunSettings,
) -> Json:
    # Return the fields of a resumed run's manifest: its first start and every accepted
    # change. Where nothing was answered yet, there is nothing to mix, and any settings
    # may follow.
    result = changes(old, manifest) + fallen_out(old, manifest, unasked)
    answered = before.statuses.total() > before.statuses["api_error"]
    check_changes(
        folder.path, result, accept=options.accept_changes or not answered
    )
    changes_so_far = list(old.get("changes") or [])
    if result:
        fields = {
            change.name: {"was": change.was, "now": change.now}
            for change in result
        }
        changes_so_far.append(
            {
                "at": _now(),
                "verdicts": before.statuses.total(),
                "fields": fields,
            }
        )
    beside = {
        "schema": old.get("schema"),
        "unasked": max(0, unasked),
        "changes": changes_so_far,
    }
    return {
        "started": old.get("started") or manifest["started"],
        **{name: value for name, value in beside.items() if value},
    }
