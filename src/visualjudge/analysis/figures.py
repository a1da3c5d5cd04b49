"""Every figure of the analysis as a frozen record; nothing here computes, and nothing here formats.

``metrics.json``, the CSV tables, Markdown, HTML and the terminal are derived from these records by
the lists of columns in :mod:`visualjudge.analysis.columns`: a new statistic is one function that
fills a field, and ``field(metadata=column("Title"))``.

An :class:`Estimate` never comes without the number of images behind it. Where it has no interval,
``why`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from visualjudge.analysis.comparison_figures import (
    NO_PROOF as NO_PROOF,
    Above as Above,
    Agreement as Agreement,
    Comparison as Comparison,
    RaterChecks as RaterChecks,
    TaskGap as TaskGap,
)
from visualjudge.analysis.dataset_figures import DatasetFacts as DatasetFacts, Leak as Leak
from visualjudge.analysis.pairwise_figures import (
    OF_TWO,
    Accuracy as Accuracy,
    Pairwise as Pairwise,
    Preference as Preference,
    Swap as Swap,
)
from visualjudge.analysis.photograph_figures import (
    Photograph as Photograph,
    PhotographNeed as PhotographNeed,
)
from visualjudge.analysis.probe_figures import ProbeResult as ProbeResult, ToolTrust as ToolTrust
from visualjudge.analysis.source_figures import (
    Contrast as Contrast,
    Leaderboard as Leaderboard,
    SourceRow as SourceRow,
)
from visualjudge.analysis.value_and_interval import (
    NO_SHARE as NO_SHARE,
    NOTHING as NOTHING,
    UNANSWERED as UNANSWERED,
    Ends as Ends,
    Estimate as Estimate,
    Share as Share,
    column,
)


@dataclass(frozen=True)
class Ranking:
    """Ranking questions: orders of three to five options."""

    failed: int
    tau: Estimate
    tau_bounds: Ends | None
    exact: Share = field(metadata=column())
    exact_bounds: Ends | None = field(metadata=column())
    top1: Share = field(metadata=column())
    top1_bounds: Ends | None = field(metadata=column())
    declined: int = 0
    cannot_tell: int = 0
    """Of the failed, those that a judge declined, and those by which a person says that they cannot
    tell.
    """


@dataclass(frozen=True)
class Scoring:
    """Scoring questions: numbers from 0 to 10. ``within`` (inside one image) is what a judge can be
    credited with.
    """

    n: int
    failed: int
    within: Estimate
    """Mean τ-b inside groups of one image; a group that the judge cannot tell apart counts as 0."""
    spearman: Estimate
    spearman_if_failed: Ends | None
    pearson: Estimate = field(metadata=column())
    mae: Estimate = field(metadata=column())
    mae_bounds: Ends | None = field(metadata=column())
    bias: Estimate = field(metadata=column())
    bias_bounds: Ends | None = field(metadata=column())
    declined: int = 0
    cannot_tell: int = 0
    """As of a ranking."""


@dataclass(frozen=True)
class Cell:
    """One task, encoding, error type or margin: ``keys`` in the order of its table's key
    columns.
    """

    keys: tuple[tuple[str, str], ...]
    accuracy: Accuracy
    ranking: Ranking | None = None
    scoring: Scoring | None = None

    @property
    def name(self) -> str:
        """The keys as one word: ``object_detection/text_xyxy``."""
        return "/".join(value for _, value in self.keys)


@dataclass(frozen=True)
class CurvePoint:
    """Share right of ``n`` verdicts at mean distance ``x``."""

    x: float
    share: float
    n: float


@dataclass(frozen=True)
class Sensitivity:
    """Right answers against distance: the fitted curve, and where it is 75 % right or the
    ``reason`` why not.
    """

    scope: str
    value: str
    against: str
    jnd: Estimate
    alpha: float | None
    beta: float | None
    lapse: float | None
    slope_p: float | None
    """One-sided clustered test that right answers grow with distance; Holm over the judge's
    curves.
    """
    fit_p: float | None
    """Clustered test that the curve misses the data."""
    reason: str | None
    points: tuple[CurvePoint, ...] = ()
    floor: float = OF_TWO
    """Where the curve begins: what a guess gets, times the share of replies that were read."""


@dataclass(frozen=True)
class Encoding:
    """One encoding of a task."""

    name: str
    share: Share
    tokens: float | None
    standing: str
    """best, worse, equivalent (at most 5 points behind), open, unknown."""
    common_pairs: int | None
    recommended: bool


@dataclass(frozen=True)
class EncodingDuel:
    """Two encodings on the pairs that were asked in both; ``gap`` = first less second."""

    first: str
    second: str
    gap: Estimate
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True)
class EncodingChoice:
    """The encodings of one task, best first. ``chosen`` is the recommended one's share right, on
    images it was not chosen on.
    """

    task: str
    recommended: str | None
    reason: str | None
    chosen: Share
    cheapest: str | None
    """Where no difference is shown: the cheapest of those shown to be at most 5 points apart."""
    encodings: tuple[Encoding, ...]
    duels: tuple[EncodingDuel, ...]


@dataclass(frozen=True)
class Gain:
    """As how many more images, in parts, twice the pairs, encodings, orders or repeats count:
    ``value``; ``interval``: 95 %.
    """

    name: str
    value: float
    interval: Ends | None


@dataclass(frozen=True)
class Variance:
    """Components of the variance of single verdicts; None where the design does not tell. ``order``
    holds chance too where nothing was repeated.
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
    source: float | None = None
    """The part of ``item`` that pairs of the same two sources share on different images."""
    ends: Mapping[str, Ends | None] = field(default_factory=dict)
    """95 % intervals of the components, by name."""
    gains: tuple[Gain, ...] = ()


@dataclass(frozen=True)
class Facet:
    """Judges, prompts or raters (``name``, so many ``levels``) as sources of variance:
    ``variance`` has them instead of encodings, and pair and encoding together in that of
    pairs.
    """

    name: str
    levels: int
    variance: Variance


@dataclass(frozen=True)
class Shape:
    """Replies that could not be read and look alike."""

    cause: str
    shape: str
    count: int
    example: str
    question: str


@dataclass(frozen=True)
class Unread:
    """What could not be read: failed replies of all question types by cause, and their most common
    shapes.
    """

    n: int
    failed: int
    causes: Mapping[str, int]
    shapes: tuple[Shape, ...]
    extracted: int = 0
    """Of the failed, those that a second reader gave a value; no other figure uses these."""
    accuracy_with_extracted: float | None = None
    """Pairwise accuracy with them; None where there are none."""
    of_probes: int = 0
    """Failed replies to questions that a probe has changed: no other figure here but ``shapes``
    counts them.
    """
    read_by: Mapping[str, int] = field(default_factory=dict)
    """Of what was read, how many replies by which tier (``marked``, ``prose``); runs of older
    versions do not say.
    """


@dataclass(frozen=True)
class OwnScore:
    """A score of a published benchmark, to the ``digits`` that its authors print."""

    name: str
    value: float | None
    """None where none of its questions was asked."""
    digits: int
    lacking: str | None = None
    """How many of its questions in the dataset the run answered, where not all of them."""


@dataclass(frozen=True)
class JudgeResult:
    """Everything about one judge."""

    name: str
    simulated: bool
    run: str | None
    verdicts: int
    expected: int | None
    missing: int | None
    questions: int
    asked_like: int
    """Judges with the same number were asked the same questions; only those are held beside each
    other.
    """
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
    by_margin: tuple[Cell, ...]
    by_task_error_type: tuple[Cell, ...]
    cells: tuple[Cell, ...]
    bias: tuple[Preference, ...]
    sensitivity: tuple[Sensitivity, ...]
    encodings: tuple[EncodingChoice, ...]
    variance: tuple[Variance, ...]
    leaderboard: Leaderboard
    unread: Unread
    own_scores: tuple[OwnScore, ...]
    """On a published benchmark: its own scores."""
    probes: tuple[ProbeResult, ...] = ()
    tool_trust: tuple[ToolTrust, ...] = ()
    photograph: PhotographNeed | None = None
    above_baseline: tuple[Above, ...] = ()
    rater_checks: tuple[RaterChecks, ...] = ()
    """Of a people's run; no other figure counts these verdicts."""

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
    agreement: tuple[Agreement, ...]
    leaks: tuple[Leak, ...]
    dataset: DatasetFacts
    clusters: int
    draws: int
    seed: int
    facets: tuple[Facet, ...] = ()

    @property
    def shown(self) -> tuple[int, ...]:
        """The judges that a report is about: all but a local baseline that the report itself ran,
        which the others are compared with.
        """
        return tuple(i for i, judge in enumerate(self.judges) if judge.info.get("kept", True))

    @property
    def groups(self) -> tuple[tuple[JudgeResult, ...], ...]:
        """All judges by the questions that they were asked: only those of one group can be held
        against each other.
        """
        likes = dict.fromkeys(judge.asked_like for judge in self.judges)
        return tuple(
            tuple(judge for judge in self.judges if judge.asked_like == like) for like in likes
        )
