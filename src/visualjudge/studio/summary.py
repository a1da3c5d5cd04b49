"""The verdicts of a run summarised for each question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from visualjudge.core.records import LETTERS, QuestionType
from visualjudge.studio.index import DatasetIndex
from visualjudge.studio.verdict_reading import STATUSES, VALUE_CODE, VALUES, Rows

OUTCOMES = ("not asked", "right", "mixed", "wrong", "failed", "cannot tell", "no right answer")
# The only status whose value counts; values extracted by a second reader count as failed, as in
# every figure.
_OK = STATUSES.index("ok")
CONSISTENCY = (
    "not asked in both orders",
    "same answer",
    "flipped by order",
    "not answered in both orders",
)
_PLACES = np.array(
    [
        [LETTERS.index(c) for c in v] + [-1] * (len(LETTERS) - len(v)) if v.isupper() else [-1] * 5
        for v in VALUES
    ],
    np.int32,
)
CLOSE = 1.0
"""A score is right if it differs by at most this much."""
_A, _B = VALUE_CODE["A"], VALUE_CODE["B"]
_SIZE = np.array(
    [0 if len(v) > 1 and v in ("tie", "both_bad") else len(v) for v in VALUES], np.int32
)


@dataclass(frozen=True, slots=True)
class Share:
    """Right verdicts on one question type, among those that accuracy counts, as summed by
    :class:`Summary`.

    Attributes
    ----------
    answered
        Verdicts that could be read; without any, no accuracy is given.
    """

    question_type: str
    right: int
    verdicts: int
    answered: int


@dataclass(frozen=True, eq=False, slots=True)
class Summary:
    """A run's results for each question of the dataset; each array has one entry per
    question.

    Attributes
    ----------
    outcome
        Code into OUTCOMES.
    statuses
        Rows, and codes into STATUSES, with one entry for each distinct status of a question.
    consistency
        Code into CONSISTENCY.
    asked
        Verdicts that count for accuracy, without those that only check a rater.
    answered
        Those of ``asked`` that could be read.
    right
        Those of ``asked`` that are right; failed ones count as wrong.
    share_right
        Right verdicts among all; NaN where undefined.
    confidence
        Mean probability of the given answer over verdicts; NaN if the backend does not report it.
    chars
        Length of the longest reply in characters.
    value
        Code into VALUES of the first usable verdict, -1 if not found.
    number
        The first usable verdict if it is a score, else NaN.
    wrong_difference
        Largest difference of the scores of two options that a verdict puts in the wrong order; NaN
        where none does, and for scores.
    shares
        By question type, without questions changed by a probe and verdicts that only check a rater.
    """

    outcome: NDArray[np.int32]
    statuses: tuple[NDArray[np.int32], NDArray[np.int32]]
    consistency: NDArray[np.int32]
    asked: NDArray[np.int32]
    answered: NDArray[np.int32]
    right: NDArray[np.int32]
    share_right: NDArray[np.float32]
    confidence: NDArray[np.float32]
    latency: NDArray[np.float32]
    chars: NDArray[np.int32]
    value: NDArray[np.int32]
    number: NDArray[np.float32]
    wrong_difference: NDArray[np.float32]
    verdicts: int
    shares: tuple[Share, ...]
    failed: int


def usable(rows: Rows, dataset: DatasetIndex) -> NDArray[np.bool_]:
    """Return which verdicts fit their question: a letter, a permutation of its letters, or a number
    from 0 to 10.
    """
    columns, q = dataset.columns, rows["q"]
    kinds = columns.vocabulary.get("type", ())
    kind = columns.single["type"][q] if q.size else np.zeros(0, np.int32)
    size = np.where(rows["value"] >= 0, _SIZE[rows["value"]], -1)

    def is_of(name: str) -> Any:
        return kind == (kinds.index(name) if name in kinds else -1)

    fits = (
        is_of("pairwise") & ((size == 1) & (rows["value"] <= VALUE_CODE["B"]) | (size == 0))
    ) | (is_of("ranking") & (size == columns.options[q]))
    scored = is_of("scoring") & (rows["number"] >= 0) & (rows["number"] <= 10)
    return np.asarray((fits | scored) & (rows["status"] == _OK))


def _right(rows: Rows, dataset: DatasetIndex, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
    columns, q = dataset.columns, rows["q"]
    answers = np.array(
        [VALUE_CODE.get(a, -2) for a in columns.vocabulary.get("answer", ())] or [-2], np.int32
    )
    exact = rows["value"] == (answers[columns.single["answer"][q]] if q.size else np.zeros(0))
    close = np.abs(rows["number"] - columns.truth[q]) <= CLOSE
    return np.asarray(
        good & np.where(np.isnan(columns.truth[q]), exact, close) & (columns.open_ended[q] == 0)
    )


def _wrong_difference(wrong: Rows, dataset: DatasetIndex) -> NDArray[np.float32]:
    """Return the largest difference in the wrong order of each question, among wrong verdicts.

    A margin says nothing of that in a ranking: a swap of two neighbours is wrong by theirs alone.
    """
    columns = dataset.columns
    found = np.full(columns.count, -np.inf, np.float32)
    wrong = wrong[columns.options[wrong["q"]] > 1]
    ranked = _SIZE[wrong["value"]] > 1
    q = wrong["q"][~ranked]
    np.maximum.at(found, q, columns.margin[q])
    q, places = wrong["q"][ranked], _PLACES[wrong["value"][ranked]]
    first = np.cumsum(columns.options) - columns.options
    scores = np.where(places < 0, np.nan, columns.scores[first[q][:, None] + places.clip(0)])
    rise = scores - np.fmin.accumulate(scores, axis=1)
    np.maximum.at(found, q, np.fmax.reduce(rise, axis=1).astype(np.float32))
    found[found < 0] = np.nan
    return found


def _shares(
    rows: Rows, dataset: DatasetIndex, good: NDArray[np.bool_], right: NDArray[np.bool_]
) -> tuple[Share, ...]:
    columns, q = dataset.columns, rows["q"]
    counts = columns.changed[q] == 0
    names = columns.vocabulary.get("type", ())
    tallies = [
        np.bincount(columns.single["type"][q[chosen]], minlength=len(names)).tolist()
        for chosen in (counts & right, counts, counts & good)
    ]
    found = {
        name: Share(name, *tally) for name, *tally in zip(names, *tallies, strict=True) if tally[1]
    }
    return tuple(found[name] for name in get_args(QuestionType) if name in found)


def _status_pairs(
    q: NDArray[np.int32], status: NDArray[np.uint8], n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the rows and codes of all distinct statuses, in order of the rows."""
    has = np.zeros((n, len(STATUSES)), dtype=bool)
    has[q, status] = True
    rows, codes = np.divmod(np.flatnonzero(has), len(STATUSES))
    return rows.astype(np.int32), codes.astype(np.int32)


def _mean(rows: Rows, values: NDArray[Any], n: int) -> NDArray[np.float32]:
    known = np.isfinite(values)
    count = np.bincount(rows["q"][known], minlength=n)
    total = np.bincount(rows["q"][known], weights=values[known], minlength=n)
    mean = np.divide(total, count, out=np.full(n, np.nan), where=count > 0)
    return np.asarray(mean, dtype=np.float32)


def summary_of(rows: Rows, dataset: DatasetIndex) -> Summary:
    """Summarise the verdicts by question; those that only check a rater are ignored."""
    verdicts, checks = int(rows.size), rows["check"] != 0
    if checks.any():  # else without a copy: rows of a large run are tens of megabytes
        rows = rows[~checks]
    n, q = dataset.columns.count, rows["q"]
    good = usable(rows, dataset)
    right = _right(rows, dataset, good)
    unsure = rows["status"] == STATUSES.index("cannot_tell")
    asked, rights = np.bincount(q, minlength=n), np.bincount(q[right], minlength=n)
    failed = np.bincount(q[~good & ~unsure], minlength=n)
    told = asked - np.bincount(q[unsure], minlength=n)
    open_ended = dataset.columns.open_ended == 1
    outcome = np.select(
        [asked == 0, failed > 0, told == 0, open_ended, rights == told, rights == 0],
        [0, 4, 5, 6, 1, 3],
        default=2,
    ).astype(np.int32)
    counted = ~open_ended[q]
    chars = np.zeros(n, np.int32)
    np.maximum.at(chars, q, rows["chars"])
    value, number = np.full(n, -1, np.int32), np.full(n, np.nan, np.float32)
    value[q[good][::-1]] = rows["value"][good][::-1]
    number[q[good][::-1]] = rows["number"][good][::-1]
    p = rows["probability"]
    return Summary(
        outcome=outcome,
        statuses=_status_pairs(q, rows["status"], n),
        consistency=_consistency(rows, good, n),
        asked=np.bincount(q[counted], minlength=n).astype(np.int32),
        answered=np.bincount(q[counted & good], minlength=n).astype(np.int32),
        right=np.bincount(q[counted & right], minlength=n).astype(np.int32),
        share_right=np.divide(
            rights, asked, out=np.full(n, np.nan), where=(asked > 0) & ~open_ended
        ).astype(np.float32),
        confidence=_mean(rows, np.maximum(p, 1 - p), n),
        latency=_mean(rows, rows["latency"], n),
        chars=chars,
        value=value,
        number=number,
        wrong_difference=_wrong_difference(rows[good & ~right & counted], dataset),
        verdicts=verdicts,
        shares=_shares(rows, dataset, good, right),
        failed=int((~good & ~unsure).sum()),
    )


def _consistency(rows: Rows, good: NDArray[np.bool_], n: int) -> NDArray[np.int32]:
    """Return whether the answer is the same in both orders, by majority over repeats.

    A tie matches only another tie.

    A tie is neither letter, so it is the same answer as another tie alone.
    """
    letters = good & (rows["value"] >= 0) & (_SIZE[rows["value"]] <= 1)
    lean, asked = [], []
    for order in (0, 1):
        of_order = rows["order"] == order
        asked.append(np.bincount(rows["q"][of_order], minlength=n))
        chosen = letters & of_order
        q = rows["q"][chosen]
        count = np.bincount(q, minlength=n)
        values = rows["value"][chosen]
        letter = (values == _A).astype(np.int32) - (values == _B)
        lean.append((count, np.bincount(q, weights=letter, minlength=n)))
    (n_ab, ab), (n_ba, ba) = lean
    states = [np.minimum(*asked) == 0, np.minimum(n_ab, n_ba) == 0, np.sign(ab) == np.sign(ba)]
    return np.select(states, [0, 3, 1], default=2).astype(np.int32)
