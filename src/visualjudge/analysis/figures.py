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
from typing import Any, Literal

from visualjudge.analysis.pairwise_figures import OF_TWO, Accuracy, Pairwise, Preference
from visualjudge.analysis.source_figures import Leaderboard
from visualjudge.analysis.value_and_interval import Ends, Estimate, Share, column

NO_PROOF = "baseline below chance"
UNDECIDED = "undecided"
LEVEL = 0.05


@dataclass(frozen=True)
class Above:
    """How far a judge is above the local baseline on the questions that it did not decline; ``gap``
    = judge less it.
    """

    baseline: str
    scope: str
    """``all``, ``task`` or ``error_type``."""
    value: str
    gap: Estimate
    p: float | None
    declined: int
    """Verdicts of the judge that have none of the baseline beside them."""
    chance: float
    """What guessing gets of the judge's questions."""
    baseline_right: float | None = None
    """Share of these verdicts in which the baseline is right."""
    p_holm: float | None = None
    """``p`` by Holm over the tasks and error types; None of all questions, which are no one of
    several.
    """

    @property
    def below_chance(self) -> bool:
        """Whether the baseline is right less often than a guess: to be above it proves nothing."""
        return self.baseline_right is not None and self.baseline_right < self.chance

    @property
    def standing(self) -> str:
        """What the interval shows; of one of several tasks or error types, the adjusted test must
        show it too.
        """
        low, high = self.gap.interval or (None, None)
        if low is None or high is None:
            return "cannot be told"
        if self.p_holm is not None and self.p_holm >= LEVEL:
            return UNDECIDED
        if low > 0:
            return NO_PROOF if self.below_chance else "better"
        return "worse" if high < 0 else UNDECIDED


@dataclass(frozen=True)
class TaskGap:
    """The same two judges in one task; ``p_holm``: by Holm over all tasks and pairs of judges."""

    task: str
    gap: Estimate
    p: float | None
    p_holm: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Two judges on the questions, orders and repeats that both answered; ``gap`` = a less b."""

    a: str
    b: str
    questions: int
    verdicts: int
    accuracy_a: float | None
    accuracy_b: float | None
    gap: Estimate
    p: float | None
    only_a_right: int | None
    only_b_right: int | None
    design_effect: float | None
    needed: int | None
    """Verdicts that would show the gap seen (5 %, power 80 %)."""
    more_needed: int | None
    asked_gap: float
    """The gap that ``images_needed`` is for."""
    images_needed: int | None
    images_range: Ends | None
    more_images: int | None
    p_holm: float | None = None
    by_task: tuple[TaskGap, ...] = ()
    """The gap in each task of the common questions."""


@dataclass(frozen=True)
class RaterChecks:
    """How a rater did on what was asked to check them. ``turned``: repeats that were shown in the
    other order.
    """

    rater: str
    known: int
    known_right: int
    repeats: int
    same: int
    turned: int
    same_turned: int


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's α among judges that were asked the same questions."""

    kind: str
    level: str
    names: tuple[str, ...]
    alpha: Estimate


@dataclass(frozen=True)
class Leak:
    """How often one shallow rule is right on the dataset itself."""

    scope: str
    rule: str
    share: Share
    p: float | None
    p_holm: float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class DatasetFacts:
    """What was asked."""

    path: str | None
    questions_sha256: str | None
    version: str | None
    seed: int | None
    questions: int
    images: int
    by_question_type: Mapping[str, int]
    prompts: tuple[str, ...] = ()
    asked: int = 0
    """Different questions that any judge was asked."""
    images_asked: int = 0
    probed: int = 0
    """Of the questions asked, those that a probe has changed: only figures of probes count them."""
    where: tuple[str, ...] = ()
    """The questions that all figures are of, as ``FIELD=VALUE``; empty: all."""

    @property
    def extent(self) -> str:
        """300 of 1,514 questions, on 13 of 40 images: what was asked of what is there."""
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
    """How far a change that must not matter moves a judge; see :mod:`visualjudge.analysis.probes`
    for the units.
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
    """p of an effect of 0, by Holm over the probes of the judge; None where nothing is measured."""


@dataclass(frozen=True)
class ToolTrust:
    """How often a judge follows a tool that claims ``confidence`` (0..1): one that is wrong, and
    one that is right.
    """

    probe: str
    confidence: float
    wrong_tool: Share
    right_tool: Share


MARGIN = 0.15
"""A gain below this is too small to matter, as for probes that change the images."""
LEAST_QUESTIONS = 40
Need = Literal["needed", "not_needed", "not_shown"]


@dataclass(frozen=True)
class Without:
    """The same pairs without their photograph: accuracy with it, without it, and the paired
    difference.
    """

    seen: Share
    blind: Share
    gain: Estimate
    inner: tuple[float, float] | None
    """The 90 % interval of ``gain``."""
    questions: int


@dataclass(frozen=True)
class Photograph:
    """What a judge gains from the photograph, over ``grey`` and over ``other`` photographs; None:
    was not asked.
    """

    task: str
    """``all`` for all tasks together."""
    grey: Without | None
    other: Without | None

    @property
    def asked(self) -> tuple[Without, ...]:
        """What was shown in place of the photograph, grey first."""
        return tuple(part for part in (self.grey, self.other) if part is not None)

    @property
    def first(self) -> Without:
        """The one whose gain tables have."""
        return self.asked[0]

    @property
    def least(self) -> Estimate:
        """The smaller gain: a judge that needs the photograph has one over both."""
        return min((part.gain for part in self.asked), key=lambda gain: gain.value or 0.0)

    @property
    def questions(self) -> int:
        """The number of questions, the smaller one of the two."""
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
    """The same of all tasks together and of each."""

    all: Photograph
    by_task: tuple[Photograph, ...]


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
    def order_shown(self) -> bool:
        """Whether the order in which the options were shown is known."""
        return self.info.get("order_shown") is not False

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
