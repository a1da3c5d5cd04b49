"""How many images decide the answer of a study that compares no named models: from a
pilot, until each task is decided; without truth, how many to label. Plans that rank
models are in ``study_designs.py``.

Sources: Clopper & Pearson 1934 (power of an exact interval); Fisher 1921, Bonett &
Wright 2000 (variance of a rank correlation's z: (1 + ρ²/2) / (n − 3)).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from scipy import special

from visualjudge.analysis.decisions.model_answer import (
    STATE_WORDS,
    ModelAnswer,
)
from visualjudge.analysis.decisions.pair_answer import PairsOfTask, pair_answer
from visualjudge.analysis.decisions.score_answer import (
    ScoresOfTask,
    score_answer,
)
from visualjudge.analysis.estimate import POWER, TAIL, t_isf, t_sf
from visualjudge.analysis.figure_text import many, number, percent, plain_name
from visualjudge.analysis.load import load_study
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.separation import PairState
from visualjudge.analysis.statistics.score_bar import LEAST_IMAGES, Bar
from visualjudge.analysis.study_shape import QUESTIONS, Shape, shape_of
from visualjudge.core.errors import UsageError
from visualjudge.core.jsons import Json
from visualjudge.core.records import FloatArray
from visualjudge.core.text_tables import Table, folded
from visualjudge.options import Selection
from visualjudge.runs.folder import RunFolder

RIGHT = (0.8, 0.85, 0.9, 0.95)
ORDERED = (0.55, 0.65, 0.75, 0.85)
"""Accuracies and rank correlations that a judge may have."""
MOST = 100_000
LABELS = np.arange(LEAST_IMAGES, MOST + 1)
"""Numbers of images to label that are tried."""
CASES = LABELS - 1
"""The variance between so many images is that of one less."""

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
        table = Table(
            TO_LABEL if unknown else (self._case.title(), *TO_JUDGE),
            tuple(
                (
                    case.case,
                    STATE_WORDS.get(
                        cast("PairState", case.state), plain_name(case.state)
                    ),
                    *(() if unknown else (number(case.images),)),
                    number(case.needs_images),
                )
                for case in self.cases
            ),
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
                f"For no {self._case} that is open or too close can a number of images be "
                "promised."
                if undecided
                else f"Every {self._case} is decided."
            )
        return f"Judge {many(self.images or 0, 'image')} of each open {self._case}."

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
    return tuple(
        Needed(
            f"{pair.a} and {pair.b}",
            pair.state,
            pair.images,
            pair.needs_images and pair.images + pair.needs_images[1],
        )
        for pair in models.pairs
    )


def _to_label(bar: Bar, *, scored: bool) -> tuple[Needed, ...]:
    """Return how many images tell whether a judge with each figure meets the bar."""
    if scored:
        return tuple(
            _enough(f"ρ {number(rho)}", rho, bar.spearman, _power_of_order)
            for rho in ORDERED
        )
    return tuple(
        _enough(f"{percent(p, 0)} right", p, bar.accuracy, _power_of_share)
        for p in RIGHT
    )


def _enough(
    case: str,
    value: float,
    least: float,
    power: Callable[[float, float], FloatArray],
) -> Needed:
    """Return the images from which on the power suffices."""
    state = "good enough" if value > least else "not good enough"
    short = LABELS[power(value, least) < POWER]
    images = int(short.max(initial=LEAST_IMAGES - 1)) + 1
    return Needed(case, state, None, images if images <= MOST else None)


def _power_of_share(value: float, least: float) -> FloatArray:
    """Return how probably Clopper and Pearson's interval of a share of ``value`` lies
    on its side of ``least``, for each of :data:`LABELS`.
    """
    if value < least:
        value, least = 1 - value, 1 - least
    return np.asarray(special.bdtrc(_most_by_chance(least), CASES, value))


@cache
def _most_by_chance(least: float) -> FloatArray:
    """Return how many right answers a share of ``least`` has at most by chance."""
    return np.asarray(np.ceil(special.bdtrik(1 - TAIL, CASES, least)))


def _power_of_order(value: float, least: float) -> FloatArray:
    """Return the same of a rank correlation, by Fisher's z and Student's t."""
    apart = abs(np.arctanh(value) - np.arctanh(least))
    errors = apart * np.sqrt((LABELS - 3) / (1 + value**2 / 2))
    return np.asarray(t_sf(t_isf(TAIL, LABELS - 2) - errors, LABELS - 2))
