"""The card of a judge: may I rank my models with it, overall and by task, and what has it shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from html import escape
from itertools import chain, pairwise

import numpy as np
import polars as pl

from visualjudge.analysis import columns
from visualjudge.analysis.accuracy_cells import guessed, image_sums, pairwise_asked
from visualjudge.analysis.analysing import PAIRED, Analysis, pairwise_figures
from visualjudge.analysis.bias import preference
from visualjudge.analysis.decisions.card_by_benchmark import (
    BENCHMARK,
    BenchmarkRow,
    benchmarks_table,
    rows_of,
)
from visualjudge.analysis.decisions.checks import (
    CHECK,
    LEAST_IMAGES,
    NOT_ASKED,
    THRESHOLDS,
    Check,
    State,
    check,
    checks_table,
    closed,
)
from visualjudge.analysis.decisions.may_rank_models import (
    KIND,
    System,
    level_of,
    sources_table,
    system,
)
from visualjudge.analysis.decisions.model_answer import (
    ANSWER,
    SHORT,
    ModelAnswer,
    model_answer,
)
from visualjudge.analysis.decisions.pairs_of_models import (
    pairs_table,
    resolution,
    separated,
)
from visualjudge.analysis.estimate import too_few
from visualjudge.analysis.figure_text import (
    listed,
    many,
    number3,
    percent,
    percents,
    plain_name,
    span3,
    with_ends,
)
from visualjudge.analysis.figures import JudgeResult
from visualjudge.analysis.identity import moved_between
from visualjudge.analysis.leaks import best_rule
from visualjudge.analysis.pairwise_figures import Pairwise
from visualjudge.analysis.separation import AnswerState
from visualjudge.analysis.statistics import (
    Calibration,
    ConformalRadius,
    calibration,
    conformal_radius,
)
from visualjudge.analysis.study_table import Remarks, Study
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    block,
    blocks,
    grid,
    named,
    of_row,
)
from visualjudge.analysis.value_and_interval import (
    NO_TRUTH,
    NOTHING,
    ORDER_UNKNOWN,
    UNANSWERED,
    Estimate,
)
from visualjudge.analysis.without_truth import in_both_orders
from visualjudge.core.jsons import Json
from visualjudge.core.text_tables import Table, folded

Part = Table | tuple[str, ...]
"""A table of the card, or some of its lines."""
UNTOLD = "favour cannot be told from skill: too few images, or the truth always prefers the same"
NOT_EXACT = "the truth is people’s, or has no margins: its noise would read as favour"
RADIUS_ALPHA = 0.1


@dataclass(frozen=True, eq=False)
class Answer:
    """Whether a judge may rank the sources, by all its questions or those of one task."""

    judge: str
    models: ModelAnswer
    checks: tuple[Check, ...]
    system: System
    task: str = ""

    @property
    def state(self) -> State:
        """The answer as the state of a check, for colours and icons."""
        if self.models.state == "too_few" and not self.models.pairs:
            return "not_measured"
        of_answer: dict[AnswerState, State] = {"yes": "pass", "no": "fail"}
        return of_answer.get(self.models.state, "undecided")

    @property
    def answer(self) -> str:
        """The answer in one sentence, with the judge's name."""
        return f"{self.judge}: {self.models.sentence}"

    @property
    def verdict(self) -> str:
        """The answer in one word: yes, no or unclear."""
        return {"yes": "yes", "no": "no"}.get(self.models.state, "unclear")


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeCard(Answer):
    """One judge: its answer, also by task, its results, and how reliable its probabilities and
    scores are (None where it gives none).
    """

    tasks: tuple[Answer, ...]
    result: JudgeResult
    probabilities: Calibration | None
    score_radius: ConformalRadius | None

    @property
    def remarks(self) -> Remarks:
        """What is wrong with the run."""
        return Remarks(self.result.warnings, self.result.problems)

    @property
    def parts(self) -> Iterator[Part]:
        """What it says: lines and tables."""
        main = self.system.main
        gain = [row.sentence for row in self.result.photograph[:1]]
        yield (self.answer, *gain, *self.remarks.lines)
        yield pairs_table(self.models)
        yield checks_table({self.judge: self.checks})
        if main:
            yield sources_table(main)
        yield tuple(self.descriptions)

    @property
    def descriptions(self) -> Iterator[str]:
        """The order of the sources, probabilities, scores and a benchmark's own scores."""
        yield from (kind.order for kind in self.system.kinds)
        if self.probabilities is not None:
            brier, ece = self.probabilities.brier, self.probabilities.ece_corrected
            yield (
                f"Its probabilities: Brier score {number3(brier.value)} ({span3(brier.interval)}), "
                "expected calibration error, corrected for few answers, "
                f"{number3(ece.value)} ({span3(ece.interval)}), {self.probabilities.n} answers."
            )
        if (radius := self.score_radius) is not None:
            within = f"the score is within {radius.value:.2f} of the truth"
            known = (
                within
                if math.isfinite(radius.value)
                else "no bound is known: too few images"
            )
            yield f"In 90 % of new images, {known} ({many(radius.images, 'image')})."
        for score in self.result.own_scores:
            if score.value is not None:
                yield f"The benchmark's own score, {score.name}: {score.shown}."


@dataclass(frozen=True, eq=False)
class Card:
    """The cards of all judges."""

    judges: tuple[JudgeCard, ...]
    benchmarks: tuple[BenchmarkRow, ...] = ()
    """One row per judge, benchmark and type of question, if the runs are on several datasets."""
    moved: tuple[str, ...] = ()
    """A sentence per two runs of which only the model that answered, or its settings, differ."""

    @property
    def parts(self) -> Iterator[Part]:
        """What it says, with rows: lines and tables."""
        over_all = (benchmarks_table(self.benchmarks), tasks_table(self.judges))
        for part in chain(
            [self.moved], over_all, *(judge.parts for judge in self.judges)
        ):
            if part.rows if isinstance(part, Table) else part:
                yield part

    def _repr_html_(self) -> str:
        return "".join(
            part.html()
            if isinstance(part, Table)
            else "".join(f"<p>{escape(line)}</p>" for line in part)
            for part in self.parts
        )

    def __str__(self) -> str:
        texts = (
            part.text() if isinstance(part, Table) else "\n".join(map(folded, part))
            for part in self.parts
        )
        return "\n\n".join(texts)


@lru_cache(maxsize=1)
def card_of(analysis: Analysis) -> Card:
    """Return the card of an existing analysis."""
    study, results = analysis.study, analysis.results.judges
    cards = tuple(_judge(study, run, result) for run, result in enumerate(results))
    moved = tuple(line for two in pairwise(results) for line in moved_between(*two))
    return Card(cards, tuple(rows_of(study)), moved)


def _judge(study: Study, run: int, result: JudgeResult) -> JudgeCard:
    place = next(
        (row.estimate for row in result.bias if row.feature == "position"), NOTHING
    )
    whole = answer_of(study, run, result.pairwise, place, proven(result))
    names = [cell.name for cell in result.by_task]
    alone = (replace(whole, task=names[0]),) if len(names) == 1 else None
    return JudgeCard(
        whole.judge,
        whole.models,
        whole.checks,
        whole.system,
        tasks=alone or tuple(_task(study, run, name, len(names)) for name in names),
        result=result,
        probabilities=_probabilities(study, run),
        score_radius=_radius(study, run),
    )


def _task(study: Study, run: int, task: str, tasks: int) -> Answer:
    """Return the answer from the questions of one of ``tasks``."""
    table = study.joined[run].filter(pl.col("task") == task)
    own = replace(study, runs=(replace(study.runs[run], answered=table),))
    pairs, unknown = own.kind(0, "pairwise", PAIRED), study.lacks_truth(run)
    pairwise = pairwise_figures(
        pairs,
        guessed(pairwise_asked(own, 0)),
        order_shown=study.runs[run].order_shown,
        truth=not unknown,
    )
    place = preference(
        (in_both_orders(pairs) if unknown else pairs).filter("usable"), "position"
    )
    found = answer_of(own, 0, pairwise, place.estimate, tasks=tasks)
    return replace(found, task=task)


def answer_of(
    study: Study,
    run: int,
    pairwise: Pairwise,
    place: Estimate,
    qualifiers: Sequence[str] = (),
    tasks: int = 1,
) -> Answer:
    """Return the answer from the figures of pairs, the position bias ``place`` and the order of
    the sources; ``qualifiers`` are what else is proven. It is one of ``tasks`` by task, or of all.
    """
    level = level_of(study, run) if tasks == 1 else 0.5 / tasks
    ordered, order_shown = system(study, run, level), study.runs[run].order_shown
    measured = {
        "macro_accuracy": _measured(pairwise.macro, pairwise),
        "right_in_both_orders": _measured(
            pairwise.swap.right_in_both, pairwise, order_shown
        ),
        "lean": _measured(place, pairwise, order_shown),
    }
    constant = ""
    if pairwise.constant is not None and measured["macro_accuracy"].value is not None:
        constant = f"a constant answer is right in {percent(pairwise.constant)}"
    notes = {"macro_accuracy": constant}
    lines = [
        check(name, found, notes.get(name, "")) for name, found in measured.items()
    ]
    checks = (*lines, _failed(study, run), _favour(ordered))
    failing = [line.failing for line in checks if line.state == "fail"]
    models = model_answer(
        ordered.models,
        max(lines[0].images, ordered.images),
        _accuracy(pairwise),
        why=ordered.why,
        unskilled=_unskilled(pairwise),
        qualifiers=(*failing, *qualifiers),
    )
    return Answer(study.runs[run].name, models, checks, ordered)


def _measured(
    found: Estimate, pairwise: Pairwise, order_shown: bool = True
) -> Estimate:
    """Return a figure of pairs, or why it was not measured."""
    if not pairwise.questions:
        return NOT_MEASURED
    if not order_shown:
        return replace(NOT_MEASURED, why=ORDER_UNKNOWN)
    if pairwise.accuracy.none:
        return Estimate(None, None, 0, pairwise.accuracy.share.images, UNANSWERED)
    if found.value is not None and found.n:
        return found
    return replace(NOT_MEASURED, why=NO_TRUTH if found.why == NO_TRUTH else NOT_ASKED)


NOT_MEASURED = Estimate(None, None, 0, 0, NOT_ASKED)


def _accuracy(pairwise: Pairwise) -> str | None:
    share = pairwise.accuracy.shown
    if share.value is None or not share.n:
        return None
    interval = f" ({percents(share.interval)})" if share.interval else ""
    return f"{percent(share.value)}{interval} of {many(share.n, 'pair')}"


def _unskilled(pairwise: Pairwise) -> str | None:
    """Say that the judge is proven to be no better than chance; or than a constant answer, where
    one would pass the check of accuracy. A reply that was not read is no wrong choice.
    """
    accuracy, ends = _accuracy(pairwise), closed(pairwise.accuracy.parsed.interval)
    if accuracy is None or ends is None:
        return None
    least, than, constant = pairwise.chance, "chance", pairwise.constant
    required = THRESHOLDS["macro_accuracy"]
    if constant is not None and required.state((constant, constant)) == "pass":
        least, than = constant, f"a constant answer ({percent(constant)})"
    return (
        f"it is right in {accuracy}, which is no better than {than}"
        if ends[1] <= least
        else None
    )


def _failed(study: Study, run: int) -> Check:
    """Check the share of unusable replies, over all kinds of questions. Without failures, a note
    says how many images may fail as a whole.
    """
    table = study.joined[run]
    if table.is_empty():
        return check("failed", NOT_MEASURED)
    sums = image_sums(table, (), {"failed": ~pl.col("usable"), "all": pl.lit(1.0)})
    share = sums.shares("failed", "all")[0]
    ends = closed(share.interval)
    if share.value or ends is None:
        return check("failed", share)
    may = f"all replies may fail on up to {percent(ends[1])} of images"
    return check("failed", share, f"no reply failed here, but {may}")


def _favour(ordered: System) -> Check:
    """Check by how many ranks favouritism moves a source, if the favour is significant."""
    main = ordered.main
    if main is None or all(row.bias.p is None for row in main.sources):
        unknown = f"each source is on {too_few()}"
        if main is not None:
            unknown = UNTOLD if main.exact else NOT_EXACT
        return check("favour", replace(NOT_MEASURED, why=ordered.why or unknown))
    value, note = main.moved()
    ranks = Estimate(value, None, len(main.models.pairs), main.models.images)
    return check("favour", ranks, note, tested=True)


def _probabilities(study: Study, run: int) -> Calibration | None:
    """Return how well stated probabilities match the share of right answers."""
    told = study.kind(run, "pairwise", ("probability_a", "answer", "cluster")).filter(
        pl.col("probability_a").is_between(0, 1) & pl.col("answer").is_in(["A", "B"])
    )
    if told.is_empty():
        return None
    happened = (told["answer"] == "A").cast(pl.Float64).to_numpy()
    return calibration(
        told["probability_a"].to_numpy(),
        happened,
        told["cluster"].to_numpy(),
        seed=study.seed,
    )


def _radius(study: Study, run: int) -> ConformalRadius | None:
    """Return the largest distance of a new image's score from the truth, in nine of ten cases."""
    scored = study.kind(
        run, "scoring", ("usable", "number", "truth", "cluster")
    ).filter(pl.col("usable") & pl.col("truth").is_not_null())
    if scored.is_empty():
        return None
    residuals = np.asarray((scored["number"] - scored["truth"]).to_numpy(), dtype=float)
    return conformal_radius(residuals, RADIUS_ALPHA, scored["cluster"].to_numpy())


def proven(result: JudgeResult) -> list[str]:
    """Return what probes prove about a judge, as qualifications of its answer."""
    told = []
    if result.photograph and result.photograph[0].state == "not_needed":
        told.append("it does not need the photograph")
    failed = [row.name for row in result.probes if row.state == "fail"]
    if failed:
        told.append(f"it fails {listed([f'the probe “{name}”' for name in failed], 2)}")
    return told


def gamed(analysis: Analysis) -> str:
    """That a rule which never looks at the image reaches the accuracy that a judge must show; empty
    where none does.
    """
    best = best_rule(
        row for row in analysis.results.leaks if row.scope == "all" and row.flagged
    )
    if best is None or (best.share.value or 0.0) < THRESHOLDS["macro_accuracy"].value:
        return ""
    return (
        f"These questions can be gamed: “{best.rule}” is right in "
        f"{with_ends(best.share)} of the {best.share.n:,} questions that it can "
        f"decide, without using the image. A similar accuracy of a judge does not "
        f"show that the judge uses the image."
    )


CALIBRATION = Layout[Calibration](
    Column("brier", "brier.value"),
    Column("brier_ci95", "brier.interval"),
    Column("ece", "ece.value"),
    Column("ece_ci95", "ece.interval"),
    Column("ece_corrected", "ece_corrected.value"),
    *as_named("n", "images"),
    Column("bins", lambda found: [asdict(one) for one in found.bins]),
)
AS_BEFORE = (
    *as_named("state", "verdict"),
    Column(
        "needs_images", lambda found: (found.models.needs_images or (None, None))[1]
    ),
    blocks("checks", CHECK),
)
"""The keys of 1.0, filled from the answer."""
CARD_OF_TASK = Layout[Answer](
    *AS_BEFORE, Column("answer", "verdict"), Column("said", "answer")
)
TASK = Layout[Answer](
    Column(None, "judge", "Judge"),
    named("task", "Task", plain_name, text=True),
    Column(None, "models.state", "May I rank models?", SHORT.__getitem__, text=True),
    Column(None, "models", "Pairs separated", separated),
    Column(None, "models", "Resolution", resolution),
    of_row("Accuracy", lambda task: task.checks[0].shown),
    block("answer", ANSWER, "models"),
    Column("card", CARD_OF_TASK.json),
)


def tasks_table(judges: Sequence[JudgeCard]) -> Table:
    """Return the answer of each judge for each task; without rows if there is only one task."""
    several = any(len(judge.tasks) > 1 for judge in judges)
    rows = [task for judge in judges for task in judge.tasks if several]
    note = "The answer for a task uses only its own questions, the overall answer all questions."
    return grid(TASK, rows, title="By task", notes=[note], keys=2)


def _system(judge: JudgeCard) -> Json:
    ordered = judge.system
    main = KIND.json(ordered.main) if ordered.main else {"kind": None, "sources": []}
    return {**main, "by_kind": {kind.kind: KIND.json(kind) for kind in ordered.kinds}}


def _probable(judge: JudgeCard) -> Json | None:
    found = judge.probabilities
    return None if found is None else CALIBRATION.json(found)


PROBABILITIES = Column("probabilities", _probable)
"""How often stated probabilities come true; None without probabilities."""
IN_METRICS = Layout[JudgeCard](
    block("answer", ANSWER, "models"), blocks("tasks", TASK), PROBABILITIES
)
JUDGE = Layout[JudgeCard](
    *as_named("judge", "answer"),
    *(Column(name, f"result.{name}") for name in ("simulated", "expected", "missing")),
    *(Column(name, f"remarks.{name}") for name in ("warnings", "problems")),
    *AS_BEFORE,
    block("models", ANSWER),
    blocks("tasks", TASK),
    Column("system", _system),
    Column(
        "as_published", lambda j: {one.name: one.value for one in j.result.own_scores}
    ),
    Column(
        "as_published_of",
        lambda j: {one.name: one.lacking for one in j.result.own_scores if one.lacking},
    ),
    PROBABILITIES,
    Column("photograph", lambda j: columns.photograph(j.result.photograph)),
    Column("score_radius", lambda j: j.score_radius and asdict(j.score_radius)),
)
CARD = Layout[Card](
    blocks("judges", JUDGE),
    Column("least_images", lambda _: LEAST_IMAGES),
    blocks("benchmarks", BENCHMARK),
    *as_named("moved"),
)
"""The card in files."""
