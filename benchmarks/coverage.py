"""Do the intervals cover, are biased judges flagged and fair ones not, is a winner recommended
where there is none?

    python benchmarks/coverage.py [--simulations 1000] [--slow 300] [--only flags]
    python benchmarks/coverage.py --from FOLDER

Seven designs (simulated.py): simulated judges of known properties answer simulated questions, many
to an image. The true value of a ratio is that of all its simulations together, of any other figure
that of 4,000 images; of what a fair judge leans to, and of the difference of two equal judges or
encodings, 0. Prints for each design and figure the share of simulations whose 95 % interval holds
the truth, the mean width, and how many had an interval at all; then flags raised against fair
judges, power against leaning ones, rejections under the null, recommendations among six identical
encodings, and shares whose cases are more or less alike inside an image.

--from FOLDER measures tables that others simulated instead. Their format:

{FORMAT}
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import foreign
import numpy as np
import polars as pl
from measured import Figures, Tally, both_judges, flagged, slow, together, told_apart
from simulated import SEVEN, Design, cases, judged, ranked, right_of, scored, shift_for, world

from visualjudge.analysis.accuracy_cells import estimate_of, macro, share_of
from visualjudge.analysis.benchmark_pair_rules import net
from visualjudge.analysis.bias import both_orders
from visualjudge.analysis.comparisons import paired
from visualjudge.analysis.encoding_choice import recommend
from visualjudge.analysis.leaks import leak_audit
from visualjudge.analysis.psychometric import Resampling, Scope, curves
from visualjudge.analysis.scores import rank_taus, scoring_figures, within_groups
from visualjudge.analysis.statistics import jackknife
from visualjudge.analysis.statistics.alpha import alpha, alpha_interval
from visualjudge.analysis.statistics.share_intervals import ratio, shares
from visualjudge.analysis.value_and_interval import Estimate
from visualjudge.core.errors import DataError

POPULATION = 4_000


def one(design: Design, images: int, shift: float, seed: tuple[int, ...]) -> Figures:
    """The slow figures of one simulation."""
    rng = np.random.default_rng(seed)
    seen = world(design, images, rng)
    first, second = (judged(design, seen, shift, rng) for _ in range(2))
    scores = scored(design, images, rng)
    s = scoring_figures(scores)
    compared = paired(both_judges(first, second), ("a", "b"), 0.05)
    return {
        **slow(first),
        "macro": macro(first.with_columns(task=(pl.col("pair") % 3).cast(pl.String)), "task"),
        "macro, a task an image": macro(
            first.with_columns(task=(pl.col("cluster") % 3).cast(pl.String)), "task"
        ),
        **together(first, second),
        "images needed": Estimate(compared.images_needed, compared.images_range, 0, images),
        "alpha of scores": _score_alpha(scores, rng),
        "spearman": s.spearman,
        "pearson": s.pearson,
    }


def _score_alpha(scores: pl.DataFrame, rng: np.random.Generator) -> Estimate:
    """Interval α of a judge's numbers and those of one that is a little off them."""
    number, clusters = scores["number"].to_numpy(), scores["cluster"].to_numpy()
    ratings = np.stack([number, np.clip(np.round(number + rng.normal(size=number.size)), 0, 10)])
    return Estimate(
        alpha(ratings, "interval"), alpha_interval(ratings, "interval", clusters), number.size, 0
    )


Ratio = tuple[str, pl.DataFrame, pl.Expr, str]


def ratios(design: Design, images: int, shift: float, rng: np.random.Generator) -> list[Ratio]:
    """Figures that are ratios of sums over images: name, table, what is summed, and the kind of
    interval.
    """
    table = judged(design, world(design, images, rng), shift, rng)
    swap, ranks, scores = (
        both_orders(table),
        ranked(design, images, rng),
        scored(design, images, rng),
    )
    one_order, parsed = table.filter(pl.col("order") == "AB"), table.filter(pl.col("parsed"))
    taus = ranks.with_columns(tau=pl.Series(rank_taus(ranks)).fill_nan(None))
    read = scores.filter(pl.col("parsed"))
    error = pl.col("number") - pl.col("truth")
    tossed = pl.when(pl.col("parsed")).then(pl.col("right").cast(pl.Float64)).otherwise(0.5)
    found: list[Ratio] = [
        ("accuracy", table, pl.col("right"), "share"),
        ("accuracy_parsed", parsed, pl.col("right"), "share"),
        ("swap_consistency", swap, pl.col("consistent"), "share"),
        ("right_in_both", swap, pl.col("both_right"), "share"),
        ("judgebench", net(table) if design.swap else table.clear(), pl.col("net") > 0, "share"),
        ("one order, failed wrong", one_order, pl.col("right"), "share"),
        ("one order, failed tossed", one_order, tossed, "mean share"),
        ("exact", ranks, pl.col("parsed") & (pl.col("text") == pl.col("answer")), "share"),
        (
            "top1",
            ranks,
            pl.col("parsed") & (pl.col("text").str.head(1) == pl.col("answer").str.head(1)),
            "share",
        ),
        (
            "kendall_tau",
            taus.filter(pl.col("parsed") & pl.col("tau").is_not_null()),
            pl.col("tau"),
            "tau",
        ),
        ("within_image_tau", within_groups(read), pl.col("tau"), "tau"),
        ("mae", read, error.abs(), "mean"),
        ("bias", read, error, "mean"),
    ]
    return [row for row in found if row[1].height]


def batch(row: Ratio, simulations: int, images: int) -> list[Estimate]:
    """The figure of every simulation at once: simulation s holds the images s · images … (s + 1) ·
    images - 1.
    """
    _, table, top, kind = row
    sums = (
        table.group_by("cluster")
        .agg(top=top.cast(pl.Float64).sum(), n=pl.len().cast(pl.Float64))
        .sort("cluster")
    )
    x, n, place = sums["top"].to_numpy(), sums["n"].to_numpy(), sums["cluster"].to_numpy() // images
    if kind == "mean":
        value, found = ratio(x, n, place, simulations)
        ends = jackknife.mean_ends(value, found)
        return [estimate_of(value, found, ends, 1, k) for k in range(simulations)]
    half = (x + n) / 2 if kind == "tau" else x
    found_shares = shares(half, n, place, simulations, whole=kind == "share")
    out = [share_of(found_shares, k) for k in range(simulations)]
    return [_of_tau(figure) for figure in out] if kind == "tau" else list(out)


def _of_tau(figure: Estimate) -> Estimate:
    value = None if figure.value is None else 2 * figure.value - 1
    ends = (
        None if figure.interval is None else tuple(2 * (end or 0.0) - 1 for end in figure.interval)
    )
    return Estimate(value, ends, figure.n, figure.images)  # type: ignore[arg-type]


def coverage(designs: tuple[Design, ...], simulations: int, slow_ones: int) -> None:
    """The table of intervals: ratios over ``simulations``, the other figures over ``slow_ones``."""
    for d, design in enumerate(designs):
        truth, tally = tallied(d, design, simulations, slow_ones)
        print(design.name)
        tally.show(truth)


def tallied(
    d: int, design: Design, simulations: int, slow_ones: int
) -> tuple[dict[str, float], Tally]:
    """The true value of each figure in the ``d``-th design, and how often its intervals hold it."""
    shift, tally = shift_for(design), Tally()
    rows = ratios(design, simulations * design.images, shift, np.random.default_rng((1, d)))
    truth = {row[0]: float(row[1].select(row[2].cast(pl.Float64).mean()).item()) for row in rows}
    for row in rows:
        for figure in batch(row, simulations, design.images):
            tally.add(row[0], figure, truth[row[0]])
    if slow_ones:
        known = one(design, POPULATION, shift, (0, d))
        truth |= {name: figure.value for name, figure in known.items() if figure.value is not None}
        truth |= {
            name: 0.0
            for name in truth
            if name.startswith(("lean ", "e0 - ")) or name == "difference"
        }
    for s in range(slow_ones):
        for name, figure in one(design, design.images, shift, (2, d, s)).items():
            tally.add(name, figure, truth.get(name))
    return truth, tally


# ---------------------------------------------------------------- flags, tests, choices


def how_often(simulations: int, trial: Callable[[np.random.Generator], bool]) -> float:
    """Share of simulations in which ``trial`` is true."""
    return float(np.mean([trial(np.random.default_rng((2, s))) for s in range(simulations)]))


def flags(simulations: int) -> None:
    """Flags against fair judges, and against leaning ones."""
    plain = Design("fair", 20, 0.8)
    cases = (
        [(replace(design, name=f"fair: {design.name}"), None) for design in SEVEN]
        + [(replace(plain, name=f"fair: {n} images, .80", images=n), None) for n in (10, 20, 50)]
        + [
            (
                Design(
                    f"fair, right by margin, more boxes where the margin is wide, {n} images",
                    n,
                    0.97,
                    slope=0.5,
                    confounded=0.6,
                ),
                None,
            )
            for n in (20, 50)
        ]
        + [
            (
                replace(
                    plain,
                    name=f"leans 10 % to {feature}, {n} images",
                    images=n,
                    lean=0.1,
                    leans_to=feature,
                ),
                feature,
            )
            for feature in ("position", "count")
            for n in (20, 50)
        ]
    )
    for design, leaning in cases:
        shift = shift_for(design)

        def trial(
            rng: np.random.Generator, design: Design = design, shift: float = shift
        ) -> set[str]:
            table = judged(design, world(design, design.images, rng), shift, rng)
            return flagged(table)

        found = [trial(np.random.default_rng((3, s))) for s in range(simulations)]
        hit = np.mean([leaning in seen for seen in found]) if leaning else float("nan")
        false = np.mean([any(feature != leaning for feature in seen) for seen in found])
        power = f"  found {100 * hit:5.1f} %" if leaning else ""
        print(f"  {design.name:70s} false flags {100 * false:4.1f} %{power}", flush=True)


def tests(simulations: int) -> None:
    """Rejections at 5 % where nothing is there."""
    for design in (SEVEN[1], SEVEN[2], SEVEN[5]):
        shift = shift_for(design)

        def equal(rng: np.random.Generator, design: Design = design, shift: float = shift) -> bool:
            seen = world(design, design.images, rng)
            a, b = (judged(design, seen, shift, rng) for _ in range(2))
            return told_apart(a, b)

        share = 100 * how_often(simulations, equal)
        print(f"  two equal judges, {design.name:50s} p < 0.05 in {share:4.1f} %", flush=True)
    design = Design("random", 20, 0.5, alike=(0.0, 0.0, 0.0))

    def slope(rng: np.random.Generator) -> bool:
        table = judged(design, world(design, 20, rng), 0.0, rng)
        return (
            curves([(Scope("all", "all", "margin", "margin"), table)], Resampling(20))[0].jnd.value
            is not None
        )

    print(
        f"  75 % point of a judge that guesses: {100 * how_often(simulations, slope):.1f} %",
        flush=True,
    )

    def leak(rng: np.random.Generator) -> bool:
        seen = world(Design("leak", 20, 0.8), 20, rng)
        table = judged(Design("leak", 20, 0.8, encodings=1, swap=False), seen, 1.0, rng)
        return any(
            row.p is not None and row.p < 0.05
            for row in leak_audit(table)
            if row.rule == "combined"
        )

    print(
        "  leak audit, combined, nothing leaks: p < 0.05 in "
        f"{100 * how_often(simulations, leak):.1f} %",
        flush=True,
    )


def jnd(simulations: int) -> None:
    """Coverage of the 75 % point."""
    for images in (20, 50):
        design = Design("by margin", images, 1.0, slope=0.4, alike=(0.3, 0.3, 0.1))
        grid = np.linspace(0.01, 10, 2000)
        step = np.random.default_rng(0).normal(size=(3, 4000)).T @ np.array(design.alike)
        mean = np.array([chance.mean() for chance in (_chance(design, step, m) for m in grid)])
        truth, tally = float(np.interp(0.75, mean, grid)), Tally()
        for s in range(simulations):
            rng = np.random.default_rng((5, s))
            table = judged(design, world(design, images, rng), 0.0, rng)
            found = curves(
                [(Scope("all", "all", "margin", "margin"), table)], Resampling(images, s)
            )[0]
            tally.add("75 % point", found.jnd, truth)
        print(f"{images} images")
        tally.show({"75 % point": truth})


def _chance(design: Design, step: np.ndarray, margin: float) -> np.ndarray:
    return 0.5 + (design.accuracy - 0.5) * (1 - np.exp(-design.slope * np.exp(step) * margin))  # type: ignore[operator]


def winners(simulations: int) -> None:
    """Six encodings, identical or one better: how often one is recommended, and what its figure is
    worth.
    """
    for images, better in ((20, 0.0), (50, 0.0), (20, 0.5), (50, 0.5), (50, 1.0)):
        design = Design("encodings", images, 0.8, better=better, alike=(0.9, 0.8, 0.4))
        shift = shift_for(replace(design, better=0.0))
        rng = np.random.default_rng(9)
        seen = world(design, POPULATION, rng)
        whole = judged(design, seen, shift, rng)
        truth = dict(whole.group_by("encoding").agg(pl.col("right").mean()).iter_rows())
        tally, named, right = Tally(), 0, 0
        for s in range(simulations):
            rng = np.random.default_rng((4, s))
            choice = recommend(judged(design, world(design, images, rng), shift, rng), "task", s)
            if choice.recommended:
                named += 1
                right += choice.recommended == "e0"
                tally.add("recommended", choice.chosen, truth[choice.recommended])
        what = f"{images} images, first better by {100 * (truth['e0'] - truth['e1']):.1f} points"
        shares = (
            f"{100 * named / simulations:.1f} %, the first in {100 * right / simulations:.1f} %"
        )
        print(f"  {what:45s} recommended in {shares}")
        tally.show({"recommended": truth["e0"]})


def shares_alone(simulations: int) -> None:
    """Coverage of shares where images are alike inside by 0 to 1, or few of them carry all
    errors.
    """
    grid = product((5, 8, 12, 20, 50, 120, 300), (1, 3, 12, 60, 200, "1 to 20", "one of 20"))
    for images, size in grid:
        held = []
        for share, alike in product(
            (0.5, 0.75, 0.9, 0.95, 0.97, 0.99, 0.995), (0, 0.03, 0.3, 0.6, 0.9, 1, None)
        ):
            rng = np.random.default_rng((6, images, int(1000 * share)))
            n = cases(size, (simulations, images), rng)
            right = right_of(share, alike, n, rng)
            found = shares(
                right.ravel(), n.ravel(), np.repeat(np.arange(simulations), images), simulations
            )
            told = np.isfinite(found.low)
            held.append(float(((found.low <= share) & (found.high >= share))[told].mean()))
        under = sum(row < 0.93 for row in held)
        least, middle = 100 * min(held), 100 * float(np.median(held))
        print(
            f"  {images:3d} images of {size!s:9s} least {least:5.1f} %  median {middle:5.1f} %  "
            f"{under} below 93 %",
            flush=True,
        )


PARTS: dict[str, Callable[[int], None]] = {
    "flags": flags,
    "tests": tests,
    "jnd": jnd,
    "winners": winners,
    "shares": shares_alone,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").replace("{FORMAT}", foreign.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--simulations", type=int, default=1000, help="of figures that are ratios of sums"
    )
    parser.add_argument(
        "--slow", type=int, default=300, help="simulations of all other figures, flags and tests"
    )
    parser.add_argument(
        "--only",
        default="",
        help="coverage, flags, tests, jnd, winners or shares; or part of a design's name",
    )
    parser.add_argument("--from", dest="folder", type=Path, help="tables that others simulated")
    args = parser.parse_args()
    started = time.perf_counter()
    if args.folder:
        try:
            foreign.from_folder(args.folder)
        except (DataError, OSError, ValueError) as error:
            sys.exit(f"coverage.py: {error}")
        return
    if args.only not in PARTS:
        wanted = "" if args.only == "coverage" else args.only
        coverage(
            tuple(design for design in SEVEN if wanted in design.name), args.simulations, args.slow
        )
    for name, part in PARTS.items():
        if args.only in ("", name):
            print(name)
            part(args.slow)
    print(f"{args.simulations} and {args.slow} simulations; {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
