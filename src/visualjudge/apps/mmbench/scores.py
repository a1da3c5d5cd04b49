"""The figures of an evaluation, with intervals: ``scores.json`` and MMBench's table.
Right and wrong are decided in ``evaluate.py``.

All rows about one image are correlated, rotations and other questions, so each interval
leaves out one image in turn (95 %, see :mod:`visualjudge.analysis.estimate`); with fewer
than five images no interval is given.

The usual table has accuracy by MMBench's six abilities and overall, for each split and
model.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from operator import attrgetter

import numpy as np
import polars as pl

from visualjudge.analysis.estimate import LEVEL, holm, shares, sums
from visualjudge.analysis.figure_text import (
    many,
    number,
    percent,
    percents,
    points,
)
from visualjudge.analysis.figures.comparisons import paired
from visualjudge.apps.mmbench.doubts import FEW, doubts
from visualjudge.apps.mmbench.evaluate import Difference, Evaluation, Slice
from visualjudge.apps.mmbench.table import Row, ScoredRow
from visualjudge.core.jsons import Json
from visualjudge.core.text_tables import Table

# MMBench's l2-categories and the names its leaderboard gives them; other categories
# keep their own.
ABILITIES = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}
ALL = "all"
BY_IMAGE = "95 %: over images, from five images on."


def scores(evaluation: Evaluation) -> Json:
    """Return one evaluation as plain JSON; shares are in 0..1, None without cases."""
    return {
        "rules": evaluation.rules,
        **block(evaluation.whole),
        "invalid_groups": [group.index for group in evaluation.invalid],
        **{
            f"by_{name}": {
                value: block(part)
                for value, part in evaluation.whole.by(attrgetter(name)).items()
            }
            for name in ("category", "l2_category")
        },
        "rows": [
            {
                "index": line.row.index,
                "prediction": line.prediction,
                "extracted": line.extracted,
                "hit": line.hit,
                "answer": line.row.answer or None,
                "why": line.why,
            }
            for line in evaluation.rows
        ],
        "groups": [
            {"index": group.index, "hit": group.hit}
            | ({"missing": list(group.missing)} if group.missing else {})
            for group in evaluation.groups
        ],
        "unknown": list(evaluation.unknown),
        "matched": evaluation.matched,
        "doubts": list(doubts(evaluation.rows)),
        **(
            {"differs": [*map(_difference, evaluation.differences)]}
            if evaluation.rules == "vlmevalkit"
            else {}
        ),
    }


def _difference(difference: Difference) -> Json:
    return {
        "index": difference.row.index,
        "strict": difference.strict.letter,
        "vlmevalkit": difference.vlmevalkit.letter,
        "prediction": difference.prediction,
        "why_strict": difference.strict.why,
        "why_vlmevalkit": difference.vlmevalkit.why,
    }


def block(part: Slice) -> Json:
    """Return counts, shares and intervals of some rows and their groups.

    ``n_missing`` of the ``n`` rows have no reply; they count as unread and wrong, but
    not in the shares ``of_replies``. ``vanilla_accuracy`` is that of VanillaEval: each
    question once, without its rotations.
    """
    circular = cases(part, "circular_accuracy")
    replied = [line for line in part.rows if line.prediction is not None]
    vanilla = [line for line in part.rows if not line.row.rotation]
    return {
        "n": len(part.rows),
        "n_images": len({line.image for line in part.rows}),
        "n_missing": len(part.rows) - len(replied),
        **_shares(
            "extraction_rate",
            part.rows,
            [line.extracted is not None for line in part.rows],
        ),
        "extraction_rate_of_replies": share(
            [line.extracted is not None for line in replied]
        ),
        **_shares("accuracy", part.rows, [line.hit for line in part.rows]),
        "accuracy_of_replies": share([line.hit for line in replied]),
        "n_vanilla": len(vanilla),
        **_shares("vanilla_accuracy", vanilla, [line.hit for line in vanilla]),
        "n_groups": len(circular),
        **_shares(
            "circular_accuracy",
            [rows[0] for rows in circular],
            [all(line.hit for line in rows) for rows in circular],
        ),
    }


def _shares(
    name: str, rows: Sequence[ScoredRow], values: Sequence[bool]
) -> Json:
    return {
        name: share(values),
        f"{name}_ci95": interval(values, [line.image for line in rows]),
    }


def share(values: Sequence[float]) -> float | None:
    """Return the share of true values, or a mean; None without values."""
    return sum(values) / len(values) if values else None


def interval(
    values: Sequence[bool], images: Sequence[str]
) -> tuple[float | None, float | None] | None:
    """Return the 95 % interval of the share of true values by leaving out each image;
    None with fewer than five images.
    """
    place = {image: k for k, image in enumerate(dict.fromkeys(images))}
    at = np.array([place[image] for image in images], dtype=np.int64)
    hits = sums(at, np.array(values, dtype=float), 1)
    return shares(hits, np.bincount(at).astype(float))[0].interval


@dataclass(frozen=True)
class Model:
    """One results file and its name in the report."""

    name: str
    evaluation: Evaluation


@dataclass(frozen=True)
class Line:
    """One line of the table: shares in 0..1 by column, None without cases."""

    model: str
    split: str
    measure: str
    label: str
    cells: dict[str, Json]


def ability(row: Row) -> str:
    """Return what a row tests: its l2-category, by MMBench's short name, or else its
    category."""
    name = row.l2_category or row.category
    return ABILITIES.get(name, name)


def column_names(models: Sequence[Model]) -> list[str]:
    """Return the table's columns: the six abilities in MMBench's order, then others by
    name."""
    seen = {
        ability(line.row) for model in models for line in model.evaluation.rows
    } - {""}
    usual = [short for short in ABILITIES.values() if short in seen]
    return ["Overall", *usual, *sorted(seen - set(usual))]


def measures(evaluation: Evaluation) -> dict[str, str]:
    """Return the measures and their names, the most telling first: with rotations
    CircularEval and VanillaEval (each question once), without them only this, which
    then is the share of all rows.
    """
    return (
        {"circular_accuracy": "circular", "vanilla_accuracy": "vanilla"}
        if any(line.row.rotation for line in evaluation.rows)
        else {"accuracy": "vanilla"}
    )


def cases(part: Slice, measure: str) -> list[Sequence[ScoredRow]]:
    """Return the rows of each question that a measure counts."""
    if measure == "circular_accuracy":
        return [group.rows for group in part.groups if group.hit is not None]
    return [
        [line]
        for line in part.rows
        if measure != "vanilla_accuracy" or not line.row.rotation
    ]


def lines(models: Sequence[Model]) -> Iterator[Line]:
    """Return the table: for each model and split, one line for each of its
    :func:`measures`."""
    for model in models:
        splits = model.evaluation.whole.by(lambda row: row.split or ALL)
        of_split = len(splits) > 1
        if of_split:
            splits[ALL] = model.evaluation.whole
        for split, part in splits.items():
            pieces = {
                "Overall": part,
                **{name: own for name, own in part.by(ability).items() if name},
            }
            for measure, label in measures(model.evaluation).items():
                cells = {
                    name: _cell(piece, measure)
                    for name, piece in pieces.items()
                }
                yield Line(
                    model.name,
                    split,
                    measure,
                    (f"{label}, {split}" if of_split else label),
                    cells,
                )


def _cell(piece: Slice, measure: str) -> Json:
    counted = cases(piece, measure)
    right = [all(line.hit for line in rows) for rows in counted]
    images = [rows[0].image for rows in counted]
    return {
        "guess": share([_chance(rows) for rows in counted]),
        "value": share(right),
        "ci95": interval(right, images),
        "n": len(counted),
        "n_images": len({*images}),
    }


def _chance(rows: Sequence[ScoredRow]) -> float:
    """Return how often a guess is right in all of these rows: of as many options as are
    right, because a reply must name exactly these."""
    return prod(
        bool(line.row.answer)
        / comb(len(line.row.options), len(line.row.answer))
        for line in rows
    )


def comparisons(models: Sequence[Model]) -> list[Json]:
    """Compare every two models by their first measure on the questions that it counts
    of both, with images as the unit; ``better`` by p adjusted by Holm over these pairs.
    """
    right = {model.name: _right(model) for model in models}
    joined = {
        (a, b): right[a]
        .join(right[b], on="question", suffix="_b")
        .with_columns(pl.col("cluster").rank("dense"))
        for a, b in combinations(right, 2)
    }
    rows = [paired(both, names) for names, both in joined.items() if len(both)]
    adjusted = holm([row.p for row in rows])
    return [
        {
            "a": row.a,
            "b": row.b,
            "measure": next(iter(measures(models[0].evaluation))),
            "better": max((row.value_a, row.a), (row.value_b, row.b))[1]
            if p is not None and p < LEVEL
            else None,
            "difference": row.gap.value,
            "difference_ci95": row.gap.interval,
            "p": row.p,
            "p_holm": p,
            "questions": row.questions,
        }
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _right(model: Model) -> pl.DataFrame:
    measure = next(iter(measures(model.evaluation)))
    rows = [
        (own[0].row.group, own[0].image, all(line.hit for line in own))
        for own in cases(model.evaluation.whole, measure)
    ]
    schema = {"question": pl.Int64, "cluster": pl.String, "right": pl.Boolean}
    return pl.DataFrame(rows, schema, orient="row")


def tables(models: Sequence[Model]) -> list[Table]:
    """Return what is shown first: which of several models is better, and the usual
    table."""
    which = [better_table(models)] if len(models) > 1 else []
    return [*which, accuracy_table(models)]


def better_table(models: Sequence[Model]) -> Table:
    """Return which of every two models is better."""
    rows = tuple(
        (
            row["a"],
            row["b"],
            row["better"] or "not proven",
            measures(models[0].evaluation)[row["measure"]],
            f"{points(row['difference'])} ({percents(row['difference_ci95'])})",
            number(row["questions"]),
        )
        for row in comparisons(models)
    )
    return Table(
        (
            *("First", "Second", "Better", "Measure"),
            *("Difference in points (95 %)", "Questions"),
        ),
        rows,
        (
            "Difference: first minus second on the same questions. Better: p below 5 % "
            "in a paired test by image (Holm over these pairs).",
            *(
                f"{a.name} and {b.name} gave the same reply to every question; is one "
                "file there twice?"
                for a, b in combinations(models, 2)
                # good models answer a few questions alike
                if len(_replies(a)) >= FEW and _replies(a) == _replies(b)
            ),
        ),
        keys=3,
    )


def _replies(model: Model) -> list[str | None]:
    return [line.prediction for line in model.evaluation.rows]


def as_json(models: Sequence[Model]) -> Json:
    """Return the report as plain JSON."""
    return {
        "table": [
            {
                name: value
                for name, value in vars(line).items()
                if name != "label"
            }
            for line in lines(models)
        ],
        "comparisons": comparisons(models),
        "models": [
            {"name": model.name, **scores(model.evaluation)} for model in models
        ],
    }


def accuracy_table(models: Sequence[Model]) -> Table:
    """Return the usual table, with the interval of what is overall."""
    first, *names = column_names(models)
    rows = []
    for line in lines(models):
        overall, *own = (
            percent(line.cells[name]["value"] if name in line.cells else None)
            for name in (first, *names)
        )
        rows.append(
            (
                line.model,
                line.label,
                overall,
                percents(line.cells[first]["ci95"]),
                *own,
            )
        )
    short = ", ".join(
        f"{name}: {long.replace('_', ' ')}"
        for long, name in ABILITIES.items()
        if name in names
    )
    return Table(
        ("Model", "Measure", first, "95 %", *names),
        tuple(rows),
        (
            "Vanilla: each question once, as it stands in the table; circular: right in "
            "every rotation.",
            *[f"{short}."] * bool(short),
            BY_IMAGE,
            *_without_answer(models),
        ),
        keys=2,
    )


def sentence(model: Model) -> str:
    """Return how often a model is right, beside a guess."""
    every = list(lines([model]))
    headline = next(line for line in every if line.split == every[-1].split)
    cell = headline.cells["Overall"]
    guess = percent(cell["guess"])
    beyond = (
        f"guessing would reach {guess}"
        if cell["ci95"] and cell["ci95"][0] > cell["guess"]
        else f"it is not proven better than guessing ({guess})"
    )
    return (
        f"{model.name} answers {percent(cell['value'])} ({percents(cell['ci95'])}) of "
        f"{many(cell['n'], 'question')}"
        + f" about {many(cell['n_images'], 'image')}"
        * bool(cell["n_images"] < cell["n"])
        + " rightly"
        + " in every rotation" * headline.label.startswith("circular")
        + f"; {beyond}."
    )


def ability_table(models: Sequence[Model]) -> Table:
    """Return the numbers of each ability, with their intervals."""
    rows = (
        (
            line.model,
            line.label,
            name,
            percent(cell["value"]),
            percents(cell["ci95"]),
            number(cell["n"]),
            number(cell["n_images"]),
        )
        for line in lines(models)
        for name, cell in line.cells.items()
        if name != "Overall"
    )
    return Table(
        ("Model", "Measure", "Of", "Right", "95 %", "Questions", "Images"),
        tuple(rows),
        (BY_IMAGE,),
        keys=3,
    )


def _without_answer(models: Sequence[Model]) -> Iterator[str]:
    """Yield for each model what lacks a reply or an option, and how that counts."""
    for model in models:
        lacks = Counter(
            "without a reply"
            if line.prediction is None
            else "without an option"
            for line in model.evaluation.rows
            if line.extracted is None
        )
        wrong = " and ".join(f"{n} {what}" for what, n in lacks.most_common())
        left_out = len(model.evaluation.invalid)
        texts = [
            f"of {many(len(model.evaluation.rows), 'row')}, {wrong} count as wrong"
            * bool(lacks),
            f"{many(left_out, 'question')} left out of circular for want of a reply"
            * bool(left_out),
        ]
        if any(texts):
            yield f"{model.name}: {'; '.join(filter(None, texts))}."
