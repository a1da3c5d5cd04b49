"""Measure how much the predictions of a dataset reveal to a shallow solver that never sees the
photograph.

For each task, error type and margin, logistic regression is fitted to features of the predictions
only: the features of the local judge on uniform grey (counts, sizes, overlaps, regularity of
outlines, sharpness), the positions of the items, and the length of texts. It answers the pairs of
held-out images. Its right answers need no photograph, so a judge may succeed in the same way. The
local judge on grey is a second such solver, fitted to other images.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from visualjudge.analysis.accuracy_cells import MARGIN_LABELS, MARGINS
from visualjudge.analysis.estimate import shares
from visualjudge.apps.audit.findings import Finding, finding
from visualjudge.core.errors import DataError
from visualjudge.core.records import FloatArray, Question
from visualjudge.dataset.folder import Dataset
from visualjudge.judges.local.fit import Pair, fit
from visualjudge.judges.local.model import shipped
from visualjudge.judges.local.questions import QuestionFeatures
from visualjudge.vision.tasks import TASKS

THRESHOLD = 0.6
"""Accuracy without the photograph above which predictions give away too much."""
FEWEST_PAIRS, FEWEST_IMAGES = 20, 5
MODELS = "(none)"
"""Error type of predictions without a controlled error, made by models."""
ALL = "all"
Tick = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Blind:
    """Accuracy of the shallow solver; ``error_type`` and ``margin`` are ``all`` if combined."""

    task: str
    error_type: str
    margin: str
    accuracy: float
    interval: tuple[float, float] | None
    pairs: int
    images: int
    local: float | None = None
    """Accuracy of the local judge on grey, a tie counting half; None if it has no weights for the
    task.
    """

    @property
    def at_fault(self) -> bool:
        """Whether the predictions give the answer away: accuracy above 60 %, and its interval above
        chance.
        """
        return self.accuracy > THRESHOLD and self.interval is not None and self.interval[0] > 0.5


@dataclass(frozen=True, eq=False)
class _Asked:
    """One pair: the features of its better and its worse option."""

    pair: Pair
    error_type: str
    margin: str


def blind_accuracy(dataset: Dataset, tick: Tick = lambda done, total: None) -> tuple[Blind, ...]:
    """Return the solver's accuracy by task, by task and error type, and by task and margin; each
    pair counts once.

    Cells of fewer than 20 pairs or 5 images are left out. Controlled errors and predictions of
    models are separate: a solver is fitted to the pairs of one error type.
    """
    looks = QuestionFeatures(dataset.root, blind=True)
    pairs = _pairs(dataset)
    asked: defaultdict[str, list[_Asked]] = defaultdict(list)
    for done, question in enumerate(pairs, 1):
        row = _asked(question, looks)
        if row is not None:
            asked[question.task].append(row)
        tick(done, len(pairs))
    return tuple(cell for task, rows in sorted(asked.items()) for cell in _cells(task, rows))


def gives_away(found: Sequence[Blind]) -> Finding:
    """Return the cells in which predictions give the answer away."""
    faults = [
        f"{row.task}, {row.error_type}: {100 * row.accuracy:.1f} % right without the photograph "
        f"({100 * row.interval[0]:.1f} to {100 * row.interval[1]:.1f}) in {row.pairs} pairs"
        for row in found
        if row.margin == ALL and row.interval is not None and row.at_fault
    ]
    return finding("blind", faults, sum(row.margin == ALL for row in found))


def _pairs(dataset: Dataset) -> list[Question]:
    """Return one question per pair of annotations, regardless of its encodings."""
    found: dict[tuple[str, ...], Question] = {}
    for question in dataset:
        known = question.task in TASKS and question.probe is None
        if known and question.question_type == "pairwise" and question.answer in ("A", "B"):
            found.setdefault((question.task, *sorted(question.annotation_ids)), question)
    return list(found.values())


def _asked(question: Question, looks: QuestionFeatures) -> _Asked | None:
    try:
        options = looks.options(question)
    except DataError:
        return None
    if not all(options):
        return None
    lengths = [
        0 if row is None else row.text_chars or 0 for row in question.features or (None, None)
    ]
    one, two = (
        {**option, "text_chars": float(n)} for option, n in zip(options, lengths, strict=True)
    )
    better, worse = (one, two) if question.answer == "A" else (two, one)
    apart = abs(question.final_scores[0] - question.final_scores[1])
    margin = MARGIN_LABELS[sum(apart > edge for edge in MARGINS)]
    kind = question.error_type or MODELS
    return _Asked(Pair(question.image_id, kind, better, worse), kind, margin)


def _cells(task: str, rows: Sequence[_Asked]) -> Iterator[Blind]:
    hits, local = _held_out(rows), _local_hits(task, rows)
    kinds = dict.fromkeys(row.error_type for row in rows)
    margins = [label for label in MARGIN_LABELS if any(row.margin == label for row in rows)]
    for kind in (ALL, *kinds):
        yield from _cell(
            task, kind, ALL, rows, hits, local, [kind in (ALL, row.error_type) for row in rows]
        )
    for margin in margins:
        yield from _cell(
            task, ALL, margin, rows, hits, local, [row.margin == margin for row in rows]
        )


def _cell(
    task: str,
    kind: str,
    margin: str,
    rows: Sequence[_Asked],
    hits: FloatArray,
    local: FloatArray | None,
    chosen: Sequence[bool],
) -> Iterator[Blind]:
    by_image: defaultdict[str, list[float]] = defaultdict(list)
    for row, hit, inside in zip(rows, hits, chosen, strict=True):
        if inside and np.isfinite(hit):
            by_image[row.pair.image].append(float(hit))
    pairs = sum(map(len, by_image.values()))
    if pairs < FEWEST_PAIRS or len(by_image) < FEWEST_IMAGES:
        return
    found = shares(
        np.array([sum(v) for v in by_image.values()]), np.array([len(v) for v in by_image.values()])
    )
    ends = found.interval(0)
    interval = None if ends is None or None in ends else (float(ends[0] or 0), float(ends[1] or 0))
    over_grey = None if local is None else float(local[np.array(chosen) & np.isfinite(hits)].mean())
    value = float(found.value[0])
    yield Blind(task, kind, margin, value, interval, pairs, len(by_image), over_grey)


def _local_hits(task: str, rows: Sequence[_Asked]) -> FloatArray | None:
    """Return 1 for each pair that the local judge answers correctly on grey, ½ for ties."""
    weights = shipped().tasks.get(task)
    if weights is None:
        return None
    odds = [weights.log_odds(row.pair.better, row.pair.worse) for row in rows]
    return np.asarray(0.5 + 0.5 * np.sign(odds))


def _held_out(rows: Sequence[_Asked]) -> FloatArray:
    """Return 1 for each pair that the solver of its error type answers correctly on held-out
    images, ½ for ties; NaN without a solver.
    """
    hits = np.full(len(rows), np.nan)
    for kind in dict.fromkeys(row.error_type for row in rows):
        places = [k for k, row in enumerate(rows) if row.error_type == kind]
        pairs = [rows[k].pair for k in places]
        if len({pair.image for pair in pairs}) >= FEWEST_IMAGES:
            hits[places] = 0.5 + 0.5 * np.sign(fit(pairs).log_odds)
    return hits
