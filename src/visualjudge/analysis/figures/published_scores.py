"""The scores that a published benchmark defines, computed as in its authors' code, next
to our own figures. One row for each of several benchmarks is in ``benchmarks.py``.

``dataset.json`` of an imported benchmark lists its scores: ``{"name", "rule", "tasks",
"scale", "digits"}``. For replies that the authors published, their own reading
(``published_value``) and their own marking (``published_right``) are used, so that the
score equals theirs. Replies of a new run are read by visualjudge.

============ ===================================================================================
exact        accuracy on the stored order; a reply that was not read is wrong (GenAI-Bench)
read         accuracy on the stored order, of replies that were read (VL-RewardBench,
             ``cal.py``; GEditBench v2)
macro        ``read``, averaged over tasks (VL-RewardBench)
no_tie_label accuracy where people preferred one side (MLLM-as-a-Judge, "w/o tie")
net          right if right more often than wrong over both orders; if only the stored order was
             asked, the accuracy on that order (JudgeBench, ``metrics.py``)
both_orders  accuracy on all replies in both orders that were read (MMRB2,
             ``compute_accuracy.py``)
levenshtein  rankings: mean edit distance over the number of options; 0 is best
             (MLLM-as-a-Judge)
pearson      scores: Pearson's r with people's scores (MLLM-as-a-Judge)
viescore     scores: tanh of the mean of Spearman's ρ of each source (VIEScore; no Fisher mean)
============ ===================================================================================
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from visualjudge.analysis.figures.figure_parts import (
    NONE,
    JudgeFigure,
    JudgeResult,
    Section,
    Shown,
    by_rows,
    number,
)
from visualjudge.analysis.statistics.correlation import pearson, spearman
from visualjudge.core.records import FAILED, TIES, TURNED
from visualjudge.dataset.folder import StatedBenchmark


@dataclass(frozen=True)
class OwnScore:
    """A score of a published benchmark, with the ``digits`` that its authors print;
    None if none of its questions was asked. ``lacking`` says how many the run answered,
    if not all.
    """

    name: str
    value: float | None
    digits: int
    lacking: str | None = None

    @property
    def shown(self) -> str:
        """The score as its authors print it, with the part that was answered."""
        lacking = f" ({self.lacking})" if self.lacking else ""
        return (
            NONE
            if self.value is None
            else f"{self.value:.{self.digits}f}{lacking}"
        )


Rule = Callable[[pl.DataFrame], float | None]


@dataclass(frozen=True, slots=True)
class Score:
    """One score of a benchmark: ``rule`` over the questions of ``tasks`` (None = all),
    times ``scale``, rounded.
    """

    name: str
    rule: str
    tasks: tuple[str, ...] | None = None
    scale: float = 100.0
    digits: int = 2
    benchmark: str | None = None
    """The benchmark that the questions come from, if several are combined."""


def benchmarks_of(meta: Mapping[str, Any]) -> tuple[Score, ...]:
    """Return the scores that ``dataset.json`` lists, from each dataset if several were
    merged."""
    stated: list[StatedBenchmark] = meta.get("benchmarks") or [
        meta.get("benchmark") or {}
    ]
    return tuple(
        Score(
            str(row.get("name")),
            row["rule"],
            tuple(tasks) if (tasks := row.get("tasks")) is not None else None,
            row.get("scale", 100.0),
            row.get("digits", 2),
            benchmark.get("name"),
        )
        for benchmark in stated
        for row in benchmark.get("scores", ())
        if row["rule"] in RULES
    )


def benchmark_scores(
    table: pl.DataFrame, questions: pl.DataFrame, scores: Sequence[Score]
) -> tuple[OwnScore, ...]:
    """Return each score of one run.

    Parameters
    ----------
    table
        Verdicts as returned by :func:`visualjudge.analysis.study_table.join`.
    questions
        All questions of the dataset, as returned by
        :func:`visualjudge.analysis.study_table.question_table`.
    """
    if not scores:
        return ()
    same = (pl.col("said") == pl.col("answer")).fill_null(False)
    read = table.with_columns(said=_answers(), given=_stated()).with_columns(
        hit=pl.coalesce(pl.col("published_right"), same)
    )
    return tuple(
        _own_score(_part(read, score), _part(questions, score), score)
        for score in scores
    )


def _part(table: pl.DataFrame, score: Score) -> pl.DataFrame:
    part = table.filter(pl.col("kind") == RULES[score.rule][0])
    if "benchmark" in table.columns:
        part = part.filter(pl.col("benchmark") == score.benchmark)
    return (
        part
        if score.tasks is None
        else part.filter(pl.col("task").is_in(list(score.tasks)))
    )


def _own_score(
    verdicts: pl.DataFrame, questions: pl.DataFrame, score: Score
) -> OwnScore:
    value = RULES[score.rule][1](verdicts) if verdicts.height else None
    if value is None:
        return OwnScore(score.name, None, score.digits)
    asked = verdicts["id"].n_unique()
    every = questions.height
    part = (
        f"{number(asked)} of {number(every)} questions"
        if asked < every
        else None
    )
    return OwnScore(
        score.name, round(value * score.scale, score.digits), score.digits, part
    )


def _answers() -> pl.Expr:
    """Return the answer that the authors read, else the one that visualjudge read; null
    if there is none.
    """
    ours = pl.when(pl.col("usable")).then(pl.col("text"))
    answers = pl.coalesce("published_value", ours)
    return pl.when(answers != FAILED).then(answers)


def _stated() -> pl.Expr:
    """Return the score that the authors' code uses, else the one that visualjudge read;
    null if the reply gives neither.
    """
    theirs = (
        pl.col("published_value").cast(pl.String).cast(pl.Float64, strict=False)
    )
    ours = pl.when(pl.col("usable")).then(pl.col("number"))
    return (
        pl.when(pl.col("published_value").is_null())
        .then(ours)
        .otherwise(theirs)
    )


def _mean(table: pl.DataFrame) -> float | None:
    return float(table["hit"].mean()) if table.height else None  # type: ignore[arg-type]


def _macro(pairs: pl.DataFrame) -> float | None:
    means = _read(pairs).group_by("task").agg(pl.col("hit").mean())["hit"]
    return float(means.mean()) if means.len() else None  # type: ignore[arg-type]


def _net(pairs: pl.DataFrame) -> float | None:
    wrong = pl.col("answer").replace_strict(
        TURNED, default=None, return_dtype=pl.String
    )
    point = (
        pl.when(pl.col("said") == pl.col("answer"))
        .then(1)
        .when(pl.col("said") == wrong)
        .then(-1)
        .otherwise(0)
    )
    both = pairs.filter(pl.col("order").n_unique().over("id") > 1)
    if both.is_empty():
        return _mean(pairs)
    return float((both.group_by("id").agg(net=point.sum())["net"] > 0).mean())  # type: ignore[arg-type]


def _stored(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("order") == "AB")


def _read(pairs: pl.DataFrame) -> pl.DataFrame:
    return _stored(pairs).filter(pl.col("said").is_not_null())


def _levenshtein(rankings: pl.DataFrame) -> float | None:
    known = rankings.filter(pl.col("said").is_not_null())
    gaps = [
        _edits(answers, answer) / len(answer)
        for answers, answer in known.select("said", "answer").iter_rows()
    ]
    return sum(gaps) / len(gaps) if gaps else None


def _edits(a: str, b: str) -> int:
    """Return the minimum number of insertions, deletions and substitutions that turn
    ``a`` into ``b`` (Levenshtein 1966).
    """
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        last = row[0]
        row[0] = i
        for j, other in enumerate(b, 1):
            last, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, last + (letter != other)),
            )
    return row[-1]


def _pearson(scores: pl.DataFrame) -> float | None:
    known = scores.drop_nulls(["given", "truth"])
    return pearson(known["given"].to_numpy(), known["truth"].to_numpy())


def _viescore(scores: pl.DataFrame) -> float | None:
    known = scores.drop_nulls(["given", "truth"])
    parts = known.with_columns(
        source=pl.col("sources").list.first()
    ).partition_by("source")
    values = [
        spearman(part["given"].to_numpy(), part["truth"].to_numpy())
        for part in parts
    ]
    # A source without a correlation (a constant judge) makes the mean NaN, as in the
    # authors' code.
    measured = [value for value in values if value is not None]
    return (
        math.tanh(sum(measured) / len(measured))
        if measured and len(measured) == len(values)
        else None
    )


_COUNTED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "exact": _stored,
    "read": _read,
    "no_tie_label": lambda pairs: _stored(pairs).filter(
        ~pl.col("answer").is_in(list(TIES))
    ),
    "both_orders": lambda pairs: pairs.filter(
        pl.col("said").is_not_null() | pl.col("published_right").is_not_null()
    ),
}
"""Verdicts that each share counts."""


def _share(counted: Callable[[pl.DataFrame], pl.DataFrame]) -> Rule:
    return lambda pairs: _mean(counted(pairs))


RULES: dict[str, tuple[str, Rule]] = {
    **{
        name: ("pairwise", _share(counted))
        for name, counted in _COUNTED.items()
    },
    "macro": ("pairwise", _macro),
    "net": ("pairwise", _net),
    "levenshtein": ("ranking", _levenshtein),
    "pearson": ("scoring", _pearson),
    "viescore": ("scoring", _viescore),
}
"""The type of question that each score applies to, and its rule."""


def _rows(judge: JudgeResult) -> tuple[OwnScore, ...]:
    study = judge.study
    return benchmark_scores(
        judge.joined, study.questions, benchmarks_of(study.meta)
    )


def _section(view: Shown) -> Section:
    cells = {
        (score.name, judge.name): score.shown
        for judge in view.judges
        for score in judge[AS_PUBLISHED]
        if score.value is not None
    }
    return Section(
        "published",
        "Scores as in published benchmarks",
        "Scores as the benchmark’s authors compute and round them; their published "
        "replies are read with their rules. Scores cover the questions in this copy of "
        "the benchmark. If a run answered only a part of these, the part is stated, "
        "and the score may differ from the published one.",
        [by_rows("The benchmark’s own score", view.judges, cells)],
        detail=True,
    )


def _sentences(rows: Sequence[OwnScore]) -> list[str]:
    return [
        f"The benchmark's own score, {score.name}: {score.shown}."
        for score in rows
        if score.value is not None
    ]


AS_PUBLISHED = JudgeFigure(
    "as_published",
    _rows,
    json=lambda rows: {score.name: score.value for score in rows},
    needs={"truth"},
    place=160,
    sentences=_sentences,
    section=_section,
)
AS_PUBLISHED_OF = JudgeFigure(
    "as_published_of",
    lambda judge: judge[AS_PUBLISHED],
    json=lambda rows: {
        score.name: score.lacking for score in rows if score.lacking
    },
    place=161,
)
"""How many of the questions of a score were answered, if not all."""
