"""Ask an LLM which option a reply chooses if the rules cannot read it. Optional, and counted
separately.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from visualjudge.apps.mmbench.evaluate import Evaluation
from visualjudge.apps.mmbench.question_prompt import options_text
from visualjudge.apps.mmbench.reply_reading import read_strict
from visualjudge.apps.mmbench.table import Row, ScoredRow
from visualjudge.clients.base import Client, Request, TextPart
from visualjudge.clients.retry import cause_of
from visualjudge.core.errors import ClientError
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate
from visualjudge.runs.job_runner import Listener, Outcome, Progress, Runner, Stop
from visualjudge.runs.journal import Journal, read_records

CONCURRENCY = 16


def unread(evaluation: Evaluation) -> list[ScoredRow]:
    """Return the rows with a reply that the rules could not read."""
    return [
        line
        for line in evaluation.rows
        if line.extracted is None and (line.prediction or "").strip()
    ]


def _asked(row: Row, reply: str, template: PromptTemplate) -> str:
    options = options_text(row, template).removesuffix("\n")
    return template.render_user({"question": row.question, "options": options, "reply": reply})


async def match(
    lines: Sequence[ScoredRow],
    client: Client,
    journal: Path,
    *,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> tuple[dict[int, str | None], Progress]:
    """Ask about each line. Return letters by index, None if the matcher chose none or could not be
    read.

    Answers in the journal, which is keyed on the model and the text, are not asked for again.
    """
    template = PromptAssetStore().get_prompt("mmbench/matcher")
    wanted = {
        line.row.index: (line, _asked(line.row, line.prediction or "", template)) for line in lines
    }
    keys = {index: _key(client.model, text) for index, (_, text) in wanted.items()}
    before = _known(journal)

    async def ask(line: ScoredRow) -> Outcome:
        index = line.row.index
        record = {"index": index, "key": keys[index], "model": client.model}
        try:
            reply = await client.ask(Request((TextPart(wanted[index][1]),), temperature=0.0))
        except ClientError as error:
            failed = {**record, "reply": None, "error": str(error)[:500]}
            return Outcome(failed, "api_error", cause_of(error), error.usage)
        said = reply.text.encode(errors="replace").decode()
        return Outcome({**record, "reply": said}, usage=reply.usage, calls=int(not reply.cached))

    todo = [line for line, _ in wanted.values() if keys[line.row.index] not in before]
    try:
        with Journal.resume(journal) as file:
            progress = Progress(total=len(todo))
            runner = Runner(file, progress, CONCURRENCY, on_event, stop or Stop())
            await runner.run(todo, ask)
    finally:
        await client.aclose()
    after = _known(journal)
    # The matcher's letter; its text is read as strictly as any reply, by letter only.
    letters = {
        i: read_strict(after[keys[i]], dict.fromkeys(line.row.options, "")).letter
        for i, (line, _) in wanted.items()
        if keys[i] in after
    }
    return letters, progress


def _known(journal: Path) -> Mapping[str, str]:
    if not journal.exists():
        return {}
    return {
        record["key"]: record["reply"]
        for record in read_records(journal)
        if record.get("reply") is not None
    }


def _key(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}\n{text}".encode(errors="replace")).hexdigest()[:32]
