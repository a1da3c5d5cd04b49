"""Which judges keep a risk at least cost: candidates, choice and measure on different images."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from decided import World, choices_of
from judged_records import write_dataset, write_run
from visualjudge.analysis import study_of
from visualjudge.analysis.decisions.cascade import cascade_study
from visualjudge.apps.planning import cheapest_judges_page
from visualjudge.apps.planning.cheapest_judges import Candidate, plan_of, read_prices, voted
from visualjudge.cli.main import app
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import Question, Verdict
from visualjudge.judges.cascade import read_rule

QUESTIONS = World.of(120, 4).pair_questions()


def of(found: list[Candidate], kind: str, *judges: str) -> list[Candidate]:
    return [
        one for one in found if one.kind == kind and tuple(m.judge for m in one.members) == judges
    ]


def calibrated(questions: list[Question], seed: int) -> list[Verdict]:
    """It errs in 1 − p of the questions that it answers with probability p."""
    rng = np.random.default_rng(seed)
    out = []
    for question in questions:
        sure, other = rng.uniform(0.5, 1), "AB"[question.answer == "A"]
        answer = str(question.answer) if rng.random() < sure else other
        probability = sure if answer == "A" else 1 - sure
        out.append(Verdict(question.id, "AB", answer, "ok", answer, probability_a=probability))
    return out


def test_the_majority_needs_one_answer_with_most_votes() -> None:
    said = np.array([[0, 0, 1], [0, 1, -1], [-1, -1, -1], [1, -1, -1], [2, 2, 0]])
    assert voted(said).tolist() == [0, -1, -1, 1, 2]


def test_a_cascade_is_measured_as_the_cascade_command_measures_it() -> None:
    judged = {"cheap": calibrated(QUESTIONS, 0), "dear": choices_of(QUESTIONS, 0.95, 1)}
    prices = {"cheap": 0.001, "dear": 0.02}
    found = plan_of(study_of(QUESTIONS, judged), risk=0.15, prices=prices)
    (one,) = of(list(found.candidates), "cascade", "cheap", "dear")
    assert one is found.chosen and found.reached
    assert one.rule is not None and one.later is not None and 0 < one.later < 1
    assert one.cost == pytest.approx(0.001 + 0.02 * one.later)
    alone = {c.members[0].judge: c for c in found.candidates if c.kind == "one call"}
    assert alone["dear"].error.value < one.error.value < alone["cheap"].error.value
    assert one.cost < alone["dear"].cost == pytest.approx(0.02)
    whole = cascade_study(study_of(QUESTIONS, judged))
    assert alone["dear"].chosen_error == pytest.approx(1 - whole.expensive_accuracy.value, abs=0.03)


def test_a_panel_of_small_judges_is_as_right_as_votes_that_are_independent() -> None:
    judged = {f"small{k}": choices_of(QUESTIONS, 0.8, k) for k in range(3)}
    found = plan_of(study_of(QUESTIONS, judged), risk=0.15)
    (panel,) = of(list(found.candidates), "panel", "small0", "small1", "small2")
    assert panel.error.value == pytest.approx(0.104, abs=0.03)  # 3·.2²·.8 + .2³
    assert panel.cost == 3 and found.chosen is panel
    assert panel.error.interval is not None and panel.error.interval[0] < 0.104


def test_repeats_and_orders_are_votes_of_one_judge() -> None:
    verdicts = [
        replace(v, repeat=k) for k in range(3) for v in choices_of(QUESTIONS, 0.8, k, swap=True)
    ]
    found = plan_of(study_of(QUESTIONS, {"judge": verdicts}), risk=0.2)
    shapes = {(m.orders, m.repeats): c for c in found.candidates for m in c.members}
    assert set(shapes) == {(o, r) for o in (1, 2) for r in (1, 2, 3)}
    assert shapes[1, 3].error.value == pytest.approx(0.104, abs=0.03)
    assert shapes[1, 2].error.value > shapes[1, 1].error.value, (
        "two votes that differ are no answer"
    )
    assert shapes[2, 3].cost == 6


def test_what_is_measured_is_not_what_was_chosen_on() -> None:
    """Of judges that guess, the best where chosen is no better than a guess elsewhere."""
    few = [q for q in QUESTIONS if q.image_id < "image0030"]
    chosen, measured = [], []
    for seed in range(5):
        judged = {f"guess{k}": choices_of(few, 0.5, 10 * seed + k) for k in range(8)}
        found = plan_of(study_of(few, judged), risk=0.2, seed=seed)
        assert not found.reached
        chosen.append(found.chosen.chosen_error)
        measured.append(found.chosen.error.value)
    assert np.mean(chosen) < 0.42
    assert np.mean(measured) == pytest.approx(0.5, abs=0.05)
    assert cheapest_judges_page.answer(found).startswith("No candidate keeps a risk of 20")


def test_the_front_holds_what_nothing_as_cheap_beats() -> None:
    judged = {f"j{k}": choices_of(QUESTIONS, 0.6 + 0.1 * k, k) for k in range(4)}
    found = plan_of(study_of(QUESTIONS, judged), prices={f"j{k}": 2.0**k for k in range(4)})
    for one in found.candidates:
        beaten = any(
            other.chosen_cost <= one.chosen_cost and other.chosen_error < one.chosen_error
            for other in found.candidates
        )
        assert not (one.front and beaten)
    front = [one.chosen_error for one in found.candidates if one.front]
    assert front == sorted(front, reverse=True)


def test_prices_are_read_from_words_and_files(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("gpt: 2.5/10\nlocal: 0\n")
    assert read_prices([str(file), "small=0.15/0.6", "a=b=0.01"]) == {
        "gpt": (2.5, 10.0), "local": 0.0, "small": (0.15, 0.6), "a=b": 0.01,
    }  # fmt: skip
    for wrong in ("gpt=dear", "gpt=1/2/3", "gpt=-1", "gpt=nan"):
        with pytest.raises(UsageError, match="--price gpt must be IN/OUT"):
            read_prices([wrong])


def test_prices_that_do_not_fit_the_runs_are_refused() -> None:
    study = study_of(QUESTIONS, {"a": choices_of(QUESTIONS, 0.8), "b": choices_of(QUESTIONS, 0.9)})
    with pytest.raises(UsageError, match="must name each judge, got none for b"):
        plan_of(study, prices={"a": 1.0})
    with pytest.raises(UsageError, match="its run has no token counts"):
        plan_of(study, prices={"a": 1.0, "b": (1.0, 2.0)})
    with pytest.raises(UsageError, match="--risk must be above 0"):
        plan_of(study, risk=1.0)
    few = [q for q in QUESTIONS if q.image_id < "image0008"]
    with pytest.raises(DataError, match="at least 10 images, got 8"):
        plan_of(study_of(few, {"a": choices_of(few, 0.8)}))
    blank = [replace(q, answer="unknown") for q in QUESTIONS]
    with pytest.raises(DataError, match="no truth is known of the questions"):
        plan_of(study_of(blank, {"a": choices_of(QUESTIONS, 0.8)}))


def test_tokens_are_paid_by_their_price() -> None:
    said = [
        replace(v, usage={"prompt_tokens": 1000, "completion_tokens": 100})
        for v in choices_of(QUESTIONS, 0.9)
    ]
    found = plan_of(study_of(QUESTIONS, {"gpt": said}), prices={"gpt": (2.5, 10.0)})
    assert found.chosen.cost == pytest.approx((1000 * 2.5 + 100 * 10) / 1e6)


def test_the_command_saves_a_rule_that_judge_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = write_dataset(tmp_path / "dataset", QUESTIONS)
    for name, said in (
        ("small", calibrated(QUESTIONS, 0)),
        ("large", choices_of(QUESTIONS, 0.97, 1)),
    ):
        write_run(tmp_path / name, dataset, said, backend="api", model=f"org/{name}")
    words = ["plan", "--judges", str(tmp_path / "small"), str(tmp_path / "large"), "--risk", "0.15"]
    files = ["--json", str(tmp_path / "j.json"), "--out", str(tmp_path / "j.html")]
    assert app([*words, "--price", "small=1", "--price", "large=20", *files],
               standalone_mode=False) in (None, 0)  # fmt: skip
    printed = capsys.readouterr().out
    assert (
        f"--cascade {tmp_path / 'j.json'} --cheap runs/1 --backend api --model org/large" in printed
    )
    told = json.loads((tmp_path / "j.json").read_text())
    assert told["reached"] and sum(one["chosen"] for one in told["candidates"]) == 1
    assert read_rule(tmp_path / "j.json").by == "probability"
    page = (tmp_path / "j.html").read_text()
    assert "small, then large below probability" in page and "http" not in page


def test_a_plan_without_a_target_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="one data folder, dataset or run, or --judges"):
        app(["plan"], standalone_mode=False)
