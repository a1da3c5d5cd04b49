"""Verdicts without an answer: what could not be read, what a judge declined, what
people cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from judged_records import pair, said, write_dataset, write_run
from page_text import page
from visualjudge.analysis import analyse
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.comparisons import COMPARISONS
from visualjudge.analysis.figures.unread import UNREAD
from visualjudge.analysis.pairwise_verdicts import of_status
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.headline import headline
from visualjudge.analysis.report.terminal import text
from visualjudge.analysis.results import JudgeResult
from visualjudge.core.records import Probe, Question, Verdict

PAIRS = [pair(i, (8.0, 1.0)) for i in range(10)]


def judged(
    tmp_path: Path, verdicts: Sequence[Verdict], more: Sequence[Question] = ()
) -> tuple[JudgeResult, Path]:
    dataset = write_dataset(tmp_path / "ds", [*PAIRS, *more])
    run = write_run(tmp_path / "run", dataset, verdicts)
    return analyse([run]).judges[0], run


def swapped(statuses: Sequence[tuple[str, str]]) -> list[Verdict]:
    """The first questions in both orders, right where the status is ok."""
    return [
        said(question, question.answer, order, status)
        for question, both in zip(PAIRS, statuses, strict=False)
        for order, status in zip(("AB", "BA"), both, strict=True)
    ]


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
    tmp_path: Path,
    statuses: list[tuple[str, str]],
    n: int,
    consistency: float | None,
    withheld: int,
) -> None:
    judge, _ = judged(tmp_path, swapped(statuses))
    swap = judge[PAIRWISE].swap
    assert (swap.consistency.n, swap.consistency.value, swap.withheld) == (
        n,
        consistency,
        withheld,
    )
    assert swap.right_in_both.n == len(
        statuses
    )  # what was declined is not right


def test_a_question_that_was_declined_was_read(tmp_path: Path) -> None:
    judge, run = judged(
        tmp_path, swapped([("ok", "ok")] * 3 + [("refusal", "refusal")])
    )
    assert judge[UNREAD].unanswered == "0 of 8; 2 declined"
    assert "Cause: refusal" in page(analyse([run]))


def test_causes_are_told_apart_by_their_status() -> None:
    causes = {
        "refusal: declined": 3,
        "refusal": 1,
        "refusals of another kind": 1,
        "cannot_tell": 5,
    }
    assert [
        of_status(causes, status)
        for status in ("refusal", "cannot_tell", "api_error")
    ] == [
        4,
        5,
        0,
    ]


def test_a_judge_that_declined_everything_is_compared_with_none(
    tmp_path: Path,
) -> None:
    dataset = write_dataset(tmp_path / "ds", PAIRS)
    silent = write_run(
        tmp_path / "silent",
        dataset,
        [said(q, "?", status="refusal") for q in PAIRS],
    )
    local = write_run(
        tmp_path / "local",
        dataset,
        [said(q, q.answer) for q in PAIRS],
        backend="local",
    )
    other = write_run(
        tmp_path / "other", dataset, [said(q, q.answer) for q in PAIRS]
    )
    found = analyse([silent, local, other])
    rows = {(row.a, row.b): row for row in found[COMPARISONS]}
    for pair_of in (("silent", "local"), ("silent", "other")):
        assert (
            rows[pair_of].gap.value
            is rows[pair_of].p
            is rows[pair_of].p_holm
            is None
        )
        assert "an answer of silent" in str(rows[pair_of].gap.why)
    assert rows["local", "other"].gap.value == 0
    judge = found.judges[0]
    shown = dict(headline([judge]).rows)
    assert not {"Accuracy (95 %)", "Accuracy, mean over tasks"} & shown.keys()
    assert (
        judge.stored("pairwise")["accuracy"] == 0
    )  # without an answer is wrong
    assert "silent minus" not in text(found, [])
    card = card_of(found).judges[0]
    assert "it answered no question on the models" in card.answer.sentence
    assert {line.name: line.state for line in card.checks}[
        "macro_accuracy"
    ] == "not_measured"


def test_what_the_local_judge_declined_is_left_out_of_its_comparisons(
    tmp_path: Path,
) -> None:
    dataset = write_dataset(tmp_path / "ds", PAIRS)
    right = [said(q, q.answer) for q in PAIRS]
    declined = [said(q, "?", status="refusal") for q in PAIRS[:4]]
    runs = [
        write_run(tmp_path / name, dataset, verdicts, judge=name, **more)
        for name, verdicts, more in (
            ("vlm", right, {}),
            ("local", declined + right[4:], {"backend": "local"}),
            ("other", declined + right[4:], {}),
        )
    ]
    rows = {(row.a, row.b): row for row in analyse(runs)[COMPARISONS]}
    assert (rows["vlm", "local"].verdicts, rows["vlm", "local"].gap.value) == (
        6,
        0,
    )
    assert (rows["vlm", "other"].verdicts, rows["vlm", "other"].gap.value) == (
        10,
        0.4,
    )


def test_consistency_is_shown_of_what_was_read_too(tmp_path: Path) -> None:
    judge, _ = judged(
        tmp_path, swapped([("ok", "ok")] * 6 + [("ok", "unparseable")] * 2)
    )
    shown = dict(headline([judge]).rows)
    assert (
        shown["Same when swapped"],
        shown["Same, without failed replies"],
    ) == (
        "75.0 %",
        "100.0 %",
    )


def test_questions_of_probes_and_failed_calls_are_counted_apart(
    tmp_path: Path,
) -> None:
    """The sentence counts what the headline counts: not the questions that a probe has
    changed."""
    probe = Probe("banner", "change", "g", "a banner", "answer")
    probed = [
        pair(i, (8.0, 1.0), id=f"x{i}", probe=probe) for i in range(20, 30)
    ]
    calls = [said(one, "", status="api_error") for one in PAIRS[:2]]
    verdicts = [
        *calls,
        *(said(q, q.answer) for q in PAIRS[2:]),
        *(said(q, "?", status="unparseable") for q in probed),
    ]
    judge, run = judged(tmp_path, verdicts, probed)
    assert judge[UNREAD].unanswered == "2 of 10"
    assert (judge[UNREAD].n, judge[UNREAD].failed) == (10, 2)
    found = analyse([run])
    assert found.dataset.extent.endswith(
        "10 questions on 10 of 12 images, and 10 copies of them with a part changed (probes)"
    )


def test_the_extent_counts_the_questions_without_a_known_answer(
    tmp_path: Path,
) -> None:
    """The headline counts the verdicts on the others."""
    split = [
        pair(i, (5.0, 5.0), id=f"split{i}", answer="unknown")
        for i in range(20, 24)
    ]
    verdicts = [said(q, q.answer) for q in PAIRS] + [
        said(q, "A") for q in split
    ]
    _, run = judged(tmp_path, verdicts, split)
    extent = analyse([run]).dataset.extent
    assert extent.startswith("14 questions (4 without a known answer) on")
