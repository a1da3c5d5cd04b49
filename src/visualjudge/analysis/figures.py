"""Every figure of the analysis as a frozen record, without computation or formatting.

``metrics.json``, the CSV tables, Markdown, HTML and the terminal are derived from these records by
the lists of columns in :mod:`visualjudge.analysis.columns`. A new statistic needs one function that
fills a field, and ``field(metadata=column("Title"))``.

An :class:`Estimate` always has the number of images it is based on. If it has no interval, ``why``
gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from visualjudge.analysis.pairwise_figures import OF_TWO, Accuracy, Pairwise, Preference
from visualjudge.analysis.value_and_interval import NOTHING, Ends, Estimate, Share, minus

ALL = "all"
"""Name of the row of all questions, beside the rows of their parts."""


@dataclass(frozen=True)
class TaskGap:
    """The gap between two judges in one task. ``p_holm`` is adjusted over all tasks and pairs of
    judges.
    """

    task: str
    gap: Estimate
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Two judges on the questions, orders and repeats that both answered; ``gap`` is a minus b."""

    a: str
    b: str
    questions: int
    verdicts: int
    gap: Estimate
    accuracy_a: float | None = None
    accuracy_b: float | None = None
    p: float | None = None
    only_a_right: int | None = None
    only_b_right: int | None = None
    p_holm: float | None = None
    by_task: tuple[TaskGap, ...] = ()
    """The gap in each task of the common questions."""
    kappa: Estimate = NOTHING
    """Cohen's κ of their answers, where both gave one."""


@dataclass(frozen=True)
class Leak:
    """The accuracy of one shallow rule on the dataset itself."""

    scope: str
    rule: str
    share: Share
    p: float | None
    p_holm: float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class DatasetFacts:
    """The questions that were asked."""

    path: str | None
    questions_sha256: str | None
    version: str | None
    seed: int | None
    questions: int
    images: int
    by_question_type: Mapping[str, int]
    asked: int = 0
    """Number of distinct questions that any judge was asked."""
    images_asked: int = 0
    probed: int = 0
    """Number of the questions asked that a probe changed. They count only in figures of probes."""
    where: tuple[str, ...] = ()
    """Filter on the questions that all figures use, as ``FIELD=VALUE``; empty for all questions."""

    @property
    def extent(self) -> str:
        """How much of the dataset was asked: 300 of 1,514 questions, on 13 of 40 images."""
        asked = (
            f"{_of(self.asked - self.probed, self.questions - self.probed)} questions on "
            f"{_of(self.images_asked, self.images)} images"
        )
        asked += f", and {self.probed:,} more for probes" if self.probed else ""
        return asked + (f"; only those with {' and '.join(self.where)}" if self.where else "")


def _of(part: int, whole: int) -> str:
    return f"{whole:,}" if part == whole else f"{part:,} of {whole:,}"


ProbeState = Literal["pass", "fail", "not_shown"]


@dataclass(frozen=True)
class ProbeResult:
    """The effect on a judge of a change that must not matter; see
    :mod:`visualjudge.analysis.probes` for the units.
    """

    name: str
    design: str
    effect: Estimate
    margin: float
    state: ProbeState
    failed: int
    example: str
    """Id of one of its questions."""
    p_holm: float | None = None
    """p for an effect of 0, adjusted by Holm over the probes of the judge; None if nothing was
    measured.
    """


MARGIN = 0.15
"""A gain below this is too small to matter; same value as for probes that change the images."""
LEAST_QUESTIONS = 40
Need = Literal["needed", "not_needed", "not_shown"]


@dataclass(frozen=True)
class Without:
    """The same pairs without their photograph: accuracy with it, accuracy without it, and the
    paired difference.
    """

    seen: Share
    blind: Share
    gain: Estimate
    inner: tuple[float, float] | None
    """The 90 % interval of ``gain``."""
    questions: int


@dataclass(frozen=True)
class Photograph:
    """The gain from the photograph, over ``grey`` and over ``other`` photographs; None if not
    asked.
    """

    task: str
    """``all`` for all tasks together."""
    grey: Without | None
    other: Without | None

    @property
    def asked(self) -> tuple[Without, ...]:
        """The replacements of the photograph that were asked, grey first."""
        return tuple(part for part in (self.grey, self.other) if part is not None)

    @property
    def first(self) -> Without:
        """The replacement whose gain is shown in tables."""
        return self.asked[0]

    @property
    def least(self) -> Estimate:
        """The smaller gain: a judge that needs the photograph gains over both replacements."""
        return min((part.gain for part in self.asked), key=lambda gain: gain.value or 0.0)

    @property
    def questions(self) -> int:
        """The number of questions; the smaller one if two replacements were asked."""
        return min(part.questions for part in self.asked)

    @property
    def state(self) -> Need:
        """Whether the judge needs the photograph."""
        if self.questions < LEAST_QUESTIONS:
            return "not_shown"
        if any(part.inner is not None and part.inner[1] < MARGIN for part in self.asked):
            return "not_needed"
        lower = [(part.gain.interval or (None,))[0] for part in self.asked]
        return "needed" if all(low is not None and low > 0 for low in lower) else "not_shown"


@dataclass(frozen=True)
class PhotographNeed:
    """The gain from the photograph in all tasks together and in each task."""

    all: Photograph
    by_task: tuple[Photograph, ...]


@dataclass(frozen=True)
class Ranking:
    """Ranking questions: orders of three to five options."""

    failed: int
    tau: Estimate
    exact: Share
    top1: Share


@dataclass(frozen=True)
class Scoring:
    """Scoring questions: numbers from 0 to 10. ``within`` (inside one image) is the part that
    reflects the judge's own ability.
    """

    n: int
    failed: int
    within: Estimate
    """Mean τ-b inside groups of one image; a group that the judge cannot tell apart counts as 0."""
    spearman: Estimate
    pearson: Estimate
    mae: Estimate
    bias: Estimate


@dataclass(frozen=True)
class Cell:
    """One task, encoding, error type or margin, with ``keys`` in the order of its table's key
    columns.
    """

    keys: tuple[tuple[str, str], ...]
    accuracy: Accuracy
    ranking: Ranking | None = None
    scoring: Scoring | None = None

    @property
    def name(self) -> str:
        """The keys joined: ``object_detection/text_xyxy``."""
        return "/".join(value for _, value in self.keys)


@dataclass(frozen=True)
class Sensitivity:
    """Accuracy against distance: the fitted curve, and the distance at which it reaches 75 %."""

    scope: str
    value: str
    against: str
    jnd: Estimate
    alpha: float | None = None
    beta: float | None = None
    lapse: float | None = None
    slope_p: float | None = None
    """One-sided clustered test that accuracy increases with distance; Holm over the
    judge's curves.
    """
    points: tuple[tuple[float, float, float], ...] = ()
    """Mean distances, accuracies at them, and their numbers of verdicts."""
    floor: float = OF_TWO
    """Lower asymptote of the curve: accuracy of guessing times the share of replies that
    were read.
    """


@dataclass(frozen=True)
class Encoding:
    """One encoding of a task."""

    name: str
    share: Share
    tokens: float | None
    standing: str
    """best, worse, equivalent (at most 5 points behind), open, unknown."""


@dataclass(frozen=True)
class EncodingDuel:
    """Two encodings on the pairs that were asked in both; ``gap`` is first minus second."""

    first: str
    second: str
    gap: Estimate
    p: float | None
    p_holm: float | None = None

    @property
    def turned(self) -> EncodingDuel:
        """The comparison of the second with the first."""
        return replace(self, first=self.second, second=self.first, gap=minus(self.gap))


@dataclass(frozen=True)
class EncodingChoice:
    """The encodings of one task, best first."""

    task: str
    recommended: str | None
    reason: str | None
    encodings: tuple[Encoding, ...]
    duels: tuple[EncodingDuel, ...]


@dataclass(frozen=True)
class Variance:
    """Components of the variance of single verdicts; None if the design cannot determine them.
    ``order`` includes chance if nothing was repeated.
    """

    task: str
    n: int
    item: float | None
    encoding: float | None
    item_x_encoding: float | None
    order: float | None
    repeat: float | None
    total: float
    shares: Mapping[str, float | None]
    image: float | None = None
    """The part of ``item`` that all pairs of an image share."""
    ends: Mapping[str, Ends | None] = field(default_factory=dict)
    """95 % intervals of the components, by name."""


@dataclass(frozen=True)
class Unread:
    """Replies that could not be read: failed replies of all question types by cause."""

    n: int
    failed: int
    causes: Mapping[str, int]
    extracted: int = 0
    """Failed replies for which a second reader gave a value; no other figure uses them."""


@dataclass(frozen=True)
class SourceRow:
    """One source as ranked by the judge; strengths are log odds with mean 0 in a group."""

    source: str
    group: str
    """The tasks in which it is compared, with a number if their sources fall into
    unconnected sets.
    """
    strength: Estimate
    rank: int
    bound: Ends | None
    """If the source never lost, or never won: the finite end of its interval, at 97.5 %."""
    rank_set: tuple[int, int]
    """The best and the worst rank that it may have at 95 %, for this source alone."""
    controlled: Estimate
    """The strength at equal covariates."""


@dataclass(frozen=True)
class Leaderboard:
    """The sources by group, strongest first, from ``n`` comparisons. ``regularised`` states that
    some sources never lost to the others, or never won, so that the likelihood alone has no finite
    maximum.
    """

    rows: tuple[SourceRow, ...]
    n: int
    regularised: bool

    @property
    def groups(self) -> tuple[tuple[str, tuple[SourceRow, ...]], ...]:
        """Return each group's name and rows. Only the rows of a group have a common axis."""
        names = dict.fromkeys(row.group for row in self.rows)
        return tuple((name, tuple(row for row in self.rows if row.group == name)) for name in names)


@dataclass(frozen=True)
class OwnScore:
    """A score of a published benchmark, with the ``digits`` that its authors print."""

    name: str
    value: float | None
    """None if none of its questions was asked."""
    digits: int
    lacking: str | None = None
    """How many of its questions in the dataset the run answered, if not all."""


@dataclass(frozen=True, slots=True)
class ServedBy:
    """A model that answered, with its number of verdicts and its accuracy on pairs if they are
    enough.
    """

    model: str | None
    fingerprint: str | None
    n: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """All results of one judge."""

    name: str
    simulated: bool
    run: str | None
    verdicts: int
    expected: int | None
    missing: int | None
    questions: int
    asked_like: int
    """Judges with the same number were asked the same questions; only those are compared."""
    status: Mapping[str, int]
    tokens_in: int | None
    tokens_out: int | None
    latency_s: float | None
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    info: Mapping[str, Any]
    pairwise: Pairwise
    ranking: Ranking
    scoring: Scoring
    by_task: tuple[Cell, ...]
    by_encoding: tuple[Cell, ...]
    by_error_type: tuple[Cell, ...]
    bias: tuple[Preference, ...]
    sensitivity: tuple[Sensitivity, ...]
    encodings: tuple[EncodingChoice, ...]
    variance: tuple[Variance, ...]
    leaderboard: Leaderboard
    unread: Unread
    own_scores: tuple[OwnScore, ...]
    """The benchmark's own scores, if the dataset is a published benchmark."""
    probes: tuple[ProbeResult, ...] = ()
    photograph: PhotographNeed | None = None
    identity: tuple[ServedBy, ...] = ()

    @property
    def as_published(self) -> dict[str, float | None]:
        """The benchmark's own scores by name."""
        return {score.name: score.value for score in self.own_scores}


@dataclass(frozen=True)
class Results:
    """The whole analysis."""

    judges: tuple[JudgeResult, ...]
    warnings: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    leaks: tuple[Leak, ...]
    dataset: DatasetFacts
    clusters: int
    seed: int
