"""The card of a judge: may I rank my models with it, overall and by task, and what has
it shown. Its checks are in ``checks.py``; its text for terminal and page, in
``report/card.py``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from visualjudge.analysis.accuracy_cells import (
    guessed,
    pairwise_asked,
)
from visualjudge.analysis.decisions.checks import (
    NOT_ASKED,
    THRESHOLDS,
    Check,
    State,
    check,
    closed,
)
from visualjudge.analysis.decisions.consistency import consistency
from visualjudge.analysis.decisions.model_answer import (
    ORDER,
    SIGN_OF,
    ModelAnswer,
    Reason,
    Reasons,
    disproven,
    model_answer,
    qualified,
    with_failed,
)
from visualjudge.analysis.decisions.pair_answer import pair_answer
from visualjudge.analysis.decisions.score_answer import (
    ScoreAnswer,
    score_answer,
)
from visualjudge.analysis.decisions.source_order import (
    SourceOrder,
    level_of,
    source_order,
)
from visualjudge.analysis.estimate import too_few
from visualjudge.analysis.figure_text import (
    listed,
    lower_first,
    many,
    percent,
    plain_name,
    with_ends,
)
from visualjudge.analysis.figures.accuracy import PAIRWISE, pairwise_figures
from visualjudge.analysis.figures.bias import BIAS, in_both_orders, preference
from visualjudge.analysis.figures.photograph import (
    NEEDS,
    PHOTOGRAPH,
    Need,
    Photograph,
)
from visualjudge.analysis.figures.probes import (
    PROBES,
    in_all,
    probe_results,
)
from visualjudge.analysis.figures.reasons import RIGHT_REASON
from visualjudge.analysis.figures.tasks_and_encodings import BY_TASK
from visualjudge.analysis.image_sums import image_sums
from visualjudge.analysis.pairwise_verdicts import NO_REPLY, Pairwise
from visualjudge.analysis.results import PAIRED, JudgeResult
from visualjudge.analysis.separation import NO_PAIRS, AnswerState
from visualjudge.analysis.statistics.score_bar import Level
from visualjudge.analysis.study_shape import Shape, shape_of
from visualjudge.analysis.study_table import Remarks, Study
from visualjudge.analysis.value_and_interval import (
    NO_TRUTH,
    NOTHING,
    ORDER_UNKNOWN,
    UNANSWERED,
    Estimate,
)

UNTOLD = (
    "favour cannot be told from skill: too few images, or the truth always "
    "prefers the same"
)
NOT_EXACT = (
    "the truth is people’s, or has no margins: its noise would read as favour"
)


OF_PAIRS = ("macro_accuracy", "right_in_both_orders", "lean")
UNMEASURED: Mapping[Shape, Sequence[str]] = {
    "scores": (*OF_PAIRS, "favour"),
    "unnamed_pairs": ("favour",),
    "controlled_errors": ("favour",),
    "no_truth": ("macro_accuracy", "right_in_both_orders", "favour"),
    "probes": (*OF_PAIRS, "favour"),
}
"""Checks that a shape has no figure of."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Whether a judge may rank the sources, by all its questions or those of one
    task."""

    judge: str
    models: ModelAnswer
    checks: tuple[Check, ...]
    system: SourceOrder
    task: str = ""

    @property
    def state(self) -> State:
        """The answer as the state of a check, for colours and icons."""
        if self.models.state == "too_few" and self.models.word == "Not known":
            return "not_measured"
        of_answer: dict[AnswerState, State] = {"yes": "pass", "no": "fail"}
        return of_answer.get(self.models.state, "undecided")

    @property
    def answer(self) -> ModelAnswer:
        """The answer, as ``card --json`` has it; as a text it is its sentence."""
        return self.models

    @property
    def sentence(self) -> str:
        """The answer in one sentence, with the judge's name."""
        return f"{self.judge}: {self.models.sentence}"

    @property
    def verdict(self) -> str:
        """The answer in one word: yes, no or unclear."""
        return {"yes": "yes", "no": "no"}.get(self.models.state, "unclear")


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeCard(Answer):
    """One judge: its answer, also by task, and its figures."""

    tasks: tuple[Answer, ...]
    result: JudgeResult

    @property
    def scores(self) -> ScoreAnswer | None:
        """What its scores answer, in a study of scores."""
        if self.models.shape != "scores":
            return None
        return score_answer(
            self.result.study, self.result.index, self.result.study.bar
        )

    @property
    def shown_checks(self) -> tuple[Check, ...]:
        """The checks that can be measured in a study of its shape."""
        hidden = UNMEASURED.get(self.models.shape, ())
        return tuple(
            line
            for line in self.checks
            if line.name not in hidden
            and (line.name != "photograph" or line.value is not None)
        )

    @property
    def remarks(self) -> Remarks:
        """What is wrong with the run."""
        return Remarks(self.result.warnings, self.result.problems)


def judge_card(judge: JudgeResult) -> JudgeCard:
    """Return the answer of one judge, also by task."""
    study = judge.study
    run = judge.index
    place = next(
        (row.estimate for row in judge[BIAS] if row.feature == "position"),
        NOTHING,
    )
    whole = answer_of(
        study,
        run,
        judge[PAIRWISE],
        place,
        judge[PHOTOGRAPH],
        proven(judge),
    )
    names = [cell.name for cell in judge[BY_TASK]]
    tasks = (
        (replace(whole, task=names[0]),)
        if len(names) == 1
        else tuple(
            _task(study, run, name, len(names), judge[PHOTOGRAPH])
            for name in names
        )
    )
    opposite = _opposite(tasks)
    models = replace(
        whole.models,
        verdict="Yes, but the order differs by task"
        if opposite and whole.models.state == "yes"
        else _by_task(whole.models, tasks),
        sentence=whole.models.sentence + f" But {opposite}." * bool(opposite),
        reasons=(
            *whole.models.reasons,
            *[Reason("–", opposite)] * bool(opposite),
        ),
    )
    return JudgeCard(
        whole.judge,
        models,
        whole.checks,
        whole.system,
        tasks=tasks,
        result=judge,
    )


def _by_task(whole: ModelAnswer, tasks: Sequence[Answer]) -> str:
    """Return the verdict; by task if the ``whole`` is neither yes nor no, and only some
    tasks are."""
    groups: dict[str, list[str]] = {}
    for task in sorted(tasks, key=lambda own: ORDER.index(own.models.state)):
        groups.setdefault(task.models.word, []).append(plain_name(task.task))
    decided = {"Yes", "No"}
    if decided.isdisjoint(groups) or whole.word in decided or len(groups) < 2:
        return whole.verdict
    parts = (f"{lower_first(w)} for {listed(t, 1)}" for w, t in groups.items())
    return f"{whole.word}: {', '.join(parts)}"


def _opposite(tasks: Sequence[Answer]) -> str:
    """Say which models the truth puts in opposite orders in two tasks, by the tests of
    each: over both, the task with more images has its way.
    """
    orders = {
        (pair.a, pair.b)[:: pair.truth_order]: plain_name(task.task)
        for task in tasks
        for pair in task.models.pairs
        if pair.truth_order
    }
    opposite = [
        f"{a} above {b} for {task}, but below it for {orders[b, a]}"
        for (a, b), task in orders.items()
        if a < b and (b, a) in orders
    ]
    more = f" (and so {many(len(opposite) - 1, 'more pair')})" * (
        len(opposite) > 1
    )
    return (
        f"the truth puts {opposite[0]}{more}: read each task alone"
        if opposite
        else ""
    )


def _too_low(study: Study, run: int) -> list[str]:
    """Say for which tasks the accuracy is proven to be too low; they share the
    level."""
    low = [
        f"{plain_name(task.task)} ({percent(task.accuracy.value)})"
        for task in pair_answer(study, run, study.bar).tasks
        if check("macro_accuracy", task.tested[0]).state == "fail"
    ]
    required = percent(THRESHOLDS["macro_accuracy"].value, 0)
    return [f"its accuracy is below {required} for {listed(low)}"] * bool(low)


def _task(
    study: Study,
    run: int,
    task: str,
    tasks: int,
    photograph: Sequence[Photograph],
) -> Answer:
    """Return the answer from the questions of one of ``tasks``."""
    table = study.joined[run].filter(pl.col("task") == task)
    own = replace(study, runs=(replace(study.runs[run], answered=table),))
    pairs = own.kind(0, "pairwise", PAIRED)
    pairwise = pairwise_figures(
        pairs,
        guessed(pairwise_asked(own, 0)),
        order_shown=study.runs[run].order_shown,
    )
    place = preference(
        (in_both_orders(pairs) if own.lacks_truth(0) else pairs).filter(
            "usable"
        ),
        "position",
    )
    needs = [row for row in photograph if row.task == task]
    answer = answer_of(own, 0, pairwise, place.estimate, needs, tasks=tasks)
    return replace(answer, task=task)


def answer_of(
    study: Study,
    run: int,
    pairwise: Pairwise,
    place: Estimate,
    photograph: Sequence[Photograph] = (),
    qualifiers: Sequence[str] = (),
    tasks: int = 1,
) -> Answer:
    """Return the answer from the figures of pairs, the position bias ``place`` and the
    order of the sources; ``photograph`` is what it gains from that, ``qualifiers``
    what else is proven. It is one of ``tasks`` by task, or of all.
    """
    level = level_of(study, run) if tasks == 1 else 0.5 / tasks
    ordered = source_order(study, run, level)
    order_shown = study.runs[run].order_shown
    in_both = pairwise.swap.right_in_both
    checks = (
        replace(
            check("macro_accuracy", _measured(pairwise.macro, pairwise)),
            of_tasks=study.joined[run]["task"].n_unique() > 1,
        ),
        check(
            "right_in_both_orders", _measured(in_both, pairwise, order_shown)
        ),
        check("lean", _measured(place, pairwise, order_shown)),
        _failed(study, run),
        _favour(ordered),
        _photograph(photograph),
    )
    shape = shape_of(study, run)
    # other shapes state the accuracy in their sentence
    counted = checks if shape == "named_pairs" else checks[1:]
    failing = [line.failing for line in counted if line.state == "fail"]
    if (
        shape == "named_pairs"
        and checks[0].of_tasks
        and checks[0].state in ("pass", "undecided")
    ):
        failing += _too_low(study, run)
    proved = (*failing, *qualifiers)
    models = (
        model_answer(
            ordered.models,
            max(checks[0].images, ordered.images),
            _accuracy(pairwise),
            why=ordered.why,
            unskilled=_unskilled(pairwise),
            qualifiers=proved,
        )
        if shape == "named_pairs"
        else _of_shape(study, run, shape, pairwise, proved)
    )
    return Answer(study.runs[run].name, models, checks, ordered)


def _of_shape(
    study: Study,
    run: int,
    shape: Shape,
    pairwise: Pairwise,
    qualifiers: Sequence[str],
) -> ModelAnswer:
    """Return the answer of a study that compares no named models, by its ``shape``."""
    state: AnswerState = "too_few"
    if shape == "no_truth":
        sentence = consistency(study, run, pairwise)
        reasons: Reasons = (
            Reason("?", sentence.partition(": ")[2] or sentence),
        )
    elif shape == "probes":
        state, sentence, reasons = _of_probes(study, run)
        qualifiers = ()  # its reason names the probes that fail
    else:
        answered = score_answer if shape == "scores" else pair_answer
        own = answered(study, run, study.bar)
        state = own.state
        sentence = own.sentence
        reasons = own.reasons
    return ModelAnswer(
        **vars(NO_PAIRS),
        state=state,
        sentence=qualified(state, sentence, qualifiers),
        shape=shape,
        verdict=with_failed(state, sentence.partition(":")[0], qualifiers),
        reasons=(*reasons, *disproven(qualifiers)),
    )


def _of_probes(study: Study, run: int) -> tuple[AnswerState, str, Reasons]:
    """Return the answer of a judge that was asked nothing but probes."""
    results = probe_results(study.runs[run].answered)
    known: dict[str, tuple[AnswerState, Level, str]] = {
        "fail": ("no", "missed", "No"),
        "not_shown": ("too_few", "open", "Not decided yet"),
        "pass": ("yes", "met", "Yes"),
    }
    states = {row.state for row in results} or {"not_shown"}
    state, level, word = next(known[name] for name in known if name in states)
    text = f"it {in_all(results)}"
    return state, f"{word}: {text}.", (Reason(SIGN_OF[level], text),)


def _measured(
    result: Estimate, pairwise: Pairwise, order_shown: bool = True
) -> Estimate:
    """Return a figure of pairs, or why it was not measured."""
    if not pairwise.questions:
        return NOT_MEASURED
    if not order_shown:
        return replace(NOT_MEASURED, why=ORDER_UNKNOWN)
    if pairwise.accuracy.none:
        return Estimate(
            None, None, 0, pairwise.accuracy.share.images, UNANSWERED
        )
    if result.value is not None and result.n:
        return result
    return replace(
        NOT_MEASURED, why=NO_TRUTH if result.why == NO_TRUTH else NOT_ASKED
    )


NOT_MEASURED = Estimate(None, None, 0, 0, NOT_ASKED)


def _accuracy(pairwise: Pairwise) -> str | None:
    share = pairwise.accuracy.shown
    if share.value is None or not share.n:
        return None
    return f"{with_ends(share)} of {many(share.n, 'verdict')}"


def _unskilled(pairwise: Pairwise) -> str | None:
    """Say that the judge is proven to be no better than chance; or than a constant
    answer, where one would pass the check of accuracy. A reply that was not read is no
    wrong choice.
    """
    accuracy = _accuracy(pairwise)
    ends = closed(pairwise.accuracy.parsed.interval)
    if accuracy is None or ends is None:
        return None
    least, than = pairwise.chance, "chance"
    constant = pairwise.constant
    required = THRESHOLDS["macro_accuracy"]
    if constant is not None and required.state((constant, constant)) == "pass":
        least, than = constant, f"a constant answer ({percent(constant)})"
    # what a judge of as many ties would have, if it guessed
    guessed = pairwise.chance * (1 - (pairwise.ties or 0.0))
    return (
        f"it is right in {accuracy}, which is no better than {than}"
        f"{'; are its letters reversed?' * (ends[1] < guessed)}"
        if ends[1] <= least
        else None
    )


def _failed(study: Study, run: int) -> Check:
    """Check the share of unusable replies, over all kinds of questions. A note says how
    many calls failed; without failures, how large the share may be.
    """
    joined = study.joined[run]
    table = joined if joined.height else study.runs[run].answered
    if table.is_empty():
        return check("failed", NOT_MEASURED)
    sums = image_sums(
        table, (), {"failed": ~pl.col("usable"), "all": pl.lit(1.0)}
    )
    share = sums.shares("failed", "all")[0]
    ends = closed(share.interval)
    calls = table.filter(pl.col("status") == NO_REPLY).height
    again = (
        f"{calls:,} of {many(table.height, 'call')} failed: "
        "`visualjudge judge … --resume --set retry_errors=true` asks again"
    ) * bool(calls)
    return check(
        "failed",
        share,
        again
        if share.value or ends is None
        else f"none here, but up to {percent(ends[1])} may fail",
    )


def _favour(ordered: SourceOrder) -> Check:
    """Check by how many ranks favouritism moves a source, if the favour is
    significant."""
    main = ordered.main
    if main is None or all(row.bias.p is None for row in main.sources):
        unknown = f"each model is on {too_few()}"
        if main is not None:
            unknown = UNTOLD if main.exact else NOT_EXACT
        return check(
            "favour", replace(NOT_MEASURED, why=ordered.why or unknown)
        )
    value, note = main.moved()
    return check(
        "favour",
        Estimate(value, None, len(main.models.pairs), main.models.images),
        note,
        tested=True,
    )


def _photograph(rows: Sequence[Photograph]) -> Check:
    """Check the smaller gain from the photograph by its own tests; see
    :mod:`visualjudge.analysis.figures.photograph`."""
    if not rows:
        return check("photograph", NOT_MEASURED)
    need = rows[0].state
    line = check("photograph", rows[0].least)
    states: dict[Need, State] = {"not_needed": "fail", "not_shown": "undecided"}
    return replace(
        line,
        state=states.get(need, line.state),
        why=lower_first(NEEDS[need]),
    )


def _reason(result: JudgeResult) -> Iterator[str]:
    """Yield that right verdicts are proven to have a right reason less often than a
    judge must be right.
    """
    required = THRESHOLDS["macro_accuracy"]
    for row in result[RIGHT_REASON][-1:]:
        ends = closed(row.reasoned.interval)
        if ends is not None and required.state(ends) == "fail":
            yield (
                f"it is right in {percent(row.right.value, 0)}, for the right reason "
                f"in {percent(row.both.value, 0)}"
            )


def proven(result: JudgeResult) -> list[str]:
    """Return what reasons and probes prove about a judge, as qualifications of its
    answer."""
    failed = [row for row in result[PROBES] if row.state == "fail"]
    groups = {
        "it fails": [row for row in failed if not row.declines],
        "it gives no answer more often to": [
            row for row in failed if row.declines
        ],
    }
    return [
        *_reason(result),
        *(
            f"{words} {listed([f'the probe “{row.name}”' for row in rows], 2)}"
            for words, rows in groups.items()
            if rows
        ),
    ]
