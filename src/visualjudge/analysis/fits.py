"""One generalised linear model with errors clustered by image: strengths, leanings,
favouritism. Shares and means without covariates are in ``estimate.py``; the
psychometric curve is in ``figures/psychometric_curve.py``.

Coefficients are found by iteratively reweighted least squares; outcomes may be
fractions (a tie is half a win: Papke & Wooldridge 1996). The covariance comes from
leaving out each image in one step (CR3), with Kish's effective number of images for
Student's t. What the data do not determine (the common level of all strengths) is held
at the least norm, so that strengths have mean 0 in each connected part.

Where answers are separated (a source never lost), no finite maximum exists: Firth's
penalty (Jeffreys' prior) then keeps every coefficient finite, and no variance is below
that of independent answers, because answers that are all alike show no spread.

Sources: McCullagh & Nelder 1989; Liang & Zeger 1986 (sandwich); Bell & McCaffrey 2002,
MacKinnon, Nielsen & Webb 2023 (CR3); Kish 1965, Carter, Schnepel & Steigerwald 2017
(degrees of freedom); Firth 1993, Kosmidis & Firth 2021 (penalty); Bradley & Terry 1952.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import polars as pl

from visualjudge.analysis.estimate import (
    LEAST_IMAGES,
    TAIL,
    divided,
    renumbered,
    t_isf,
    t_sf,
)
from visualjudge.core.records import FloatArray, IntArray

MOST_LEFT_OUT = 300
"""Maximum number of coefficients for which images are left out: each costs a matrix
inverse."""
STEPS = 200
CLOSE = 1e-10
SAME = 1e-10
LONGEST = 3.0
MOST_CELLS = 4_000_000
"""Largest design that is kept as a dense array, which is faster."""
FLAT = 1e-10
Link = Literal["logit", "identity"]


@dataclass(frozen=True, eq=False)
class Fit:
    """``coefficients`` (P,), how far each image ``moved`` them (images, P), their
    ``covariance`` by image and that of independent answers, ``alone``; ``determined``
    (P,) is near 1 where the data determine a coefficient. ``kish`` is the effective
    number of images, by their answers.
    """

    coefficients: FloatArray
    moved: FloatArray
    covariance: FloatArray
    alone: FloatArray
    determined: FloatArray
    residuals: FloatArray
    images: int
    kish: float
    penalised: bool

    @cached_property
    def floored(self) -> FloatArray:
        """The covariance; of a penalised fit, at least that of independent answers."""
        if not self.penalised:
            return self.covariance
        values, vectors = np.linalg.eigh(self.covariance - self.alone)
        return np.asarray(
            self.alone + (vectors * np.maximum(values, 0)) @ vectors.T
        )

    def variance(self, contrast: FloatArray) -> FloatArray:
        """Return the variance of each row of ``contrast`` (K, P), (K,)."""
        result = ((contrast @ self.floored) * contrast).sum(1)
        return np.asarray(
            np.maximum(result, 0.0)
        )  # rounding may leave it below


def fit(
    x: Any,
    y: FloatArray,
    image: IntArray,
    *,
    link: Link = "logit",
    penalised: bool = False,
) -> Fit:
    """Fit ``y`` (n,), 0 to 1 for a logit, to ``x`` (n, P; an array or sparse);
    ``image`` (n,) names each answer's image.
    """
    large = x.shape[0] * x.shape[1] > MOST_CELLS
    rows: Any = (
        _sparse().csr_array(x) if large else _dense(x).astype(float, copy=False)
    )
    values, vectors = np.linalg.eigh(_product(rows))
    basis = vectors[
        :, values > FLAT * values.max(initial=0.0)
    ]  # of what the data determine
    lift = np.eye(rows.shape[1]) if large else basis
    if (
        not large
    ):  # by these alone, which are far fewer where most sources do not play
        rows = rows @ basis
        basis = np.eye(basis.shape[1])
    beta = np.zeros(rows.shape[1])
    pace = 1.0
    # with the penalty no weight vanishes: what the data determine can be inverted, ten
    # times faster
    invert = (
        np.linalg.inv
        if penalised
        else partial(np.linalg.pinv, rcond=FLAT, hermitian=True)
    )
    for _ in range(STEPS):
        mean, weight = _mean(rows @ beta, link)
        information = _product(rows, None if link == "identity" else weight)
        inverse = np.asarray(
            basis @ invert(basis.T @ information @ basis) @ basis.T, float
        )
        residual = y - mean
        if penalised:
            lever = weight * (rows @ inverse * rows).sum(1)
            residual = residual + np.asarray(lever).ravel() * (0.5 - mean)
        step = inverse @ (rows.T @ residual)
        if link == "identity":
            beta = step
            break
        step = step * LONGEST / max(LONGEST, np.abs(step).max(initial=0.0))
        if (
            penalised
        ):  # a whole step may overshoot, for ever: then all are shorter
            least = _likelihood(rows, y, beta, basis) - SAME
            while _likelihood(rows, y, beta + pace * step, basis) < least:
                pace /= 2
        beta = beta + pace * step
        if np.abs(step).max(initial=0.0) < CLOSE:
            break
    if link == "identity":
        residual = y - rows @ beta
    alone = (
        inverse if link == "logit" else inverse * float((residual**2).mean())
    )
    names, place = renumbered(image)
    far = moved(rows, weight, residual, place, inverse) @ lift.T
    determined = np.diag(lift @ inverse @ information @ lift.T)
    alone = lift @ alone @ lift.T
    beta = lift @ beta
    kish = effective(np.ones(place.size), place)
    return Fit(
        beta,
        far,
        far.T @ far,
        alone,
        determined,
        residual,
        names.size,
        kish,
        penalised,
    )


def _likelihood(
    rows: Any, y: FloatArray, beta: FloatArray, basis: FloatArray
) -> float:
    """Return the logarithm of the likelihood times Jeffreys' prior."""
    eta = rows @ beta
    information = basis.T @ _product(rows, _mean(eta, "logit")[1]) @ basis
    return float(
        y @ eta
        - np.logaddexp(0, eta).sum()
        + np.linalg.slogdet(information)[1] / 2
    )


def indicator(column: IntArray, columns: int) -> Any:
    """Return the design (n, ``columns``) with 1 in the ``column`` (n,) of each row and
    0 elsewhere: an array, or sparse where that would be large.
    """
    n = column.size
    if n * columns <= MOST_CELLS:
        return np.eye(columns)[column]
    return _sparse().csr_array(
        (np.ones(n), (np.arange(n), column)), (n, columns)
    )


def beside(*designs: Any) -> Any:
    """Return designs of the same rows, arrays or sparse, as one."""
    if all(isinstance(design, np.ndarray) for design in designs):
        return np.column_stack(designs)
    return _sparse().hstack(list(map(_sparse().csr_array, designs)), "csr")


def _sparse() -> Any:
    from scipy import sparse  # takes a tenth of a second to import

    return sparse


def _dense(table: Any) -> FloatArray:
    return np.asarray(
        table if isinstance(table, np.ndarray) else table.toarray()
    )


def _product(rows: Any, weight: FloatArray | None = None) -> FloatArray:
    return _dense(rows.T @ (rows if weight is None else rows * weight[:, None]))


def _mean(eta: FloatArray, link: Link) -> tuple[FloatArray, FloatArray]:
    if link == "identity":
        return eta, np.ones(eta.size)
    mean = 1 / (1 + np.exp(-np.clip(eta, -40, 40)))
    return mean, np.maximum(mean * (1 - mean), 1e-12)


def moved(
    rows: Any,
    weight: FloatArray,
    residual: FloatArray,
    image: IntArray,
    inverse: FloatArray,
) -> FloatArray:
    """Return how far leaving out each ``image`` (0, 1, …) moves the coefficients,
    (images, P), whose products are the covariance (CR3); beyond :data:`MOST_LEFT_OUT`
    coefficients by the sandwich. ``inverse`` is that of the information, ``rows.T @
    (rows * weight)`` and a penalty's.

    An image of n answers moves them by A⁻¹Xᵀ(I − WXA⁻¹Xᵀ)⁻¹r, for n < P; else by (A −
    XᵀWX)⁻¹Xᵀr.
    """
    images = int(image.max(initial=-1)) + 1
    size = rows.shape[1]
    if size > MOST_LEFT_OUT:
        member = indicator(image, images).T
        scores = _dense(member @ (rows * residual[:, None]))
        freedom = (image.size - 1) / max(image.size - size, 1)
        return np.asarray(
            scores @ inverse * np.sqrt(freedom * images / (images - 1))
        )
    information = np.linalg.pinv(inverse, rcond=FLAT, hermitian=True)
    out = np.zeros((images, size))
    order = np.argsort(image, kind="stable")
    counts = np.bincount(image)
    starts = np.cumsum(counts) - counts
    for n in np.unique(counts[counts > 0]).tolist():
        alike = np.flatnonzero(counts == n)
        for part in np.array_split(
            alike, 1 + alike.size * n * size // MOST_CELLS
        ):
            places = order[starts[part][:, None] + np.arange(n)]
            x = _dense(rows[places.ravel()]).reshape(part.size, n, size)
            r = residual[places]
            root = np.sqrt(weight[places])
            if n < size:
                scaled = x * root[..., None]
                rest = np.eye(n) - scaled @ inverse @ scaled.transpose(0, 2, 1)
                left = _solved(rest, r / root) * root
                out[part] = np.einsum("kn,kni->ki", left, x) @ inverse
            else:
                own = np.einsum("kni,kn,knj->kij", x, root**2, x, optimize=True)
                scores = np.einsum("kni,kn->ki", x, r)
                out[part] = _solved(information - own, scores)
    return np.asarray(out * np.sqrt(max(images - 1, 1) / max(images, 1)))


def _solved(tables: FloatArray, right: FloatArray) -> FloatArray:
    """Return the least-norm solutions of K symmetric systems, (K, n)."""
    inverse = np.linalg.pinv(tables, rcond=1e-8, hermitian=True)
    return np.asarray(np.einsum("kij,kj->ki", inverse, right))


def effective(answers: FloatArray, image: IntArray) -> float:
    """Return Kish's effective number of images, where each of ``answers`` (n,) moves a
    figure by so much if answers are independent: an image counts by its part of the
    variance.
    """
    each = np.bincount(image, answers**2)
    return float(each.sum() ** 2 / max(float((each**2).sum()), 1e-300))


def interval(
    value: float, variance: float, freedom: float
) -> tuple[float, float]:
    """Return the 95 % interval by Student's t."""
    reach = float(t_isf(TAIL, max(freedom, 1.0))) * variance**0.5
    return value - reach, value + reach


def p_value(value: float, variance: float, freedom: float) -> float:
    """Return the two-sided p of 0 by Student's t."""
    return float(2 * t_sf(abs(value) / variance**0.5, max(freedom, 1.0)))


def rising_p(x: FloatArray, y: FloatArray, image: IntArray) -> float | None:
    """Return the one-sided p by Student's t that ``y`` rises with the rank of ``x``,
    (n,); None if all ``x`` are equal or there are too few images.
    """
    rank = pl.Series(x).rank().to_numpy() / x.size - 0.5
    fitted = fit(
        np.column_stack([rank, np.ones(rank.size)]), y, image, link="identity"
    )
    variance = float(fitted.covariance[0, 0])
    if fitted.determined[0] < 1 - 1e-6 or fitted.images < LEAST_IMAGES:
        return None
    if variance < 1e-18:  # no image differs
        return 0.5
    at = rank - rank.mean()
    freedom = max(effective(at, renumbered(image)[1]) - 1, 1.0)
    return float(t_sf(fitted.coefficients[0] / variance**0.5, freedom))


def of_others(
    values: FloatArray, image: IntArray, item: IntArray
) -> FloatArray:
    """Return the mean of ``values`` over the other items of each one's image, for
    images that differ in difficulty; 0 without others, and throughout where images do
    not seem to differ.
    """
    question = renumbered(item)[1]
    cell = renumbered(image * (int(question.max()) + 1) + question)[1]
    ones = np.ones(values.size)
    total, count = (
        np.bincount(image, entry)[image] - np.bincount(cell, entry)[cell]
        for entry in (values, ones)
    )
    mean = divided(total, count)
    return mean if float(mean @ values) > 0 else np.zeros(values.size)
