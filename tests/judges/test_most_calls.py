"""What judges that ask several times cost, and the most that one ask may take: what a budget
books.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from judges.made_question import question
from visualjudge.clients import ScriptedClient
from visualjudge.clients.base import Reply
from visualjudge.judges.base import Ask, most_calls
from visualjudge.judges.cascade import CascadeJudge, CascadeRule, RecordedJudge
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.judges.reply_extractor import ExtractingJudge

RULE = CascadeRule(1.1, "agreement", (("AB", 0), ("AB", 1)))  # no answer of the cheap judge stands
ASKED = question(prompt="Which is better? Answer with A or B.", images=())


def judge(said: str, retries: int = 0) -> QuestionJudge:
    usage = {"prompt_tokens": 100, "completion_tokens": 5}
    return QuestionJudge(ScriptedClient([Reply(said, usage=usage)]), Path(), "text", retries)


def test_a_judge_books_all_that_one_ask_may_take() -> None:
    patient = judge("?", retries=3)
    assert asyncio.run(patient(Ask(ASKED))).calls == most_calls(patient) == 4
    second = ExtractingJudge(judge("?", retries=3), ScriptedClient(["Answer: A"]))
    assert asyncio.run(second(Ask(ASKED))).calls == most_calls(second) == 5
    cascade = CascadeJudge(judge("A"), judge("?", retries=1), RULE)
    assert asyncio.run(cascade(Ask(ASKED))).calls == most_calls(cascade) == 4
    assert most_calls(CascadeJudge(RecordedJudge("small", {}), judge("A"), RULE)) == 1


def test_a_cascade_pays_for_both_judges_and_for_the_cheap_one_once() -> None:
    cascade = CascadeJudge(judge("A"), judge("B"), RULE)
    first, second = (asyncio.run(cascade(Ask(ASKED, repeat=n))) for n in range(2))
    assert dict(first.paid) == {"prompt_tokens": 300, "completion_tokens": 15}
    assert dict(second.paid) == {"prompt_tokens": 100, "completion_tokens": 5}
