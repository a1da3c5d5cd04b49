"""May I rank my models with this judge: pairs of models, resolution, and the
sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from decided import World, choices_of, of_task, scores_of
from judged_records import pair as choice, said, write_dataset, write_run
from visualjudge.analysis import analyse, analyse_study, study_of
from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.decisions.model_answer import ANSWER, model_answer
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.report.page import html as page
from visualjudge.analysis.report.terminal import text as terminal
from visualjudge.analysis.resolution import further_images, skill_of
from visualjudge.analysis.separation import (
    Comparisons,
    PairOfModels,
    PairsOfModels,
    PairState,
    separate,
)
from visualjudge.core.records import Probe, Question, Verdict

CLOSE = (0, 1)


def compared(
    means: tuple[float, ...],
    images: int,
    right: float,
    seed: int,
    lifted: float = 0.0,
    turned: int | None = None,
) -> PairsOfModels:
    """Models of these mean scores, each pair judged once an image; model 0 is preferred
    more often than it should by ``lifted``, and the answers on pair ``turned`` are
    reversed.
    """
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(len(means), 1)
    scores = rng.normal(means, 1.0, (images, len(means))) + rng.normal(
        0, 1, (images, 1)
    )
    difference = scores[:, first] - scores[:, second]
    chance = np.where(difference > 0, right, 1 - right) + lifted * (first == 0)
    if turned is not None:
        chance[:, turned] = 1 - chance[:, turned]
    rows = first.size * images
    return separate(
        Comparisons(
            tuple(f"m{k}" for k in range(len(means))),
            ("task",) * len(means),
            np.tile(first, images),
            np.tile(second, images),
            np.repeat(np.arange(images), first.size),
            (rng.random(difference.shape) < chance).astype(float).reshape(rows),
            (difference > 0).astype(float).reshape(rows),
            difference.reshape(rows),
        )
    )


def state(found: PairsOfModels, a: str = "m0", b: str = "m1") -> str:
    return next(
        pair.state for pair in found.pairs if {pair.a, pair.b} == {a, b}
    )


def test_a_judge_that_is_always_right_separates_what_the_truth_separates() -> (
    None
):
    found = compared((2.0, 4.0, 6.0), 40, 1.0, 0)
    assert {pair.state for pair in found.pairs} == {"right"}
    for pair in found.pairs:
        assert pair.judge == pair.truth and pair.judge_ci95 == pair.truth_ci95
        assert (
            pair.judge_ci95 is not None
            and 0.5 < pair.judge_ci95[0] < pair.judge <= pair.judge_ci95[1]
        )
        assert (pair.mean_difference or 0) > 0 and pair.needs_images is None
    assert {(pair.a, pair.b) for pair in found.pairs} == {
        ("m1", "m0"),
        ("m2", "m0"),
        ("m2", "m1"),
    }


def test_a_judge_that_reverses_a_pair_is_wrong_about_it() -> None:
    found = compared((4.0, 5.5, 8.0), 150, 0.9, 0, lifted=0.8)
    assert (state(found), state(found, "m1", "m2")) == ("wrong", "right")
    # models that are equal by truth: a difference that the judge alone sees
    found = compared((5.0, 5.0, 8.0), 150, 0.9, 0, lifted=0.5)
    assert (state(found), state(found, "m1", "m2")) == ("wrong", "right")
    found = compared((5.0, 5.0, 8.0), 150, 0.9, 0)
    assert (state(found), state(found, "m1", "m2")) == ("close", "right")


def test_the_truth_is_the_same_beside_every_judge() -> None:
    means = (4.0, 5.5, 6.0, 8.0)
    fair = compared(means, 60, 0.9, 0).pairs
    # no strengths fit its preferences
    unfair = compared(means, 60, 0.9, 0, turned=2).pairs
    assert {pair.by for pair in fair} != {pair.by for pair in unfair}
    assert [(pair.truth, pair.truth_ci95, pair.truth_by) for pair in fair] == [
        (pair.truth, pair.truth_ci95, pair.truth_by) for pair in unfair
    ]


def test_models_equal_by_truth_are_rarely_separated() -> None:
    states = [
        state(compared((5.0, 5.0, 7.0), 60, 0.9, seed)) for seed in range(60)
    ]
    assert sum(found in ("right", "wrong") for found in states) <= 3


def test_differences_of_means_that_rounding_moves_are_the_same_differences() -> (
    None
):
    rng = np.random.default_rng(4)
    steps = rng.integers(-6, 7, 240) / 3
    right = (rng.random(240) < 0.8).astype(float)
    each, pair = np.ones(240), np.zeros(240, dtype=np.int64)
    exact, moved = (
        skill_of(size, right, each, pair, graded=True)
        for size in (steps, steps + 3e-10 * rng.integers(-1, 2, 240))
    )
    assert exact is not None and moved is not None
    assert moved.weight == pytest.approx(exact.weight)
    assert moved.lapse == pytest.approx(exact.lapse)


def test_at_the_resolution_the_power_is_as_stated() -> None:
    found = [compared((5.0, 5.5), 80, 0.8, seed) for seed in range(10)]
    points = [each.resolution_points for each in found]
    states = [
        state(compared((5.0, 5.0 + apart), 80, 0.8, seed))
        for apart in points
        if apart is not None
        for seed in range(10)
    ]
    assert len(states) >= 80
    assert 0.74 <= states.count("right") / len(states) <= 0.94


def test_twice_the_images_resolve_smaller_differences() -> None:
    few, many = (
        compared((5.0, 5.6, 7.0), images, 0.85, 1) for images in (60, 120)
    )
    assert few.resolution is not None and few.resolution_twice is not None
    assert few.resolution_twice < few.resolution
    assert many.resolution == pytest.approx(few.resolution_twice, rel=0.35)


def test_images_are_promised_only_where_other_pairs_are_apart() -> None:
    clear = 2.2
    apart, alike = (
        np.array([clear, *others])
        for others in ((5.0, 6.0, -4.0, 7.0, 3.0), (0.1, -0.3, 0.2, 0.4, -0.1))
    )
    settled, lucky = (
        further_images((z, z), np.array([0]), np.full(6, 60), 0.004, 3)[0]
        for z in (apart, alike)
    )
    assert settled is not None and 10 < settled[0] < settled[1] < 600
    assert lucky is None


def card(questions: list[Question], verdicts: list[Verdict]) -> JudgeCard:
    return card_of(
        analyse_study(study_of(questions, {"judge": verdicts}))
    ).judges[0]


def questions_of(
    images: int = 60, sources: int = 4, gap: float = 1.0
) -> list[Question]:
    return World.of(images, sources, gap=gap).pair_questions()


def failed(verdicts: list[Verdict]) -> list[Verdict]:
    return [
        replace(verdict, value="Failed", status="refusal")
        for verdict in verdicts
    ]


def test_the_sentence_says_what_is_known_and_what_to_do() -> None:
    """Situations of new users: each first sentence has content."""
    asked = questions_of()
    good = choices_of(asked, 0.97, swap=True)
    few = questions_of(8)
    close = questions_of(20, 3, gap=0.05)
    scores = World.of(40, 3, gap=1.0).scoring_questions()
    alike = World.of(20, 3, gap=0.05).scoring_questions()
    turned = [
        replace(v, value={"A": "B", "B": "A"}[str(v.value)]) for v in good
    ]
    cases = {
        "yes": ("Yes, reliably where one model truly wins ", card(asked, good)),
        "wrong": ("No: ", card(asked, turned)),
        "few images": (
            "Not with these images: at least 10 images are needed",
            card(few, choices_of(few, 0.97)),
        ),
        "all failed": ("Not known: ", card(asked, failed(good))),
        "close": (
            "Not with these images: none of 3 pairs",
            card(close, choices_of(close, 0.9)),
        ),
        "guesses": (
            "Not with these images: ",
            card(asked, choices_of(asked, 0.5, swap=True)),
        ),
        "ties": (
            "No: it is right in 0.0 %",
            card(asked, [said(q, "tie") for q in asked]),
        ),
        "nameless": (
            "Yes: it is right in 9",
            card(
                [replace(question, sources=(None, None)) for question in asked],
                good,
            ),
        ),
        "scores": (
            "In part: 2 of 3 pairs",
            card(scores, scores_of(scores, 0.8)),
        ),
        "scores alike": (
            "Not with these images: none of 3 pairs",
            card(alike, scores_of(alike, 0.8)),
        ),
        "half failed": (
            "Yes, ",
            card(asked, [*failed(good[::2]), *good[1::2]]),
        ),
    }
    for name, (start, found) in cases.items():
        assert found.models.sentence.startswith(start), (
            name,
            found.models.sentence,
        )
        assert found.sentence == f"judge: {found.answer}"
        assert not re.search(r"\. [a-z]", found.models.sentence), (
            found.models.sentence
        )
        unmet = found.models.verdict.partition(";")[2]
        checks = sum(check.state == "fail" for check in found.checks)
        if found.models.state != "no" and found.models.shape == "named_pairs":
            assert unmet.partition(" requirement")[0].strip() == (
                str(checks) if checks else ""
            ), "a judge that fails checks does not read as one that passes"
        assert 1 <= len(found.models.verdict.split()) <= 12
        signs = {reason.sign for reason in found.models.reasons}
        assert signs and ("✓" in signs) >= (found.models.state == "yes")
        assert ("✗" in signs) >= (found.models.state == "no")
    assert (
        cases["yes"][1].models.state == "yes"
        and cases["wrong"][1].models.state == "no"
    )


def test_what_else_fails_qualifies_the_answer_and_does_not_change_it() -> None:
    asked = questions_of(100)
    always_first = [
        replace(verdict, value="A") if k % 6 == 0 else verdict
        for k, verdict in enumerate(choices_of(asked, 0.97, swap=True))
    ]
    lost = [
        replace(verdict, value="Failed", status="refusal")
        if k % 5 == 0
        else verdict
        for k, verdict in enumerate(always_first)
    ]
    found = card(asked, lost)
    assert found.models.state in ("yes", "in_part")
    assert "of its replies cannot be used" in found.models.sentence


@pytest.mark.parametrize("status", ["api_error", "refusal"])
def test_failed_calls_are_no_bad_replies_and_can_be_repeated(
    status: str,
) -> None:
    asked = questions_of(100)
    lost = [
        replace(verdict, value="Failed", status=status) if k % 5 else verdict
        for k, verdict in enumerate(choices_of(asked, 0.97, swap=True))
    ]
    reasons = [reason.text for reason in card(asked, lost).models.reasons]
    (failed,) = [text for text in reasons if "cannot be used" in text]
    repeated = "calls failed" in failed and "retry_errors=true" in failed
    assert repeated == (status == "api_error")


def test_a_probe_that_only_costs_answers_is_said_so(tmp_path: Path) -> None:
    """A judge that answers alike, but declines what is changed, did not fail by its
    answers."""
    asked = questions_of(100)
    probes = [
        choice(
            k,
            (8.0, 3.0),
            id=f"{design}{k}",
            image_id=f"image{k}",
            sources=(None, None),
            probe=Probe(design, design, f"g{k}", "", "answer"),
        )
        for k in range(60)
        for design in ("control", "change")
    ]
    declined = [
        said(q, "?", status="refusal")
        if q.id.startswith("change")
        else said(q, q.answer)
        for q in probes
    ]
    run = write_run(
        tmp_path / "run",
        write_dataset(tmp_path / "ds", [*asked, *probes]),
        [*choices_of(asked, 0.97, swap=True), *declined],
        judge="judge",
    )
    sentence = card_of(analyse([run])).judges[0].models.sentence
    assert "no answer more often to the probe “change”" in sentence
    assert "fails the probe" not in sentence


def test_the_first_sentence_about_a_judge_says_which_probe_it_fails(
    tmp_path: Path,
) -> None:
    asked = questions_of(100)
    probes = [
        choice(
            k,
            (8.0, 3.0),
            id=f"length{k}{cue}",
            image_id=f"image{k}",
            sources=(None, None),
            probe=Probe("length", "cue", f"g{k}", "", "answer", cue, None),
        )
        for k in range(60)
        for cue in ("A", "B")
    ]
    longer = [said(q, q.probe.cue) for q in probes if q.probe]
    run = write_run(
        tmp_path / "run",
        write_dataset(tmp_path / "ds", [*asked, *probes]),
        [*choices_of(asked, 0.97, swap=True), *longer],
        judge="judge",
    )
    analysis = analyse([run])
    found = card_of(analysis).judges[0]
    first = found.models.sentence.split(". ")[0]
    assert first.startswith("Yes") and first.endswith(
        ", but it fails the probe “length”."
    )
    shown = " ".join(terminal(analysis, [found.sentence]).split())
    assert first in shown
    assert '<li class="fail"><span>it fails the probe “length”' in page(
        analysis
    )


def test_each_task_has_its_own_answer_in_the_same_form() -> None:
    one, two = questions_of(40), of_task(questions_of(40), "keypoint")
    other = [replace(question, id=f"k{question.id}") for question in two]
    found = card(
        [*one, *other], [*choices_of(one, 1.0), *choices_of(other, 0.5, 3)]
    )
    assert [task.models.state for task in found.tasks] == ["too_few", "yes"]
    shown = ANSWER.json(found.models)
    assert set(shown) == {
        "shape",
        "state",
        "sentence",
        "estimand",
        "resolution_points",
        "resolution",
        "resolution_twice",
        "pairs",
    }
    first = shown["pairs"][0]
    assert {
        "a",
        "b",
        "judge",
        "judge_ci95",
        "truth",
        "truth_ci95",
        "state",
    } <= set(first)


def test_scores_are_compared_on_the_image_that_both_models_have() -> None:
    world = World.of(40, 3, gap=1.5)
    asked = world.scoring_questions()
    found = card(asked, scores_of(asked, 0.5))
    assert {pair.state for pair in found.models.pairs} <= {"right", "close"}
    assert {pair.images for pair in found.models.pairs} == {40}


def test_the_answer_is_the_same_for_every_seed() -> None:
    asked = questions_of(30, 5, gap=0.4)
    verdicts = choices_of(asked, 0.85, swap=True)
    studies = (
        replace(study_of(asked, {"judge": verdicts}), seed=seed)
        for seed in range(4)
    )
    answers = {
        card_of(analyse_study(study)).judges[0].sentence for study in studies
    }
    assert len(answers) == 1


def test_a_reply_with_a_tie_prefers_neither() -> None:
    asked = questions_of(30, 2)
    found = card(asked, [said(question, "tie") for question in asked])
    assert found.models.state != "yes"


def test_pairs_on_too_few_images_are_not_called_close() -> None:
    ends = (0.4, 0.7)
    sure = PairOfModels(
        "a", "b", 0.9, ends, 0.9, ends, "right", None, 40, "t", 1.0, "questions"
    )
    few = replace(
        sure, b="c", truth=1.0, truth_ci95=None, state="close", images=3
    )
    close = replace(sure, b="d", truth=0.5, state="close")
    found = model_answer(
        PairsOfModels((sure, few, close), 0.7, 0.6, 40, 1), 40, ""
    )
    assert (
        "; neither judge nor truth separates a and d here; "
        "1 pair is on fewer than 5 images" in (found.sentence)
    )


def test_the_range_of_images_is_said_of_the_pairs_that_it_settles() -> None:
    def row(
        b: str,
        state: PairState,
        needs: tuple[int, int] | None,
        order: int = 1,
    ) -> PairOfModels:
        ends = (0.4, 0.7)
        return PairOfModels(
            "alder",
            b,
            0.55,
            ends,
            0.7,
            ends,
            state,
            needs,
            40,
            "task",
            1.0,
            "questions",
            truth_order=order,
        )

    rows = (row("oak", "right", None), row("birch", "undecided", (60, 200)))
    settled = model_answer(PairsOfModels(rows, 0.7, 0.6, 40, 1.0), 40, None)
    assert settled.needs_images == (60, 200)
    rows = (*rows, row("cedar", "undecided", None))
    found = model_answer(PairsOfModels(rows, 0.7, 0.6, 40, 1.0), 40, None)
    assert found.needs_images is None
    assert (
        "it can’t separate alder from birch yet: up to 200 more images are needed; it "
        "can’t separate alder from cedar, and more images may not help"
        in found.sentence
    )
    rows = (*rows, row("elm", "undecided", (10, 30), 0))
    found = model_answer(PairsOfModels(rows, 0.7, 0.6, 40, 1.0), 40, None)
    assert "the truth can’t separate alder from elm yet: up to 30 more" in (
        found.sentence
    )


def test_an_answer_is_an_object_that_answers_as_a_text_for_now() -> None:
    asked = World.of(30, 2).pair_questions()
    found = card(asked, choices_of(asked, 0.97))
    assert found.answer is found.models
    with pytest.deprecated_call(match=r"use answer\.sentence"):
        assert found.answer.startswith("Not")  # type: ignore[attr-defined]
    assert not hasattr(found.answer, "nothing")
