"""Ask a model every question of a table: journalled, resumable, with one record per
reply. Replies are read in ``reply_reading.py``; questions of a judge dataset are
asked in ``runs/judge_dataset.py``.

The journal (JSONL) is authoritative; the workbook is written from it at the end.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from visualjudge import __version__
from visualjudge.apps.mmbench.question_prompt import prompt_text
from visualjudge.apps.mmbench.reply_files import replies, write_workbook
from visualjudge.apps.mmbench.table import Row, Table, option_columns
from visualjudge.apps.mmbench.table_images import image_parts
from visualjudge.clients.base import Client, Request, TextPart
from visualjudge.clients.retry import cause_of
from visualjudge.core import jsons
from visualjudge.core.atomic import json_bytes
from visualjudge.core.errors import ClientError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.output_files import OutputFile
from visualjudge.core.records import FAILED, Status, Verdict
from visualjudge.core.typed_records import record_of
from visualjudge.prompts.store import PromptTemplate
from visualjudge.runs.budget import (
    PAID,
    Budget,
    Spending,
    StatedCost,
    paid_for,
    spent_before,
)
from visualjudge.runs.job_runner import (
    Listener,
    Progress,
    Runner,
    Stop,
)
from visualjudge.runs.journal import Journal, read_records
from visualjudge.runs.settings_changes import differences

STATUS: dict[str, Status] = {
    "stop": "ok",
    "length": "truncated",
    "refusal": "refusal",
    "error": "api_error",
    "other": "ok",
}


class Earlier(StatedCost, total=False):
    """What an earlier invocation asked, and what it has cost so far."""

    client: Json
    template: str
    questions: str


@dataclass(frozen=True)
class InferReport:
    """Result of a run: the number of rows with a reply and without, of cells that were
    cut, the usage and cost of all invocations, and the statuses of all replies.
    """

    replied: int
    missing: int
    cut: int
    progress: Progress
    total: Spending = field(default_factory=Spending)
    statuses: Counter[str] = field(default_factory=Counter)


async def _asked(
    row: Row, table: Table, client: Client, template: PromptTemplate
) -> Verdict:
    """Ask about one row, in one user message of images and text; a failed call is a
    verdict with its cause. Its value is the reply, which is read later.
    """
    started = time.monotonic()
    request = Request(
        (*image_parts(table, row), TextPart(prompt_text(row, template)))
    )
    try:
        reply = await client.ask(request)
    except ClientError as error:
        return Verdict(
            str(row.index),
            "AB",
            FAILED,
            "api_error",
            None,
            cause=cause_of(error),
            extra={"error": str(error)[:500]},
            paid=dict(error.usage),
        )
    # JSON in UTF-8 cannot hold lone surrogates.
    text = reply.text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )
    return Verdict(
        str(row.index),
        "AB",
        text,
        STATUS[reply.finish_reason],
        text,
        usage=dict(reply.usage) or None,
        latency_s=round(time.monotonic() - started, 3),
        paid={} if reply.cached else None,
        calls=int(not reply.cached),
    )


def _record(verdict: Verdict) -> Json:
    """Return a verdict as a line of the journal."""
    replied = {"usage": verdict.usage, "latency_s": verdict.latency_s}
    failed = {"cause": verdict.cause, "error": verdict.error}
    return {
        "index": int(verdict.id),
        "prediction": verdict.raw_response,
        "status": verdict.status,
        **(failed if verdict.raw_response is None else replied),
        **({} if verdict.paid is None else {PAID: verdict.paid}),
    }


async def infer(
    table: Table,
    rows: Sequence[Row],
    client: Client,
    template: PromptTemplate,
    workbook: Path,
    *,
    resume: bool = False,
    concurrency: int = 16,
    budget: Budget | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> InferReport:
    """Ask about ``rows``, write the ``workbook``, the journal and the manifest (.jsonl
    and .run.json) beside it, and close the client.

    A row without a reply is omitted from the workbook, because a blank cell would be an
    empty reply. ``resume`` asks what has no reply yet.

    Raises
    ------
    UsageError
        If the journal holds a run and ``resume`` is off, or the run is another model's.
    """
    budget = budget or Budget()
    journal_path = workbook.with_suffix(".jsonl")
    manifest_path = workbook.with_suffix(".run.json")
    before = _earlier(manifest_path) if resume else {}
    manifest = {
        "table": str(table.path),
        "rows": len(table.rows),
        "questions": _digest(table),
        "client": asdict(client.identity),
        "template": template.name,
        "version": __version__,
        **budget.prices.noted,
    }
    if before:
        _check_same(manifest_path, before, manifest)
    settings = OutputFile(manifest_path)
    try:
        with Journal(journal_path, resume=resume) as journal:
            records = read_records(journal_path)
            paid = paid_for(
                record.get(PAID, record.get("usage")) for record in records
            )
            spent = spent_before(paid, before)
            settings.write_now(
                json_bytes({**manifest, "total": spent.as_dict()})
            )
            done = replies(journal_path)
            todo = [row for row in rows if row.index not in done]
            progress = Progress(
                total=len(todo), budget=budget, server=client.identity.base_url
            )
            await Runner(
                journal,
                _record,
                progress,
                concurrency,
                on_event,
                stop or Stop(),
            ).run(
                todo,
                partial(_asked, table=table, client=client, template=template),
            )
    finally:
        await client.aclose()
    total = spent.and_by(budget)
    settings.write_now(json_bytes({**manifest, "total": total.as_dict()}))
    journalled = replies(journal_path)
    lines = [
        (row, journalled[row.index]["prediction"])
        for row in rows
        if row.index in journalled
    ]
    cut = write_workbook(
        workbook, lines, option_columns(table.columns), whole=journal_path.name
    )
    return InferReport(
        len(lines),
        len(rows) - len(lines),
        cut,
        progress,
        total,
        Counter(str(journalled[row.index].get("status")) for row, _ in lines),
    )


def _digest(table: Table) -> str:
    """Return the SHA-256 of indices, questions and options, which identifies the table
    regardless of its path."""
    total = hashlib.sha256()
    for row in table.rows:
        total.update(
            repr(
                (row.index, row.hint, row.question, sorted(row.options.items()))
            ).encode(errors="replace")
        )
    return total.hexdigest()


def models_of(results: Sequence[Path]) -> list[str]:
    """Return the names of the models that were asked, by the manifests beside the
    results; those of the files where a name is missing or not unique."""
    before = [_earlier(path.with_suffix(".run.json")) for path in results]
    asked = {earlier.get("client", {}).get("model") for earlier in before}
    if None in asked or len(asked) < len(results):
        return [path.stem for path in results]
    return [earlier["client"]["model"] for earlier in before]


def _earlier(path: Path) -> Earlier:
    """Return the manifest of earlier invocations, or an empty dict."""
    if not path.is_file():
        return {}
    hint = "; delete it together with the .jsonl to start again"
    return record_of(Earlier, jsons.read(path, "manifest", hint), path)


def _check_same(path: Path, before: Earlier, manifest: Fields) -> None:
    """Check that the run to resume asked the same model in the same way."""
    settings = ("client", "template", "questions")
    changed = differences(
        {name: before.get(name) for name in settings},
        {name: manifest[name] for name in settings},
    )
    if different := "; ".join(map(str, changed)):
        raise UsageError(f"`resume`: {path}: {different}; choose another `out`")
