"""The card's answer: what few images can show, what a favour costs, and the answer of
each task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from decided import World, choices_of, of_task
from folding import each
from judged_records import pair, said, write_dataset, write_run
from stored_figures import stored
from visualjudge.analysis import analyse, analyse_study, study_of
from visualjudge.analysis.decisions.card import JudgeCard
from visualjudge.analysis.decisions.checks import Check
from visualjudge.analysis.report.card import Card, card_of
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Question, Verdict


def _card(questions: list[Question], verdicts: list[Verdict]) -> Card:
    return card_of(analyse_study(study_of(questions, {"judge": verdicts})))


def _judge(questions: list[Question], verdicts: list[Verdict]) -> JudgeCard:
    return _card(questions, verdicts).judges[0]


def _line(found: JudgeCard, name: str) -> Check:
    return next(line for line in found.checks if line.name == name)


def test_a_source_without_a_usable_answer_costs_only_itself_and_is_named() -> (
    None
):
    """Five groups; the sources of one of them are refused."""
    questions = []
    for k in range(5):
        names = tuple(f"group {k} model {i}" for i in range(3))
        world = World(World.of(12, 3, k, gap=0.8).truth, names)
        asked = of_task(world.pair_questions(), f"task {k:02d}")
        questions += [
            replace(q, id=f"{k}-{q.id}", image_id=f"{k}-{q.image_id}")
            for q in asked
        ]
    verdicts = choices_of(questions, 0.95)
    refused = [
        replace(v, value="Failed", status="refusal")
        if v.id.startswith("3-")
        else v
        for v in verdicts
    ]
    main = _judge(questions, refused).system.main
    assert main is not None and main.kind == "pairwise"
    assert (len(main.sources), len({row.group for row in main.sources})) == (
        12,
        4,
    )
    assert len(main.models.pairs) == 12
    assert main.left_out == tuple(
        f"task 03: group 3 model {i}" for i in range(3)
    )
    page = _card(questions, refused).details
    assert "Left out" in page and "group 3 model 0" in page


@pytest.mark.parametrize("seed", range(3))
def test_a_judge_that_lifts_a_source_by_two_ranks_is_refused_and_the_source_named(
    seed: int,
) -> None:
    questions = World.of(20, 5, seed, gap=0.8).pair_questions()

    def seen(q: Question, side: int) -> float:
        return q.final_scores[side] + 2.0 * (q.sources[side] == "model 3")

    verdicts = [
        Verdict(q.id, o, "BA"[seen(q, 0) > seen(q, 1)], "ok", "")
        for q in questions
        for o in ("AB", "BA")
    ]
    found = _judge(questions, verdicts)
    favour = _line(found, "favour")
    assert favour.state == "fail" and (favour.value or 0) >= 1
    assert "model 3 " in str(favour.why) and found.models.state != "yes"


def _two_tasks() -> tuple[list[Question], list[Verdict]]:
    """Good at one task, guessing at the other."""
    good = World.of(30, 4, gap=0.8).pair_questions()
    bad = of_task(World.of(30, 4, 1, gap=0.8).pair_questions(), "keypoint")
    bad = [replace(q, id=f"k{q.id}") for q in bad]
    return [*good, *bad], [
        *choices_of(good, 1.0, swap=True),
        *choices_of(bad, 0.5, 2, swap=True),
    ]


def test_a_task_has_the_answer_that_its_questions_alone_would_get() -> None:
    questions, verdicts = _two_tasks()
    own = {q.id for q in questions if q.task == "keypoint"}
    alone = _judge(
        [q for q in questions if q.id in own],
        [v for v in verdicts if v.id in own],
    )
    task = next(
        task
        for task in _judge(questions, verdicts).tasks
        if task.task == "keypoint"
    )
    assert task.checks == alone.checks == alone.tasks[0].checks


def _written(root: Path) -> Path:
    questions, verdicts = _two_tasks()
    return write_run(
        root / "run", write_dataset(root / "ds", questions), verdicts
    )


def test_task_and_where_keep_the_questions_that_fit(tmp_path: Path) -> None:
    run = _written(tmp_path)
    questions, verdicts = _two_tasks()
    own = {q.id for q in questions if q.task == "keypoint"}
    part = analyse([run], where=["task=keypoint"])
    kept = (
        [q for q in questions if q.id in own],
        [v for v in verdicts if v.id in own],
    )
    alone = analyse_study(study_of(kept[0], {"judge": kept[1]}))
    for name in ("pairwise", "bias", "leaderboard"):
        assert stored(part)[0][name] == stored(alone)[0][name]
    cards = [stored(found)[0]["tasks"][0] for found in (part, alone)]
    assert cards[0]["checks"] == cards[1]["checks"]
    assert part.metrics["dataset"]["questions"] == len(own) and part.metrics[
        "dataset"
    ]["where"] == ["task=keypoint"]
    one = analyse([run], where=["source=model 3", "task=keypoint"])
    assert one.metrics["dataset"]["questions"] == sum(
        "model 3" in q.sources for q in kept[0]
    )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (
            "task=nothing",
            "`where` task=nothing: no question fits; task must be one of .*keypoint",
        ),
        ("colour=red", "`where` must name one of id, task, .*, got 'colour'"),
        ("task", "`where` must be FIELD=VALUE"),
    ],
)
def test_what_no_question_fits_is_refused(
    where: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        analyse([_written(tmp_path)], where=[where])


def test_a_task_of_a_few_images_is_named() -> None:
    questions, verdicts = _two_tasks()
    few = [
        replace(
            pair(0, (8.0, 2.0), task="depth_estimation"),
            id=f"d{i}",
            image_id=f"d{i}",
        )
        for i in range(3)
    ]
    said = [Verdict(q.id, "AB", str(q.answer), "ok", "") for q in few]
    found = _judge([*questions, *few], [*verdicts, *said])
    assert (
        _line(found, "macro_accuracy").why
        == "a task with fewer than 5 images: depth_estimation"
    )
    depth = next(
        task for task in found.tasks if task.task == "depth_estimation"
    )
    assert depth.models.state == "too_few"


def test_a_favour_that_moves_no_source_costs_nothing() -> None:
    rng = np.random.default_rng(0)
    truth = np.linspace(8, 2, 4) + rng.normal(0, 0.3, (40, 4))
    questions = World(truth, tuple("abcd")).pair_questions()
    verdicts = choices_of(questions, 0.97, favoured=None, swap=True)
    assert _line(_judge(questions, verdicts), "favour").state == "pass"


THREE = World.of(60, 3, gap=0.8).pair_questions()
FEW, NEAR = (
    World.of(8, 3, gap=0.8).pair_questions(),
    World.of(40, 3, gap=0.02).pair_questions(),
)


@each(
    ("questions", "verdicts", "known", "todo"),
    [
        (
            FEW,
            choices_of(FEW, 0.9),
            "puts model 1 above model 2",
            "visualjudge plan",
        ),
        (
            FEW[:1],
            [said(FEW[0], "A"), said(FEW[0], "B", "BA")],
            "prefers no model",
            "visualjudge plan",
        ),
        (
            NEAR,
            choices_of(NEAR, 0.85),
            "neither judge nor truth separates",
            "visualjudge plan",
        ),
        (
            [replace(q, answer="unknown") for q in THREE],
            choices_of(THREE, 0.9),
            "puts model 0 above model 1",
            "Label some",
        ),
        (
            THREE,
            [said(q, "?", status="unparseable") for q in THREE],
            "asked about 60 images",
            "visualjudge report",
        ),
        (
            THREE,
            choices_of(THREE, 0.05),
            "no better than chance",
            "Ask another judge",
        ),
        (
            FEW[:1],
            choices_of(FEW[:1], 1.0),
            "at least 10 images are needed",
            "visualjudge plan",
        ),
    ],
    ids=[
        "few images",
        "few images, no preference",
        "near models",
        "no truth",
        "all failed",
        "inverted",
        "one question",
    ],
)
def test_an_answer_names_what_is_known_and_what_to_do(
    questions: list[Question], verdicts: list[Verdict], known: str, todo: str
) -> None:
    answer = _judge(questions, verdicts).sentence
    assert known in answer and todo in answer
