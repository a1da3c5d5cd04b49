"""Do the intervals cover, are biased judges flagged and fair ones not, is a winner recommended where there is none?

    python benchmarks/coverage.py [--simulations 1000] [--slow 300] [--only flags] [--from FOLDER]

Seven designs (simulated.py): simulated judges of known properties answer simulated questions, many to an image. The
true value of a ratio is that of all its simulations together, of any other figure that of 4,000 images. Prints for each
design and figure the share of simulations whose 95 % interval holds the truth, the mean width, and how many had an
interval at all; then flags raised against fair judges, power against leaning ones, rejections under the null,
and recommendations among six identical encodings.

``--from FOLDER`` reads tables that others simulated instead: FOLDER/DESIGN/truth.json is an object of true values by
figure (as in the printed table: ``accuracy``, ``swap_consistency``, ``alpha``, …; ``difference`` of the first judge
less the second; ``flags``: a list of the features that the first judge leans to), and FOLDER/DESIGN/*.parquet or *.csv
hold one simulation each, one verdict a row, with the columns

    judge       name; with two judges, α and the difference are measured too
    id, image   the question's and the image's names
    pair        the pair of predictions that the question is about (default: id)
    encoding    default "e0"; order "AB" or "BA" (default "AB"); task (default "task")
    answer      "A" or "B", in terms of order AB; said: "A", "B" (turned back) or "Failed"
    score_a, score_b, source_a, source_b    default 1, 0, and none
    text_chars_a, text_chars_b, count_a, …  features of the options, all optional
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from simulated import FEATURES, SEVEN, Design, judged, ranked, scored, shift_for, world

from visualjudge.analysis.analyse import pairwise_figures
from visualjudge.analysis.bias import both_orders, preferences
from visualjudge.analysis.bootstrap import Resampling
from visualjudge.analysis.cells import estimate_of, macro, margin_bin, share_of
from visualjudge.analysis.comparisons import paired
from visualjudge.analysis.encoding_choice import recommend
from visualjudge.analysis.figures import Estimate
from visualjudge.analysis.leaderboard import leaderboard
from visualjudge.analysis.leaks import leak_audit
from visualjudge.analysis.psychometric import Scope, curves
from visualjudge.analysis.scores import rank_taus, scoring_figures, within_groups
from visualjudge.analysis.statistics import jackknife
from visualjudge.analysis.statistics.alpha import alpha, alpha_interval
from visualjudge.analysis.statistics.shares import ratio_influence, shares

POPULATION = 4_000
Figures = dict[str, Estimate]


def pairwise(table: pl.DataFrame) -> Figures:
    """Every interval of one judge's pairwise questions."""
    p = pairwise_figures(table)
    published = p.published
    found = {
        "accuracy": p.accuracy.share,
        "accuracy_parsed": p.accuracy.parsed,
        "swap_consistency": p.swap.consistency,
        "right_in_both": p.swap.right_in_both,
        "mmrb2": published.mmrb2,
        "vl_rewardbench_micro": published.vl_rewardbench_micro,
        "multimodal_rewardbench": published.multimodal_rewardbench,
        "judgebench": published.judgebench,
    }
    return {name: figure for name, figure in {**found, **slow(table)}.items() if figure.n}


def slow(table: pl.DataFrame) -> Figures:
    """Figures that are more than a ratio of sums."""
    found: Figures = {"macro": macro(table, "task")}
    found |= {f"lean {row.feature}": row.estimate for row in preferences(table) if row.estimate.n}
    return found | {f"strength {row.source}": row.strength for row in leaderboard(table).rows}


def together(first: pl.DataFrame, second: pl.DataFrame) -> Figures:
    """What two judges' verdicts on the same questions show."""
    keys = ["id", "order"]
    said = [t.filter(pl.col("parsed")).select(*keys, "cluster", a=(pl.col("text") == "A").cast(pl.Float64))
            for t in (first, second)]  # fmt: skip
    units = said[0].join(said[1], on=keys, how="full", coalesce=True)
    ratings = units.select("a", "a_right").to_numpy().T
    clusters = units.select(pl.coalesce("cluster", "cluster_right")).to_series().to_numpy()
    ends = alpha_interval(ratings, "nominal", clusters)
    both = first.select(*keys, "right", "cluster").join(second.select(*keys, right_b="right"), on=keys)
    return {
        "alpha": Estimate(alpha(ratings, "nominal"), ends, ratings.shape[1], 0),
        "difference": paired(both, ("a", "b"), 0.05).gap,
    }


def one(design: Design, images: int, shift: float, seed: tuple[int, ...]) -> Figures:
    """The slow figures of one simulation."""
    rng = np.random.default_rng(seed)
    seen = world(design, images, rng)
    first, second = (judged(design, seen, shift, rng) for _ in range(2))
    s = scoring_figures(scored(design, images, rng))
    return {**slow(first), **together(first, second), "spearman": s.spearman, "pearson": s.pearson}


Ratio = tuple[str, pl.DataFrame, pl.Expr, str]


def ratios(design: Design, images: int, shift: float, rng: np.random.Generator) -> list[Ratio]:
    """Figures that are ratios of sums over images: name, table, what is summed, and the kind of interval."""
    table = judged(design, world(design, images, rng), shift, rng)
    swap, ranks, scores = both_orders(table), ranked(design, images, rng), scored(design, images, rng)
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
        ("one order, failed wrong", one_order, pl.col("right"), "share"),
        ("one order, failed tossed", one_order, tossed, "mean share"),
        ("exact", ranks, pl.col("parsed") & (pl.col("text") == pl.col("answer")), "share"),
        ("top1", ranks, pl.col("parsed") & (pl.col("text").str.head(1) == pl.col("answer").str.head(1)), "share"),
        ("kendall_tau", taus.filter(pl.col("parsed") & pl.col("tau").is_not_null()), pl.col("tau"), "tau"),
        ("within_image_tau", within_groups(read), pl.col("tau"), "tau"),
        ("mae", read, error.abs(), "mean"),
        ("bias", read, error, "mean"),
    ]
    return [row for row in found if row[1].height]


def batch(row: Ratio, simulations: int, images: int) -> list[Estimate]:
    """The figure of every simulation at once: simulation s holds the images s · images … (s + 1) · images - 1."""
    _, table, top, kind = row
    sums = table.group_by("cluster").agg(top=top.cast(pl.Float64).sum(), n=pl.len().cast(pl.Float64)).sort("cluster")
    x, n, place = sums["top"].to_numpy(), sums["n"].to_numpy(), sums["cluster"].to_numpy() // images
    if kind == "mean":
        value, influence = ratio_influence(x, n, place, simulations)
        found = jackknife.spread(influence, n, place, simulations)
        ends = jackknife.mean_ends(value, found)
        return [estimate_of(value, found, ends, 1, k) for k in range(simulations)]
    half = (x + n) / 2 if kind == "tau" else x
    found_shares = shares(half, n, place, simulations, whole=kind == "share")
    out = [share_of(found_shares, k) for k in range(simulations)]
    return [_of_tau(figure) for figure in out] if kind == "tau" else list(out)


def _of_tau(figure: Estimate) -> Estimate:
    value = None if figure.value is None else 2 * figure.value - 1
    ends = None if figure.interval is None else tuple(2 * (end or 0.0) - 1 for end in figure.interval)
    return Estimate(value, ends, figure.n, figure.images)  # type: ignore[arg-type]


class Tally:
    """How often intervals hold the truth, by figure."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[bool, float, float]]] = defaultdict(list)
        self.tried: dict[str, int] = defaultdict(int)

    def add(self, name: str, figure: Estimate, truth: float | None) -> None:
        """One interval; open sides are infinite."""
        self.tried[name] += 1
        if figure.interval is None or truth is None or figure.value is None:
            return
        low, high = figure.interval
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        self.rows[name].append((bool(low <= truth <= high), high - low, figure.value - truth))

    def show(self, truth: dict[str, float]) -> None:
        """A line a figure; * where coverage lies outside 93.5..97 %, by more than its own Monte Carlo error."""
        for name, rows in self.rows.items():
            held, width, off = (np.array(column) for column in zip(*rows, strict=True))
            share, error = held.mean(), np.sqrt(0.95 * 0.05 / held.size)
            star = "*" if not 0.935 - error <= share <= 0.97 + error else " "
            print(
                f"  {name:24s} truth {truth[name]:7.4f}  covers {100 * share:5.1f} %{star} width "
                f"{np.median(width):7.4f}  off {off.mean():+.4f}  given {len(rows)}/{self.tried[name]}",
                flush=True,
            )


def coverage(designs: tuple[Design, ...], simulations: int, slow_ones: int) -> None:
    """The table of intervals: ratios over ``simulations``, the other figures over ``slow_ones``."""
    for d, design in enumerate(designs):
        shift, tally = shift_for(design), Tally()
        rows = ratios(design, simulations * design.images, shift, np.random.default_rng((1, d)))
        truth = {row[0]: float(row[1].select(row[2].cast(pl.Float64).mean()).item()) for row in rows}
        for row in rows:
            for figure in batch(row, simulations, design.images):
                tally.add(row[0], figure, truth[row[0]])
        if slow_ones:
            known = one(design, POPULATION, shift, (0, d))
            truth |= {name: figure.value for name, figure in known.items() if figure.value is not None}
        for s in range(slow_ones):
            for name, figure in one(design, design.images, shift, (2, d, s)).items():
                tally.add(name, figure, truth.get(name))
        print(design.name)
        tally.show(truth)


# ---------------------------------------------------------------- flags, tests, choices


def how_often(simulations: int, trial: Callable[[np.random.Generator], bool]) -> float:
    """Share of simulations in which ``trial`` is true."""
    return float(np.mean([trial(np.random.default_rng((2, s))) for s in range(simulations)]))


def flags(simulations: int) -> None:
    """Flags against fair judges, and against leaning ones."""
    plain = Design("fair", 20, 0.8)
    cases = [
        (replace(plain, name=f"fair, {n} images", images=n), None) for n in (10, 20, 50)
    ] + [
        (Design(f"fair, right by margin, more boxes where the margin is wide, {n} images", n, 0.97, slope=0.5,
                confounded=0.6), None) for n in (20, 50)
    ] + [
        (replace(plain, name=f"leans 10 % to {feature}, {n} images", images=n, lean=0.1, leans_to=feature), feature)
        for feature in ("position", "count") for n in (20, 50)
    ]  # fmt: skip
    for design, leaning in cases:
        shift = shift_for(design)

        def trial(rng: np.random.Generator, design: Design = design, shift: float = shift) -> tuple[str, ...]:
            table = judged(design, world(design, design.images, rng), shift, rng)
            return tuple(row.feature for row in preferences(table) if row.flagged)

        found = [trial(np.random.default_rng((3, s))) for s in range(simulations)]
        hit = np.mean([leaning in flagged for flagged in found]) if leaning else float("nan")
        false = np.mean([any(feature != leaning for feature in flagged) for flagged in found])
        power = f"  found {100 * hit:5.1f} %" if leaning else ""
        print(f"  {design.name:70s} false flags {100 * false:4.1f} %{power}", flush=True)


def tests(simulations: int) -> None:
    """Rejections at 5 % where nothing is there."""
    for design in (SEVEN[1], SEVEN[2], SEVEN[5]):
        shift = shift_for(design)

        def equal(rng: np.random.Generator, design: Design = design, shift: float = shift) -> bool:
            seen = world(design, design.images, rng)
            a, b = (judged(design, seen, shift, rng) for _ in range(2))
            both = a.select("id", "order", "right", "cluster").join(
                b.select("id", "order", right_b="right"), on=["id", "order"]
            )
            p = paired(both, ("a", "b"), 0.05).p
            return p is not None and p < 0.05

        share = 100 * how_often(simulations, equal)
        print(f"  two equal judges, {design.name:50s} p < 0.05 in {share:4.1f} %", flush=True)
    design = Design("random", 20, 0.5, alike=(0.0, 0.0, 0.0))

    def slope(rng: np.random.Generator) -> bool:
        table = judged(design, world(design, 20, rng), 0.0, rng)
        return curves([(Scope("all", "all", "margin", "margin"), table)], Resampling(20))[0].jnd.value is not None

    print(f"  75 % point of a judge that guesses: {100 * how_often(simulations, slope):.1f} %", flush=True)

    def leak(rng: np.random.Generator) -> bool:
        seen = world(Design("leak", 20, 0.8), 20, rng)
        table = judged(Design("leak", 20, 0.8, encodings=1, swap=False), seen, 1.0, rng)
        return any(row.p is not None and row.p < 0.05 for row in leak_audit(table) if row.rule == "combined")

    print(f"  leak audit, combined, nothing leaks: p < 0.05 in {100 * how_often(simulations, leak):.1f} %", flush=True)


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
            found = curves([(Scope("all", "all", "margin", "margin"), table)], Resampling(images, s))[0]
            tally.add("75 % point", found.jnd, truth)
        print(f"{images} images")
        tally.show({"75 % point": truth})


def _chance(design: Design, step: np.ndarray, margin: float) -> np.ndarray:
    return 0.5 + (design.accuracy - 0.5) * (1 - np.exp(-design.slope * np.exp(step) * margin))  # type: ignore[operator]


def winners(simulations: int) -> None:
    """Six encodings, identical or one better: how often one is recommended, and what its figure is worth."""
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
        shares = f"{100 * named / simulations:.1f} %, the first in {100 * right / simulations:.1f} %"
        print(f"  {what:45s} recommended in {shares}")
        tally.show({"recommended": truth["e0"]})


# ---------------------------------------------------------------- tables of others


def read_table(path: Path) -> dict[str, pl.DataFrame]:
    """One simulation's verdicts by judge, as the analysis joins them."""
    raw = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    defaults = {"judge": "judge", "encoding": "e0", "order": "AB", "task": "task", "score_a": 1.0, "score_b": 0.0}
    raw = raw.with_columns(pl.lit(value).alias(name) for name, value in defaults.items() if name not in raw.columns)
    if "pair" not in raw.columns:
        raw = raw.with_columns(pair=pl.col("id"))
    for side in "ab":
        if f"source_{side}" not in raw.columns:
            raw = raw.with_columns(pl.lit(None, dtype=pl.String).alias(f"source_{side}"))
    codes = pl.Series("cluster", np.unique(raw["image"].cast(pl.String).to_numpy(), return_inverse=True)[1])
    told = [name for name in FEATURES if f"{name}_a" in raw.columns]
    return {
        str(name[0]): part for name, part in sorted(raw.with_columns(codes).pipe(_as_joined, told).group_by("judge"))
    }


def _as_joined(raw: pl.DataFrame, told: list[str]) -> pl.DataFrame:
    turned, parsed = pl.col("order") == "BA", pl.col("said").is_in(["A", "B"])
    lists = {
        name: pl.concat_list(pl.col(f"{name}_a").cast(pl.Float64), pl.col(f"{name}_b").cast(pl.Float64))
        for name in told
    }
    empty = {name: pl.lit([], dtype=pl.List(pl.Float64)) for name in FEATURES if name not in told}
    text = pl.col("pair").cast(pl.String)
    return raw.with_columns(
        pl.col("id").cast(pl.String),
        parsed=parsed,
        text=pl.col("said"),
        item=text,
        repeat=pl.lit(0),
        right=parsed & (pl.col("said") == pl.col("answer")),
        said_first=pl.when(parsed).then((pl.col("said") == "A") ^ turned),
        first_right=(pl.col("answer") == "A") ^ turned,
        cause=pl.when(~parsed).then(pl.lit("unparseable")),
        status=pl.when(parsed).then(pl.lit("ok")).otherwise(pl.lit("unparseable")),
        kind=pl.lit("pairwise"),
        margin=(pl.col("score_a") - pl.col("score_b")).abs(),
        scores=pl.concat_list(pl.col("score_a").cast(pl.Float64), pl.col("score_b").cast(pl.Float64)),
        sources=pl.concat_list("source_a", "source_b"),
        annotations=pl.concat_list(pl.format("{}-a", text), pl.format("{}-b", text)),
        tokens_in=pl.lit(None, dtype=pl.Int64),
        **lists,
        **empty,
    ).with_columns(margin_bin=margin_bin())


def from_folder(folder: Path) -> None:
    """Coverage, flags and tests on the tables of ``folder``."""
    for design in sorted(path for path in folder.iterdir() if (path / "truth.json").is_file()):
        truth = json.loads((design / "truth.json").read_text())
        leaning, tally = set(truth.pop("flags", [])), Tally()
        false = hits = rejected = count = 0
        for table in _tables(design):
            count += 1
            names = list(table)
            found = pairwise(table[names[0]])
            if len(names) > 1:
                found |= together(table[names[0]], table[names[1]])
            for name, figure in found.items():
                tally.add(name, figure, truth.get(name))
            flagged = {row.feature for row in preferences(table[names[0]]) if row.flagged}
            false, hits = false + bool(flagged - leaning), hits + (bool(leaning) and leaning <= flagged)
            if len(names) > 1:
                both = [table[name].select("id", "order", "right", "cluster") for name in names[:2]]
                p = paired(both[0].join(both[1].drop("cluster"), on=["id", "order"], suffix="_b"), ("a", "b"), 0.05).p
                rejected += p is not None and p < 0.05
        print(f"{design.name}: {count} tables; false flags {100 * false / count:.1f} %, all leanings found "
              f"{100 * hits / count:.1f} %, judges told apart {100 * rejected / count:.1f} %")  # fmt: skip
        tally.show(truth)


def _tables(design: Path) -> Iterator[dict[str, pl.DataFrame]]:
    for path in sorted([*design.glob("*.parquet"), *design.glob("*.csv")]):
        yield read_table(path)


PARTS: dict[str, Callable[[int], None]] = {"flags": flags, "tests": tests, "jnd": jnd, "winners": winners}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000, help="of figures that are ratios of sums")
    parser.add_argument("--slow", type=int, default=300, help="simulations of all other figures, flags and tests")
    parser.add_argument("--only", default="", help="coverage, flags, tests, jnd or winners; or part of a design's name")
    parser.add_argument("--from", dest="folder", type=Path, help="tables that others simulated")
    args = parser.parse_args()
    started = time.perf_counter()
    if args.folder:
        from_folder(args.folder)
        return
    if args.only not in PARTS:
        wanted = "" if args.only == "coverage" else args.only
        coverage(tuple(design for design in SEVEN if wanted in design.name), args.simulations, args.slow)
    for name, part in PARTS.items():
        if args.only in ("", name):
            print(name)
            part(args.slow)
    print(f"{args.simulations} and {args.slow} simulations; {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
