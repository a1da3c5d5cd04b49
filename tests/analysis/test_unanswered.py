"""Verdicts without an answer: what could not be read, what a judge declined, what people cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from judged_records import pair, ranking, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.columns import JUDGE
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.report.markdown import markdown
from visualjudge.analysis.report.page import html as page
from visualjudge.analysis.unanswered import Unanswered, unanswered
from visualjudge.analysis.words import answer, failed, failures, headline
from visualjudge.records import Question, Verdict

PAIRS = [pair(i, (8.0, 1.0)) for i in range(10)]


def judged(tmp_path: Path, verdicts: Sequence[Verdict], more: Sequence[Question] = ()) -> tuple[JudgeResult, Path]:
    dataset = write_dataset(tmp_path / "ds", [*PAIRS, *more])
    run = write_run(tmp_path / "run", dataset, verdicts)
    return analyse([run]).results.judges[0], run


def swapped(statuses: Sequence[tuple[str, str]]) -> list[Verdict]:
    """The first questions in both orders, right where the status is ok."""
    return [
        said(question, question.answer, order, status)
        for question, both in zip(PAIRS, statuses, strict=False)
        for order, status in zip(("AB", "BA"), both, strict=True)
    ]


def test_what_people_cannot_tell_is_no_failed_reply(tmp_path: Path) -> None:
    order = ranking(90, (3.0, 2.0, 1.0))
    verdicts = [said(one, one.answer) for one in PAIRS[:6]] + [said(PAIRS[6], "?", status="unparseable")]
    verdicts += [said(one, "?", status="cannot_tell") for one in (*PAIRS[7:], order)]
    judge, run = judged(tmp_path, verdicts, [order])
    assert failed(judge) == "1 of 11; 4 cannot tell"
    line = "Failed replies: 1 of 10 pairwise, 0 of 1 ranking. Cannot tell: 3 of 10 pairwise, 1 of 1 ranking."
    assert failures(judge) == line and line in markdown(analyse([run]))
    assert "1 replies failed, 3 say “cannot tell” and count as wrong" in headline(judge)
    assert "9.1 % of all replies could not be read; 36.4 % of all replies say “cannot tell”" in answer(judge)
    assert "“Cannot tell”" in page(analyse([run]))
    told = JUDGE.json(judge)
    assert (told["pairwise"]["failed"], told["pairwise"]["cannot_tell"], told["ranking"]["cannot_tell"]) == (4, 3, 1)
    assert told["pairwise"]["accuracy"] == 0.6  # as before: without an answer is wrong


@pytest.mark.parametrize(
    ("statuses", "n", "consistency", "withheld"),
    [
        ([("ok", "ok")] * 3 + [("refusal", "refusal")] * 2, 3, 1.0, 2),
        ([("ok", "ok")] * 3 + [("cannot_tell", "refusal")], 3, 1.0, 1),
        ([("ok", "ok")] * 3 + [("refusal", "ok")], 4, 0.75, 0),
        ([("ok", "ok")] * 3 + [("unparseable", "unparseable")], 4, 0.75, 0),
        ([("refusal", "refusal")] * 2, 0, None, 2),
    ],
)
def test_what_is_declined_in_both_orders_says_nothing_of_consistency(
    tmp_path: Path, statuses: list[tuple[str, str]], n: int, consistency: float | None, withheld: int
) -> None:
    judge, _ = judged(tmp_path, swapped(statuses))
    swap = judge.pairwise.swap
    assert (swap.consistency.n, swap.consistency.value, swap.withheld) == (n, consistency, withheld)
    assert swap.right_in_both.n == len(statuses)  # what was declined is not right


def test_a_question_that_was_declined_was_read(tmp_path: Path) -> None:
    judge, run = judged(tmp_path, swapped([("ok", "ok")] * 3 + [("refusal", "refusal")]))
    assert "25.0 % of all replies were declined" in answer(judge)
    assert "could not be read" not in answer(judge) and "2 were declined and count as wrong" in headline(judge)
    text = page(analyse([run]))
    assert "Declined by the judge" in text


@pytest.mark.parametrize(
    ("causes", "found"),
    [
        ({}, Unanswered()),
        ({"refusal: declined": 3, "refusal": 1, "unparseable: tie": 2, "cannot_tell": 5}, Unanswered(2, 4, 5)),
        ({"refusals of another kind": 1}, Unanswered(1)),
    ],
)
def test_causes_are_told_apart_by_their_status(causes: dict[str, Any], found: Unanswered) -> None:
    assert unanswered(causes) == found
