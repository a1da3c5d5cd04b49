"""The card: what passes, what fails, what is undecided or not measured, and what would
settle it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from decided import World, choices_of, of_task, scores_of
from folding import each
from judged_records import pair, said
from stored_figures import stored
from visualjudge.analysis import analyse_study, study_of
from visualjudge.analysis.decisions import checks
from visualjudge.analysis.decisions.source_order import (
    OrderOfKind,
    SourceByJudge,
    source_order,
)
from visualjudge.analysis.figure_text import plain_name
from visualjudge.analysis.figures.accuracy import PAIRWISE
from visualjudge.analysis.figures.leaks import LEAKS
from visualjudge.analysis.report.card import Card, card_of
from visualjudge.analysis.separation import (
    PairOfModels,
    PairsOfModels,
    PairState,
)
from visualjudge.analysis.statistics.favour import Favour
from visualjudge.analysis.study_table import Study
from visualjudge.core.records import OptionFeatures, Verdict


def _card(world: World, right: float, seed: int = 0, **judge: object) -> Card:
    questions = world.pair_questions()
    verdicts = choices_of(questions, right, seed, swap=True, **judge)  # type: ignore[arg-type]
    return card_of(analyse_study(study_of(questions, {"judge": verdicts})))


def _states(card: Card) -> dict[str, str]:
    return {line.name: line.state for line in card.judges[0].shown_checks}


def test_a_good_judge_on_many_images_passes() -> None:
    card = _card(World.of(80, 4, gap=0.8), 0.97)
    states = _states(card)
    assert set(states.values()) == {"pass"}
    assert (
        card.judges[0].state == "pass"
        and ": Yes, reliably where" in card.judges[0].sentence
    )


@each("seed", range(6))
def test_a_judge_that_guesses_is_never_trusted(seed: int) -> None:
    for images, sources in ((12, 2), (40, 4)):
        card = _card(World.of(images, sources, seed), 0.5, seed)
        states = _states(card)
        assert card.judges[0].models.state in ("too_few", "no")
        assert "pass" not in (
            states["macro_accuracy"],
            states["right_in_both_orders"],
        )


def test_what_was_not_asked_is_never_green() -> None:
    questions = World.of(60, 4, gap=1.2).scoring_questions()
    card = card_of(
        analyse_study(study_of(questions, {"judge": scores_of(questions, 0.3)}))
    )
    lines = {line.name: line for line in card.judges[0].checks}
    for name in ("macro_accuracy", "right_in_both_orders", "lean"):
        assert (lines[name].value, lines[name].state) == (None, "not_measured")
    assert card.judges[0].models.state == "yes"


def test_the_ranks_of_the_sources_are_said_to_come_from_the_tests_of_pairs() -> (
    None
):
    told = _card(World.of(20, 3), 0.9).details
    assert "Ranks: those that the tests of pairs leave to a model" in told


def test_a_judge_that_turns_the_order_round_fails() -> None:
    card = _card(World.of(60, 4, gap=0.8), 0.02)
    assert (
        card.judges[0].state == "fail" and ": No: " in card.judges[0].sentence
    )


def test_the_favoured_source_is_named() -> None:
    card = _card(World.of(60, 4), 0.9, favoured="model 3")
    kind = card.judges[0].system.main
    assert kind is not None
    favours = {row.source: row.bias for row in kind.sources}
    assert (
        favours["model 3"].value > 0.1 and (favours["model 3"].p or 1) < 0.001
    )
    assert "favoured" in card.details


def test_a_fair_judge_that_errs_more_on_close_pairs_favours_nobody() -> None:
    flagged = 0
    for seed in range(10):
        questions = World.of(40, 5, seed).pair_questions()
        rng = np.random.default_rng(seed)
        verdicts = []
        for question in questions:
            gap = abs(question.final_scores[0] - question.final_scores[1])
            right = rng.random() < 1 - 0.5 * np.exp(-gap)
            answer = (
                str(question.answer) if right else "AB"[question.answer == "A"]
            )
            verdicts.append(Verdict(question.id, "AB", answer, "ok", answer))
        main = source_order(study_of(questions, {"judge": verdicts}), 0).main
        assert main is not None
        flagged += any(row.bias.sure for row in main.sources)
    assert flagged <= 2


def _favoured(study: Study) -> list[str]:
    """The sources that the judge is said to treat otherwise than a fair one."""
    main = source_order(study, 0).main
    assert main is not None
    return [
        n
        for n, f in ((row.source, row.bias) for row in main.sources)
        if f.p is not None and f.p < 0.05
    ]


def test_a_judge_that_errs_more_in_one_task_than_in_another_favours_nobody() -> (
    None
):
    flagged = 0
    for seed in range(10):
        easy, hard = (
            World.of(30, 4, seed).pair_questions(),
            World.of(30, 4, seed + 100).pair_questions(),
        )
        hard = [
            replace(q, sources=tuple(f"depth {s}" for s in q.sources))
            for q in of_task(hard, "depth_estimation")
        ]
        said = [*choices_of(easy, 0.97, seed), *choices_of(hard, 0.6, seed + 1)]
        flagged += bool(_favoured(study_of([*easy, *hard], {"judge": said})))
    assert flagged <= 2


@pytest.mark.parametrize("images", [12, 18])
def test_a_fair_judge_of_few_items_does_not_favour_the_best_source(
    images: int,
) -> None:
    flagged = 0
    for seed in range(10):
        questions = World.of(images, 2, seed, gap=2.0).scoring_questions()
        flagged += bool(
            _favoured(
                study_of(questions, {"judge": scores_of(questions, 0.5, seed)})
            )
        )
    assert flagged <= 1


@pytest.mark.parametrize("right", [1.0, 0.0])
@pytest.mark.parametrize("kind", ["pair_questions", "scoring_questions"])
def test_a_judge_that_follows_the_truth_alone_favours_nobody(
    kind: str, right: float
) -> None:
    questions = getattr(World.of(12, 4), kind)()
    scores = [float(q.final_scores[0]) for q in questions]
    answers = [f"{s if right else 10 - s:.6f}" for s in scores]
    verdicts = (
        choices_of(questions, right)
        if kind == "pair_questions"
        else [
            Verdict(q.id, "AB", float(a), "ok", a)
            for q, a in zip(questions, answers, strict=True)
        ]
    )
    main = source_order(study_of(questions, {"judge": verdicts}), 0).main
    assert main is not None
    assert [row.bias.value for row in main.sources] == pytest.approx(
        [0] * 4, abs=1e-6
    )
    assert not _favoured(study_of(questions, {"judge": verdicts}))


def test_a_tie_is_half_a_win_for_both() -> None:
    answers = ["A"] * 10 + ["tie"] * 20 + ["both_bad"] * 10
    scores = {"A": (7.0, 5.0)}
    questions = [
        pair(
            i,
            scores.get(answer, (6.0, 6.0)),
            answer=answer,
            ties=("tie", "both_bad"),
        )
        for i, answer in enumerate(answers)
    ]
    main = source_order(
        study_of(questions, {"judge": [said(q, q.answer) for q in questions]}),
        0,
    ).main
    assert main is not None
    assert (
        [row.judged for row in main.sources]
        == [row.true for row in main.sources]
        == pytest.approx([0.625, 0.375])
    )


def test_a_question_with_an_unnamed_source_says_nothing_of_the_named_one() -> (
    None
):
    unnamed = [
        pair(i + 12, (5.0, 7.0), sources=("one", None)) for i in range(12)
    ]
    questions = [*(pair(i, (7.0, 5.0)) for i in range(12)), *unnamed]
    main = source_order(
        study_of(questions, {"judge": [said(q, q.answer) for q in questions]}),
        0,
    ).main
    assert main is not None
    assert {row.source: row.judged for row in main.sources} == {
        "one": 1.0,
        "two": 0.0,
    }


def test_json_has_the_promised_shape() -> None:
    found = _card(World.of(20, 3), 0.9).metrics
    judge = found["judges"][0]
    assert set(judge) == {
        "judge",
        "answer",
        "checks",
        "leaderboard",
        "tasks",
        "as_published",
    }
    for line in judge["checks"]:
        assert {"name", "value", "ci95", "threshold", "state", "images"} <= set(
            line
        )
        assert line["state"] in checks.STATES


def test_the_card_names_what_fails_or_is_open_in_one_line_and_the_rest_on_request() -> (
    None
):
    card = _card(World.of(20, 3), 0.9)
    own = card.judges[0]
    (line,) = (
        line for line in str(card).splitlines() if line.startswith("Checks: ")
    )
    for row in own.shown_checks:
        name = row.threshold.title.lower()
        assert (name in line.lower()) is (row.state != "pass")
    (judged,) = stored(analyse_study(own.result.study))
    assert card.metrics["judges"][0] == {
        name: judged[name]
        for name in (
            "judge",
            "answer",
            "checks",
            "leaderboard",
            "tasks",
            "as_published",
        )
    }
    assert "Ranks by judge" in card.details and "Ranks by judge" not in str(
        card
    )


def test_pages_escape_names_and_load_nothing() -> None:
    world = World.of(20, 3)
    hostile = World(world.truth, ("<script>alert(1)</script>", "b|c", "d"))
    card = _card(hostile, 0.9)
    page = card._repr_html_()
    assert (
        "<script" not in page
        and "&lt;script" in page
        and "http://" not in page.replace("http://www.w3.org", "")
    )


def test_one_favoured_source_does_not_make_others_look_disfavoured() -> None:
    world = World.of(80, 8)
    questions = world.scoring_questions()
    verdicts = scores_of(questions, 0.8, 1, bias={"model 6": 1.5})
    main = source_order(study_of(questions, {"judge": verdicts}), 0).main
    assert main is not None
    flagged = [
        n
        for n, f in ((row.source, row.bias) for row in main.sources)
        if f.p is not None and f.p < 0.05
    ]
    assert flagged == ["model 6"]


def test_four_verdicts_of_a_second_task_do_not_withhold_what_is_shown() -> None:
    questions = World.of(40, 4, gap=0.8).pair_questions()
    few = [
        replace(q, id=f"x{i}", task="keypoint", image_id=f"x{i}")
        for i, q in enumerate(questions[:4])
    ]
    asked = [*questions, *few]
    right = {v.id: v for v in choices_of(asked, 0.97, swap=False)}
    turned = {
        q.id: replace(right[q.id], value="AB"[q.answer == "A"]) for q in few[:2]
    }
    found = analyse_study(
        study_of(asked, {"judge": [*(right | turned).values()]})
    )
    judge = card_of(found).judges[0]
    macro = next(line for line in judge.checks if line.name == "macro_accuracy")
    assert (macro.state, macro.why) == (
        "undecided",
        "a task with fewer than 5 images: keypoint",
    )


@pytest.mark.parametrize(
    ("ties", "right", "proven"),
    [
        ((), 0.4, True),
        (("tie", "both_bad"), 0.4, False),
        (("tie", "both_bad"), 0.05, True),
        (("tie", "both_bad"), 0.25, False),
        (("tie",), 0.6, False),
    ],
)
def test_chance_is_a_guess_among_the_answers_that_can_be_right(
    ties: tuple[str, ...], right: float, proven: bool
) -> None:
    questions = [
        replace(q, ties=ties) for q in World.of(100, 4).pair_questions()
    ]
    for place, tie in enumerate(ties):
        questions[place] = replace(questions[place], answer=tie)
    found = analyse_study(
        study_of(questions, {"judge": choices_of(questions, right, swap=False)})
    )
    result = found.judges[0]
    assert (
        "which is no better than" in card_of(found).judges[0].sentence
    ) is proven
    assert result[PAIRWISE].chance == pytest.approx(1 / (2 + len(ties)))


def test_replies_that_were_not_read_are_no_proof_of_guessing() -> None:
    questions = World.of(100, 4).pair_questions()
    right = choices_of(questions, 0.97, swap=False)
    verdicts = [
        replace(v, value="?", status="unparseable") if k % 5 < 3 else v
        for k, v in enumerate(right)
    ]
    found = analyse_study(study_of(questions, {"judge": verdicts}))
    judge = card_of(found).judges[0]
    assert found.judges[0][PAIRWISE].accuracy.share.value < 0.45
    assert (
        "no better than" not in judge.sentence
        and "cannot be used" in judge.sentence
    )


def test_chance_of_unlike_questions_is_the_mean_of_theirs() -> None:
    questions = World.of(10, 4).pair_questions()
    mixed = [
        replace(q, ties=("tie", "both_bad")) if i % 2 else q
        for i, q in enumerate(questions)
    ]
    mixed[1], mixed[3] = (
        replace(mixed[1], answer="tie"),
        replace(mixed[3], answer="both_bad"),
    )
    result = analyse_study(
        study_of(mixed, {"judge": choices_of(mixed, 0.5)})
    ).judges[0]
    assert result[PAIRWISE].chance == pytest.approx(0.375, abs=0.01)


def test_ties_that_are_never_right_do_not_lower_chance() -> None:
    questions = [
        replace(q, ties=("tie",)) for q in World.of(100, 4).pair_questions()
    ]
    result = analyse_study(
        study_of(questions, {"judge": choices_of(questions, 0.5, swap=False)})
    ).judges[0]
    assert result[PAIRWISE].chance == 0.5


def test_a_rule_that_games_the_questions_says_how_many_it_can_decide() -> None:
    """The option with more boxes is better in 30 pairs; in 20 more, the counts are
    equal."""
    counts = [(5, 2), (2, 5)] * 15 + [(3, 3)] * 20
    questions = [
        pair(
            k,
            (9.0, 1.0) if counts[k][0] >= counts[k][1] else (1.0, 9.0),
            features=tuple(OptionFeatures(count=n) for n in counts[k]),
            image_id=f"im{k}",
        )
        for k in range(50)
    ]
    verdicts = choices_of(questions, 0.8, 0, swap=True)
    analysis = analyse_study(study_of(questions, {"judge": verdicts}))
    (said,) = LEAKS.sentences(analysis[LEAKS])
    assert said.startswith(
        "These questions can be gamed: choosing more boxes, masks or points, without "
        "looking, is right in 100.0 % "
    )
    assert " of the 30 questions where it differs." in said


def _two(
    pair: tuple[float, float, PairState, int],
    other: tuple[float, float] = (5.0, 0.0),
    value: float = 2.0,
) -> tuple[int, str]:
    """What is said of "a", which has a mean of 5 by the judge, 3 without its favour, in
    a pair with "b"."""
    judge, truth, state, order = pair
    sides = [("a", 5.0, Favour(value, None, 0.01))]
    sides.append(("b", other[0], Favour(other[1], None, None)))
    rows = [
        SourceByJudge(name, "", mean, 0.0, 1, (1, 2), bias)
        for name, mean, bias in sides
    ]
    both = PairOfModels(
        *("a", "b", judge, None, truth, None, state, None, 9, ""),
        judge_order=order,
    )
    models = PairsOfModels((both,), None, None, 9, None)
    return OrderOfKind("scoring", models, tuple(rows), True).moved()


@each(
    ("expected", "words", "pair", "other", "value"),
    [
        # wins against a better one, which the corrected means put back
        (1, "1 rank higher", (0.7, 0.3, "undecided", 0), (4.0, 0.0), 2.0),
        # the corrected means have the same order, or none before
        (0, "less than one rank", (0.7, 0.3, "undecided", 0), (2.5, 0.0), 2.0),
        (0, "less than one rank", (0.7, 0.3, "undecided", 0), (5.0, 0.0), 2.0),
        # proven wrong, whatever the means
        (1, "1 rank higher", (0.7, 0.3, "wrong", 1), (2.5, 0.0), 2.0),
        (1, "1 rank lower", (0.3, 0.7, "wrong", -1), (7.5, 0.0), -2.0),
        # the truth has the same order, but does not separate the two
        (1, "unlike the truth", (0.7, 0.6, "wrong", 1), (2.5, 0.0), 2.0),
        # the judge errs against the one that it favours
        (0, "less than one rank", (0.3, 0.7, "wrong", -1), (7.5, 0.0), 2.0),
    ],
)
def test_a_favoured_source_passes_those_that_it_is_wrongly_placed_above(
    expected: int, words: str, pair: Any, other: Any, value: float
) -> None:
    passed, text = _two(pair, other, value)
    assert passed == expected
    assert words in text


def test_an_answer_in_part_names_the_tasks_that_differ() -> None:
    """Good at one task, guessing at the other."""
    first = World.of(60, 4, gap=0.8).pair_questions()
    second = of_task(World.of(60, 4, 1, gap=0.8).pair_questions(), "keypoint")
    verdicts = choices_of(first, 0.97) + choices_of(second, 0.5)
    found = analyse_study(study_of([*first, *second], {"judge": verdicts}))
    own = card_of(found).judges[0]
    assert own.models.state == "in_part"
    words = {task.task: task.models.word.lower() for task in own.tasks}
    assert len({*words.values()}) == 2
    for task, word in words.items():
        assert f"{word} for {plain_name(task)}" in own.models.verdict


@pytest.mark.parametrize(("right", "tasks"), [(0.62, ["keypoint"]), (0.75, [])])
def test_a_task_whose_accuracy_is_too_low_is_named_where_that_of_all_is_open(
    right: float, tasks: list[str]
) -> None:
    first = World.of(60, 4, gap=0.8).pair_questions()
    second = of_task(World.of(60, 4, 1, gap=0.8).pair_questions(), "keypoint")
    verdicts = choices_of(first, 0.95) + choices_of(second, right)
    found = analyse_study(study_of([*first, *second], {"judge": verdicts}))
    own = card_of(found).judges[0]
    assert own.checks[0].state != "fail"
    against = [r.text for r in own.models.reasons if r.sign == "✗"]
    assert [
        task for task in tasks if any(task in text for text in against)
    ] == tasks
    assert len(against) == len(tasks)
    assert all(text in own.models.sentence for text in against)


@pytest.mark.parametrize("reversed_", [True, False])
def test_models_that_the_truth_orders_oppositely_in_two_tasks_are_named(
    reversed_: bool,
) -> None:
    """Over both tasks, the one with more images decides the order."""
    first = World.of(90, 2, gap=1.5)
    second = World.of(25, 2, 1, gap=1.5)
    if reversed_:
        second = replace(second, names=second.names[::-1])
    asked = [
        *first.pair_questions(),
        *of_task(second.pair_questions(), "keypoint"),
    ]
    found = analyse_study(study_of(asked, {"judge": choices_of(asked, 0.95)}))
    own = card_of(found).judges[0]
    told = [r.text for r in own.models.reasons if "for keypoint" in r.text]
    assert bool(told) == reversed_
    assert ("differs by task" in own.models.verdict) == reversed_
    assert all(text in own.models.sentence for text in told)
