"""The figures of rankings and scores. They are computed in
``analysis/ranking_and_scoring.py``; those of pairs are in ``accuracy.py``.
"""

from dataclasses import astuple, replace

import polars as pl

from visualjudge.analysis.decisions.score_answer import (
    ScoreAnswer,
    ScoresOfTask,
    score_answer,
)
from visualjudge.analysis.figures.figure_parts import (
    NONE,
    RANKING,
    SCORING,
    Column,
    Json,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    Shown,
    Table,
    Trace,
    lines_of_judges,
    number,
    percent,
    plain_name,
    with_ends,
)
from visualjudge.analysis.ranking_and_scoring import (
    NO_RANKING,
    NO_SCORING,
    Ranking,
    Scoring,
    ranking_cells,
    scoring_cells,
)
from visualjudge.analysis.score_scale import scale_of
from visualjudge.analysis.statistics.score_bar import BEGINS


def _ranking(judge: JudgeResult) -> Ranking:
    return ranking_cells(judge.rankings, ()).get("", NO_RANKING)


def _scoring(judge: JudgeResult) -> Scoring:
    scored = judge.scorings
    step = scale_of(judge.study).step
    result = scoring_cells(scored, (), step).get("", NO_SCORING)
    if "truth" not in judge.has:
        return result.without_truth
    by_task = scoring_cells(scored, ("task",), step)
    return replace(result, tasks=dict(sorted(by_task.items())))


def _answer(judge: JudgeResult) -> ScoreAnswer | None:
    """Return what follows from the scores; None without scores whose truth is known."""
    result = score_answer(judge.study, judge.index, judge.study.bar)
    return result if result.tasks else None


def _mean_scores(judge: JudgeResult) -> Trace:
    """Return the judge's mean score in each tenth of the scale."""
    tenth = pl.col("truth").floor().clip(0, 9)
    means = (
        judge.scorings.select("usable", "number", "truth")
        .filter("usable")
        .drop_nulls()
        .group_by(tenth=tenth)
        .agg(pl.col("truth", "number").mean(), n=pl.len())
    )
    scale = scale_of(judge.study)
    return Trace(
        tuple(
            (scale.low + scale.size(truth), scale.low + scale.size(own), n)
            for _, truth, own, n in means.sort("tenth").iter_rows()
        )
    )


WORDS = {state: word.lower() for state, word in BEGINS.items()}
ALL_TASKS = "all"


def scores_table(judge: str, answer: ScoreAnswer) -> Table:
    """Return a judge's scores by task and over tasks, on the scale of the study."""
    several = len(answer.tasks) > 1
    rows = [*answer.tasks, *([answer.whole] if several else [])]
    cells = tuple(_cells(answer, row) for row in rows if row.scores is not None)
    bar = answer.whole.bar
    notes = (
        f"Yes: ρ with the truth is at least {number(bar.spearman)}, and the mean error "
        f"at most {percent(bar.error, 0)} of that of giving every item the median, "
        "each by its whole interval: 95 %, or more where several tasks are decided "
        "(Bonferroni).",
        f"Errors are in points of the scale, {answer.scale}; exact: off by less than "
        f"half a step of {number(answer.scale.size(answer.scale.step))}.",
    )
    return Table(COLUMNS, cells, notes, judge, 1, (False, False, *[True] * 10))


COLUMNS = (
    "Task",
    "May I use them?",
    "Scores",
    "Images",
    "ρ (95 %)",
    "r (95 %)",
    "Mean difference (95 %)",
    "Mean error (95 %)",
    "Error of always the median",
    "Exact",
    "Within one step",
    "Most frequent score",
)


def _cells(answer: ScoreAnswer, row: ScoresOfTask) -> tuple[str, ...]:
    own = row.scores
    scale = answer.scale
    assert own is not None
    usual = f"{scale.score(own.usual):g}: {percent(own.saturation.value, 0)}"
    return (
        plain_name(row.task) if row.task else ALL_TASKS,
        WORDS[row.state if row.task else answer.state],
        number(own.judged.size),
        number(own.images),
        with_ends(own.spearman.estimate, number),
        with_ends(own.pearson.estimate, number),
        scale.sized(own.bias.estimate),
        scale.sized(own.mae.estimate),
        number(scale.size(own.constant_mae.value)),
        percent(own.exact.value),
        percent(own.within_one.value),
        usual,
    )


def ranges_table(judge: str, answer: ScoreAnswer) -> Table:
    """Return the true scores behind each score of a judge, a row for each task."""
    rows = [row for row in (*answer.tasks, answer.whole) if row.ranges.ranges]
    if len(answer.tasks) == 1:
        rows = rows[:1]
    names = dict.fromkeys(
        name for row in rows for name in map(answer.named, row.ranges.ranges)
    )
    cells = []
    for row in rows:
        collected = {
            answer.named(own): answer.ends(own) for own in row.ranges.ranges
        }
        width = number(answer.scale.size(row.ranges.width))
        covered = percent(row.ranges.coverage.value)
        task = plain_name(row.task) if row.task else ALL_TASKS
        cells.append(
            (
                task,
                *(collected.get(name, NONE) for name in names),
                width,
                covered,
            )
        )
    title = (
        f"{judge}: range of the true scores behind each of its scores, for 90 % of new "
        "images"
    )
    note = (
        "Scores on too few images share a range with the next. Covered: the share of "
        "held-out items whose true score lies in the range (5-fold cross-validation by "
        "image)."
    )
    columns = ("Task", *names, "Mean width", "Covered")
    numeric = (False, *[True] * (len(columns) - 1))
    return Table(columns, tuple(cells), (note,), title, 1, numeric)


def _section(view: Shown) -> Section:
    collected = [(judge.name, judge[SCORE_ANSWERS]) for judge in view.judges]
    answers = [
        (name, answer) for name, answer in collected if answer is not None
    ]
    return Section(
        "scores",
        "How far are its scores from the truth?",
        "Scores of items beside their true scores. ρ is Spearman’s correlation over "
        "all items, r Pearson’s; a judge is lenient where the mean difference is above "
        "0. Error of always the median: that of giving every item the median of the "
        "true scores.",
        asked=[
            *(scores_table(*item) for item in answers),
            *(ranges_table(*item) for item in answers),
        ],
    )


SCORING_OF_TASKS = Layout[Scoring](
    *SCORING.columns,
    Column("tasks", lambda scoring: list(map(_of_task, scoring.tasks.items()))),
)


def _of_task(named: tuple[str, Scoring]) -> Json:
    task, scoring = named
    return {"task": task} | SCORING.json(scoring)


SCORE_ANSWERS = JudgeFigure(
    "score_answer", _answer, needs={"truth"}, nothing=None
)
RANKINGS = JudgeFigure(
    "ranking",
    _ranking,
    RANKING,
    place=65,
    wide=True,
    headline=Layout[Ranking](Column(None, "tau.value", "Ranking τ-b", number)),
)
SCORES = JudgeFigure(
    "scoring",
    _scoring,
    SCORING_OF_TASKS,
    place=70,
    wide=True,
    headline=Layout[Scoring](
        Column(None, "within.value", "Scoring τ-b in an image", number),
        Column(None, "spearman.value", "Scoring ρ over all images", number),
    ),
    section=_section,
    plots=(
        lines_of_judges(
            "scores",
            "Scores of the judge by the true score",
            "Mean score of the judge, by true score; on the dashed line both are equal.",
            ("true_score", "mean_score"),
            _mean_scores,
            ("True score", "Judge’s score"),
            "Markers are tenths of the scale, larger ones with more replies.",
            "no scoring question has a known score and a reply that was read",
            lambda view: astuple(scale_of(view.analysis.study)),
        ),
    ),
)
