"""Ask a model every question of a table: journalled, resumable, with one record per reply.

The journal (JSONL) is authoritative; the workbook is written from it at the end.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from visualjudge import __version__
from visualjudge.apps.mmbench.question_prompt import prompt_text
from visualjudge.apps.mmbench.reply_files import replies, write_workbook
from visualjudge.apps.mmbench.table import Row, Table
from visualjudge.apps.mmbench.table_images import image_part
from visualjudge.clients.base import Client, ImagePart, Reply, Request, TextPart
from visualjudge.clients.retry import cause_of
from visualjudge.core import atomic, jsons
from visualjudge.core.errors import ClientError, UsageError
from visualjudge.prompts.store import PromptTemplate
from visualjudge.runs.budget import KINDS, PAID, Budget, Spending, paid_for, spent_before
from visualjudge.runs.job_runner import Listener, Outcome, Progress, Runner, Stop
from visualjudge.runs.journal import Journal, read_records

IMAGES_KEPT = 32
STATUS = {
    "stop": "ok",
    "length": "truncated",
    "refusal": "refusal",
    "error": "api_error",
    "other": "ok",
}


@dataclass(frozen=True, slots=True)
class Places:
    """The files of a run: the workbook, and the journal and manifest next to it."""

    workbook: Path

    @property
    def journal(self) -> Path:
        """The journal, with one JSON line per reply."""
        return self.workbook.with_suffix(".jsonl")

    @property
    def manifest(self) -> Path:
        """Model, server, template and parameters."""
        return self.workbook.with_suffix(".run.json")


@dataclass(frozen=True)
class InferReport:
    """Result of a run; ``statuses`` counts all replies, ``causes`` the reasons for missing
    replies.
    """

    replied: int
    missing: int
    cut: int
    progress: Progress
    # Usage and cost of all invocations of the run.
    total: Spending = field(default_factory=Spending)
    statuses: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    example: str | None = None


class Asker:
    """Turns a row into a request, and the reply into a record."""

    def __init__(self, table: Table, client: Client, template: PromptTemplate) -> None:
        self.table, self.client, self.template = table, client, template
        self._images: OrderedDict[int, ImagePart] = OrderedDict()

    def request(self, row: Row) -> Request:
        """One user message: the image, then the text."""
        return Request((self._image(row), TextPart(prompt_text(row, self.template))))

    async def ask(self, row: Row) -> Outcome:
        """Ask about one row; a failed call returns a record with its cause."""
        started = time.monotonic()
        try:
            reply = await self.client.ask(self.request(row))
        except ClientError as error:
            cause = cause_of(error)
            failed = {"index": row.index, "prediction": None, "status": "api_error", "cause": cause}
            record = {**failed, "error": str(error)[:500], **_paid(error.usage)}
            return Outcome(record, "api_error", cause, error.usage)
        return _outcome(row, reply, time.monotonic() - started)

    # Return the row's image; the last few are cached, because rotations of a question share theirs.
    def _image(self, row: Row) -> ImagePart:
        owner = self.table.image_row(row)
        if owner.index not in self._images:
            self._images[owner.index] = image_part(self.table, owner)
            if len(self._images) > IMAGES_KEPT:
                self._images.popitem(last=False)
        return self._images[owner.index]


def _outcome(row: Row, reply: Reply, seconds: float) -> Outcome:
    status = STATUS[reply.finish_reason]
    record = {
        "index": row.index,
        "prediction": _encodable(reply.text),
        "status": status,
        "usage": dict(reply.usage) or None,
        "latency_s": round(seconds, 3),
        **(_paid({}) if reply.cached else {}),
    }
    return Outcome(record, status, usage=reply.usage, calls=int(not reply.cached))


# Return the tokens paid for, if they differ from those of the reply.
def _paid(usage: Mapping[str, int]) -> dict[str, Any]:
    return {PAID: dict(usage)}


# Join surrogate pairs and replace lone surrogates by U+FFFD, because JSON in UTF-8 cannot hold
# them.
def _encodable(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


async def infer(
    table: Table,
    rows: Sequence[Row],
    client: Client,
    template: PromptTemplate,
    places: Places,
    *,
    resume: bool = False,
    concurrency: int = 16,
    budget: Budget | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> InferReport:
    """Ask about ``rows``, write the journal and the workbook, and close the client.

    A row without a reply is omitted from the workbook, because a blank cell would be an empty
    reply.
    ``resume`` asks what has no reply yet.

    Raises
    ------
    UsageError
        If the journal holds a run and ``resume`` is off, or the run is another model's.
    """
    budget = budget or Budget()
    before = _earlier(places.manifest) if resume else {}
    manifest = {**_manifest(table, client, template), **budget.prices.noted}
    if before:
        _check_same(places.manifest, before, manifest)
    try:
        with (
            Journal.resume(places.journal) if resume else Journal.create(places.journal) as journal
        ):
            paid = paid_for(record.get(PAID, record.get("usage")) for record in journal.records())
            spent = spent_before(paid, before)
            atomic.write_json(places.manifest, {**manifest, "total": spent.as_dict()})
            done = replies(places.journal)
            todo = [row for row in rows if row.index not in done]
            asker = Asker(table, client, template)
            progress = Progress(total=len(todo), budget=budget, server=client.identity.base_url)
            runner = Runner(journal, progress, concurrency, on_event, stop or Stop())
            await runner.run(todo, asker.ask)
    finally:
        await client.aclose()
    total = spent.and_by(budget)
    atomic.write_json(places.manifest, {**manifest, "total": total.as_dict()})
    return _report(table, rows, places, progress, total)


def _report(
    table: Table, rows: Sequence[Row], places: Places, progress: Progress, total: Spending
) -> InferReport:
    found = replies(places.journal)
    lines = [(row, found[row.index]["prediction"]) for row in rows if row.index in found]
    cut = write_workbook(places.workbook, lines, table.letters, whole=places.journal.name)
    causes, example = (
        _failures(places.journal, found) if len(lines) < len(rows) else (Counter[str](), None)
    )
    statuses = Counter(str(found[row.index].get("status")) for row, _ in lines)
    return InferReport(
        len(lines), len(rows) - len(lines), cut, progress, total, statuses, causes, example
    )


# Count the causes of missing replies, and return one message of the server.
def _failures(path: Path, found: Mapping[int, Any]) -> tuple[Counter[str], str | None]:
    last = {
        record["index"]: record for record in read_records(path) if record["index"] not in found
    }
    messages = [str(record.get("error")) for record in last.values()]
    return Counter(str(record.get("cause")) for record in last.values()), messages[
        0
    ] if messages else None


def _manifest(table: Table, client: Client, template: PromptTemplate) -> dict[str, Any]:
    return {
        "table": str(table.path),
        "rows": len(table.rows),
        "questions": _digest(table),
        "client": asdict(client.identity),
        "template": template.name,
        "version": __version__,
    }


# Return the SHA-256 of indices, questions and options, which identifies the table regardless of its
# path.
def _digest(table: Table) -> str:
    total = hashlib.sha256()
    for row in table.rows:
        total.update(
            repr((row.index, row.hint, row.question, sorted(row.options.items()))).encode(
                errors="replace"
            )
        )
    return total.hexdigest()


# Return the manifest of earlier invocations, or an empty dict.
def _earlier(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    hint = "; delete it together with the .jsonl to start again"
    before = jsons.read(path, "manifest", hint)
    jsons.check_kinds(str(path), before, KINDS)
    found: Mapping[str, Any] = before
    return found


# Check that the run to resume asked the same model in the same way.
def _check_same(path: Path, before: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    for name in ("client", "template", "questions"):
        if before.get(name) != manifest[name]:
            was, now = (
                json.dumps(value, ensure_ascii=False)[:200]
                for value in (before.get(name), manifest[name])
            )
            raise UsageError(
                f"--resume: {path} says {name} {was}, this command has {now}; choose another --out"
            )
