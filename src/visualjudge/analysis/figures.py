"""Every figure of the analysis as a frozen record.

``metrics.json``, the CSV tables, HTML and the terminal are derived from these records by the lists
of columns in :mod:`visualjudge.analysis.columns`. An :class:`Estimate` always has the number of
images it is based on. If it has no interval, ``why`` gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from visualjudge.analysis.figure_text import NONE, points, with_ends
from visualjudge.analysis.pairwise_figures import OF_TWO, Accuracy, Pairwise, Preference
from visualjudge.analysis.value_and_interval import NOTHING, Ends, Estimate, scaled

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
    """Two judges on the questions, orders and repeats that both answered; ``gap`` is a minus b,
    also ``by_task``, and ``kappa`` Cohen's κ of their answers, where both gave one.
    """

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
    kappa: Estimate = NOTHING


@dataclass(frozen=True)
class Leak:
    """The accuracy of one shallow rule on the dataset itself."""

    scope: str
    rule: str
    share: Estimate
    p: float | None
    p_holm: float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class DatasetFacts:
    """The questions. ``asked`` counts the distinct ones that any judge was asked, ``probed`` those
    of them that a probe changed, which count only in figures of probes; ``where`` has the filters
    on the questions that all figures use, as ``FIELD=VALUE``.
    """

    path: str | None
    questions_sha256: str | None
    version: str | None
    seed: int | None
    questions: int
    images: int
    by_question_type: Mapping[str, int]
    asked: int = 0
    images_asked: int = 0
    probed: int = 0
    where: tuple[str, ...] = ()

    @property
    def extent(self) -> str:
        """How much of the dataset was asked: 300 of 1,514 questions, on 13 of 40 images."""
        asked = (
            f"{_of(self.asked - self.probed, self.questions - self.probed)} questions on "
            f"{_of(self.images_asked, self.images)} images"
        )
        asked += f", and {self.probed:,} more for probes" if self.probed else ""
        return asked + (
            f"; only those with {' and '.join(self.where)}" if self.where else ""
        )


def _of(part: int, whole: int) -> str:
    return f"{whole:,}" if part == whole else f"{part:,} of {whole:,}"


ProbeState = Literal["pass", "fail", "not_shown"]


@dataclass(frozen=True)
class ProbeResult:
    """The effect on a judge of a change that must not matter; see
    :mod:`visualjudge.analysis.probes` for the units. ``example`` is the id of one of its questions;
    ``p_holm`` is that of no effect, adjusted over the probes of the judge, None if nothing was
    measured.
    """

    name: str
    design: str
    effect: Estimate
    margin: float
    state: ProbeState
    failed: int
    example: str
    p_holm: float | None = None


MARGIN = 0.15
"""A gain below this is too small to matter; same value as for probes that change the images."""
LEAST_QUESTIONS = 40
Need = Literal["needed", "not_needed", "not_shown"]


@dataclass(frozen=True)
class Without:
    """The same pairs without their photograph: accuracy with it, accuracy without it, and the
    paired difference with its 90 % interval, ``inner``.
    """

    seen: Estimate
    blind: Estimate
    gain: Estimate
    inner: tuple[float, float] | None
    questions: int


NEEDS: Mapping[Need, str] = {
    "needed": "Needs the photograph",
    "not_needed": "Does not need the photograph",
    "not_shown": "Can’t tell yet whether the judge needs the photograph",
}


@dataclass(frozen=True)
class Photograph:
    """The gain from the photograph, over ``grey`` and over ``other`` photographs (None if not
    asked), in one task or in ``all``.
    """

    task: str
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
        return min(
            (part.gain for part in self.asked), key=lambda gain: gain.value or 0.0
        )

    @property
    def state(self) -> Need:
        """Whether the judge needs the photograph."""
        if min(part.questions for part in self.asked) < LEAST_QUESTIONS:
            return "not_shown"
        if any(
            part.inner is not None and part.inner[1] < MARGIN for part in self.asked
        ):
            return "not_needed"
        lower = [(part.gain.interval or (None,))[0] for part in self.asked]
        return (
            "needed"
            if all(low is not None and low > 0 for low in lower)
            else "not_shown"
        )

    @property
    def sentence(self) -> str:
        """The state and the smaller gain."""
        over = (
            "grey"
            if self.grey and self.least is self.grey.gain
            else "another photograph"
        )
        return (
            f"{NEEDS[self.state]}, {with_ends(self.least, points)} points over {over}."
        )


@dataclass(frozen=True)
class Ranking:
    """Ranking questions: orders of three to five options."""

    failed: int
    tau: Estimate
    exact: Estimate
    top1: Estimate


@dataclass(frozen=True)
class Scoring:
    """Scoring questions: numbers from 0 to 10. ``within`` is the part that reflects the judge's own
    ability: the mean τ-b inside groups of one image, 0 in a group that it cannot tell apart.
    """

    n: int
    failed: int
    within: Estimate
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

    @property
    def graded(self) -> dict[str, Estimate]:
        """The main figures of its ranking and scoring questions, by title."""
        found = {} if self.ranking is None else {"ranking, τ-b": self.ranking.tau}
        if self.scoring is not None:
            found["scoring, τ-b in an image"] = self.scoring.within
            found["scoring, mean error"] = self.scoring.mae
        return found


@dataclass(frozen=True)
class Sensitivity:
    """Accuracy against distance: the fitted curve, and the distance at which it reaches 75 %.

    ``points`` are mean distances, accuracies at them, and their numbers of verdicts; ``floor`` is
    the lower asymptote (accuracy of guessing times the share of replies that were read);
    ``slope_p`` is that of a one-sided clustered test that accuracy increases with distance, by Holm
    over the judge's curves.
    """

    scope: str
    value: str
    against: str
    jnd: Estimate
    alpha: float | None = None
    beta: float | None = None
    lapse: float | None = None
    slope_p: float | None = None
    points: tuple[tuple[float, float, float], ...] = ()
    floor: float = OF_TWO


@dataclass(frozen=True)
class Encoding:
    """One encoding of a task; ``standing`` is best, worse, equivalent (at most 5 points behind),
    open or unknown.
    """

    name: str
    share: Estimate
    tokens: float | None
    standing: str


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
        return replace(
            self, first=self.second, second=self.first, gap=scaled(self.gap, -1)
        )


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
    """Components of the variance of single verdicts: item, encoding, item_x_encoding, order, repeat
    and ``image``, the part of ``item`` that all pairs of an image share; without those that the
    design cannot determine. ``order`` includes chance if nothing was repeated.
    """

    task: str
    n: int
    total: float
    parts: Mapping[str, float]
    ends: Mapping[str, Ends | None]


@dataclass(frozen=True)
class Unread:
    """Failed replies of all question types by cause. For ``extracted`` ones a second reader gave a
    value, which no other figure uses.
    """

    n: int
    failed: int
    causes: Mapping[str, int]
    extracted: int = 0


@dataclass(frozen=True)
class SourceRow:
    """One source as ranked by the judge; strengths are log odds with mean 0 in a ``group``: the
    tasks in which it is compared, with a number if their sources fall into unconnected sets.

    ``bound`` is the finite end of the interval, at 97.5 %, of a source that never lost, or never
    won; ``rank_set`` has the best and the worst rank that it may have at 95 %, by itself;
    ``controlled`` is its strength at equal covariates, if it has an interval.
    """

    source: str
    group: str
    strength: Estimate
    rank: int
    bound: Ends | None
    rank_set: tuple[int, int]
    controlled: Estimate


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
        return tuple(
            (name, tuple(row for row in self.rows if row.group == name))
            for name in names
        )


@dataclass(frozen=True)
class OwnScore:
    """A score of a published benchmark, with the ``digits`` that its authors print; None if none of
    its questions was asked. ``lacking`` says how many the run answered, if not all.
    """

    name: str
    value: float | None
    digits: int
    lacking: str | None = None

    @property
    def shown(self) -> str:
        """The score as its authors print it, with the part that was answered."""
        lacking = f" ({self.lacking})" if self.lacking else ""
        return NONE if self.value is None else f"{self.value:.{self.digits}f}{lacking}"


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
    """All results of one judge. Judges that were asked the same questions have the same number
    ``asked_like``: only those are compared. ``photograph`` has a row for all tasks, then for each.
    """

    name: str
    simulated: bool
    run: str | None
    verdicts: int
    expected: int | None
    missing: int | None
    questions: int
    asked_like: int
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
    probes: tuple[ProbeResult, ...] = ()
    photograph: tuple[Photograph, ...] = ()
    identity: tuple[ServedBy, ...] = ()

    @property
    def title(self) -> str:
        """The name, with a word about judges that know the answers."""
        return f"{self.name} (simulated)" if self.simulated else self.name

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
