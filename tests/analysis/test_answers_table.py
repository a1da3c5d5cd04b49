"""Ties, refusals, cut, declined and repeated answers, decided once and told alike
everywhere."""

from __future__ import annotations

import pytest

from judged_records import pair, ranking, said, scoring
from visualjudge.analysis import analyse_study, study_of
from visualjudge.analysis.answers import is_right
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.core.records import Question, Verdict


def asked(count: int = 240) -> list[Question]:
    return [
        pair(
            i,
            (8.0, 2.0) if i % 2 else (2.0, 8.0),
            id=f"q{i}",
            image_id=f"image{i // 6}",
        )
        for i in range(count)
    ]


def test_a_tie_on_an_ordinary_question_is_read_and_not_right() -> None:
    questions = asked()
    verdicts: list[Verdict] = []
    for i, question in enumerate(questions):
        answer = "tie" if i % 3 == 0 else str(question.answer)
        verdicts += [said(question, answer, order) for order in ("AB", "BA")]
    study = study_of(questions, {"judge": verdicts})
    found = analyse_study(study)
    pairwise = found.judges[0][PAIRWISE]
    assert pairwise.accuracy.failed == 0 and not pairwise.accuracy.causes
    assert (
        pairwise.accuracy.share.value
        == pairwise.accuracy.parsed.value
        == pytest.approx(2 / 3)
    )
    assert pairwise.accuracy.upper_bound == pytest.approx(2 / 3)
    assert pairwise.ties == pytest.approx(1 / 3)
    assert pairwise.swap.consistency.value == 1
    table = study.answered[0]
    assert table["tie"].sum() == 160 and table["chosen"].null_count() == 160
    assert table.filter("tie")["right"].sum() == 0 and table["usable"].all()


@pytest.mark.parametrize(
    ("verdict", "cause"),
    [
        ({"status": "refusal", "cause": "declined"}, "refusal: declined"),
        ({"status": "truncated"}, "truncated"),
        (
            {"status": "api_error", "cause": "connection"},
            "api_error: connection",
        ),
    ],
)
def test_what_is_no_answer_has_failed_for_its_cause(
    verdict: dict[str, str], cause: str
) -> None:
    questions = asked(60)
    verdicts = [
        said(q, "Failed", **verdict) if i % 4 == 0 else said(q, str(q.answer))
        for i, q in enumerate(questions)
    ]
    pairwise = analyse_study(study_of(questions, {"judge": verdicts})).judges[
        0
    ][PAIRWISE]
    assert (pairwise.accuracy.failed, pairwise.accuracy.causes) == (
        15,
        {cause: 15},
    )
    assert (pairwise.accuracy.share.value, pairwise.accuracy.parsed.value) == (
        0.75,
        1.0,
    )


USABLE = {
    "pairwise": ("A", "B", "tie", "both_bad"),
    "ranking": ("ABC", "CBA"),
    "scoring": (0.0, 6.0, 7.0, 8.1, 10.0),
}
RIGHT = {"pairwise": ("A",), "ranking": ("ABC",), "scoring": (6.0, 7.0)}


def test_what_answers_a_question_and_what_is_right_by_type() -> None:
    ordinary = [
        pair(0, (8.0, 2.0), answer="A"),
        ranking(0, (9.0, 5.0, 1.0)),
        scoring(0, 7.0),
    ]
    words = (
        "A",
        "B",
        "C",
        "tie",
        "both_bad",
        "Failed",
        "ABC",
        "CBA",
        "AB",
        "AAB",
    )
    for question in ordinary:
        kind = question.question_type
        numbers = (
            (-0.5, 0.0, 6.0, 7.0, 8.1, 10.0, 10.5) if kind == "scoring" else ()
        )
        for value in (*words, *numbers):
            for status in ("ok", "ok_extracted", "refusal"):
                verdict = Verdict(question.id, "AB", value, status, "")
                study = study_of([question], {"judge": [verdict]})
                table = study.joined[0].with_columns(accepted=is_right(1.0))
                row = table.row(0, named=True)
                case = (kind, value, status)
                usable = status == "ok" and value in USABLE[kind]
                right = usable and value in RIGHT[kind]
                assert (row["usable"], row["accepted"]) == (usable, right), case
                assert row["right"] is (
                    right if kind == "pairwise" else None
                ), case
