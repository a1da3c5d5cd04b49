"""From which score of a judge predictions may be accepted.

Of the predictions that the judge scored and whose true score is known, those below ``bad_below``
are bad. The lowest score is chosen at which the share of bad predictions among the accepted ones
is at most ``risk`` with 95 % confidence, images being the unit. Scores are tried from strict to
lenient until the upper bound of that share (Jeffreys', for the effective number of cases) exceeds
the risk (fixed sequence testing, Bauer 1991; Bates et al. 2021, "Distribution-free,
risk-controlling prediction sets": one level for all steps suffices where a lenient score is never
the safer one). Four searches begin at 8, 12, 18 and 27 % of the predictions, because few of them
prove nothing. Weakness: the best of four searches is taken, so a judge that knows nothing, of
predictions of which a few more than the risk are bad, is accepted in 6 to 9 % of studies.

With a base rate, bad predictions are weighted to that share of all: a study of controlled errors
has more of them than the predictions to accept.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from visualjudge.analysis.estimate import LEVEL, jeffreys_bound, ratio
from visualjudge.analysis.figure_text import number, percent
from visualjudge.analysis.study_table import Study
from visualjudge.analysis.table_layout import Layout, grid, named
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.jsons import Json
from visualjudge.core.records import BoolArray, FloatArray
from visualjudge.core.untrusted import open_untrusted
from visualjudge.dataset.predictions_file import PREDICTIONS

STARTS = (0.08, 0.12, 0.18, 0.27)
"""Shares of the predictions accepted by the strictest score of each search."""
STEPS = 30
MOST_IMAGES = 100_000
ALL = "all"


@dataclass(frozen=True, slots=True)
class AcceptedPart:
    """What accepting from ``threshold`` does to the predictions of one part: ``accepted``,
    ``bad_accepted`` and ``recall`` are shares of all, of the accepted and of the good predictions.
    """

    part: str
    threshold: float
    accepted: float
    bad_accepted: float | None
    bound: float | None
    """Upper bound of ``bad_accepted`` by image, 95 % one-sided."""
    recall: float | None
    predictions: int
    images: int


@dataclass(frozen=True)
class Acceptance:
    """The answer of ``accept``; ``threshold`` is None if no score keeps the risk."""

    judge: str
    risk: float
    bad_below: float
    base_rate: float | None
    threshold: float | None
    images_needed: int | None
    parts: tuple[AcceptedPart, ...] = ()
    curve: tuple[AcceptedPart, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        promise = f"at most {percent(self.risk)} of the accepted predictions are bad"
        bad = f"(below {self.bad_below:g}; 95 % confidence)"
        if self.threshold is None:
            more = (
                "no score has a smaller share of bad ones: another judge is needed"
                if self.images_needed is None
                else f"it needs about {self.images_needed:,} images"
            )
            return (
                f"{self.judge}: no score keeps the promise that {promise} {bad}; {more}"
            )
        accepted, good = (
            percent(self.parts[0].accepted),
            percent(self.parts[0].recall or 0.0),
        )
        return (
            f"{self.judge}: accept predictions from a score of {self.threshold:g}: {promise} "
            f"{bad}. {accepted} are accepted, {good} of the good ones"
        )

    def json(self) -> Json:
        """Return all fields and the sentence."""
        return {"answer": self.sentence, **asdict(self)}

    def __str__(self) -> str:
        tables = [
            grid(PART, rows, title=title).text()
            for title, rows in (
                ("At the chosen score", self.parts),
                ("Other scores", self.curve),
            )
            if rows
        ]
        return "\n".join([self.sentence, *tables])


PART = Layout[AcceptedPart](
    named("part", "Part"),
    named("threshold", "From", "{:g}".format),
    named("accepted", "Accepted", percent),
    named("bad_accepted", "Bad of these", percent),
    named("bound", "At most", percent),
    named("recall", "Of the good", percent),
    named("predictions", "Predictions", number),
)


def predictions_of(study: Study, run: int = 0) -> pl.DataFrame:
    """Return one row per prediction that a scoring question shows (a class of it, where the
    question names one): the mean ``score`` of its readable verdicts, null if there is none, and its
    ``truth``.
    """
    asked = study.joined[run].filter(pl.col("kind") == "scoring")
    if asked.is_empty():
        raise DataError(
            f"{study.runs[run].name}: must have verdicts on scoring questions, got none"
        )
    return (
        asked.with_columns(
            annotation=pl.col("annotations").list.first().cast(pl.String),
            source=pl.col("sources").list.first().cast(pl.String),
            number=pl.when("usable").then("number"),
        )
        .group_by(
            "task", "image", "cluster", "annotation", "classes", maintain_order=True
        )
        .agg(
            pl.col("source", "error_type").first(),
            score=pl.col("number").mean(),
            truth=pl.col("truth").first(),
        )
        .with_columns(pl.col("task", "image", "classes", "error_type").cast(pl.String))
    )


def accept(
    study: Study,
    *,
    bad_below: float = 5.0,
    risk: float = 0.05,
    base_rate: float | None = None,
) -> Acceptance:
    """Find the score from which the judge of the study's first run may accept predictions.

    Raises
    ------
    UsageError
        If ``risk`` or ``base_rate`` is not between 0 and 1.
    DataError
        If the run has no verdicts on scoring questions, or all or none of the predictions are bad
        although a base rate is given.
    """
    for name, value in (
        ("--risk (risk)", risk),
        ("--base-rate (base_rate)", base_rate),
    ):
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{name} must be between 0 and 1, got {value:g}")
    table = predictions_of(study).drop_nulls("truth")
    if not table["score"].count():
        raise DataError(
            f"{study.runs[0].name}: must have readable scores of predictions with a known true "
            "score, got none"
        )
    cases = _Cases.of(table, bad_below, base_rate)
    threshold, images_needed = chosen_threshold(cases, risk)
    parts = () if threshold is None else tuple(_parts(table, cases, threshold))
    scores = np.unique(cases.score[np.isfinite(cases.score)])
    curve = np.unique(np.quantile(scores, np.linspace(0, 1, 11), method="inverted_cdf"))
    return Acceptance(
        study.runs[0].name,
        risk,
        bad_below,
        base_rate,
        threshold,
        images_needed,
        parts,
        tuple(cases.part(ALL, float(score)) for score in curve[::-1]),
        tuple(table["task"].unique().sort()),
    )


@dataclass(frozen=True, eq=False)
class _Cases:
    """Predictions: their image (0, 1, …), score (−∞ without one), whether bad, and weight."""

    image: Any
    score: FloatArray
    bad: BoolArray
    weight: FloatArray

    @classmethod
    def of(
        cls, table: pl.DataFrame, bad_below: float, base_rate: float | None
    ) -> _Cases:
        bad = (table["truth"] < bad_below).to_numpy()
        share, weight = float(bad.mean()), np.ones(bad.size)
        if base_rate is not None:
            if share in (0.0, 1.0):
                words = "none" if share == 0 else "all"
                raise DataError(
                    f"--base-rate: must have good and bad predictions, but {words} of {bad.size} "
                    f"are below {bad_below:g}"
                )
            weight = np.where(bad, base_rate / share, (1 - base_rate) / (1 - share))
        image = table["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
        score = table["score"].fill_null(-math.inf).to_numpy()
        return cls(image, score, bad, weight)

    def only(self, rows: BoolArray) -> _Cases:
        image = np.unique(self.image[rows], return_inverse=True)[1]
        return _Cases(image, self.score[rows], self.bad[rows], self.weight[rows])

    def bound(self, threshold: float) -> tuple[float, float]:
        """Return the share of bad predictions among those from ``threshold``, and its upper bound
        by image.
        """
        weight = self.weight * (self.score >= threshold)
        bad, all_ = (
            np.bincount(self.image, w).astype(np.float64)
            for w in (weight * self.bad, weight)
        )
        value, spread = ratio(bad[all_ > 0], all_[all_ > 0])
        if not bad.any():
            # One more bad prediction would weigh as much as any; a hundred images without one bound
            # only what they could have shown.
            heaviest = float(self.weight[self.bad].max()) if self.bad.any() else 1.0
            cases = min(float(spread.effective[0]), weight.sum() / heaviest)
            return 0.0, 1 - LEVEL ** (1 / max(cases, 1e-9))
        cases_cap = np.array([weight.sum() ** 2 / (weight**2).sum()])
        return float(value[0]), float(
            jeffreys_bound(value, spread, cases_cap, LEVEL)[0]
        )

    def part(self, name: str, threshold: float) -> AcceptedPart:
        """Return the figures of accepting from ``threshold``."""
        kept, good = self.score >= threshold, ~self.bad
        share, bound = self.bound(threshold) if kept.any() else (None, None)
        return AcceptedPart(
            name,
            threshold,
            float(self.weight[kept].sum() / self.weight.sum()),
            share,
            bound,
            float((kept & good).sum() / good.sum()) if good.any() else None,
            self.score.size,
            int(np.unique(self.image).size),
        )


def chosen_threshold(cases: _Cases, risk: float) -> tuple[float | None, int | None]:
    """Return the lowest score that a search reaches before its bound exceeds the risk; if there is
    none, about how many such images would probably have one (None: no score has a smaller share of
    bad predictions).
    """
    chosen, needed, images = math.inf, math.inf, int(cases.image.max()) + 1
    for start in STARTS:
        at, kept = 1 - np.linspace(start, 1, STEPS), True
        scores = np.unique(np.quantile(cases.score, at, method="inverted_cdf"))
        for score in scores[np.isfinite(scores)][::-1].tolist():
            share, bound = cases.bound(score)
            kept &= (
                bound <= risk or not share
            )  # without a bad one, there may only be too few
            if kept and bound <= risk:
                chosen = min(chosen, score)
            if share < risk:
                # the width shrinks with the root of the images, or with them where none is bad
                times = ((bound - share) / (risk - share)) ** (2 if share else 1)
                needed = min(needed, images * max(times, 1.1))
    if math.isfinite(chosen):
        return chosen, None
    return None, math.ceil(needed) if needed <= MOST_IMAGES else None


def _parts(
    table: pl.DataFrame, cases: _Cases, threshold: float
) -> Iterator[AcceptedPart]:
    """Yield the figures of all predictions, and of each task and error type."""
    yield cases.part(ALL, threshold)
    for column in ("task", "error_type"):
        for name in table[column].unique().sort():
            rows = (table[column] == name).to_numpy()
            yield cases.only(rows).part(f"{column.replace('_', ' ')} {name}", threshold)


def marked(acceptance: Acceptance, study: Study) -> pl.DataFrame:
    """Return the predictions of another study's first run, ``accepted`` or not, and the ``reason``
    if not.

    Raises
    ------
    DataError
        If no score keeps the risk, or the run has no verdicts on scoring questions.
    """
    if acceptance.threshold is None:
        raise DataError(acceptance.sentence)
    run = study.runs[0]
    if run.name != acceptance.judge and not run.simulated:
        warnings.warn(
            f"the score is {acceptance.judge}'s, not {run.name}'s", stacklevel=2
        )
    reason = (
        pl.when(~pl.col("task").is_in(acceptance.tasks))
        .then(pl.lit("its task was not studied"))
        .when(pl.col("score").is_null())
        .then(pl.lit("no readable score"))
        .when(pl.col("score") < acceptance.threshold)
        .then(pl.lit("score too low"))
    )
    columns = ("task", "image", "annotation", "classes", "source", "score")
    return (
        predictions_of(study)
        .select(*columns, accepted=reason.is_null(), reason=reason)
        .sort("task", "image", "annotation")
    )


def coco_of(root: Path, table: pl.DataFrame) -> Json:
    """Return the boxes and masks of the accepted predictions of a dataset as a COCO file."""
    images = {
        (task, annotation): image
        for task, annotation, image in table.filter("accepted")
        .select("task", "annotation", "image")
        .iter_rows()
    }
    image_ids = {name: k for k, name in enumerate(sorted(set(images.values())), 1)}
    labels: dict[str, int] = {}
    annotations: list[Json] = []
    path = root / PREDICTIONS
    with (
        open_untrusted(root, PREDICTIONS, "record")
        if path.is_file()
        else BytesIO() as file
    ):
        for row in map(jsons.loads, file):
            image = images.get((row.get("task"), row.get("annotation_id")))
            prediction = row.get("prediction") or {}
            items = prediction.get("detections") or prediction.get("instances") or ()
            for item in items if image is not None else ():
                about: Json = {
                    "id": len(annotations) + 1,
                    "image_id": image_ids[image],
                    "iscrowd": 0,
                    "category_id": labels.setdefault(
                        str(item["label"]), len(labels) + 1
                    ),
                }
                if "bbox" in item:
                    x0, y0, x1, y1 = item["bbox"]
                    about["bbox"] = [x0, y0, x1 - x0, y1 - y0]
                    about["area"] = (x1 - x0) * (y1 - y0)
                if "segmentation" in item:
                    about["segmentation"] = item["segmentation"]
                annotations.append(about)
    return {
        "images": [{"id": k, "file_name": name} for name, k in image_ids.items()],
        "categories": [{"id": k, "name": name} for name, k in labels.items()],
        "annotations": annotations,
    }
