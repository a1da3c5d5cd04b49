"""Tuning finds an encoding that was planted to be better, and no gain where the judge ignores the
difference.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runs.made_dataset import make_dataset
from visualjudge.apps.tuning import tune
from visualjudge.apps.tuning.successive_halving import reworded
from visualjudge.cli.tune import app
from visualjudge.clients.base import Diagnostics, Identity, ImagePart, Reply, Request, TextPart
from visualjudge.core.errors import DataError
from visualjudge.core.records import Verdict
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.dataset.json_form import question_to_wire
from visualjudge.judges.base import Ask, Judged
from visualjudge.runs.folder import RunFolder

TASK = "lowlevel-deblur"
OTHER = {"A": "B", "B": "A"}


class Planted:
    """Right with a probability that depends on the encoding."""

    simulated = True

    def __init__(self, skill: Mapping[str, float]) -> None:
        self.skill = skill

    async def __call__(self, ask: Ask) -> Judged:
        question = ask.question
        lucky = rng_for(7, question.id).random() < self.skill.get(question.encoding, 0.6)
        said = str(question.answer) if lucky else OTHER[str(question.answer)]
        return Judged(Verdict(question.id, ask.order, said, "ok", said))

    def describe(self) -> dict[str, Any]:
        return {"backend": "planted", "model": "planted", "base_url": None, "parameters": {}}

    async def aclose(self) -> None:
        return None


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """60 pairs of 60 images, each in four encodings."""
    made = load_dataset(
        make_dataset(tmp_path_factory.mktemp("tune") / "set", pairwise=60, ranking=0, scoring=0)
    )
    questions = [
        replace(question, id=f"{question.id}-{name}", encoding=name)
        for question in made
        for name in ("one", "two", "three", "four")
    ]
    return replace(made, questions=tuple(questions))


def test_questions_without_answers_choose_no_encoding(dataset: Dataset, tmp_path: Path) -> None:
    blank = tuple(replace(question, answer="unknown") for question in dataset)
    with pytest.raises(DataError, match="must hold right answers"):
        tune(replace(dataset, questions=blank), TASK, lambda: Planted({}), tmp_path / "out")


def test_a_planted_encoding_is_found_and_its_gain_is_shown(
    dataset: Dataset, tmp_path: Path
) -> None:
    found = tune(dataset, TASK, lambda: Planted({"three": 1.0, "one": 0.4}), tmp_path, budget=200)
    assert (found.chosen, found.baseline, found.better) == ("three", "one", True)
    assert found.accuracy.value == 1.0 and found.accuracy.images == 30
    assert found.calls <= 200
    assert [len(left) for left in found.rounds] == [4, 2, 1]
    assert "against one" in found.answer


@pytest.mark.parametrize("seed", range(5))
def test_no_gain_is_shown_for_a_judge_that_ignores_the_encoding(
    dataset: Dataset, tmp_path: Path, seed: int
) -> None:
    class Blind(Planted):
        async def __call__(self, ask: Ask) -> Judged:
            plain = replace(ask.question, id=ask.question.id.rpartition("-")[0], encoding="")
            judged = await super().__call__(replace(ask, question=plain))
            return replace(judged, verdict=replace(judged.verdict, id=ask.question.id))

    found = tune(dataset, TASK, lambda: Blind({}), tmp_path, budget=200, seed=seed)
    assert not found.better
    assert found.answer.endswith("no gain over one is shown: keep one")
    assert found.recommended == found.default
    assert found.default.name == "one"


def test_choice_and_figure_share_no_image(dataset: Dataset, tmp_path: Path) -> None:
    found = tune(dataset, TASK, lambda: Planted({"two": 1.0}), tmp_path, budget=240)
    assert found.accuracy.n == found.accuracy.images == 30  # the other half of 60, and no more


def test_tuning_again_goes_on_with_its_runs(dataset: Dataset, tmp_path: Path) -> None:
    found = [
        tune(dataset, TASK, lambda: Planted({"three": 1.0}), tmp_path, budget=200) for _ in range(2)
    ]
    assert found[0] == found[1]
    told = RunFolder(tmp_path / "three")
    assert told.manifest()["asked"] == len(told.verdicts()) and "unasked" not in told.manifest()


def test_too_small_a_budget_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--budget must be at least 16 for 4 arms"):
        tune(dataset, TASK, lambda: Planted({}), tmp_path, budget=8)


def test_the_command_writes_what_it_found_and_names_tasks_it_cannot_tune(
    dataset: Dataset, tmp_path: Path
) -> None:
    questions = [question_to_wire(question) for question in dataset]
    few = [{**raw, "id": f"few-{raw['id']}", "task": "lowlevel-derain"} for raw in questions[:8]]
    (dataset.root / "questions.json").write_text(json.dumps([*questions, *few]))
    args = [str(dataset.root), "--backend", "baseline", "--model", "oracle:0.8", "--budget", "100"]
    done = CliRunner().invoke(app, [*args, "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert (
        "lowlevel-derain: must have two encodings that ask the same pairs of at least 4 images"
        in done.stderr
    )
    (task,) = json.loads((tmp_path / "out" / "tuned.json").read_text())["tasks"]
    assert task["task"] == TASK and task["accuracy"]["interval"] is not None
    assert not task["better"]
    assert (
        f"next: visualjudge judge {dataset.root} --task {TASK} --encoding one --mode text --out RUN"
        in done.stdout
    )


class Reader:
    """A model that answers right only where ``suits`` says so of the request; else it always says
    A.
    """

    model = "reader"

    def __init__(self, dataset: Dataset, suits: Callable[[Request], bool]) -> None:
        self.suits = suits
        self.answers = {
            hashlib.sha256(dataset.image_path(question.images[0]).read_bytes()).hexdigest(): str(
                question.answer
            )
            for question in dataset
        }
        self.identity, self.diagnostics = Identity("reader", None, "reader"), Diagnostics()

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        first = next(part for part in request.parts if isinstance(part, ImagePart))
        answer = self.answers[first.sha256] if self.suits(request) else "A"
        return Reply(f'{{"answer": "{answer}"}}' if request.schema else f"Answer: {answer}")

    async def aclose(self) -> None:
        return None


def says(text: str) -> Callable[[Request], bool]:
    return lambda request: any(
        isinstance(part, TextPart) and text in part.text for part in request.parts
    )


@pytest.mark.parametrize(
    ("suits", "chosen"),
    [
        (says("End with: Answer"), "one+v2"),
        (lambda request: request.schema is not None, "one+json"),
    ],
)
def test_a_planted_prompt_version_or_mode_is_found(
    dataset: Dataset, tmp_path: Path, suits: Callable[[Request], bool], chosen: str
) -> None:
    few = replace(dataset, questions=tuple(q for q in dataset if q.encoding in ("one", "two")))
    asked = lambda: Reader(few, suits)  # noqa: E731
    found = tune(
        few, TASK, asked, tmp_path, budget=300, modes=("text", "json"), prompts=("v1", "v2")
    )
    assert (
        len(found.rounds[0]) == 8
    )  # two encodings, as built and v2, two modes; v1 is what was built
    assert (found.chosen, found.baseline, found.better) == (chosen, "one", True)
    assert found.accuracy.value == 1.0


def test_a_model_that_ignores_prompt_and_mode_gains_nothing(
    dataset: Dataset, tmp_path: Path
) -> None:
    few = replace(dataset, questions=tuple(q for q in dataset if q.encoding == "one"))
    asked = lambda: Reader(few, lambda request: False)  # noqa: E731
    found = tune(few, TASK, asked, tmp_path, budget=200, modes=("text", "json"), prompts=("v2",))
    assert not found.better and found.chosen == found.baseline == "one"


def test_another_version_changes_the_final_question_alone(dataset: Dataset) -> None:
    question = dataset[0]
    turned = reworded(question, "v2")
    assert turned.prompt != question.prompt and turned.prompt.endswith(
        "End with: Answer: A or Answer: B"
    )
    assert reworded(turned, "v1").prompt == question.prompt
