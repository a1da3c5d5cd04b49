"""Labels from people: ``labels.csv`` with ``annotation_id,score`` or
``question_id,answer``, or a run answered by people. Tables of ratings by several people
are in ``analysis/rating_table.py``.

A label is read as an answer of a judge is (:mod:`visualjudge.analysis.answers`). A
``probability`` column (as ``visualjudge label`` writes it) holds the probability with
which each item was chosen; the answers of a people's run (``visualjudge studio
--items``) have it too.
"""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from visualjudge.analysis.answers import join
from visualjudge.analysis.decisions.judged_items import (
    Items,
    item_of,
    options_of,
)
from visualjudge.analysis.score_scale import (
    ZERO_TO_TEN,
    ScoreScale,
    asked_scale,
)
from visualjudge.analysis.study_table import WORD, Study
from visualjudge.core.errors import DataError, Problem
from visualjudge.core.records import TIES
from visualjudge.formats.tables import read_texts
from visualjudge.runs.folder import PEOPLE, RunFolder, excluded_raters

# Labels from which a mistake of all is looked for, the correlation with the judge, in
# standard errors, below which they go against it, and how many times as high its scores
# are if the scale is another.
MANY, AGAINST, OTHER_SCALE = 10, -4.0, 1.8
FORMS = {"annotation_id": "score", "question_id": "answer"}
WANTED = {
    "pairwise": "A, B or tie",
    "ranking": "a ranking such as BCA",
}


@dataclass(frozen=True, eq=False)
class Labels:
    """People's labels: ``table`` has the ``name`` of each annotation or question
    (``by``), what was ``said`` of it, and the ``probability`` with which it was drawn
    (null: equal for all). Unreadable labels are in ``problems``. Scores of ``people``
    in a run lie from 0 to 10, those of a file on the scale of the study.
    """

    file: str
    by: str
    table: pl.DataFrame
    problems: tuple[Problem, ...] = ()
    people: bool = False


def read_labels(path: str | Path) -> Labels:
    """Read the table, or the folder of a people's run, at ``path``. Unlabelled items
    are skipped.

    Raises
    ------
    DataError
        If it is missing, is neither a CSV nor a people's run, lacks its columns, or
        labels nothing.
    """
    home = Path(path)
    if home.is_dir():
        return _answers(RunFolder(home))
    by, rows = _rows(home)
    wrong = (
        pl.when(pl.col("name") == "")
        .then(pl.lit("is empty"))
        .when((pl.col("stated") != "") & pl.col("probability").is_null())
        .then(
            pl.format(
                "probability must be above 0 and at most 1, got {}", "stated"
            )
        )
    )
    answers = rows.filter(pl.col("said") != "").with_columns(wrong=wrong)
    problems = [
        Problem(str(home), f"row {row}", by, why)
        for row, why in answers.drop_nulls("wrong")
        .select("row", "wrong")
        .iter_rows()
    ]
    table = answers.filter(pl.col("wrong").is_null()).select(
        "name", "said", "probability"
    )
    if table.is_empty():
        why = (
            f"fill in the column {FORMS[by]}"
            if not problems
            else f"the first: {problems[0]}"
        )
        raise DataError(f"{home}: holds no label that can be read; {why}")
    return Labels(str(home), by, table, tuple(problems))


def _rows(path: Path) -> tuple[str, pl.DataFrame]:
    """Return what a table names, and its rows: the ``name``, what is ``answers`` (""
    without a label), and the ``probability`` as ``stated`` and as a number; null if it
    is none.
    """
    table = read_texts(path)
    by = next(
        (
            by
            for by, answers in FORMS.items()
            if {by, answers} <= set(table.columns)
        ),
        None,
    )
    if by is None:
        raise DataError(
            f"{path}: columns must be annotation_id,score or question_id,answer, got "
            f"{','.join(table.columns)}"
        )
    names = {"name": by, "said": FORMS[by], "stated": "probability"}
    cells = {
        name: pl.col(column).str.strip_chars().fill_null("")
        if column in table
        else pl.lit("")
        for name, column in names.items()
    }
    number = pl.col("stated").cast(pl.Float64, strict=False)
    rows = table.select(**cells).with_row_index("row", 2)
    return by, rows.with_columns(
        probability=pl.when((number > 0) & (number <= 1)).then(number)
    )


def read_queue(path: str | Path) -> tuple[str, dict[str, float]]:
    """Read the queue that ``visualjudge label`` wrote: what it names, and the
    probability with which each name was drawn.

    Raises
    ------
    DataError
        If the file is missing or is not such a queue.
    """
    by, rows = _rows(Path(path))
    for name, stated in (
        rows.filter(pl.col("probability").is_null())
        .select("name", "stated")
        .iter_rows()
    ):
        got = f"{stated or 'none'}; `visualjudge label` writes it"
        raise DataError(
            f"{path}: {name}: probability must be above 0 and at most 1, got {got}"
        )
    return by, dict(rows.select("name", "probability").iter_rows())


def _answers(run: RunFolder) -> Labels:
    """Return the labels of a people's run: the mean score of each question, or the
    answer of most raters.

    Repeats and known questions were drawn differently, and are ignored. A question
    without a majority is ignored too, unless it is a pair: then it is a tie.
    """
    if run.manifest().get("backend") != PEOPLE["backend"]:
        raise DataError(
            f"{run.path}: must be a table of labels or a run of people"
        )
    left_out = excluded_raters(run.manifest())
    rows = [
        (verdict.id, str(verdict.value), verdict.extra.get("probability"))
        for verdict in run.verdicts().values()
        if verdict.extra.get("rater") not in left_out
        and verdict.extra.get("purpose") == "question"
        and verdict.status == "ok"
    ]
    schema = {"name": pl.String, "said": pl.String, "probability": pl.Float64}
    most = pl.col("said").mode()
    number = pl.col("said").cast(pl.Float64, strict=False)
    split = most.len() > 1
    pair = most.str.len_chars().min() == 1
    agreed = (
        pl.when(number.is_not_null().all())
        .then(number.mean().cast(pl.String))
        .when(split & pair)
        .then(pl.lit("tie"))
        .when(~split)
        .then(most.first())
    )
    asked = pl.DataFrame(rows, schema, orient="row").group_by(
        "name", maintain_order=True
    )
    table = asked.agg(
        said=agreed, probability=pl.col("probability").last()
    ).drop_nulls("said")
    if table.is_empty():
        raise DataError(f"{run.path}: holds no label; nobody has answered yet")
    return Labels(str(run.path), "question_id", table, people=True)


def of_kind(
    labels: Labels, study: Study, kind: str | None = None
) -> tuple[str, Labels]:
    """Return the kind of question that the labels answer (``kind``, or that of all),
    and the labels on such questions and on unknown ones, which :func:`place` reports.

    Raises
    ------
    DataError
        If no label is on a question of this kind, or ``kind`` is None and there are
        several.
    """
    asked = study.questions.select(pl.col("kind").cast(pl.String), name="id")
    table = labels.table.join(
        asked, on="name", how="left", maintain_order="left"
    )
    if labels.by == "annotation_id":
        table = table.with_columns(kind=pl.lit("scoring"))
    held = table["kind"].drop_nulls().unique().sort().to_list()
    chosen = held[0] if kind is None and len(held) == 1 else kind
    if chosen is None or chosen not in held:
        got = (
            f"of one kind, got {', '.join(held)}; choose one with `kind`"
            if held
            else f"of the dataset, got {labels.table['name'][0]!r}"
        )
        raise DataError(f"{labels.file}: {labels.by} must name questions {got}")
    return chosen, replace(
        labels,
        table=table.filter(pl.col("kind").fill_null(chosen) == chosen).drop(
            "kind"
        ),
    )


def place(
    labels: Labels, items: Items, study: Study
) -> tuple[pl.DataFrame, tuple[Problem, ...]]:
    """Return the label of each row of the items (``y`` as the items' ``answers``,
    ``probability``, and the ``label`` as written; null without one), and unmatched or
    unreadable labels as problems.
    """
    asked = study.questions.filter(pl.col("kind") == items.kind)
    item = item_of(items.kind)
    annotation = pl.col("annotations").list.first().cast(pl.String)
    names = [pl.col("id")] if labels.by == "question_id" else [annotation, item]
    judged = pl.concat(
        asked.select("id", item=item, name=name) for name in names
    ).filter(pl.col("item").is_in(items.rows["item"].implode()))
    items_of_name = (
        judged.unique(["name", "item"], keep="first", maintain_order=True)
        .group_by("name")
        .agg(pl.col("id", "item").first(), count=pl.len())
    )
    result = labels.table.join(
        items_of_name, on="name", how="left", maintain_order="left"
    )
    # An annotation has two names; several questions on it have the mean of their
    # answers.
    measured = pl.col(
        "item" if labels.by == "annotation_id" else "name"
    ).is_first_distinct()
    known = result.filter(pl.col("count") == 1)
    entry = known.filter(measured)
    scale = ZERO_TO_TEN if labels.people else asked_scale(study.meta)
    wanted = WANTED.get(items.kind, f"a number from {scale}")
    answered = _answered(entry, study, scale)
    usable = answered["usable"]
    reasons = [
        *(
            (name, labels.by, "no run judged it")
            for name in result.filter(pl.col("count").is_null())["name"]
        ),
        *(
            (name, labels.by, "several tasks have it; write TASK/annotation_id")
            for name in result.filter(pl.col("count") > 1)["name"]
        ),
        *(
            (name, labels.by, "is labelled twice; the first label counts")
            for name in known.filter(~measured)["name"]
        ),
        *(
            (
                name,
                FORMS[labels.by],
                f"must be {wanted}, got {answers!r}",
            )
            for name, answers in entry.filter(~usable)
            .select("name", "said")
            .iter_rows()
        ),
    ]
    options = options_of(
        answered.filter("usable"), items.kind, unnamed=items.unnamed
    )
    y = options.select("item", "option", y="said")
    answers = entry.filter(usable).select("item", "probability", label="said")
    rows = (
        items.rows.select("item", "option")
        .join(y, on=["item", "option"], how="left", maintain_order="left")
        .join(
            answers.unique("item", keep="last"),
            on="item",
            how="left",
            maintain_order="left",
        )
    )
    _warn(labels.file, items, rows["y"], answers["label"])
    return rows, (
        *labels.problems,
        *(Problem(labels.file, *reason) for reason in reasons),
    )


def _warn(
    file: str, items: Items, labels: pl.Series, stated: pl.Series
) -> None:
    """Warn of labels on another scale than the judge's answers, or against them, or all
    ``stated`` alike."""
    both = pl.DataFrame({"judge": items.rows["said"], "label": labels})
    both = (
        both.fill_nan(None)
        .drop_nulls()
        .with_columns(r=pl.corr("judge", "label") * pl.len().sqrt())
    )
    judge, label, r = (
        both.fill_null(0.0).max().row(0) if len(both) else (0, 0, 0)
    )
    doubts = {
        f"labels go up to {label:g} and the judge's scores up to {judge:g}; labels must "
        "have the scale that was asked for": items.kind == "scoring"
        and OTHER_SCALE * label <= judge,
        "labels go against the judge's answers; are their letters or their scale "
        "reversed?": r < AGAINST,
        f"all {len(stated)} labels are {next(iter(stated), None)}": stated.n_unique()
        == 1,
    }
    for doubt in filter(doubts.get, doubts if len(both) >= MANY else ()):
        warnings.warn(f"{file}: {doubt}", stacklevel=2)


def _answered(
    labels: pl.DataFrame, study: Study, scale: ScoreScale
) -> pl.DataFrame:
    """Return labels as the answers of a judge to the questions ``id``; scores lie on
    ``scale``."""
    answers = pl.col("said")
    ties = pl.col("said").str.to_lowercase()
    verdicts = labels.select(
        "id",
        text=pl.when(ties.is_in(list(TIES)))
        .then(ties)
        .otherwise(answers.str.to_uppercase()),
        number=scale.ten(answers.cast(pl.Float64, strict=False)),
        status=pl.lit("ok"),
        order=pl.lit("AB"),
        said_cause=pl.lit(None, pl.String),
    )
    return join(
        study.questions,
        verdicts.with_columns(pl.col("text", "status", "order").cast(WORD)),
    )
