"""Ask an LLM which option a reply chooses if the rules cannot read it. Optional, and
counted separately. The rules are in ``reply_reading.py``.
"""

import asyncio
from collections.abc import Sequence

from visualjudge.apps.mmbench.evaluate import Evaluation, reading_of
from visualjudge.apps.mmbench.question_prompt import options_text
from visualjudge.apps.mmbench.table import Rules, ScoredRow
from visualjudge.clients.base import Client, Request, TextPart
from visualjudge.prompts.store import PromptAssetStore

CONCURRENCY = 16


def unread(evaluation: Evaluation) -> list[ScoredRow]:
    """Return the rows with one right option and a reply that the rules could not
    read."""
    return [
        line
        for line in evaluation.rows
        if line.extracted is None
        and (line.prediction or "").strip()
        and line.row.answer_form == "letter"
    ]


async def match(
    lines: Sequence[ScoredRow], client: Client, rules: Rules = "strict"
) -> dict[int, str | None]:
    """Ask about each line. Return letters by index, None if the matcher chose none or
    could not be read. Its replies are read by the same rules as those of the model.

    Raises
    ------
    ClientError
        If the matcher could not be asked.
    """
    template = PromptAssetStore().get_prompt("mmbench/matcher")
    few = asyncio.Semaphore(CONCURRENCY)

    async def ask(line: ScoredRow) -> str | None:
        row = line.row
        values = {
            "question": row.question,
            "options": options_text(row, template).removesuffix("\n"),
            "reply": line.prediction or "",
        }
        async with few:
            reply = await client.ask(
                Request(
                    (TextPart(template.render_user(values)),), temperature=0.0
                )
            )
        return reading_of(reply.text, row, rules).letter

    try:
        letters = await asyncio.gather(*map(ask, lines))
    finally:
        await client.aclose()
    return {
        line.row.index: letter
        for line, letter in zip(lines, letters, strict=True)
    }
