"""From which score of a judge predictions may be accepted, task by task; the
predictions of a run, marked as accepted or not, and the accepted ones as a COCO file.
Whether models may be ranked is in ``card.py``; whether scores may be used at all, in
``score_answer.py``.

Of the predictions that the judge scored and whose true score is known, those below
``bad_below`` are bad. The lowest score is chosen at which the share of bad predictions
among the accepted ones is at most ``risk`` with 95 % confidence, images being the unit.

The method is Learn then Test (Angelopoulos, Bates, Candès, Jordan & Lei 2021) with one
fixed sequence: scores are tested from strict to lenient, each by Clopper and Pearson's
upper bound for the effective number of independent cases (Korn & Graubard 1998). Half
of the 5 % belongs to the score that accepts 15 % of the predictions, half to the one
that accepts 40 %. What a test has is passed on to the next score if it succeeds and is
lost if not (the fallback procedure, Wiens 2003). So a usable range is reached although
the strictest scores are the bad ones. Of all scores whose test succeeds, with 95 %
confidence each keeps the risk.

With a base rate, bad predictions are weighted to that share of all: a study of
controlled errors has more of them than the predictions to accept. The rate is taken as
known; the bound is that of the ratio of the share of bad ones that are accepted to that
of good ones, from a bound of each (MOVER-R, Newcombe 2016).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_FLOOR, Context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.estimate import LEVEL, divided, shares, sums
from visualjudge.analysis.figure_text import number, percent, plain_name
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.table_layout import Layout, grid, named
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.image_storage import image_at
from visualjudge.core.jsons import Json
from visualjudge.core.records import BoolArray, FloatArray, IntArray
from visualjudge.core.text_tables import folded
from visualjudge.dataset.folder import load_dataset
from visualjudge.dataset.predictions_file import PREDICTIONS, ShownPredictions
from visualjudge.vision.predictions import type_of
from visualjudge.vision.raster.images import image_size
from visualjudge.vision.raster.masks import rle_of

STARTS = (0.15, 0.4)
"""Shares of the predictions that the scores accept among which the level is divided."""
STEPS = 30
MOST_IMAGES = 100_000
ALL = "all"
KEEPS = (
    "Bad, at most: as tested, at a share of the 5 % that depends on the tests before; –: "
    "not tested. Each score with at most {} keeps the promise, also if you choose it after "
    "reading this; no other score does."
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The score chosen for the predictions of one task, or of all; None if no score
    keeps the risk. Then ``images_needed`` is how many such images could have one, if the
    shares of bad ones stay as they are: of simulated studies, 27 to 85 % had one then.
    None: no score at which a sequence starts has a smaller share of bad predictions.
    """

    task: str
    threshold: float | None
    images_needed: int | None = None

    @property
    def lack(self) -> str:
        """What a score would need."""
        if self.images_needed is None:
            return (
                "neither the 15 % nor the 40 % of the predictions with the highest "
                "scores have a smaller share of bad ones: another judge is needed"
            )
        return (
            "with a share of bad ones so near the risk, at least "
            f"{float(f'{self.images_needed:.2g}'):,.0f} images are needed"
        )


@dataclass(frozen=True, slots=True)
class AcceptedPart:
    """What accepting from ``threshold`` does to the predictions of one part:
    ``accepted``, ``bad_accepted`` and ``recall`` are shares of all, of the accepted and
    of the good predictions.
    """

    part: str
    threshold: float
    accepted: float
    bad_accepted: float | None
    bound: float | None
    """Upper bound of ``bad_accepted`` by image, one-sided: 95 %, or of the level at which
    the score was tested; None if it was not."""
    recall: float | None
    predictions: int
    images: int


@dataclass(frozen=True)
class Acceptance:
    """The answer of ``accept``: a score for each task or, if ``pooled``, one for all.

    ``parts`` are the figures at these scores, of all predictions if ``pooled``, and of
    each task and its error types; ``curve`` those at all scores that may be chosen.
    ``tasks`` are the tasks studied.
    """

    judge: str
    risk: float
    bad_below: float
    base_rate: float | None
    pooled: bool
    chosen: tuple[Chosen, ...]
    parts: tuple[AcceptedPart, ...]
    curve: tuple[AcceptedPart, ...]
    tasks: tuple[str, ...]

    @property
    def thresholds(self) -> dict[str, float]:
        """The score of each task that has one."""
        return {
            task: row.threshold
            for row in self.chosen
            if row.threshold is not None
            for task in (self.tasks if row.task == ALL else (row.task,))
        }

    @property
    def sentence(self) -> str:
        """The answer in one sentence, or one for each kind of task."""
        each = "" if len(self.chosen) == 1 else "of each task, "
        weighted = (
            ""
            if self.base_rate is None
            else f"; given that {percent(self.base_rate)} of all are bad"
        )
        promise = (
            f"{each}at most {percent(self.risk)} of the accepted predictions are bad "
            f"(true score below {self.bad_below:g}; 95 % confidence{weighted})"
        )
        lacks = _listed(
            (
                (row.task, row.lack)
                for row in self.chosen
                if row.threshold is None
            ),
            ": ",
        )
        if not self.thresholds:
            return f"{self.judge}: no score keeps the promise that {promise}; {lacks}"
        score = _listed(
            (row.task, f"{row.threshold:.4g}")
            for row in self.chosen
            if row.threshold is not None
        )
        sentences = [
            f"{self.judge}: accept predictions from a judge’s score of {score}: {promise}"
        ]
        if len(self.chosen) == 1:
            whole = self.parts[0]
            sentences.append(
                f"Of {number(whole.predictions)} predictions, {percent(whole.accepted)} "
                f"are accepted, {percent(whole.recall or 0.0)} of the good ones"
            )
        if lacks:
            sentences.append(f"No score keeps it for {lacks}")
        return ". ".join([*sentences, *self._tasks_at_risk()])

    def _tasks_at_risk(self) -> Iterator[str]:
        """Yield what one score for all tasks does not promise of single ones."""
        if not self.pooled or len(self.tasks) == 1:
            return
        rows = [row for row in self.parts if row.part in self.tasks]
        broken = [row for row in rows if (row.bad_accepted or 0.0) > self.risk]
        if broken:
            yield "By task more are bad: " + _listed(
                (row.part, percent(row.bad_accepted)) for row in broken
            )
        unproven = [
            row.part
            for row in rows
            if row not in broken and (row.bound or 1) > self.risk
        ]
        if unproven:
            yield f"This is not shown for {', '.join(unproven)} alone"

    def json(self) -> Json:
        """Return all fields, the score of each task and the sentence."""
        return {
            "answer": self.sentence,
            "thresholds": self.thresholds,
            **asdict(self),
        }

    def __str__(self) -> str:
        tasks = [row for row in self.parts if row.part in self.tasks]
        tables = [grid(PART, tasks)] if tasks else []
        if len(self.chosen) == 1:
            rows = [
                row
                for k, row in enumerate(self.curve)
                if k % 3 == 0
                or row.threshold == self.chosen[0].threshold
                or (row.bound or 0) > self.risk
            ]
            tables.append(
                grid(
                    PART,
                    rows,
                    notes=[KEEPS.format(percent(self.risk))],
                    hidden=("part", "predictions"),
                )
            )
        return "\n\n".join(
            [folded(self.sentence), *(table.text() for table in tables)]
        )


def _listed(rows: Iterable[tuple[str, str]], between: str = " ") -> str:
    """Return what is said of each task, with its name if it is one of several."""
    return "; ".join(
        answers if task == ALL else f"{plain_name(task)}{between}{answers}"
        for task, answers in rows
    )


PART = Layout[AcceptedPart](
    named("part", "Task"),
    named("threshold", "Score from", "{:.4g}".format),
    named("accepted", "Accepted", percent),
    named("bad_accepted", "Bad of these", percent),
    named("bound", "Bad, at most (95 %)", percent),
    named("recall", "Good ones accepted", percent),
    named("predictions", "Predictions", number),
)


def predictions_of(study: Study, run: int = 0) -> pl.DataFrame:
    """Return one row per prediction that a scoring question shows (a class of it, where
    the question names one): the mean ``score`` of its readable verdicts, null if there
    is none, its ``truth``, and the ``id`` of such a question.
    """
    asked = study.joined[run].filter(pl.col("kind") == "scoring")
    if asked.is_empty():
        raise DataError(
            f"{study.runs[run].name}: must have verdicts on scoring questions, got none; "
            "judge them with `types=scoring`"
        )
    return (
        asked.with_columns(
            annotation=pl.col("annotations").list.first().cast(pl.String),
            source=pl.col("sources").list.first().cast(pl.String),
            number=pl.when("usable").then("number"),
        )
        .group_by(
            "task",
            "image",
            "cluster",
            "annotation",
            "classes",
            maintain_order=True,
        )
        .agg(
            pl.col("source", "error_type", "id").first(),
            score=pl.col("number").mean(),
            truth=pl.col("truth").first(),
        )
        .with_columns(
            pl.col("task", "image", "classes", "error_type").cast(pl.String)
        )
    )


def accept(
    study: Study,
    *,
    bad_below: float = 5.0,
    risk: float = 0.05,
    base_rate: float | None = None,
    pooled: bool = False,
) -> Acceptance:
    """Find the score from which the judge of the study's first run may accept
    predictions: of each task or, if ``pooled``, of all tasks together.

    Raises
    ------
    UsageError
        If ``risk`` or ``base_rate`` is not between 0 and 1.
    DataError
        If the run has no verdicts on scoring questions, or all or none of the
        predictions are bad although a base rate is given.
    """
    for name, value in (
        ("`risk`", risk),
        ("`base_rate`", base_rate),
    ):
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{name} must be between 0 and 1, got {value:g}")
    table = predictions_of(study).drop_nulls("truth")
    if not table["score"].count():
        raise DataError(
            f"{study.runs[0].name}: must have readable scores of predictions with a "
            "known true score, got none"
        )
    tasks = tuple(table["task"].unique().sort())
    chosen: list[Chosen] = []
    parts: list[AcceptedPart] = []
    curve: list[AcceptedPart] = []
    for name in (ALL,) if pooled else tasks:
        rows = table if pooled else table.filter(task=name)
        cases = Cases.of(rows, bad_below, base_rate)
        bounds = score_bounds(cases, risk)
        choice = chosen_score(
            cases, risk, bounds, ALL if len(tasks) == 1 else name
        )
        chosen.append(choice)
        if choice.threshold is not None:
            parts += _parts(rows, cases, choice.threshold, choice.task)
        curve += [
            replace(cases.part(choice.task, score), bound=bound)
            for score, bound in bounds.items()
        ]
    return Acceptance(
        study.runs[0].name,
        risk,
        bad_below,
        base_rate,
        pooled,
        tuple(chosen),
        tuple(parts),
        tuple(curve),
        tasks,
    )


@dataclass(frozen=True, eq=False)
class Cases:
    """Predictions: their image (0, 1, …), score (−∞ without one) and whether bad, (n,)
    each; ``base_rate`` is the share of bad ones where they are to be accepted, None if
    it is that of these.
    """

    image: IntArray
    score: FloatArray
    bad: BoolArray
    base_rate: float | None

    @classmethod
    def of(
        cls, table: pl.DataFrame, bad_below: float, base_rate: float | None
    ) -> Cases:
        bad = (table["truth"] < bad_below).to_numpy()
        if base_rate is not None and bad.all() == bad.any():
            words = "all" if bad.all() else "none"
            raise DataError(
                f"`base_rate`: must have good and bad predictions, but {words} of "
                f"{bad.size} are below {bad_below:g}"
            )
        return cls(
            table["cluster"].rank("dense").to_numpy().astype(np.int64) - 1,
            table["score"].fill_null(-math.inf).to_numpy(),
            bad,
            base_rate,
        )

    @property
    def weight(self) -> FloatArray:
        """Weights with which the base rate of them are bad, (n,)."""
        if self.base_rate is None:
            return np.ones(self.bad.size)
        share = float(self.bad.mean())
        return np.where(
            self.bad,
            self.base_rate / share,
            (1 - self.base_rate) / (1 - share),
        )

    def only(self, rows: BoolArray) -> Cases:
        """Return some of the predictions, with their own base rate."""
        weight = self.weight[rows]
        bad = self.bad[rows]
        return Cases(
            np.unique(self.image[rows], return_inverse=True)[1],
            self.score[rows],
            bad,
            None
            if self.base_rate is None or bad.all() == bad.any()
            else float(weight[bad].sum() / weight.sum()),
        )

    def score_at(self, share: float) -> float:
        """Return the score from which ``share`` of the predictions are accepted, or a
        little more.
        """
        return as_printed(
            np.quantile(self.score, 1 - share, method="inverted_cdf")
        )

    def bound(
        self, threshold: float, tail: float = LEVEL
    ) -> tuple[float, float]:
        """Return the share of bad predictions among those from ``threshold``, and its
        upper bound by image, of level 1 − ``tail``.
        """
        accepted = self.score >= threshold
        if self.base_rate is None:
            result = shares(
                sums(self.image, (accepted & self.bad).astype(float), 0),
                sums(self.image, accepted.astype(float), 0),
                tail=tail,
            )
            return float(result.value[0]), float(result.high[0])
        if accepted.all():
            return self.base_rate, self.base_rate
        bad, good = (
            shares(
                sums(self.image, (accepted & part).astype(float), 0),
                sums(self.image, part.astype(float), 0),
                tail=tail,
            )
            for part in (self.bad, ~self.bad)
        )
        product = bad.value * good.value
        above = bad.high * (2 * bad.value - bad.high)
        below = good.low * (2 * good.value - good.low)
        root = np.sqrt(np.maximum(product**2 - above * below, 0))
        ratios = np.append(
            divided(bad.value, good.value, np.inf),
            divided(product + root, below, np.inf),
        )
        rest = 1 - self.base_rate
        value, high = (1 - rest / (rest + self.base_rate * ratios)).tolist()
        return value, high

    def part(self, name: str, threshold: float) -> AcceptedPart:
        """Return the figures of accepting from ``threshold``."""
        accepted = self.score >= threshold
        good = ~self.bad
        share, bound = self.bound(threshold) if accepted.any() else (None, None)
        return AcceptedPart(
            name,
            threshold,
            float(self.weight[accepted].sum() / self.weight.sum()),
            share,
            bound,
            float((accepted & good).sum() / good.sum()) if good.any() else None,
            self.score.size,
            int(np.unique(self.image).size),
        )


def as_printed(score: np.floating[Any]) -> float:
    """Return the greatest number of four digits that is not above a score, so that the
    printed threshold accepts what was counted."""
    return float(Context(4, ROUND_FLOOR).create_decimal(repr(float(score))))


def score_bounds(cases: Cases, risk: float) -> dict[float, float | None]:
    """Return the scores that may be chosen, from strict to lenient, and the bound of
    each at the level of its test; None where no level is left to test it.
    """
    steps = np.linspace(STARTS[0], 1, STEPS)
    levels = dict.fromkeys(map(cases.score_at, steps), 0.0)
    for start in map(cases.score_at, STARTS):
        levels[start] = levels.get(start, 0.0) + LEVEL / len(STARTS)
    bounds: dict[float, float | None] = {}
    level = 0.0
    for score in sorted(filter(math.isfinite, levels), reverse=True):
        level += levels[score]
        bound = cases.bound(score, level)[1] if level else None
        bounds[score] = bound
        if bound is not None and bound > risk:
            level = 0.0
    return bounds


def chosen_score(
    cases: Cases,
    risk: float,
    bounds: Mapping[float, float | None],
    task: str = ALL,
) -> Chosen:
    """Return the lowest score whose test succeeds, by its :func:`score_bounds`."""
    kept = [
        score
        for score, bound in bounds.items()
        if bound is not None and bound <= risk
    ]
    if kept:
        return Chosen(task, min(kept))
    return Chosen(task, None, _images_needed(cases, risk))


def _images_needed(cases: Cases, risk: float) -> int | None:
    """Return how many such images the score needs that needs the fewest of those at
    which a sequence starts; None if none has a smaller share of bad predictions.
    """
    images = int(cases.image.max()) + 1
    needed = math.inf
    for score in filter(math.isfinite, map(cases.score_at, STARTS)):
        share, bound = cases.bound(score, LEVEL / len(STARTS))
        if share < risk:
            # the width shrinks with the root of the images, or with them where none is
            # bad
            times = ((bound - share) / (risk - share)) ** (2 if share else 1)
            needed = min(needed, images * max(times, 1.1))
    return math.ceil(needed) if needed <= MOST_IMAGES else None


def _parts(
    table: pl.DataFrame, cases: Cases, threshold: float, name: str
) -> Iterator[AcceptedPart]:
    """Yield the figures of the predictions, and of each of their tasks and error
    types."""
    yield cases.part(name, threshold)
    known = {
        "task": table["task"].n_unique() > 1,
        "error_type": set(table["error_type"]) != {"(none)"},
    }
    for column in (name for name, several in known.items() if several):
        for value in table[column].unique().sort():
            rows = (table[column] == value).to_numpy()
            within = "" if name == ALL else f"{name}, "
            yield cases.only(rows).part(
                (value if column == "task" else f"{within}error type {value}"),
                threshold,
            )


def marked(acceptance: Acceptance, study: Study) -> pl.DataFrame:
    """Return the predictions of another study's first run, ``accepted`` or not, the
    ``reason`` if not, and the ``id`` of a question that shows each.

    Raises
    ------
    DataError
        If no score keeps the risk, or the run has no verdicts on scoring questions.
    """
    if not acceptance.thresholds:
        raise DataError(acceptance.sentence)
    run = study.runs[0]
    if run.name != acceptance.judge and not run.simulated:
        warnings.warn(
            f"the score is {acceptance.judge}'s, not {run.name}'s", stacklevel=2
        )
    least = pl.col("task").replace_strict(
        acceptance.thresholds, default=None, return_dtype=pl.Float64
    )
    reason = (
        pl.when(~pl.col("task").is_in(acceptance.tasks))
        .then(pl.lit("its task was not studied"))
        .when(least.is_null())
        .then(pl.lit("no score of its task keeps the risk"))
        .when(pl.col("score").is_null())
        .then(pl.lit("no readable score"))
        .when(pl.col("score") < least)
        .then(pl.lit("score too low"))
    )
    return (
        predictions_of(study)
        .select(
            *(
                "task",
                "image",
                "annotation",
                "classes",
                "source",
                "score",
                "id",
            ),
            accepted=reason.is_null(),
            reason=reason,
        )
        .sort("task", "image", "annotation", "classes")
    )


def coco_of(root: Path, table: pl.DataFrame) -> Json | None:
    """Return the boxes, masks and poses of the accepted predictions of a dataset as a
    COCO file; None if no prediction of the table has such items, or the dataset never
    held predictions as data (an adopted one does not).

    ``file_name`` is the path of the image in the dataset, and sizes and coordinates are
    those of that image. Of a prediction that was judged by class, the accepted classes
    are returned.

    Raises
    ------
    DataError
        If a prediction or its image is missing, or is not as `visualjudge build` writes
        it.
    """
    dataset = load_dataset(root)
    # without predictions as data, tasks may have names of others
    as_data = PREDICTIONS in dataset.meta.get("files", {})
    tasks = table["task"].unique() if as_data else ()
    rows = table.filter(pl.col("task").is_in([*filter(_has_items, tasks)]))
    if rows.is_empty():
        return None
    wanted = set(rows.filter("accepted")["id"])
    displayed = ShownPredictions(root)
    images: dict[str, Json] = {}
    labels: dict[str, int] = {}
    annotations: list[Json] = []
    for question in dataset:
        if question.id not in wanted:
            continue
        name = question.images[0]  # the original stands before the options
        height, width = image_size(image_at(root, name))
        image = images.setdefault(
            name,
            {
                "id": len(images) + 1,
                "file_name": name,
                "height": height,
                "width": width,
            },
        )
        (annotation_id,) = question.annotation_ids
        prediction = displayed.prediction(
            question.task, annotation_id, (height, width)
        )
        if question.class_of_interest:
            prediction = prediction.only(question.class_of_interest)
        for label, items in prediction.items_by_label().items():
            category = labels.setdefault(label, len(labels) + 1)
            annotations += [
                {
                    "id": len(annotations) + k,
                    "image_id": image["id"],
                    "category_id": category,
                    "iscrowd": 0,
                    **_coco_fields(question.task, item),
                }
                for k, item in enumerate(items, 1)
            ]
    return {
        "images": list(images.values()),
        "categories": [{"id": k, "name": name} for name, k in labels.items()],
        "annotations": annotations,
    }


def _has_items(task: str) -> bool:
    ranked = type_of(task).ranked
    # COCO has no oriented boxes
    return ranked is not None and ranked.kind != "obb"


def _coco_fields(task: str, item: Any) -> Json:
    ranked = type_of(task).ranked
    assert ranked is not None
    fields = ranked.annotation(item)
    if "segmentation" in fields:
        left, top, right, bottom = item.mask.box
        return {
            "segmentation": rle_of(item.mask),
            "bbox": [left, top, right - left, bottom - top],
            "area": item.mask.area,
        }
    _, _, width, height = fields["bbox"]
    return {"area": width * height, **fields}
