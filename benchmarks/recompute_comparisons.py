"""What metrics.json compares, recomputed for benchmarks/recompute.py: judges, encodings, sources,
and shallow rules with the truth; and the components of the variance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import krippendorff
import numpy as np
from recompute_leans import item, sides
from scipy import optimize, stats

Verdict = dict[str, Any]
Check = Callable[[str, Any, Any], None]
Spread = Callable[[np.ndarray, np.ndarray], tuple[float, float, float, float]]
Reach = Callable[[float, float, float, float], tuple[float, float]]


class Gap:
    """A difference of two shares over cases (image, difference): value, interval, p, images that
    would show one.
    """

    def __init__(self, cases: Sequence[tuple[str, float]], spread: Spread, reach: Reach) -> None:
        by: dict[str, list[float]] = defaultdict(list)
        for image, value in cases:
            by[image].append(value)
        x, n = (np.array([f(values) for values in by.values()], float) for f in (sum, len))
        self.n, self.images, self.value = n.sum(), n.size, x.sum() / n.sum()
        self.ends = self.p = self.once = None
        if n.size < 2:
            return
        rest = self.value - (x.sum() - x) / (n.sum() - n)
        self.variance, self.df, skew, g = spread(rest, n)
        error = math.sqrt(self.variance)
        flat = 1.0 if abs(self.value) < 1e-12 else min(1.0, 2 * 0.5**n.size)
        if g > 1.5:
            self.p = (
                flat if error <= 1e-12 else float(2 * stats.t.sf(abs(self.value) / error, self.df))
            )
        if n.size < 5 or g < 2:
            return
        apart = sum(value != 0 for _, value in cases)
        size = (
            sum(abs(value) for _, value in cases)
            if any(abs(v) not in (0, 1) for _, v in cases)
            else apart
        )
        shrunk = self.value * self.n / (self.n + 1)
        least = stats.norm.isf(0.05) * math.sqrt(
            max((size + 1) / (self.n + 1) - shrunk**2, 0) / self.n
        )
        edge = 1 - 0.025 ** (1 / g)
        alike = edge if size <= 0 else 2 * edge if abs(self.value) > 1 - 1e-12 else 0.0
        down, up = (max(r, least, alike) for r in reach(error, self.df, skew, 0.0))
        self.ends = max(-1, self.value - down), min(1, self.value + up)

    def images_needed(self, gap: float) -> tuple[int | None, tuple[float, float] | None]:
        """With power 80 % at 5 %, and the range by χ²."""
        if self.ends is None or self.variance <= 0:
            return None, None
        once = (
            self.images * self.variance * ((stats.norm.isf(0.025) + stats.norm.isf(0.2)) / gap) ** 2
        )
        low, high = (once * self.df / stats.chi2.ppf(q, self.df) for q in (0.975, 0.025))
        return max(5, math.ceil(once)), (
            max(5.0, float(math.ceil(low))),
            max(5.0, float(math.ceil(high))),
        )


def holm(p_values: Iterable[float | None]) -> list[float | None]:
    """Holm's p; None stays."""
    found = list(p_values)
    known = sorted((p, k) for k, p in enumerate(found) if p is not None)
    for rank in range(len(known)):
        found[known[rank][1]] = max(
            min(1.0, p * (len(known) - r)) for r, (p, _) in enumerate(known[: rank + 1])
        )
    return found


def compared(
    check: Check, row: Mapping[str, Any], a: list[Verdict], b: list[Verdict], tools: tuple[Any, Any]
) -> None:
    """Two judges on what both answered."""
    name = f"{row['a']} - {row['b']}"
    by = [
        {(v["id"], v["order"], v["repeat"]): v for v in rows if v["kind"] == "pairwise"}
        for rows in (a, b)
    ]
    both = [(by[0][key], by[1][key]) for key in by[0] if key in by[1]]
    if not both:
        return
    gap = Gap([(x["image"], float(x["right"]) - float(y["right"])) for x, y in both], *tools)
    check(f"{name}.ci95", row["ci95"], gap.ends)
    check(f"{name}.p", row["p"], gap.p)
    check(
        f"{name}.only_a_right",
        row["only_a_right"],
        sum(x["right"] and not y["right"] for x, y in both),
    )
    check(
        f"{name}.only_b_right",
        row["only_b_right"],
        sum(y["right"] and not x["right"] for x, y in both),
    )
    needed, reach = gap.images_needed(row["gap"])
    check(f"{name}.images_needed", row["images_needed"], needed)
    check(f"{name}.images_needed_range", row["images_needed_range"], reach)


def encodings(
    check: Check, name: str, task: Mapping[str, Any], rows: list[Verdict], tools: tuple[Any, Any]
) -> None:
    """Every two encodings of a task on the pairs that both were asked about."""
    right: dict[tuple[str, str], list[bool]] = defaultdict(list)
    image = {item(v["q"]): v["image"] for v in rows}
    for v in rows:
        right[v["q"]["encoding"], item(v["q"])].append(v["right"])
    mean = {key: sum(values) / len(values) for key, values in right.items()}
    pairs = list(combinations(sorted({encoding for encoding, _ in mean}), 2))
    found = []
    for a, b in pairs:
        cases = [(image[i], mean[a, i] - mean[b, i]) for e, i in mean if e == a and (b, i) in mean]
        found.append(Gap(cases, *tools) if cases else None)
    stated = {(row["first"], row["second"]): row for row in task["comparisons"]}
    adjusted = holm(None if gap is None else gap.p for gap in found)
    for pair, gap, p in zip(pairs, found, adjusted, strict=True):
        row = stated[pair]
        check(f"{name}.{pair}.difference", row["difference"], None if gap is None else gap.value)
        check(f"{name}.{pair}.ci95", row["ci95"], None if gap is None else gap.ends)
        check(f"{name}.{pair}.p_holm", row["p_holm"], p)


def components(check: Check, name: str, stated: Mapping[str, Any], rows: list[Verdict]) -> None:
    """Components of variance from products of two verdicts that share exactly the named things."""
    keys = [(item(v["q"]), v["q"]["encoding"], v["order"]) for v in rows]
    y = [float(v["right"]) for v in rows]

    def shared(*which: int) -> tuple[float, float]:
        top: dict[Any, float] = defaultdict(float)
        count: dict[Any, float] = defaultdict(float)
        for key, value in zip(keys, y, strict=True):
            part = tuple(key[k] for k in which)
            top[part] += value
            count[part] += 1
        return sum(v * v for v in top.values()), sum(v * v for v in count.values())

    every, pair, encoding, cell, order = (
        shared(),
        shared(0),
        shared(1),
        shared(0, 1),
        shared(0, 1, 2),
    )
    if order[1] > len(y) + 0.5:
        return  # repeats: another design
    itself = (sum(value * value for value in y), float(len(y)))

    def over(*signed: tuple[int, tuple[float, float]]) -> float | None:
        top, count = (sum(sign * part[k] for sign, part in signed) for k in (0, 1))
        return top / count if count > 0.5 else None

    apart = over((1, every), (-1, pair), (-1, encoding), (1, cell))
    of_pair, of_encoding = over((1, pair), (-1, cell)), over((1, encoding), (-1, cell))
    if apart is not None and of_pair is not None:
        check(f"{name}.item", stated["item"], of_pair - apart)
    if apart is not None and of_encoding is not None:
        check(f"{name}.encoding", stated["encoding"], of_encoding - apart)
    whole, within = over((1, itself)), over((1, cell), (-1, order))
    if whole is not None and within is not None:
        check(f"{name}.order", stated["order"], whole - within)


def strengths(check: Check, name: str, board: Mapping[str, Any], rows: list[Verdict]) -> None:
    """Davidson's strengths by a general optimiser, to 1e-4; boards of one component whose games do
    not go together.

    The penalty's half games, h / 2 between sources that met, are found by turns: h from the
    curvature at the strengths.
    """
    if board["regularised"] or board["components"] != 1 or len(board["rows"]) < 2:
        return
    said: dict[Any, list[Verdict]] = defaultdict(list)
    for v in rows:
        a, b = v["q"]["sources"]
        if v["parsed"] and a is not None and b is not None and a != b:
            said[v["id"], v["repeat"]].append(v)
    names = sorted({row["source"] for row in board["rows"]})
    place = {source: k for k, source in enumerate(names)}
    size = len(names)
    wins, ties = np.zeros((size, size)), np.zeros((size, size))
    for group in said.values():
        a, b = (place[group[0]["q"]["sources"][side]] for side in (0, 1))
        mean = np.mean([{"A": 1.0, "B": 0.0}.get(v["value"], 0.5) for v in group])
        if mean == 0.5:
            ties[a, b] += 1
            ties[b, a] += 1
        else:
            wins[(a, b) if mean > 0.5 else (b, a)] += 1
    games, added = wins + wins.T + ties, np.zeros((size, size))

    def loss(x: np.ndarray) -> float:
        half, tie = (x[:size, None] - x[None, :size]) / 2, x[-1]
        total = np.logaddexp(np.logaddexp(half, -half), tie)
        return float(
            ((wins + added) * (total - half)).sum()
            + (ties * (total - tie)).sum() / 2
            + x[:size].sum() ** 2
        )

    x = np.append(np.zeros(size), -1.0 if ties.any() else -30.0)
    for _ in range(30):
        x = optimize.minimize(loss, x, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000}).x
        half = (x[:size, None] - x[None, :size]) / 2
        whole = np.exp(half) + np.exp(-half) + np.exp(x[-1])
        lead, tie = (np.exp(half) - np.exp(-half)) / whole, np.exp(x[-1]) / whole
        weight = games * (1 - tie - lead**2) / 4
        inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)
        own = np.diag(inverse)
        added = board["dispersion"] * weight * (own[:, None] + own[None, :] - 2 * inverse) / 2
    for row in board["rows"]:
        near = abs(row["strength"] - (x[place[row["source"]]] - x[:size].mean())) < 1e-4
        check(f"{name}.strength.{row['source']}", near, True)


def leaks(
    check: Check,
    stated: Iterable[Mapping[str, Any]],
    questions: Iterable[Mapping[str, Any]],
    share: Any,
) -> None:
    """The rules that learn nothing, scored on the dataset."""
    rows = [{"q": q, "order": "AB", "image": q["image_id"], "parsed": True} for q in questions]
    rows = [
        v for v in rows if v["q"]["question_type"] == "pairwise" and v["q"]["answer"] in ("A", "B")
    ]
    for row in (row for row in stated if row["rule"] != "combined"):
        part = [v for v in rows if row["scope"] in ("all", v["q"]["task"])]
        value, ends = share([(v["image"], more) for v, more in sides(part, row["rule"])])
        check(f"leaks.{row['scope']}.{row['rule']}", row["accuracy"], value)
        check(f"leaks.{row['scope']}.{row['rule']}.ci95", row["ci95"], ends)


def agreement(
    check: Check, stated: Iterable[Mapping[str, Any]], judged: Mapping[str, list[Verdict]]
) -> None:
    """α of the judges that each row names, by the krippendorff package."""
    for row in stated:
        units: dict[Any, dict[str, float]] = defaultdict(dict)
        for name in row["names"]:
            for v in (v for v in judged[name] if v["kind"] == row["kind"] and v["parsed"]):
                pairwise = row["kind"] == "pairwise"
                value = float(
                    ("A", "B", "tie", "both_bad").index(v["value"]) if pairwise else v["value"]
                )
                units[v["id"], v["order"], v["repeat"]][name] = value
        table = np.array(
            [[unit.get(name, np.nan) for unit in units.values()] for name in row["names"]]
        )
        if row["alpha"] is not None:
            check(
                f"alpha.{row['kind']}",
                row["alpha"],
                float(krippendorff.alpha(table, level_of_measurement=row["level"])),
            )
