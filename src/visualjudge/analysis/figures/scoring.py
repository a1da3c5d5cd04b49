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


ALL_TASKS = "all"
WORDS = {state: word.lower() for state, word in BEGINS.items()}


def scores_table(judge: str, answer: ScoreAnswer) -> Table:
    """Return a judge's scores by task and over tasks, on the scale of the study."""
    several = len(answer.tasks) > 1
    rows = [*answer.tasks, *([answer.whole] if several else [])]
    cells = [_cells(answer, row) for row in rows if row.scores is not None]
    bar = answer.whole.bar
    note = (
        f"Yes: ρ is at least {number(bar.spearman)} and the error at most what is allowed, "
        f"{percent(bar.error, 0)} of that of always answering the median of the true "
        "scores; ρ by its whole interval, the error by that of its difference to what is "
        f"allowed{', of several tasks by wider ones (Bonferroni)' * several}. Errors are in points "
        f"of the scale {answer.scale}; too high: the mean difference to the true score."
    )
    begin = 0 if several else 2
    return Table(
        COLUMNS[begin:],
        tuple(row[begin:] for row in cells),
        (note,),
        judge,
        1,
        # intervals may wrap, so that one task fits 80 columns
        (False, False, True, True, False, False, True, False)[begin:],
    )


COLUMNS = (
    "Task",
    "May I use them?",
    "Scores",
    "Images",
    "ρ (95 %)",
    "Mean error (95 %)",
    "Allowed",
    "Too high by (95 %)",
)


def _cells(answer: ScoreAnswer, row: ScoresOfTask) -> tuple[str, ...]:
    own = row.scores
    scale = answer.scale
    assert own is not None
    return (
        plain_name(row.task) if row.task else ALL_TASKS,
        WORDS[row.state if row.task else answer.state],
        number(own.judged.size),
        number(own.images),
        with_ends(own.spearman.estimate, number),
        scale.sized(own.mae.estimate),
        number(row.bar.error * scale.size(own.constant_mae.value)),
        scale.sized(own.bias.estimate),
    )


def ranges_table(judge: str, answer: ScoreAnswer) -> Table:
    """Return the true scores behind each score of a judge, a row for each score of each
    task."""
    several = len(answer.tasks) > 1
    rows = [*answer.tasks, *([answer.whole] if several else [])]
    begin = 0 if several else 1
    cells = [
        (
            plain_name(row.task) if row.task else ALL_TASKS,
            answer.named(own),
            answer.ends(own),
            percent(row.ranges.coverage.value),
        )[begin:]
        for row in rows
        for own in row.ranges.ranges
    ]
    note = (
        "For 90 % of new images; measured: the share of left-out items of the task whose "
        "true score lies in its range. Scores on fewer than 30 images are joined."
    )
    return Table(
        RANGES[begin:],
        tuple(cells),
        (note,),
        f"{judge}: the true scores behind each of its scores",
        2 - begin,
        (False, True, True, True)[begin:],
    )


RANGES = ("Task", "Judge’s score", "True score", "Measured")


def _section(view: Shown) -> Section:
    collected = [(judge.name, judge[SCORE_ANSWERS]) for judge in view.judges]
    answers = [
        (name, answer) for name, answer in collected if answer is not None
    ]
    return Section(
        "scores",
        "How far are its scores from the truth?",
        "ρ is Spearman’s correlation with the true scores, over all items.",
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
    lambda judge: ranking_cells(judge.rankings, ()).get("", NO_RANKING),
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
        Column(
            None, "spearman.value", "ρ of its scores with the true ones", number
        ),
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
