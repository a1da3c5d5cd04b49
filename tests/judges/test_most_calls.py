"""What judges that ask several times cost, and the most that one ask may take: what a
budget books.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from judges.made_question import question
from scripted_client import ScriptedClient
from visualjudge.clients.base import Reply
from visualjudge.judges.base import Ask, most_calls
from visualjudge.judges.question_judge import QuestionJudge

ASKED = question(prompt="Which is better? Answer with A or B.", images=())


def judge(said: str, retries: int = 0) -> QuestionJudge:
    usage = {"prompt_tokens": 100, "completion_tokens": 5}
    return QuestionJudge(
        ScriptedClient([Reply(said, usage=usage)]), Path(), "text", retries
    )


def test_a_judge_books_all_that_one_ask_may_take() -> None:
    patient = judge("?", retries=3)
    assert asyncio.run(patient(Ask(ASKED))).calls == most_calls(patient) == 4
    second = replace(
        judge("?", retries=3), extractor=ScriptedClient(["Answer: A"])
    )
    assert asyncio.run(second(Ask(ASKED))).calls == most_calls(second) == 5
