"""The one table of answers: one row a verdict, beside its question. The answer to a
study's question is in ``decisions/``; the tables of questions and of verdicts that are
joined here, in ``study_table.py``.

Here alone is decided what a verdict is worth. ``usable``: its value answers the
question; what is not usable has *failed*, for the ``cause``. ``tie``: it calls two
options equal. A tie is an answer, whether or not the question allows one: it is never
failed, and right only where the truth is that tie. ``right``: pairwise only; a failed
reply is wrong; null where the truth is not known. ``chosen``: the option that a usable
reply prefers, "A" or "B" as stored; null for ties. ``said_first``: that option was
shown first (by ``order``). ``first_right``: the better option was shown first; null if
neither is better. ``image`` names the image, and ``cluster`` numbers it: the unit of
every interval.

Nothing is repaired here.
"""

from collections.abc import Sequence
from itertools import permutations

import polars as pl
from scipy import special

from visualjudge.analysis.estimate import within
from visualjudge.core.records import FAILED, LETTERS, TIES, TURNED, UNKNOWN

EXTRACTED = "ok_extracted"
UNFIT = "the value does not fit the question"
OPTIONS = ["A", "B"]
LEAST_P = 0.01
"""p of letters that go with the models, below which they were not dealt at random."""


def has_truth() -> pl.Expr:
    """Return whether the true answer of a question is known: not so where people are
    split."""
    return (pl.col("answer") != UNKNOWN).fill_null(True)


def where_known(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairwise verdicts on questions whose truth is known; all of them where
    none is, for their counts.
    """
    known = pairs.drop_nulls("right")
    return pairs if known.is_empty() else known


def is_tie(column: str = "text") -> pl.Expr:
    """Return whether an answer calls the options equal."""
    return pl.col(column).is_in(list(TIES))


def is_option(column: str = "text") -> pl.Expr:
    """Return whether an answer, or the truth, is one of two options."""
    return pl.col(column).is_in(OPTIONS)


def points(answer: str) -> pl.Expr:
    """Return the points of option A for an answer: 1, 0, or ½ for a tie."""
    return pl.col(answer).replace_strict(
        {"A": 1.0, "B": 0.0},
        default=0.5,
        return_dtype=pl.Float64,
    )


def models_of(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the named models of pairwise verdicts, ``a`` and ``b``; null where a
    question does not compare two.
    """
    names = pl.col("sources").cast(pl.List(pl.String)).list
    two = pairs.select(
        a=names.get(0, null_on_oob=True), b=names.get(1, null_on_oob=True)
    )
    named = pl.col("a") != pl.col("b")
    return two.select(pl.when(named).then(name) for name in ("a", "b"))


def letters_dealt(pairs: pl.DataFrame) -> bool:
    """Return whether the letters of pairwise verdicts say something of their own: no
    models are named, or neither of two is shown first more often than by chance (χ²
    over pairs, p ≥ 1 %). A question counts once an order, whoever answered it, and
    however often.

    Where one of two models always has the same letter, a preference for the model reads
    as one for the letter.
    """
    two = models_of(pairs).with_columns(
        pairs["question"], pairs["order"].cast(pl.String)
    )
    known = two.unique().drop_nulls(["a", "b"])
    if known.is_empty():
        return True
    if (known["order"] == "unknown").any():
        return False
    first = (pl.col("a") < pl.col("b")) == (pl.col("order") == "AB")
    names = (
        pl.min_horizontal("a", "b").alias("low"),
        pl.max_horizontal("a", "b"),
    )
    seen = known.group_by(*names).agg(
        lead=2.0 * first.sum() - pl.len(), n=pl.len().cast(pl.Float64)
    )
    excess = float((seen["lead"] ** 2 / seen["n"]).sum())
    return bool(special.chdtrc(seen.height, excess) >= LEAST_P)


def by_models(
    pairs: pl.DataFrame,
    *columns: str,
) -> pl.DataFrame:
    """Return pairwise verdicts whose letters, in ``columns``, are renamed: A is the
    model that the answers of the first column prefer more often, over all questions.
    The letters then depend on no table's columns. Questions without named models keep
    theirs.
    """
    worth = pairs.select(points(columns[0])).to_series()
    two = models_of(pairs).with_columns(worth=worth)
    sides = [
        two.select(name="a", worth="worth"),
        two.select(
            name="b",
            worth=1 - pl.col("worth"),
        ),
    ]
    strength = (
        pl.concat(sides)
        .drop_nulls("name")
        .group_by("name")
        .agg(pl.col("worth").mean().round(12))
    )
    for side in ("a", "b"):
        named = strength.rename({"name": side, "worth": f"worth_{side}"})
        two = two.join(
            named,
            on=side,
            how="left",
            maintain_order="left",
        )
    tied = pl.col("worth_a") == pl.col("worth_b")
    later = pl.when(tied).then(pl.col("a") > pl.col("b"))
    turned = later.otherwise(pl.col("worth_a") < pl.col("worth_b")).fill_null(
        False
    )
    return _exchanged(
        pairs,
        two.select(turned=turned)["turned"],
        columns,
    )


def as_dealt(
    pairs: pl.DataFrame,
    *columns: str,
    dealt: bool,
) -> pl.DataFrame:
    """Return pairwise verdicts whose letters, in ``columns``, are those shown (by
    ``order``) if they were ``dealt`` (:func:`letters_dealt`), else those
    :func:`by_models`.
    """
    if not dealt:
        return by_models(pairs, *columns)
    return _exchanged(
        pairs,
        pairs["order"].cast(pl.String) == "BA",
        columns,
    )


def _exchanged(
    pairs: pl.DataFrame,
    place: pl.Series,
    columns: Sequence[str],
) -> pl.DataFrame:
    """Return pairwise verdicts with A and B exchanged in ``columns`` at ``place``."""
    return pairs.with_columns(
        pl.when(place)
        .then(pairs[name].cast(pl.String).replace(TURNED))
        .otherwise(pairs[name].cast(pl.String))
        .alias(name)
        for name in columns
    )


def is_right(step: float) -> pl.Expr:
    """Return whether answers to any type of question are right; a score may be off by a
    step. Where no answer is right, of a probe's question, it still compares with the
    stored one.
    """
    near = within(
        pl.col("number") - pl.col("truth"),
        step,
    )
    scored = pl.col("kind") == "scoring"
    same = (
        pl.when(scored).then(near).otherwise(pl.col("text") == pl.col("answer"))
    )
    return (pl.col("usable") & same).fill_null(False)


def failed() -> pl.Expr:
    """Return whether a verdict has no usable answer."""
    return ~pl.col("usable")


def _usable() -> pl.Expr:
    """Return whether the value answers its question: a letter or a tie, a permutation
    of the letters, or 0..10.
    """
    text = pl.col("text")
    orders = (
        (pl.col("options") == k)
        & text.is_in(["".join(order) for order in permutations(LETTERS[:k])])
        for k in range(1, len(LETTERS) + 1)
    )
    fits = (
        pl.when(pl.col("kind") == "pairwise")
        .then(is_option() | is_tie())
        .when(pl.col("kind") == "ranking")
        .then(pl.any_horizontal(orders))
        .otherwise(pl.col("number").is_between(0, 10))
    )
    return (fits & (pl.col("status") == "ok")).fill_null(False)


def _cause() -> pl.Expr:
    """Return why a reply failed: its status, with the detailed cause if the journal has
    one."""
    named = pl.format("{}: {}", "status", "said_cause")
    stated = (
        pl.when(pl.col("said_cause").is_null())
        .then(pl.col("status"))
        .otherwise(named)
    )
    reason = (
        pl.when(pl.col("status") == "ok").then(pl.lit(UNFIT)).otherwise(stated)
    )
    return pl.when(failed()).then(reason)


def join(
    questions: pl.DataFrame,
    verdicts: pl.DataFrame,
) -> pl.DataFrame:
    """Return the table of answers: one row per verdict on a question of the dataset."""
    rows = questions.select(
        "id",
        place=pl.int_range(pl.len(), dtype=pl.UInt32),
    )
    place = verdicts.select("id").join(
        rows,
        on="id",
        how="left",
        maintain_order="left",
    )["place"]
    known = (
        verdicts
        if place.null_count() == 0
        else verdicts.filter(place.is_not_null())
    )
    table = (
        known.drop("id")
        .hstack(questions[place.drop_nulls()])
        .with_columns(usable=_usable())
    )
    extracted = pl.col("status") == EXTRACTED
    pairwise = pl.col("kind") == "pairwise"
    table = table.with_columns(
        text=pl.when(extracted).then(pl.lit(FAILED)).otherwise("text"),
        number=pl.when(~extracted).then("number"),
    )
    read = pairwise & pl.col("usable")
    turned = pl.col("order") == "BA"
    return table.with_columns(
        tie=pl.when(pairwise).then(read & is_tie()),
        right=pl.when(pairwise & has_truth()).then(
            read & (pl.col("text") == pl.col("answer"))
        ),
        chosen=pl.when(read & is_option()).then("text"),
        said_first=pl.when(read & is_option()).then(
            (pl.col("text") == "A") ^ turned
        ),
        first_right=pl.when(pairwise & is_option("answer")).then(
            (pl.col("answer") == "A") ^ turned
        ),
        cause=_cause().cast(pl.Categorical()),
    ).drop("said_cause", "ties")
