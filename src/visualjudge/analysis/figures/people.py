"""People beside one another, where several rated each item: a judge that agrees as well
with the truth is as good as one of them.

Each vote is compared with the others of its item: a score with their mean, a choice
with their majority (none where the others are split). All votes count, whoever gave
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.figures.vocabulary import (
    ALL,
    NOTHING,
    Estimate,
    JudgeFigure,
    JudgeResult,
    Layout,
    Section,
    Shown,
    by_task,
    counts,
    figure,
    image_sums,
    named,
    number,
    of_row,
    plain_name,
    with_ends,
)
from visualjudge.analysis.score_scale import (
    ZERO_TO_TEN,
    ScoreScale,
    scale_of,
)
from visualjudge.analysis.scores import scores_of
from visualjudge.judges.panel import majority


@dataclass(frozen=True)
class People:
    """Votes of people in one task, beside the others' votes on the same items: rank
    correlation and mean absolute error of scores (0..10, shown on their ``scale``), or
    the share of equal choices.
    """

    task: str
    spearman: Estimate = NOTHING
    mae: Estimate = NOTHING
    same: Estimate = NOTHING
    scale: ScoreScale = ZERO_TO_TEN

    @property
    def votes(self) -> Estimate:
        """A figure that the row has, for its counts."""
        return self.same if self.same.n else self.mae


def _rows(judge: JudgeResult) -> tuple[People, ...]:
    columns = (judge.study.meta.get("options") or {}).get("columns") or {}
    if not any(role.startswith("rater.") for role in columns):
        return ()
    table = _long(judge)
    if table.is_empty():
        return ()
    scale = scale_of(judge.study)
    parts = by_task(table)
    if len(parts) > 1:
        parts.append((ALL, table))
    return tuple(_people(task, part, scale) for task, part in parts)


def _long(judge: JudgeResult) -> pl.DataFrame:
    """Return a row for each vote with others: ``task, cluster``, and for scores
    ``number`` and ``truth`` (the others' mean), for choices ``same``.
    """
    asked = judge.joined.unique("id", maintain_order=True)
    placed = judge.study.find(asked["id"].to_list())
    rows: list[tuple[object, ...]] = []
    for name, task, cluster in asked.select(
        "id", "task", "cluster"
    ).iter_rows():
        votes = placed[name].question.votes or ()
        if len(votes) < 2:
            continue
        for k, vote in enumerate(votes):
            if isinstance(vote, str):
                others = majority([*votes[:k], *votes[k + 1 :]], "pairwise")
                same = None if others is None else vote == others
                rows.append((task, cluster, None, None, same))
            else:
                rest = [float(other) for j, other in enumerate(votes) if j != k]
                rows.append((task, cluster, vote, float(np.mean(rest)), None))
    kinds = (pl.String, pl.Int64, pl.Float64, pl.Float64, pl.Boolean)
    names = ("task", "cluster", "number", "truth", "same")
    schema = dict(zip(names, kinds, strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _people(task: str, table: pl.DataFrame, scale: ScoreScale) -> People:
    chosen = table.drop_nulls("same")
    same = NOTHING
    if chosen.height:
        sums = image_sums(chosen, (), {"n": pl.lit(1), "same": pl.col("same")})
        same = sums.shares("same", "n")[0]
    scored = table.drop_nulls("number")
    if scored.is_empty():
        return People(task, same=same)
    scores = scores_of(scored, scale.step)
    figures = scores.spearman.estimate, scores.mae.estimate
    return People(task, *figures, same, scale)


COLUMNS = Layout[People](
    named("task", "Task", plain_name, text=True),
    *counts("votes"),
    *figure("spearman", "spearman", "ρ", number, ends="ci95"),
    *figure("mae", "mae"),
    of_row("Mean error (95 %)", lambda row: row.scale.sized(row.mae)),
    *figure("same", "same", "Chooses as the others"),
)


def _sentences(rows: Sequence[People]) -> list[str]:
    best = "A judge that reaches this is as good as one of them."
    if not rows:
        return []
    row = rows[-1]
    if row.same.n:
        return [
            f"On its items, one person chooses as the others do in "
            f"{with_ends(row.same)}. {best}"
        ]
    rho = with_ends(row.spearman, number)
    error = f"mean error {row.scale.sized(row.mae)}, on the scale {row.scale}"
    return [
        f"On its items, one person beside the others has ρ {rho} and {error}. {best}"
    ]


def _section(view: Shown) -> Section:
    return Section(
        "people",
        "How well do people agree with one another?",
        "Each person’s vote beside those of the others on the same item: the mean of "
        "their scores, or their majority. A judge is compared with all of them.",
        view.grids(PEOPLE)[:1],
        _sentences(view.judges[0][PEOPLE]),
    )


PEOPLE = JudgeFigure(
    "people",
    _rows,
    COLUMNS,
    needs={"truth"},
    place=73,
    sentences=_sentences,
    section=_section,
)
