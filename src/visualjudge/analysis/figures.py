"""Every figure of the analysis as a frozen record; nothing here computes, and nothing here formats.

``metrics.json``, the CSV tables, Markdown, HTML and the terminal are derived from these records by the lists of
columns in :mod:`visualjudge.analysis.columns`: a new statistic is one function that fills a field, and one column.

An :class:`Estimate` never comes without the number of images behind it. Where it has no interval, ``why`` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from visualjudge.analysis.comparison_figures import NO_PROOF as NO_PROOF
from visualjudge.analysis.comparison_figures import Above as Above
from visualjudge.analysis.comparison_figures import Agreement as Agreement
from visualjudge.analysis.comparison_figures import Comparison as Comparison
from visualjudge.analysis.dataset_figures import DatasetFacts as DatasetFacts
from visualjudge.analysis.dataset_figures import Leak as Leak
from visualjudge.analysis.estimates import NO_SHARE as NO_SHARE
from visualjudge.analysis.estimates import NOTHING as NOTHING
from visualjudge.analysis.estimates import UNANSWERED as UNANSWERED
from visualjudge.analysis.estimates import Ends as Ends
from visualjudge.analysis.estimates import Estimate as Estimate
from visualjudge.analysis.estimates import Share as Share
from visualjudge.analysis.probe_figures import ProbeResult as ProbeResult
from visualjudge.analysis.probe_figures import ToolTrust as ToolTrust


@dataclass(frozen=True)
class Accuracy:
    """Pairwise verdicts of one cell. A reply that failed is wrong in ``share`` and left out of ``parsed``."""

    share: Share
    failed: int
    upper_bound: float | None
    """The share had every failed reply been right."""
    parsed: Share
    answered_a: float | None
    """Share of the usable replies that chose the option shown first."""
    causes: Mapping[str, int]
    """Failed replies by cause."""

    @property
    def shown(self) -> Share:
        """``share`` as reports show it: without a value where no verdict has an answer to be right or wrong."""
        return replace(NO_SHARE, n=self.share.n, images=self.share.images, why=UNANSWERED) if self.none else self.share

    @property
    def none(self) -> bool:
        """Whether verdicts are there and none has an answer."""
        return 0 < self.share.n == self.failed


@dataclass(frozen=True)
class Swap:
    """Questions asked in both orders. One without an answer in one of them is not consistent; one without an answer on
    purpose in both says nothing of consistency and is left out.
    """

    consistency: Share
    consistency_parsed: float | None
    right_in_both: Share
    always_first: int
    always_second: int
    p: float | None
    """Clustered test of "first place both times" against "second place both times"."""
    withheld: int = 0
    """Questions that the judge declined, or could not tell, in both orders."""


@dataclass(frozen=True)
class Preference:
    """How a judge leans to one feature, compared at equal difficulty: 0 = fair, ±½ = looks at nothing else."""

    feature: str
    leans_to: str
    chosen: float | None
    estimate: Estimate
    p: float | None
    p_holm: float | None = None
    flagged: bool = False
    crude: float | None = None
    """The same without comparing at equal difficulty."""


@dataclass(frozen=True)
class Pairwise:
    """All pairwise verdicts of one judge."""

    accuracy: Accuracy
    questions: int
    macro: Share
    """Mean over tasks of the share right."""
    position_p: float | None
    """Exact binomial p of "the first option" against ½, verdicts as if independent."""
    swap: Swap
    published: Mapping[str, Share]
    """As well-known benchmarks print it, by key of :data:`visualjudge.analysis.published.RULES`."""


@dataclass(frozen=True)
class Ranking:
    """Ranking questions: orders of three to five options."""

    failed: int
    tau: Estimate
    tau_bounds: Ends | None
    exact: Share
    exact_bounds: Ends | None
    top1: Share
    top1_bounds: Ends | None
    cannot_tell: int = 0
    """Of the failed, those by which a person says that they cannot tell."""


@dataclass(frozen=True)
class Scoring:
    """Scoring questions: numbers from 0 to 10. ``within`` (inside one image) is what a judge can be credited with."""

    n: int
    failed: int
    within: Estimate
    """Mean τ-b inside groups of one image; a group that the judge cannot tell apart counts as 0."""
    spearman: Estimate
    spearman_if_failed: Ends | None
    pearson: Estimate
    mae: Estimate
    mae_bounds: Ends | None
    bias: Estimate
    bias_bounds: Ends | None
    cannot_tell: int = 0
    """As of a ranking."""


@dataclass(frozen=True)
class Cell:
    """One task, encoding, error type or margin: ``keys`` in the order of its table's key columns."""

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
    """Right answers against distance: the fitted curve, and where it is 75 % right or the ``reason`` why not."""

    scope: str
    value: str
    against: str
    jnd: Estimate
    alpha: float | None
    beta: float | None
    lapse: float | None
    slope_p: float | None
    """One-sided clustered test that right answers grow with distance; Holm over the judge's curves."""
    fit_p: float | None
    """Clustered test that the curve misses the data."""
    reason: str | None
    points: tuple[CurvePoint, ...] = ()


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
    """The encodings of one task, best first. ``chosen`` is the recommended one's share right, on images it was not
    chosen on."""

    task: str
    recommended: str | None
    reason: str | None
    chosen: Share
    cheapest: str | None
    """Where no difference is shown: the cheapest of those shown to be at most 5 points apart."""
    encodings: tuple[Encoding, ...]
    duels: tuple[EncodingDuel, ...]


@dataclass(frozen=True)
class Variance:
    """Components of the variance of single verdicts; None where the design does not tell. ``order`` holds chance too
    where nothing was repeated."""

    task: str
    n: int
    item: float | None
    encoding: float | None
    item_x_encoding: float | None
    order: float | None
    repeat: float | None
    total: float
    shares: Mapping[str, float | None]


@dataclass(frozen=True)
class SourceRow:
    """One source as the judge ranks it and as the truth does; strengths are log odds, mean 0 in a component."""

    source: str
    component: int
    strength: Estimate
    true_strength: float | None
    mean_score: float | None
    rank: int = 0
    true_rank: int = 0


@dataclass(frozen=True)
class Leaderboard:
    """The sources, strongest first. ``regularised``: some source won or lost everything, so half a game is added."""

    rows: tuple[SourceRow, ...]
    n: int
    components: int
    regularised: bool
    ties: int
    log_tie: float | None
    spearman: float | None
    kendall_tau: float | None


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
    """What could not be read: failed replies of all question types by cause, and their most common shapes."""

    n: int
    failed: int
    causes: Mapping[str, int]
    shapes: tuple[Shape, ...]
    extracted: int = 0
    """Of the failed, those that a second reader gave a value; no other figure uses these."""
    accuracy_with_extracted: float | None = None
    """Pairwise accuracy with them; None where there are none."""


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
    """Judges with the same number were asked the same questions; only those are held beside each other."""
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
    as_published: Mapping[str, float | None]
    """On a published benchmark: its own scores by name, to the digits that its authors print."""
    probes: tuple[ProbeResult, ...] = ()
    tool_trust: tuple[ToolTrust, ...] = ()
    above_baseline: tuple[Above, ...] = ()


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

    @property
    def shown(self) -> tuple[int, ...]:
        """Which judges a report is about: the real ones, the others stand in its appendix; all where none is real."""
        every = tuple(range(len(self.judges)))
        return tuple(i for i in every if not self.judges[i].simulated) or every

    @property
    def groups(self) -> tuple[tuple[JudgeResult, ...], ...]:
        """All judges by the questions that they were asked: only those of one group can be held against each other."""
        likes = dict.fromkeys(judge.asked_like for judge in self.judges)
        return tuple(tuple(judge for judge in self.judges if judge.asked_like == like) for like in likes)

    @property
    def appendix(self) -> tuple[JudgeResult, ...]:
        """The simulated judges beside real ones."""
        return tuple(judge for i, judge in enumerate(self.judges) if i not in self.shown)
