"""The accuracy that a judge could reach from length, count, size or position alone. It shows
whether a benchmark can be gamed.

Each rule of the form "choose the option with more of it" is scored on the dataset itself, without a
judge. ``combined`` weights all rules except position, which is not a property of an option, with
weights learned on other images (five folds). Its p comes from a permutation test, because results
from folds that share training data are not independent: the true answers of all pairs of an image
are flipped together, at random, and the weights are learned again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from visualjudge.analysis import estimate
from visualjudge.analysis.accuracy_cells import image_sums, share_of, test_of
from visualjudge.analysis.estimate import norm_sf
from visualjudge.analysis.figures import Leak
from visualjudge.analysis.repeated_rows import holm_apart, leak_verdicts, originals
from visualjudge.analysis.study_table import Run, lead
from visualjudge.analysis.value_and_interval import NO_SHARE, Share
from visualjudge.core.records import FloatArray, IntArray
from visualjudge.core.seeding import rng_for

RULES = ("position", "text_chars", "count", "area", "png_bytes")
NEEDED = ("question", "kind", "answer", "task", "cluster", *map(lead, RULES[1:]))
"""Columns of the questions that the audit uses."""
SHOWN = "shown_first"
COMBINED = "combined"
LEVEL = 0.05
FOLDS = 5
LEAST_IMAGES = 10
RIDGE = 1.0
PERMUTATIONS = 499
CELLS = 4_000_000
MOST_CELLS = 6_000_000
LEAST_PERMUTATIONS = 49


def with_order_shown(questions: pl.DataFrame, runs: Sequence[Run]) -> pl.DataFrame:
    """Add the column :data:`SHOWN` to the questions: 1 if judges saw option A first, −1 if they saw
    B first, 0 if they were asked in both orders or the order is not known. With 0, always choosing
    the first option is not a rule that could be right more often than not.
    """
    first = pl.when(pl.col("order") == "BA").then(-1.0).otherwise(1.0)
    asked = [
        run.answered.select("question", first=first if run.order_shown else pl.lit(0.0))
        for run in runs
        if not run.of_people
    ]
    if not asked:
        return questions
    one_order = pl.col("first").min() == pl.col("first").max()
    orders = (
        pl.concat(asked)
        .group_by("question")
        .agg(pl.when(one_order).then(pl.col("first").first()).otherwise(0.0).alias(SHOWN))
    )
    found = questions.join(orders, on="question", how="left", maintain_order="left")
    return found.with_columns(pl.col(SHOWN).fill_null(0.0))


def differences(pairs: pl.DataFrame) -> FloatArray:
    """Return option A minus option B of every rule's feature, pairs × rules; 0 if unknown. Position
    is 1 if A is shown first, which is assumed for all pairs if there is no column :data:`SHOWN`.
    """
    first = pl.col(SHOWN) if SHOWN in pairs.columns else pl.lit(1.0)
    told = pairs.select(
        first.cast(pl.Float64).alias("position"),
        *(pl.col(lead(name)).fill_null(0.0) for name in RULES[1:]),
    )
    return told.to_numpy()


def _rule_rows(pairs: pl.DataFrame, gaps: FloatArray, scope: str) -> list[Leak]:
    truth = (pairs["answer"] == "A").to_numpy()
    rows = []
    for r, rule in enumerate(RULES):
        told = gaps[:, r] != 0
        hits = (gaps[told, r] > 0) == truth[told]
        rows.append(
            _row(
                pairs.select("cluster").filter(pl.Series(told)), pl.Series("hit", hits), scope, rule
            )
        )
    return rows


def _row(pairs: pl.DataFrame, hits: pl.Series, scope: str, rule: str) -> Leak:
    """Return a rule's accuracy on the questions to which it applies, with interval and p
    against ½.
    """
    if pairs.is_empty():
        return Leak(scope, rule, NO_SHARE, None)
    frame = pairs.select("cluster").with_columns(hits)
    sums = image_sums(frame, [], {"n": pl.col("hit").is_not_null(), "hit": pl.col("hit")})
    value, found = sums.ratio("hit", "n")
    return Leak(scope, rule, share_of(sums.shares("hit", "n")), test_of(value - 0.5, found))


@dataclass(frozen=True, eq=False)
class _Folds:
    """Pairs sorted by fold: scaled differences ``x`` (rules × pairs), the truth as ±1, and each
    pair's image.

    ``place`` is the original index of each pair, ``ends`` the end of each fold, and ``fold_of`` the
    fold of each image.
    """

    x: FloatArray
    truth: FloatArray
    image: IntArray
    place: IntArray
    ends: IntArray
    fold_of: IntArray

    @property
    def images(self) -> int:
        return self.fold_of.size


def _folds(pairs: pl.DataFrame, gaps: FloatArray) -> _Folds:
    names, image = estimate.renumbered(pairs["cluster"].to_numpy())
    dealt = np.empty(names.size, dtype=np.int64)
    dealt[rng_for(0, "folds", int(names.size)).permutation(names.size)] = (
        np.arange(names.size) % FOLDS
    )
    scaled = np.sign(gaps) * np.log1p(np.abs(gaps))
    spread = np.sqrt((scaled**2).mean(0))
    truth = np.where((pairs["answer"] == "A").to_numpy(), 1.0, -1.0)
    place = np.argsort(dealt[image], kind="stable")
    x = np.ascontiguousarray((scaled / np.where(spread > 0, spread, 1))[place].T)
    ends = np.cumsum(np.bincount(dealt[image], minlength=FOLDS))
    return _Folds(x, truth[place], image[place], place, ends, dealt)


def _hits(data: _Folds, signs: FloatArray) -> FloatArray:
    """Return whether each pair is right with weights learned on the other folds, for each row of
    ``signs`` (rows × images). The result is rows × pairs of 0 and 1.

    A sign of -1 flips the true answers of the whole image. The weights are those of a ridge
    regression of the truth on the differences (for two classes: Fisher's linear discriminant).
    """
    pull = np.stack(
        [estimate.sums(data.image, x * data.truth, data.images) for x in data.x], axis=1
    )
    out = np.empty((signs.shape[0], data.truth.size), dtype=bool)
    turned, positive = signs < 0, data.truth > 0
    whole = data.x @ data.x.T + RIDGE * np.eye(len(data.x))
    for f, end in enumerate(data.ends):
        held, rest = slice(data.ends[f - 1] if f else 0, end), data.fold_of != f
        x = data.x[:, held]
        weights = np.linalg.solve(whole - x @ x.T, (signs[:, rest] @ pull[rest]).T)
        out[:, held] = (weights.T @ x > 0) == (turned[:, data.image[held]] ^ positive[held])
    return out


def _combined(pairs: pl.DataFrame, gaps: FloatArray, scope: str) -> Leak | None:
    told = gaps.any(axis=1)
    pairs, gaps = pairs.filter(pl.Series(told)), gaps[told]
    if pairs["cluster"].n_unique() < LEAST_IMAGES:
        return None
    data = _folds(pairs, gaps)
    hits = _hits(data, np.ones((1, data.images)))[0]
    row = _row(pairs[data.place], pl.Series("hit", hits), scope, COMBINED)
    return replace(row, p=permutation_p(float(hits.mean()), _permuted(data)))


def _permuted(data: _Folds) -> FloatArray:
    """Return the accuracy in every permutation."""
    count = int(np.clip(MOST_CELLS // max(1, data.truth.size), LEAST_PERMUTATIONS, PERMUTATIONS))
    rng = rng_for(0, "permutations", data.images)
    step = max(1, CELLS // max(1, data.truth.size))
    out = []
    for start in range(0, count, step):
        signs = rng.choice([-1.0, 1.0], size=(min(step, count - start), data.images))
        out.append(_hits(data, signs).mean(1))
    return np.concatenate(out)


def permutation_p(seen: float, drawn: FloatArray) -> float:
    """Return the one-sided p of a share among its permutations. Beyond all of them, p is taken from
    the normal tail of their distribution.
    """
    above = int((drawn >= seen - 1e-12).sum())
    if above or drawn.std() == 0:
        return (1 + above) / (1 + drawn.size)
    tail = float(norm_sf((seen - drawn.mean()) / drawn.std(ddof=1)))
    return min(tail, 1 / (1 + drawn.size))


def leak_audit(questions: pl.DataFrame) -> tuple[Leak, ...]:
    """Return one row per rule and scope ("all", or a task). A row is ``flagged`` if p by Holm over
    all rows is below 5 % and the interval also excludes ½: the test uses the share's own scale, and
    the interval allows for few and unequal images.
    """
    pairs = questions.filter((pl.col("kind") == "pairwise") & pl.col("answer").is_in(["A", "B"]))
    rows: list[Leak] = []
    for scope, part in [
        ("all", pairs),
        *((str(key[0]), p) for key, p in sorted(pairs.group_by("task"))),
    ]:
        if part.is_empty():
            continue
        gaps = differences(part)
        combined = _combined(part, gaps[:, 1:], scope)
        rows += [*_rule_rows(part, gaps, scope), *([combined] if combined else [])]
    adjusted = holm_apart([row.p for row in rows], originals(rows, leak_verdicts))
    return tuple(
        replace(row, p_holm=p, flagged=p is not None and p < LEVEL and _apart(row.share))
        for row, p in zip(rows, adjusted, strict=True)
    )


def _apart(share: Share) -> bool:
    """Return whether the interval excludes ½."""
    low, high = share.interval or (None, None)
    return low is not None and high is not None and not low <= 0.5 <= high
