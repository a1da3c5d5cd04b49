"""How many images decide the answer of a study that compares no named models: from a
pilot, until each task is decided; without truth, how many to label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from visualjudge.analysis.decisions.model_answer import ModelAnswer
from visualjudge.analysis.decisions.pair_answer import PairsOfTask, pair_answer
from visualjudge.analysis.decisions.score_answer import (
    ScoresOfTask,
    score_answer,
)
from visualjudge.analysis.figure_text import many, number, percent, plain_name
from visualjudge.analysis.load import load_study
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.shape import QUESTIONS, Shape, shape_of
from visualjudge.analysis.statistics.score_bar import LEAST_IMAGES, REACH, Bar
from visualjudge.core.errors import UsageError
from visualjudge.core.jsons import Json
from visualjudge.core.text_tables import Table, folded
from visualjudge.options import Selection
from visualjudge.runs.folder import RunFolder

RIGHT = (0.8, 0.85, 0.9, 0.95)
ORDERED = (0.55, 0.65, 0.75, 0.85)
"""Accuracies and rank correlations that a judge may have."""
RANKS = 1.06
"""Variance of Fisher's z of a rank correlation, times n − 3 (Fieller, Hartley & Pearson
1957)."""

TO_LABEL = ("If it has", "It would be", "Images to label")
LABELLED = "To label: images that tell it from the bar with a power of 80 %."
TO_JUDGE = ("State", "Images", "Images needed")
OPEN = ("too_few", "undecided", "close")
DECIDED = "Needed: images that decide the answer with a power of 80 %."


@dataclass(frozen=True)
class Needed:
    """Images that one case needs: a task with its state, or a figure that a judge may
    have."""

    case: str
    state: str
    images: int | None
    needs_images: int | None


@dataclass(frozen=True, eq=False)
class ShapePlan:
    """What each task of a pilot still needs; of verdicts without truth, what each
    figure that the judge may have would need.
    """

    judge: str
    shape: Shape
    cases: tuple[Needed, ...]
    sentence: str = ""

    @property
    def images(self) -> int | None:
        """Images on which every case that can be promised is probably decided; None if
        none can."""
        needed = [case.needs_images for case in self.cases]
        return max((images for images in needed if images), default=None)

    def __str__(self) -> str:
        answers = folded(
            f"{QUESTIONS[self.shape]} {self._todo} {self.sentence}".strip()
        )
        unknown = self.shape == "no_truth"
        rows = []
        for case in self.cases:
            images = () if unknown else (number(case.images),)
            rows.append(
                (case.case, case.state, *images, number(case.needs_images))
            )
        table = Table(
            TO_LABEL if unknown else (self._case.title(), *TO_JUDGE),
            tuple(rows),
            (LABELLED if unknown else DECIDED,),
        )
        return f"{answers}\n\n{table.text()}"

    @property
    def _todo(self) -> str:
        if self.shape == "no_truth":
            return (
                "Without ground truth no number of verdicts tells. `visualjudge label` "
                "draws questions for people; so many decide whether the judge may be "
                "used:"
            )
        if all(case.needs_images is None for case in self.cases):
            undecided = any(case.state in OPEN for case in self.cases)
            return (
                f"No open {self._case} can be promised a number of images."
                if undecided
                else f"Every {self._case} is decided."
            )
        images = many(self.images or 0, "image")
        return f"Judge {images} of each open {self._case}."

    @property
    def _case(self) -> str:
        return "pair" if self.shape == "named_pairs" else "task"

    def as_json(self) -> Json:
        """Return the plan as a file."""
        cases = [vars(case) for case in self.cases]
        return {"goal": self.shape, "images": self.images, "cases": cases}


def shape_plan(
    target: str | Path, part: Selection, dataset: str | Path | None
) -> ShapePlan | None:
    """Return the plan of a run that compares no named models, or has no truth; None for
    any other target."""
    root = Path(target)
    if not RunFolder(root).manifest_path.is_file():
        return None
    study = load_study(
        [root], dataset=dataset, tasks=part.tasks, where=part.where
    )
    shape = "no_truth" if study.lacks_truth(0) else shape_of(study, 0)
    judge = study.runs[0].name
    if shape == "named_pairs":
        if "pairwise" in study.joined[0]["kind"]:
            return None
        models = card_of(Analysis(study)).judges[0].models
        return ShapePlan(judge, shape, _of_pairs(models), f"{judge}: {models}")
    if shape == "no_truth":
        scored = (study.joined[0]["kind"] == "scoring").all()
        return ShapePlan(
            judge, shape, _to_label(study.bar, scored=bool(scored))
        )
    if shape == "probes":
        raise UsageError(
            "a plan needs verdicts on unchanged questions: probes alone were asked"
        )
    answer = (score_answer if shape == "scores" else pair_answer)(
        study, 0, study.bar
    )
    return ShapePlan(
        judge, shape, _of_tasks(answer.tasks), f"{judge}: {answer.sentence}"
    )


def _of_tasks(
    tasks: Sequence[ScoresOfTask | PairsOfTask],
) -> tuple[Needed, ...]:
    return tuple(
        Needed(
            plain_name(task.task),
            task.state,
            task.images,
            task.needs_images if task.state == "too_few" else None,
        )
        for task in tasks
    )


def _of_pairs(models: ModelAnswer) -> tuple[Needed, ...]:
    cases = []
    for pair in models.pairs:
        _, more = pair.needs_images or (0, 0)
        needed = pair.images + more if more else None
        names = f"{pair.a} and {pair.b}"
        cases.append(Needed(names, pair.state, pair.images, needed))
    return tuple(cases)


def _to_label(bar: Bar, *, scored: bool) -> tuple[Needed, ...]:
    """Return how many images tell whether a judge with each figure meets the bar: by
    the normal approximation of a share, or Fisher's z of a rank correlation.
    """
    least = bar.spearman if scored else bar.accuracy
    cases = []
    for value in ORDERED if scored else RIGHT:
        if scored:
            apart = np.arctanh(value) - np.arctanh(least)
            images = 3 + RANKS * (REACH / apart) ** 2 if apart else np.inf
            name = f"ρ {number(value)}"
        else:
            apart = value - least
            images = (
                value * (1 - value) * (REACH / apart) ** 2 if apart else np.inf
            )
            name = f"{percent(value, 0)} right"
        needed = (
            max(LEAST_IMAGES, int(np.ceil(images)))
            if np.isfinite(images)
            else None
        )
        state = "good enough" if apart > 0 else "not good enough"
        cases.append(Needed(name, state, None, needed))
    return tuple(cases)
