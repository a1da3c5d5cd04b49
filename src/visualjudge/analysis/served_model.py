"""Who answered a run, as the server stated it: routers and aliases may change the model
in mid-run. What a run's own file states is in ``runs/folder.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from visualjudge.core.jsons import Json
from visualjudge.core.records import Served
from visualjudge.runs.settings_changes import changes


@dataclass(frozen=True, slots=True)
class ServedBy:
    """A model that answered, with its number of verdicts and its accuracy on pairs if
    they are enough.
    """

    model: str | None
    fingerprint: str | None
    n: int
    accuracy: float | None


ENOUGH = 20
"""Verdicts on pairs below which no accuracy is given."""
# Settings of the questions: a changed dataset is named by the comparison itself.
_QUESTIONS = frozenset({"questions.json", "media"})


def served_by(answers: pl.DataFrame) -> tuple[ServedBy, ...]:
    """Return each model and fingerprint with its number of verdicts and accuracy, most
    frequent first; empty if no server named any.
    """
    names = ["served_model", "fingerprint"]
    pairs = pl.col("right").count()
    rows = (
        answers.filter(
            pl.any_horizontal(pl.col(name).is_not_null() for name in names)
        )
        .group_by(names)
        .agg(
            n=pl.len(),
            accuracy=pl.when(pairs >= ENOUGH).then(pl.col("right").mean()),
        )
        .sort("n", *names, descending=[True, False, False])
    )
    return tuple(ServedBy(*row) for row in rows.iter_rows())


def moved(rows: tuple[ServedBy, ...]) -> list[str]:
    """Return the warning about a run that several models answered; none for one
    model."""
    if len(rows) < 2:
        return []
    displayed = [
        f"{Served(row.model, row.fingerprint)} {row.n}"
        + (
            ""
            if row.accuracy is None
            else f" ({100 * row.accuracy:.1f} % right)"
        )
        for row in rows
    ]
    return [
        f"the model moved: the run was answered by {len(rows)}: {', '.join(displayed)} "
        "verdicts"
    ]


def moved_between(
    identities: Sequence[Sequence[ServedBy]], infos: Sequence[Json]
) -> list[str]:
    """Return a sentence if, of two runs (who answered, and ``run.json``), only the model
    that answered differs, or only the settings with which it was asked; none if both
    differ, neither does, or who answered is not known.
    """
    before, after = (
        [str(Served(row.model, row.fingerprint)) for row in rows]
        for rows in identities
    )
    collected = [
        change for change in changes(*infos) if change.name not in _QUESTIONS
    ]
    if not (before and after) or (set(before) == set(after)) is not bool(
        collected
    ):
        return []
    if collected:
        return [
            f"The judge moved, not the model: {'; '.join(map(str, collected))}."
        ]
    return [
        f"The model moved under the same settings: first {' and '.join(before)} "
        f"answered, then {' and '.join(after)}."
    ]
