"""metrics.json recomputed from the files, by other means: plain loops, NumPy and SciPy, nothing of
visualjudge.

    python benchmarks/recompute.py metrics.json [--tolerance 1e-9]

Reads the runs and the dataset that metrics.json names, and compares counts, accuracies, intervals,
swap figures, rankings, scores, leanings, comparisons and published figures of every judge. Prints
how many values agree and every one that does not; ends with status 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import recompute_comparisons as compare
from recompute_leans import lean, sides
from scipy import optimize, stats

Verdict = dict[str, Any]
Q = dict[str, Any]


def read(run: Path, questions: Mapping[str, Q]) -> list[Verdict]:
    """The last verdict of each question, order and repeat, with its question and whether it was
    read and right.
    """
    found: dict[tuple[str, str, int], Verdict] = {}
    for line in (run / "verdicts.jsonl").read_text().splitlines():
        v = json.loads(line)
        if v["id"] in questions:
            found[v["id"], v.get("order") or "AB", v.get("repeat") or 0] = v
    out = []
    for (name, order, repeat), v in found.items():
        q = questions[name]
        kind, value = q["question_type"], v["value"]
        letters = "ABCDE"[: len(q["final_scores"])]
        fits = {
            "pairwise": value in ("A", "B"),
            "ranking": isinstance(value, str) and sorted(value) == list(letters),
            "scoring": not isinstance(value, (str, bool)) and 0 <= value <= 10,
        }[kind]
        parsed = fits and v["status"] == "ok"
        out.append(
            {
                "q": q,
                "order": order,
                "repeat": repeat,
                "value": value,
                "parsed": parsed,
                "kind": kind,
                "right": parsed and value == q["answer"],
                "image": q["image_id"],
                "id": name,
                "status": v["status"],
            }
        )
    return out


def spread(influence: np.ndarray, weights: np.ndarray) -> tuple[float, float, float, float]:
    """Variance, degrees of freedom, skewness and effective number from each image's influence."""
    m = influence.size
    g = weights.sum() ** 2 / (weights**2).sum()
    second = (influence**2).sum()
    if second == 0:
        return 0.0, max(g - 1, 1e-3), 0.0, g
    kurtosis = m * (influence**4).sum() / second**2
    df = min(g - 1, max(2 * g / max(kurtosis - 1, 0.5), 2.0))
    return second * (m - 1) / m, max(df, 1e-3), (influence**3).sum() / second**1.5, g


def reach(error: float, df: float, skew: float, bend: float) -> tuple[float, float]:
    """How far down and up an interval goes."""
    z2 = stats.norm.isf(0.025) ** 2
    shift = -skew * (2 * z2 + 1) / 6 - error * bend * z2 / 2
    t = stats.t.isf(0.025, df)
    return error * (t + max(shift, 0)), error * (t + max(-shift, 0))


def sums(cases: Iterable[tuple[str, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Σ and number of cases of every image."""
    by: dict[str, list[float]] = defaultdict(list)
    for image, value in cases:
        by[image].append(float(value))
    names = sorted(by)
    return np.array([sum(by[n]) for n in names]), np.array([float(len(by[n])) for n in names])


def share(
    cases: list[tuple[str, float]], whole: bool = True
) -> tuple[float | None, tuple[float, float] | None]:
    """A share with its interval."""
    if not cases:
        return None, None
    x, n = sums(cases)
    p = x.sum() / n.sum()
    if n.size < 5:
        return p, None
    if n.sum() ** 2 / (n**2).sum() < 2:
        return p, None
    return p, (1 - upper(n - x, n, whole), upper(x, n, whole))


def upper(x: np.ndarray, n: np.ndarray, whole: bool) -> float:
    """The largest share that neither test refutes (docs/analysis.md)."""
    total, hits = n.sum(), x.sum()
    if hits >= total * (1 - 1e-9):
        return 1.0

    def binomial(pi: float) -> float:
        below = stats.beta.sf(pi, hits, total - hits + 1) if hits > 1e-9 else 0.0
        return 0.75 * stats.beta.sf(pi, hits + 1, total - hits) + 0.25 * below - 0.025

    start = hits / total
    alone = optimize.brentq(binomial, start, 1, xtol=1e-12)
    if not (n > 1).any():
        return float(alone)
    several, single = n > 1, float((n == 1).sum())
    supposed = float((n[several] + 0.8 * (n[several] ** 2 - n[several])).sum())
    images, independent = total**2 / (n**2).sum(), total**2 / (supposed + single)

    def clustered(pi: float) -> float:
        q = pi * (1 - pi)
        chance = min(0.5, min(pi, 1 - pi) * independent / images)
        own = (images - 1) / max(1.0, (1 / max(chance * (1 - chance), 1e-12) - 4) / 2)
        w = own / (own + 0.5)
        t = stats.t.isf(0.025, max(own + 0.5, 3.0))
        t *= math.sqrt(images / max(images - 1, 0.5)) / math.sqrt(1 + t**2 * w / images)
        t *= 1 - min(0.4, 0.25 * max(2 * pi - 1, 0.0) / math.sqrt(max(independent * q, 1e-12)))
        d = (x - pi * n)[several]

        def value(c: float) -> float:
            raised = np.maximum(d, -c)
            variance = w * (raised**2).sum() + q * ((1 - w) * supposed + single)
            more = 4 * w * max(1 - 2 * pi, 0.0) / (q * total) * variance
            return float(hits - pi * total + (raised - d).sum() + t * math.sqrt(variance) + more)

        least = optimize.minimize_scalar(
            value, bounds=(0, float(np.abs(d).max()) + 1e-9), method="bounded"
        )
        return min(value(float(np.abs(d).max())), float(least.fun))

    together = optimize.brentq(clustered, start + 1e-12, 1 - 1e-9, xtol=1e-12)
    nothing = 1 - (0.025 / 0.75) ** (1 / independent)
    return float(max(together, nothing, alone if whole else 0.0))


def mean(
    cases: list[tuple[str, float]],
) -> tuple[float | None, tuple[float, float] | None, float | None]:
    """A mean with its interval and the p of its being 0."""
    if not cases:
        return None, None, None
    x, n = sums(cases)
    value = x.sum() / n.sum()
    if n.size < 2:
        return value, None, None
    without = np.array([(x.sum() - a) / (n.sum() - b) for a, b in zip(x, n, strict=True)])
    variance, df, skew, g = spread(value - without, n)
    error = math.sqrt(variance)
    if error <= 1e-12:
        return value, None, 1.0 if abs(value) < 1e-12 else min(1.0, 2 * 0.5**n.size)
    down, up = reach(error, df, skew, 0.0)
    ends = (value - down, value + up) if n.size >= 5 and g >= 2 else None
    return value, ends, float(2 * stats.t.sf(abs(value) / error, df))


class Compare:
    """Counts what agrees and lists what does not."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance, self.same, self.unlike = tolerance, 0, list[str]()

    def __call__(self, name: str, stated: Any, found: Any) -> None:
        if isinstance(stated, (list, tuple)) and isinstance(found, (list, tuple)):
            for k, (a, b) in enumerate(zip(stated, found, strict=True)):
                self(f"{name}[{k}]", a, b)
            return
        both = isinstance(stated, (int, float)) and isinstance(found, (int, float, np.floating))
        if stated == found or (
            both and abs(stated - found) <= self.tolerance * max(1.0, abs(found))
        ):
            self.same += 1
        else:
            self.unlike.append(f"{name}: stated {stated!r}, recomputed {found!r}")


def accuracy(check: Compare, name: str, stated: Mapping[str, Any], rows: list[Verdict]) -> None:
    """A block of accuracy."""
    value, ends = share([(v["image"], v["right"]) for v in rows])
    read_value, read_ends = share([(v["image"], v["right"]) for v in rows if v["parsed"]])
    check(f"{name}.n", stated["n"], len(rows))
    check(f"{name}.images", stated["images"], len({v["image"] for v in rows}))
    check(f"{name}.failed", stated["failed"], sum(not v["parsed"] for v in rows))
    check(f"{name}.accuracy", stated["accuracy"], value)
    check(f"{name}.ci95", stated["ci95"], ends)
    check(f"{name}.accuracy_parsed", stated["accuracy_parsed"], read_value)
    check(f"{name}.accuracy_parsed_ci95", stated["accuracy_parsed_ci95"], read_ends)


def margin_of(q: Q) -> str:
    width = max(q["final_scores"]) - min(q["final_scores"])
    labels = ("0-0.5", "0.5-1", "1-2", "2-3", "3-5", "5-10")
    return labels[sum(width > edge for edge in (0.5, 1, 2, 3, 5))]


def pairwise(check: Compare, name: str, judge: Mapping[str, Any], rows: list[Verdict]) -> None:
    """Headline, cells, swap and published figures."""
    p = judge["pairwise"]
    accuracy(check, name, p, rows)
    said = [(v["value"] == "A") ^ (v["order"] == "BA") for v in rows if v["parsed"]]
    if said:
        check(f"{name}.answered_a", p["answered_a"], sum(said) / len(said))
        check(
            f"{name}.position_p",
            p["position_p"],
            float(stats.binomtest(sum(said), len(said)).pvalue),
        )
    keys = {
        "by_task": lambda q: q["task"],
        "by_encoding": lambda q: f"{q['task']}/{q['encoding']}",
        "by_error_type": lambda q: q["error_type"] or "(none)",
    }
    for block, key in keys.items():
        for cell, entry in judge[block].items():
            accuracy(
                check,
                f"{name}.{block}.{cell}",
                entry["pairwise"],
                [v for v in rows if key(v["q"]) == cell],
            )
    for cell, entry in judge["by_margin"].items():
        accuracy(
            check, f"{name}.by_margin.{cell}", entry, [v for v in rows if margin_of(v["q"]) == cell]
        )
    by: dict[tuple[str, int], dict[str, Verdict]] = defaultdict(dict)
    for v in rows:
        by[v["id"], v["repeat"]][v["order"]] = v
    both = [pair for pair in by.values() if len(pair) == 2]
    image = [pair["AB"]["image"] for pair in both]
    same = [
        a["AB"]["parsed"] and a["BA"]["parsed"] and a["AB"]["value"] == a["BA"]["value"]
        for a in both
    ]
    right = [a["AB"]["right"] and a["BA"]["right"] for a in both]
    told = [
        any(v["status"] not in ("refusal", "cannot_tell") for v in pair.values()) for pair in both
    ]
    cases = [(i, agree) for i, agree, answer in zip(image, same, told, strict=True) if answer]
    value, ends = share(cases)
    check(f"{name}.swap.consistency", p["swap"]["consistency"], value)
    check(f"{name}.swap.ci95", p["swap"]["ci95"], ends)
    check(
        f"{name}.swap.right_in_both",
        p["swap"]["right_in_both"],
        share(list(zip(image, right, strict=True)))[0],
    )
    published(check, f"{name}.published", p["published"], rows, both)


def published(
    check: Compare, name: str, stated: Mapping[str, Any], rows: list[Verdict], both: list[Any]
) -> None:
    one = [v for v in rows if v["order"] == "AB"]
    asked_twice = {pair["AB"]["id"] for pair in both}
    found = {
        "mmrb2": [(v["image"], v["right"]) for v in rows if v["id"] in asked_twice and v["parsed"]],
        "vl_rewardbench_micro": [(v["image"], v["right"]) for v in one],
        "multimodal_rewardbench": [(v["image"], v["right"] if v["parsed"] else 0.5) for v in one],
    }
    for key, cases in found.items():
        value, ends = share(cases)
        check(f"{name}.{key}", stated[key]["value"], value)
        check(f"{name}.{key}.ci95", stated[key]["ci95"], ends)
    tasks = sorted({v["q"]["task"] for v in one})
    macro = [np.mean([v["right"] for v in one if v["q"]["task"] == task]) for task in tasks]
    check(
        f"{name}.vl_rewardbench_macro",
        stated["vl_rewardbench_macro"]["value"],
        float(np.mean(macro)) if macro else None,
    )
    points: dict[str, int] = defaultdict(int)
    for v in rows:
        if v["id"] in asked_twice:
            points[v["id"]] += 0 if not v["parsed"] else 1 if v["right"] else -1
    net = [point > 0 for point in points.values()]
    check(f"{name}.judgebench", stated["judgebench"]["value"], float(np.mean(net)) if net else None)


def ranking(check: Compare, name: str, stated: Mapping[str, Any], rows: list[Verdict]) -> None:
    taus, exact, top = [], [], []
    for v in rows:
        q, said = v["q"], v["value"]
        exact.append((v["image"], v["parsed"] and said == q["answer"]))
        top.append((v["image"], v["parsed"] and said[0] == q["answer"][0]))
        if v["parsed"]:
            places = [-said.index(letter) for letter in "ABCDE"[: len(said)]]
            found = stats.kendalltau(places, q["final_scores"])[0]
            if np.isfinite(found):
                taus.append((v["image"], (found + 1) / 2))
    for key, cases in (("exact", exact), ("top1", top)):
        value, ends = share(cases)
        check(f"{name}.{key}", stated[key], value)
        check(f"{name}.{key}_ci95", stated[f"{key}_ci95"], ends)
    tau(check, name, stated["kendall_tau"], stated["ci95"], taus)


def tau(
    check: Compare,
    name: str,
    stated: float | None,
    stated_ends: Any,
    halves: list[tuple[str, float]],
) -> None:
    value, ends = share(halves, whole=False)
    check(f"{name} tau", stated, None if value is None else 2 * value - 1)
    if value is None or ends is None:
        check(f"{name} tau ci95", stated_ends, None)
        return
    low, high = (2 * end - 1 for end in ends)
    x, n = sums(halves)
    r = 2 * value - 1
    without = np.array([(x.sum() - a) / (n.sum() - b) for a, b in zip(x, n, strict=True)])
    variance, df, skew, _ = spread(2 * (value - without), n)
    error = math.sqrt(variance) / (1 - r**2) if abs(r) < 1 else 0.0
    if error > 1e-12:  # the nearer of the bounds and of the jackknife on Fisher's z scale
        down, up = reach(error, df, skew, 2 * r)
        low, high = (
            max(low, math.tanh(math.atanh(r) - down)),
            min(high, math.tanh(math.atanh(r) + up)),
        )
    check(f"{name} tau ci95", stated_ends, (low, high))


def scoring(check: Compare, name: str, stated: Mapping[str, Any], rows: list[Verdict]) -> None:
    known = [v for v in rows if v["parsed"]]
    check(f"{name}.n", stated["n"], len(rows))
    if not known:
        return
    x, y = (
        np.array(column, float)
        for column in zip(*((v["value"], v["q"]["answer"]) for v in known), strict=True)
    )
    for key, function in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        constant = np.ptp(x) == 0 or np.ptp(y) == 0
        check(f"{name}.{key}", stated[key], None if constant else float(function(x, y)[0]))
    for key, cases in (("mae", np.abs(x - y)), ("bias", x - y)):
        value, ends, _ = mean([(v["image"], case) for v, case in zip(known, cases, strict=True)])
        check(f"{name}.{key}", stated[key], value)
        check(f"{name}.{key}_ci95", stated[f"{key}_ci95"], ends)
    groups: dict[Any, list[Verdict]] = defaultdict(list)
    for v in known:
        q = v["q"]
        classes = None if q["class_of_interest"] is None else tuple(q["class_of_interest"])
        groups[
            q["image_id"], q["task"], q["encoding"], classes, q["error_type"], v["repeat"]
        ].append(v)
    halves = []
    for group in groups.values():
        truth = [v["q"]["answer"] for v in group]
        if 1 < len(group) <= 64 and len(set(truth)) > 1:
            found = stats.kendalltau([v["value"] for v in group], truth)[0]
            halves.append((group[0]["image"], ((found if np.isfinite(found) else 0.0) + 1) / 2))
    tau(check, f"{name}.within", stated["within_image_tau"], stated["within_image_ci95"], halves)


def leaning(check: Compare, name: str, row: Mapping[str, Any], rows: list[Verdict]) -> None:
    """A preference, its p, and that its interval ends where the p is 5 %."""
    cases, (value, images) = sides(rows, row["feature"]), lean(rows, row["feature"])
    check(name, row["preference"], value)
    check(f"{name}.n", row["n"], len(cases))
    if value is None or images is None:
        return
    check(
        f"{name}.chosen", row["chosen"], sum(v["right"] == more for v, more in cases) / len(cases)
    )
    by_side = [[v["right"] for v, more in cases if more == side] for side in (True, False)]
    check(
        f"{name}.crude",
        row["preference_crude"],
        float(np.mean(by_side[0]) - np.mean(by_side[1])) / 2,
    )
    if row["p"] is not None:
        check(f"{name}.p", row["p"], images.p(0.0))
    flat = images.flat_ends()
    far = int(value > 0)
    for side, end in enumerate(row["ci95"] or ()):
        if (
            row["feature"] == "position" and side == far
        ):  # pairs asked in both orders may set it further out
            check(
                f"{name}.ci95",
                images.p(end) <= 0.05 + 1e-8 if flat is None else abs(end) >= abs(flat[side]),
                True,
            )
        elif flat:
            check(f"{name}.ci95", end, flat[side])
        elif abs(end) < 0.5:
            check(f"{name}.ci95", round(images.p(end), 8), 0.05)


def comparisons(
    check: Compare, stated: list[Mapping[str, Any]], judged: Mapping[str, list[Verdict]]
) -> None:
    rows = {(row["a"], row["b"]): row for row in stated}
    for a, b in combinations(judged, 2):
        right = [
            {(v["id"], v["order"], v["repeat"]): v for v in judged[n] if v["kind"] == "pairwise"}
            for n in (a, b)
        ]
        common = [key for key in right[0] if key in right[1]]
        value, _, p = mean(
            [(right[0][k]["image"], right[0][k]["right"] - right[1][k]["right"]) for k in common]
        )
        check(f"{a} - {b}.difference", rows[a, b]["difference"], value)
        check(f"{a} - {b}.p", rows[a, b]["p"], p)


KEYS = {
    "task": lambda q: q["task"],
    "encoding": lambda q: f"{q['task']}/{q['encoding']}",
    "error_type": lambda q: q["error_type"] or "(none)",
}


def others(check: Compare, judge: Mapping[str, Any], kinds: Mapping[str, list[Verdict]]) -> None:
    """Ranking and scoring of single cells, the finest cells of accuracy, encodings, components and
    strengths.
    """
    name = judge["judge"]
    for block, key in KEYS.items():
        for cell, entry in judge[f"by_{block}"].items():
            for kind, function in (("ranking", ranking), ("scoring", scoring)):
                rows = [v for v in kinds[kind] if key(v["q"]) == cell]
                if kind in entry and rows:
                    function(check, f"{name}.by_{block}.{cell}.{kind}", entry[kind], rows)
    cells: dict[tuple[str, ...], list[Verdict]] = defaultdict(list)
    for v in kinds["pairwise"]:
        cells[
            v["q"]["task"], v["q"]["encoding"], v["q"]["error_type"] or "(none)", margin_of(v["q"])
        ].append(v)
    for row in judge["cells"]:
        found = cells[row["task"], row["encoding"], row["error_type"], row["margin_bin"]]
        accuracy(check, f"{name}.cells", row, found)
    for task in judge["encodings"]:
        rows = [v for v in kinds["pairwise"] if v["q"]["task"] == task["task"]]
        compare.encodings(check, f"{name}.{task['task']}", task, rows, (spread, reach))
    for stated in judge["variance"]:
        compare.components(
            check,
            f"{name}.variance",
            stated,
            [v for v in kinds["pairwise"] if v["q"]["task"] == stated["task"]],
        )
    compare.strengths(check, f"{name}.leaderboard", judge["leaderboard"], kinds["pairwise"])


def main() -> None:
    """Recompute and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("metrics", type=Path)
    parser.add_argument("--tolerance", type=float, default=1e-9)
    args = parser.parse_args()
    metrics = json.loads(args.metrics.read_text())
    questions = {
        q["id"]: q
        for q in json.loads((Path(metrics["dataset"]["path"]) / "questions.json").read_text())
    }
    check, judged = Compare(args.tolerance), dict[str, list[Verdict]]()
    for judge in metrics["judges"]:
        rows = judged[judge["judge"]] = read(Path(judge["run"]), questions)
        kinds = {
            kind: [v for v in rows if v["kind"] == kind]
            for kind in ("pairwise", "ranking", "scoring")
        }
        if kinds["pairwise"]:
            pairwise(check, judge["judge"], judge, kinds["pairwise"])
            for row in judge["bias"]:
                leaning(check, f"{judge['judge']}.bias.{row['feature']}", row, kinds["pairwise"])
            check(
                f"{judge['judge']}.bias p_holm",
                [row["p_holm"] for row in judge["bias"]],
                compare.holm(row["p"] for row in judge["bias"]),
            )
        if kinds["ranking"]:
            ranking(check, f"{judge['judge']}.ranking", judge["ranking"], kinds["ranking"])
        if kinds["scoring"]:
            scoring(check, f"{judge['judge']}.scoring", judge["scoring"], kinds["scoring"])
        others(check, judge, kinds)
    comparisons(check, metrics["comparisons"], judged)
    for row in metrics["comparisons"]:
        compare.compared(check, row, judged[row["a"]], judged[row["b"]], (spread, reach))
    simulated = {judge["judge"] for judge in metrics["judges"] if judge["simulated"]}
    for family in (True, False):
        rows = [
            row
            for row in metrics["comparisons"]
            if family == bool({row["a"], row["b"]} & simulated)
        ]
        check(
            "comparisons.p_holm",
            [row["p_holm"] for row in rows],
            compare.holm(row["p"] for row in rows),
        )
    compare.leaks(check, metrics["leak_audit"], questions.values(), share)
    compare.agreement(check, metrics["judge_agreement"], judged)
    print(f"{check.same} values agree to {args.tolerance:g}, {len(check.unlike)} do not")
    print("\n".join(check.unlike[:40]))
    sys.exit(1 if check.unlike else 0)


if __name__ == "__main__":
    main()
