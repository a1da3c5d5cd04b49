"""How many images decide what a pilot has left open: each pair of models, by the card's
figures, or each task; without truth, how many to label. Designs of new studies are in
``study_designs.py``.

Sources: Clopper & Pearson 1934 (power of an exact interval); Fisher 1921, Bonett &
Wright 2000 (variance of a rank correlation's z: (1 + ρ²/2) / (n − 3)).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy import special

from visualjudge.analysis.decisions.model_answer import (
    MORE,
    PAIR,
    ModelAnswer,
    state_words,
)
from visualjudge.analysis.decisions.pair_answer import PairsOfTask, pair_answer
from visualjudge.analysis.decisions.score_answer import (
    ScoresOfTask,
    score_answer,
)
from visualjudge.analysis.estimate import POWER, TAIL, t_isf, t_sf
from visualjudge.analysis.figure_text import (
    NONE,
    listed,
    many,
    number,
    percent,
    plain_name,
)
from visualjudge.analysis.figures.scoring import WORDS
from visualjudge.analysis.load import load_study
from visualjudge.analysis.report.card import card_of
from visualjudge.analysis.results import Analysis
from visualjudge.analysis.statistics.score_bar import LEAST_IMAGES, Bar
from visualjudge.analysis.study_shape import QUESTIONS, Shape, shape_of
from visualjudge.analysis.table_layout import grid
from visualjudge.core.errors import UsageError
from visualjudge.core.jsons import Json
from visualjudge.core.records import FloatArray
from visualjudge.core.text_tables import Table, folded
from visualjudge.options import Selection
from visualjudge.runs.folder import RunFolder

RIGHT = (0.8, 0.85, 0.9, 0.95)
ORDERED = (0.55, 0.65, 0.75, 0.85)
"""Accuracies and rank correlations that a judge may have."""
NAMED = 3
MOST = 100_000
LABELS = np.arange(LEAST_IMAGES, MOST + 1)
"""Numbers of images to label that are tried."""
CASES = LABELS - 1
"""The variance between so many images is that of one less."""

TO_LABEL = ("If it has", "Then it is", "Images to label")
LABELLED = "Images to label: to prove that, with a chance of 80 %."
TO_JUDGE = ("Task", "State", "Images", "More images")
OPEN = ("too_few", "undecided")
DECIDED = (
    "More images: for a chance of 80 % to decide; no number: 20 times these images may "
    "not do."
)
NEW_STUDY = (
    "To plan a new study with such a judge, also of pairs that neither judge nor truth "
    "separates here, add `effect`."
)


@dataclass(frozen=True)
class Needed:
    """Images that one case needs: a task with its state, or a figure that a judge may
    have."""

    case: str
    state: str
    words: str
    images: int | None
    needs_images: int | None

    @property
    def more(self) -> int | None:
        """Images that it needs besides these."""
        return self.needs_images and self.needs_images - (self.images or 0)


@dataclass(frozen=True, eq=False)
class ShapePlan:
    """What each task of a pilot still needs; of verdicts without truth, what each
    figure that the judge may have would need.
    """

    shape: Shape
    cases: tuple[Needed, ...]
    answer: str = ""
    """What the card says of the judge."""
    models: ModelAnswer | None = None
    """The card's answer on named models."""

    @property
    def images(self) -> int | None:
        """Images on which every case that can be promised is probably decided; None if
        none can."""
        needed = [case.needs_images for case in self.cases]
        return max((images for images in needed if images), default=None)

    def __str__(self) -> str:
        head = folded(f"{QUESTIONS[self.shape]} {self._todo}")
        told = filter(None, [head, folded(self.answer)])
        return "\n".join([*told, "", self._table.text()])

    @property
    def _table(self) -> Table:
        if self.models is not None:
            notes = [MORE] * bool(self._left) + [NEW_STUDY]
            return grid(PAIR, self.models.pairs, notes=notes, keys=2)
        unknown = self.shape == "no_truth"
        nothing = NONE if unknown else "none"
        rows = tuple(
            (
                case.case,
                case.words,
                *(() if unknown else (number(case.images),)),
                "no number"
                if case in self._left and not case.more
                else number(case.more).replace(NONE, nothing),
            )
            for case in self.cases
        )
        columns = TO_LABEL if unknown else TO_JUDGE
        notes = [LABELLED] if unknown else [DECIDED] * bool(self._left)
        return Table(columns, rows, tuple(notes), keys=2)

    @property
    def _left(self) -> list[Needed]:
        return [case for case in self.cases if case.state in OPEN]

    @property
    def _todo(self) -> str:
        if self.shape == "no_truth":
            return (
                "Without ground truth no number of verdicts tells whether it is right. "
                "Let people label images, drawn by `visualjudge label`:"
            )
        left = self._left
        if not left:
            close = [case.case for case in self.cases if case.state == "close"]
            return (
                "The judge needs no more images: it separates all pairs that the truth "
                f"separates here. The truth does not separate {listed(close, NAMED)}: a "
                "wider study may."
                if close
                else f"More images are not needed: no {self._case} is open."
            )
        if more := [case.more for case in left if case.more]:
            return (
                f"Judge {many(max(more), 'more image')} of each open {self._case}: "
                f"they probably decide {len(more)} of {len(left)}."
            )
        if max(case.images or 0 for case in left) < LEAST_IMAGES:
            return f"At least {LEAST_IMAGES} images are needed."
        return f"No number of images can be promised for any open {self._case}."

    @property
    def _case(self) -> str:
        return "pair" if self.shape == "named_pairs" else "task"

    def as_json(self) -> Json:
        """Return the plan as a file."""
        cases = [vars(case) for case in self.cases]
        return {"goal": self.shape, "images": self.images, "cases": cases}


def shape_plan(
    target: str | Path,
    part: Selection,
    dataset: str | Path | None,
    *,
    new_study: bool,
) -> ShapePlan | None:
    """Return what decides the answer of a run; None for any other target, and where a
    ``new_study`` of named models is asked for.
    """
    root = Path(target)
    if not RunFolder(root).manifest_path.is_file():
        return None
    study = load_study(
        [root],
        dataset=dataset,
        tasks=part.tasks,
        encodings=part.encodings,
        where=part.where,
    )
    shape = "no_truth" if study.lacks_truth(0) else shape_of(study, 0)
    judge = study.runs[0].name
    if shape == "named_pairs":
        if new_study and "pairwise" in study.joined[0]["kind"]:
            return None
        models = card_of(Analysis(study)).judges[0].models
        answer = f"{judge}: {models.verdict}."
        return ShapePlan(shape, _of_pairs(models), answer, models)
    if shape == "no_truth":
        scored = bool((study.joined[0]["kind"] == "scoring").all())
        return ShapePlan(shape, _to_label(study.bar, scored=scored))
    if shape == "probes":
        raise UsageError(
            "a plan needs verdicts on unchanged questions: probes alone were asked"
        )
    of_tasks = (score_answer if shape == "scores" else pair_answer)(
        study, 0, study.bar
    )
    return ShapePlan(
        shape,
        _of_tasks(of_tasks.tasks),
        f"{judge}: {of_tasks.sentence}",
    )


def _of_tasks(
    tasks: Sequence[ScoresOfTask | PairsOfTask],
) -> tuple[Needed, ...]:
    return tuple(
        Needed(
            plain_name(task.task),
            task.state,
            WORDS[task.state],
            task.images,
            task.needs_images if task.state == "too_few" else None,
        )
        for task in tasks
    )


def _of_pairs(models: ModelAnswer) -> tuple[Needed, ...]:
    return tuple(
        Needed(
            f"{pair.a} and {pair.b}",
            "too_few" if pair.images < LEAST_IMAGES else pair.state,
            state_words(pair),
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
    return Needed(case, state, state, None, images if images <= MOST else None)


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
