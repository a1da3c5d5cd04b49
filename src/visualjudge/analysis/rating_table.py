"""Ratings by people and by judges in one long table: ``item, source, rater, dimension,
score``. What is computed of them is in ``people_agreement.py``; labels that correct a
leaderboard are in ``decisions/label_files.py``.

Ratings are read from CSV, JSONL or parquet, in this form or with a column for each
rater. Of one source, a score may be a vote (A, B, tie). Optional columns: ``kind`` ("person"
or "judge") and ``image`` (the item's image, if several items share one). A missing
score stays missing; a score that is not a number is a problem, reported with its file
and line.

In a people's run each verdict belongs to the rater named in its line.

Scores are ratings of the image's source, as for a judge. A pairwise choice is a rating
of its question: 1 if the first option as stored was chosen, 0 if the second was (where
letters were not dealt at random, the options are the models: the one that the truth
prefers more often, and the other); a judge that was asked in both orders gets the
mean. "Cannot tell" is not a rating.
Repeats and known questions, which check the rater, are not ratings either.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl
import polars.selectors as cs

from visualjudge.analysis.answers import by_models, letters_dealt, points
from visualjudge.analysis.load import load_study
from visualjudge.analysis.study_table import (
    NO_REMARKS,
    ColumnTypes,
    Remarks,
    remarks_on,
)
from visualjudge.core.errors import DataError, Problem, UsageError, one_of
from visualjudge.core.parquet import check_table, readable, scan
from visualjudge.formats.tables import first_row, read_texts

COLUMNS = ("item", "source", "rater", "dimension", "score")
OPTIONAL = ("kind", "image")
SINGLE = {"source": "ratings", "dimension": "ratings"}
"""What stands for a column that ratings of one source, or of one dimension, need not
have."""
NAMES = {
    "item": (
        "item",
        "id",
        "question",
        "item_id",
        "question_id",
        "image_id",
        "uid",
        "key",
        "prompt",
        "image",
    ),
    "source": ("source", "model"),
}
"""Names of a column under which it is read, the first that there is."""
MEETING = {
    "dimension": "task",
    "item": "image_id (of a question about one class of interest image_id/CLASS)",
    "source": "source",
}
"""Columns that a judge's rating and a person's rating must share, and what they are in
a run's scores.
"""
SCHEMA: ColumnTypes = {
    **dict.fromkeys(COLUMNS[:-1], pl.String),
    "score": pl.Float64,
    **dict.fromkeys(OPTIONAL, pl.String),
}
VOTES = {
    **dict.fromkeys(("a", "option_a", "image_a", "model_a", "left"), "1"),
    **dict.fromkeys(("b", "option_b", "image_b", "model_b", "right"), "0"),
    "tie": "0.5",
}
"""What a person chose of two, in lower case, and its score for the first."""
Problems = list[Problem]


def _read(path: Path) -> pl.DataFrame:
    """Return the rows of a table, as text but of Parquet; without images."""
    if path.suffix.lower() == ".parquet":
        check_table(path)
        with readable(path):
            return scan(path).select(~(cs.binary() | cs.nested())).collect()
    return read_texts(path)


def read_ratings(
    path: str | Path, columns: Mapping[str, str] | None = None
) -> tuple[pl.DataFrame, Problems]:
    """Return a ratings file as a long table (COLUMNS, and OPTIONAL if present), and its
    problems.

    Parameters
    ----------
    columns
        Names of the file's columns by ours, where they are not the usual ones.

    Raises
    ------
    DataError
        If the file cannot be read or lacks a column.
    UsageError
        If its name is not that of a table.
    """
    stated = {role: (name,) for role, name in (columns or {}).items()}
    for role in stated.keys() - {*COLUMNS, *OPTIONAL}:
        raise UsageError(
            f"`column` must name {one_of(role, (*COLUMNS, *OPTIONAL))}, got {role!r}"
        )
    raw = _read(Path(path))
    for name in {*chain(*stated.values())}.difference(raw.columns):
        raise DataError(f"{path}: has no column {name}")
    raw = _renamed(raw, {**NAMES, **stated}).with_row_index(
        "__line", first_row(path)
    )
    votes = "item" in raw.columns and not {"rater", "score"} & set(raw.columns)
    if votes and "verdict" in raw.columns:
        raise DataError(
            f"{path}: must have ratings, got verdicts: `visualjudge adopt {path}`"
        )
    if votes:
        raw = _of_votes(raw)
        if {"1", "2"} <= set(raw["score"]) <= {"0", "1", "2", "3", "", None}:
            warnings.warn(
                f"{path}: numbers are read as scores; if they are options, write A, B "
                "and tie",
                stacklevel=2,
            )
    needed = [name for name in COLUMNS if name not in SINGLE]
    if missing := [name for name in needed if name not in raw.columns]:
        raise DataError(
            f"{path}: has no column {', '.join(missing)}; ratings have "
            f"{', '.join(needed)} and, of several, {' and '.join(SINGLE)}; or item and "
            "a column per rater, none called rater or score (`column` item=NAME if item "
            "has another name)"
        )
    choices = votes or "source" not in raw.columns
    raw = raw.with_columns(
        pl.lit(value).alias(name)
        for name, value in SINGLE.items()
        if name not in raw.columns
    )
    texts = [*COLUMNS[:-1], *(name for name in OPTIONAL if name in raw.columns)]
    table = raw.select(
        "__line",
        *(
            pl.col(name).cast(pl.String).str.strip_chars().replace("", None)
            for name in texts
        ),
        __raw=pl.col("score").cast(pl.String).str.strip_chars(),
    )
    # with a decimal comma as a point
    word = (
        pl.col("__raw")
        .str.to_lowercase()
        .str.replace(r"^([+-]?\d+),(\d+)$", "$1.$2")
    )
    number = word.replace(VOTES if choices else {}).cast(
        pl.Float64, strict=False
    )
    # Beside letters, numbers are votes from 0 to 1: a column of ages or years has none.
    letters = choices and table.select(word.is_in(list(VOTES)).any()).item()
    fits = number.is_between(0, 1) if letters else number.is_finite()
    read = table.with_columns(score=pl.when(fits).then(number))
    lost = read.filter(pl.col("score").is_null() & (pl.col("__raw") != ""))
    problems = [
        Problem(
            str(path),
            f"row {line}",
            rater if votes else "score",
            f"must be {'A, B, tie or ' if choices else ''}a number, got {value!r}",
        )
        for line, rater, value in lost.select(
            "__line", "rater", "__raw"
        ).iter_rows()
    ]
    if bare := [name for name in COLUMNS[:-1] if read[name].null_count()]:
        raise DataError(
            f"{path}: {bare[0]}: is empty in {read[bare[0]].null_count()} rows"
        )
    rated = read.drop("__raw", "__line").drop_nulls("score")
    if problems and rated.is_empty():
        raise DataError(
            f"holds no score that can be read; the first: {problems[0]}"
        )
    return rated, problems


def _renamed(
    raw: pl.DataFrame, names: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Return the table with each column under our name, for which it has the first of
    ``names`` that there is."""
    for role, known in names.items():
        name = next((name for name in known if name in raw.columns), role)
        if name != role:
            raw = raw.drop(role, strict=False).rename({name: role})
    return raw


def _of_votes(wide: pl.DataFrame) -> pl.DataFrame:
    """Return a table with a column for each rater as a long one; a vote for A is the
    score 1 of its item, one for B 0, a tie ½."""
    shared = [
        name
        for name in ("__line", "item", "image", "source", "dimension")
        if name in wide.columns
    ]
    long = wide.unpivot(index=shared, variable_name="rater", value_name="score")
    unnamed = {name: pl.lit("votes") for name in SINGLE if name not in shared}
    return long.with_columns(**unnamed)


def _scores(named: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the usable scores of raters as ratings: the dimension is the task, with
    one rating per source (averaged over encodings). The item is the image, or
    ``IMAGE/CLASS`` if the question is about one class of interest, because each class
    has its own score. ``image`` names the image, by which intervals are clustered."""
    scored = named.filter((pl.col("kind") == "scoring") & pl.col("usable"))
    image, classes = (
        pl.col(name).cast(pl.String) for name in ("image", "classes")
    )
    rows = scored.select(
        pl.col("sources").list.first().cast(pl.String).alias("source"),
        pl.col("rater", "task").cast(pl.String),
        item=pl.concat_str(image, classes, separator="/", ignore_nulls=True),
        score="number",
        image=image,
    ).rename({"task": "dimension"})
    return _means(rows.drop_nulls("source").with_columns(kind=pl.lit(kind)))


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one rating for each output and rater."""
    return (
        rows.group_by(
            "item", "source", "rater", "dimension", maintain_order=True
        )
        .agg(pl.col("score").mean(), pl.col("kind", "image").first())
        .select(*COLUMNS, "kind", "image")
    )


def apart(judged: pl.DataFrame, people: pl.DataFrame) -> str | None:
    """Return why no rating of a judge matches one of people (same item, source and
    dimension); None if some do.
    """
    if judged.is_empty():
        return (
            "no rating in common with people: the judge has no usable score of a "
            "named model"
        )
    if not judged.join(people, on=list(MEETING), how="semi").is_empty():
        return None
    for name, meaning in MEETING.items():
        ours, theirs = (table[name].drop_nulls() for table in (judged, people))
        if not set(ours) & set(theirs) and len(theirs):
            return (
                f"no rating in common with people: people have {name} {theirs[0]!r}, "
                f"the judge {ours[0]!r}; in a run it is the {meaning}"
            )
    return (
        "no rating in common with people: no item, source and dimension is rated by "
        "both"
    )


CHOICE = "first option"
"""The source of a rating that is a choice between two options."""


@dataclass(frozen=True, eq=False)
class RunRatings:
    """Ratings as a table (COLUMNS, ``kind``, ``image``), and the names of all judges,
    including those without ratings.
    """

    table: pl.DataFrame
    judges: tuple[str, ...]
    rankings: int = 0
    """Number of people's answers to ranking questions, which are not ratings."""
    remarks: Remarks = NO_REMARKS


def ratings_of_runs(folders: Sequence[str | Path]) -> RunRatings:
    """Return the verdicts of runs as ratings: of people by rater, of other runs by
    judge.

    Pairwise choices are included if one of the runs is a people's run.

    Raises
    ------
    DataError
        If a run or its dataset cannot be read.
    """
    studies = [load_study([folder]) for folder in folders]
    asked = any(study.runs[0].of_people for study in studies)
    tables = [pl.DataFrame(schema=SCHEMA)]
    pairs = []
    rankings = 0
    for study in studies:
        run = study.runs[0]
        named = study.joined[0].filter("usable")
        kind = "person" if run.of_people else "judge"
        if run.of_people:
            rankings += named.filter(pl.col("kind") == "ranking").height
        else:
            named = named.with_columns(rater=pl.lit(run.name))
        tables.append(_scores(named, kind))
        pairs.append(_pairs(named, kind, bool(study.meta.get("benchmark"))))
    if asked:
        tables.append(_choices(pl.concat(pairs)))
    judges = tuple(
        study.runs[0].name for study in studies if not study.runs[0].of_people
    )
    runs = (study.runs[0] for study in studies)
    return RunRatings(
        pl.concat(tables, how="vertical"), judges, rankings, remarks_on(runs)
    )


def _pairs(named: pl.DataFrame, kind: str, adopted: bool) -> pl.DataFrame:
    """Return the usable choices of raters between two options, whose letters an
    ``adopted`` table did not deal.
    """
    return named.filter(
        (pl.col("kind") == "pairwise") & pl.col("usable")
    ).select(
        pl.col("rater", "image", "task", "answer", "text").cast(pl.String),
        pl.col("sources").cast(pl.List(pl.String)),
        order=pl.lit("unknown") if adopted else pl.col("order").cast(pl.String),
        question="id",
        of=pl.lit(kind),
    )


def _choices(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return choices between two options, one rating per question and rater. Options
    are letters where these were dealt at random, else models.
    """
    if not letters_dealt(pairs):
        pairs = by_models(pairs, "answer", "text")
    rows = pairs.select(
        "rater",
        "image",
        pl.lit(CHOICE).alias("source"),
        item="question",
        dimension=pl.col("task") + "/pairwise",
        score=points("text"),
        kind="of",
    )
    return _means(rows)
