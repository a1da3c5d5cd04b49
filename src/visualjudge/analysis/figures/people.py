"""People beside one another, where several rated each item, and the judge beside the
same people: a judge that agrees as well with the others is as good as one of them.
Tables of people's ratings without a study are in ``analysis/people_agreement.py``.

Each vote is compared with the others of its item: a score with their mean, a choice
with their majority (none where the others are split). All votes count, whoever gave
them. The judge's answer is compared with the same others: the mean of all is less noisy
than that of the others, and split votes are no truth, so that its agreement with the
truth says nothing about people.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from visualjudge.analysis.figures.figure_parts import (
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
from visualjudge.analysis.ranking_and_scoring import scores_of
from visualjudge.analysis.score_scale import (
    ScoreScale,
    scale_of,
)
from visualjudge.judges.panel import majority


@dataclass(frozen=True)
class People:
    """Votes of people in one task, beside the others' votes on the same items: rank
    correlation and mean absolute error of scores (0..10, shown on their ``scale``), or
    the share of equal choices; and the same of the judge in place of each person.
    """

    task: str
    spearman: Estimate
    mae: Estimate
    same: Estimate
    judge_spearman: Estimate
    judge_mae: Estimate
    judge_same: Estimate
    scale: ScoreScale

    @property
    def votes(self) -> Estimate:
        """A figure that the row has, for its counts."""
        return self.same if self.same.n else self.mae


def _rows(judge: JudgeResult) -> tuple[People, ...]:
    columns = (judge.study.meta.get("options") or {}).get("columns") or {}
    if not any(role.startswith("rater.") for role in columns):
        return ()
    table = _long(judge, judge.joined.unique("id", maintain_order=True), False)
    if table.is_empty():
        return ()
    scale = scale_of(judge.study)
    beside = _long(judge, judge.joined, True)
    parts = by_task(table)
    if len(parts) > 1:
        parts.append((ALL, table))
    return tuple(
        People(
            task,
            *_figures(part, scale),
            *_figures(
                beside.filter((pl.col("task") == task) | (task == ALL)), scale
            ),
            scale,
        )
        for task, part in parts
    )


def _long(
    judge: JudgeResult, asked: pl.DataFrame, by_judge: bool
) -> pl.DataFrame:
    """Return a row for each vote with others, of each row of ``asked``: ``task,
    cluster``, and for scores ``number`` and ``truth`` (the others' mean), for choices
    ``same``. With ``by_judge``, the judge's answer is in place of the vote.
    """
    placed = judge.study.find(asked["id"].unique().to_list())
    rows: list[tuple[object, ...]] = []
    columns = asked.select(
        "id",
        "task",
        "cluster",
        pl.when("usable").then("number"),
        pl.when("usable").then(pl.col("text").cast(pl.String)),
    )
    for name, task, cluster, score, text in columns.iter_rows():
        votes = placed[name].question.votes or ()
        if len(votes) < 2:
            continue
        for k, vote in enumerate(votes):
            rest = [*votes[:k], *votes[k + 1 :]]
            if isinstance(vote, str):
                others = majority(rest, "pairwise")
                own = text if by_judge else vote
                same = None if others is None else own == others
                rows.append((task, cluster, None, None, same))
            else:
                own = score if by_judge else vote
                mean = float(np.mean([float(other) for other in rest]))
                rows.append((task, cluster, own, mean, None))
    schema = {
        "task": pl.String,
        "cluster": pl.Int64,
        "number": pl.Float64,
        "truth": pl.Float64,
        "same": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _figures(
    table: pl.DataFrame, scale: ScoreScale
) -> tuple[Estimate, Estimate, Estimate]:
    """Return rank correlation and mean error of scores, and the share of equal
    choices."""
    chosen = table.drop_nulls("same")
    sums = image_sums(chosen, (), {"n": pl.lit(1), "same": pl.col("same")})
    same = sums.shares("same", "n")[0] if chosen.height else NOTHING
    scored = table.drop_nulls("number")
    if scored.is_empty():
        return NOTHING, NOTHING, same
    scores = scores_of(scored, scale.step)
    return scores.spearman.estimate, scores.mae.estimate, same


COLUMNS = Layout[People](
    named("task", "Task", plain_name, text=True),
    *counts("votes"),
    *figure("spearman", "spearman", "Person, ρ", number, ends="ci95"),
    *figure("mae", "mae"),
    of_row("Person, mean error (95 %)", lambda row: row.scale.sized(row.mae)),
    *figure("same", "same", "Person chooses as the others"),
    *figure("judge_spearman", "judge_spearman", "Judge, ρ", number),
    *figure("judge_mae", "judge_mae"),
    of_row(
        "Judge, mean error (95 %)", lambda row: row.scale.sized(row.judge_mae)
    ),
    *figure("judge_same", "judge_same", "Judge chooses as they"),
)


def _sentences(rows: Sequence[People]) -> list[str]:
    if not rows:
        return []
    row = rows[-1]
    judge, person = (
        (
            f"chooses as they do in {with_ends(row.judge_same)}",
            f"in {with_ends(row.same)}",
        )
        if row.same.n
        else (
            f"has ρ {with_ends(row.judge_spearman, number)} and a mean error of "
            f"{row.scale.sized(row.judge_mae)}",
            f"ρ {with_ends(row.spearman, number)} and {row.scale.sized(row.mae)}",
        )
    )
    return [
        f"Beside the other people of an item, the judge {judge}; a person {person}."
    ]


def _section(view: Shown) -> Section:
    return Section(
        "people",
        "Does the judge agree with people as a person does?",
        "Each vote is compared with the others of its item, their mean or their majority; "
        "then the judge’s answer, in place of the vote.",
        view.grids(PEOPLE),
        _sentences(view.judges[0][PEOPLE]) if len(view.judges) == 1 else (),
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
