"""What the sets of the atlas say: each finding with its figure, interval and number of
cases, what was tried to refute it, and what would change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl
from atlas_sets import EDITS, FACTORS, table
from scipy.stats import beta

from visualjudge.analysis import Analysis, analyse
from visualjudge.analysis.decisions.accept import AcceptedPart, accept
from visualjudge.analysis.estimate import holm
from visualjudge.analysis.figures.bias import preferences
from visualjudge.analysis.figures.comparisons import COMPARISONS, Comparison
from visualjudge.analysis.figures.published_scores import AS_PUBLISHED
from visualjudge.analysis.figures.scoring import SCORES
from visualjudge.analysis.people_agreement import agreement
from visualjudge.analysis.ranking_and_scoring import scores_of
from visualjudge.analysis.results import JudgeResult
from visualjudge.analysis.value_and_interval import Estimate

Analyses = Mapping[str, Analysis]
TASKS = 14
RISK = 0.2
LEVEL = 0.05
BAD = 5.0
"""Score from 0 to 10 below which a reply is bad: people gave it 1 or 2 of 5."""


@dataclass(frozen=True)
class Finding:
    """One sentence with its figure. ``n`` are the cases behind it, ``sets`` the sets it
    is of, ``tried`` what did not refute it, and ``changes`` what would.
    """

    name: str
    sentence: str
    figure: str
    value: float
    low: float | None
    high: float | None
    n: int
    sets: tuple[str, ...]
    command: str
    tried: tuple[str, ...]
    changes: str


def findings_of(analyses: Analyses, clones: Path) -> tuple[Finding, ...]:
    """All findings whose sets were measured."""
    made = (
        (("mllm-judge",), lambda: one_threshold(analyses["mllm-judge"])),
        (("opening",), lambda: first_shown(analyses["opening"])),
        (("polaris",), lambda: zeros(analyses["polaris"])),
        (("edits",), lambda: people(analyses["edits"], clones / EDITS)),
        (
            ("realism", "safety"),
            lambda: same_score(analyses["realism"], analyses["safety"]),
        ),
        (OF_NOISE, lambda: noise(analyses)),
    )
    return tuple(make() for sets, make in made if set(sets) <= set(analyses))


def of(analysis: Analysis, name: str) -> JudgeResult:
    """The judge of a name."""
    return next(judge for judge in analysis.judges if judge.name == name)


def dot(value: float | None) -> str:
    """A correlation with two decimals, without the zero."""
    shown = f"{value or 0:.2f}"
    return shown.replace("-0.", "−.").replace("0.", ".", 1)


def ends(figure: Estimate) -> str:
    """The interval of a correlation."""
    low, high = figure.interval or (None, None)
    return f"{dot(low)} to {dot(high)}"


def alone(analysis: Analysis, judge: str) -> Analysis:
    """The analysis of one judge by itself."""
    folder = of(analysis, judge).run.folder
    assert folder is not None
    return analyse([folder])


def share_interval(bad: int, of_all: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share."""
    low = beta.ppf(0.025, bad, of_all - bad + 1) if bad else 0.0
    high = beta.ppf(0.975, bad + 1, of_all - bad) if bad < of_all else 1.0
    return float(low), float(high)


def broken(
    parts: list[AcceptedPart], risk: float
) -> dict[str, tuple[float, float, float]]:
    """Tasks in which more than ``risk`` of the accepted are bad, by the whole interval:
    the share and its interval.
    """
    out = {}
    for part in parts:
        if (
            part.part.startswith(("all", "error type"))
            or part.bad_accepted is None
        ):
            continue
        accepted = round(part.accepted * part.predictions)
        bad = round(part.bad_accepted * accepted)
        low, high = share_interval(bad, accepted)
        if low > risk:
            out[part.part] = (bad / accepted, low, high)
    return out


def one_threshold(analysis: Analysis) -> Finding:
    """A risk that holds over all tasks, by task."""
    judge = "llava-critic-7b"
    study = alone(analysis, judge).study
    own = accept(study, bad_below=BAD, risk=RISK, pooled=True)
    whole = own.parts[0]
    found = broken(list(own.parts), RISK)
    worst, (share, low, high) = max(found.items(), key=lambda pair: pair[1][0])
    others = {}
    for name in ("phi-4-reasoning-vision", "gemini-2.5-flash"):
        other = accept(
            alone(analysis, name).study, bad_below=BAD, risk=RISK, pooled=True
        )
        others[name] = len(broken(list(other.parts), RISK))
    risks = {}
    for risk in (0.25, 0.3):
        other = accept(study, bad_below=BAD, risk=risk, pooled=True)
        risks[risk] = len(broken(list(other.parts), risk))
    stricter = accept(study, bad_below=2.5, risk=RISK / 2, pooled=True)
    names = ", ".join(sorted(found))
    return Finding(
        "one-threshold",
        "One threshold does not carry over: the score from which at most 20 % of "
        f"LLaVA-Critic’s accepted replies are bad over {TASKS} kinds of images "
        f"({100 * (whole.bad_accepted or 0):.0f} % are) breaks that promise in "
        f"{len(found)} of the {TASKS} ({names}); in {worst}, {100 * share:.0f} % are "
        "bad.",
        f"bad replies among the accepted in {worst}",
        share,
        low,
        high,
        whole.predictions,
        ("mllm-judge",),
        "visualjudge adopt tables/mllm-judge.csv --score-range 1 5 --out mllm && "
        "visualjudge accept mllm/llava-critic-7b --bad-below 5 --risk 0.2 --pooled",
        (
            *(
                f"{name} instead: {count} of {TASKS}"
                for name, count in others.items()
            ),
            *(
                f"a risk of {100 * risk:.0f} %: {count} of {TASKS}"
                for risk, count in risks.items()
            ),
            "bad as 1 of 5 and a risk of 10 %: "
            f"{len(broken(list(stricter.parts), RISK / 2))} of {TASKS}",
        ),
        "Tasks are counted where the whole interval lies above the promise. One person "
        "rated each reply, so some “bad” ones are that person’s; several raters could "
        "lower all shares.",
    )


def position(judge: JudgeResult, rows: pl.DataFrame) -> Estimate:
    """The preference for the option shown first, in pairs of ``rows``."""
    found = preferences(rows)
    return next(row.estimate for row in found if row.feature == "position")


def first_shown(analysis: Analysis) -> Finding:
    """Ties, and the option shown first."""
    judge = of(analysis, "gpt-4o")
    rows = judge.pairs
    figure = position(judge, rows)
    low, high = figure.interval or (None, None)
    text = rows["text"].cast(pl.String)
    truth = rows["answer"].cast(pl.String)
    decided = text != "tie"
    first = float((text.filter(decided) == "A").mean() or 0)
    of_people = float((truth.filter(truth != "tie") == "A").mean() or 0)
    trained = of(analysis, "intjudge")
    other = position(trained, trained.pairs)
    half = pl.col("cluster") % 2 == 0
    halves = [position(judge, rows.filter(part)) for part in (half, ~half)]
    names = rows["sources"].cast(pl.List(pl.String)).list.join("/")
    machines = position(judge, rows.filter(~names.str.contains("Human")))
    return Finding(
        "first-shown",
        "GPT-4o hardly ever calls a tie and prefers what it sees first: ties in "
        f"{100 * (1 - float(decided.mean() or 0)):.1f} % of {len(rows):,} pairs where "
        f"people see {100 * float((truth == 'tie').mean() or 0):.1f} %, the first "
        f"option in {100 * first:.0f} % of the rest (people {100 * of_people:.0f} %). "
        "Half its difference in accuracy by the place of the better option is "
        f"{100 * (figure.value or 0):.1f} points.",
        "preference for the first option, percentage points",
        100 * (figure.value or 0),
        100 * (low or 0),
        100 * (high or 0),
        figure.n,
        ("opening",),
        "visualjudge adopt tables/opening.csv --out opening && visualjudge card "
        "opening/gpt-4o --details",
        (
            "each half of the questions: "
            + " and ".join(f"{100 * (one.value or 0):.1f}" for one in halves),
            "without pairs in which a person made one answer: "
            f"{100 * (machines.value or 0):.1f}",
            "IntJudge, trained on such pairs, as control: "
            f"{100 * (other.value or 0):.1f}",
        ),
        "Each pair was shown in one order, A first, by the authors’ code; the same "
        "pairs in both orders would separate place from content without people.",
    )


def zeros(analysis: Analysis) -> Finding:
    """Polaris with and without the captions that people gave nothing."""
    judge = of(analysis, "llava-critic-7b")
    whole = judge[SCORES]
    read = judge.scorings.filter("usable").drop_nulls("truth")
    some = scores_of(read.filter(pl.col("truth") > 0), 2.5)
    figure = some.spearman.estimate
    low, high = figure.interval or (None, None)
    none = read.filter(pl.col("truth") == 0)
    share = none.height / read.height
    lowest = float(none.select((pl.col("number") == 0).mean()).item())
    place = pl.int_range(pl.len()) % 2 == 0
    above = read.filter(pl.col("truth") > 0)
    halves = [
        scores_of(above.filter(part), 2.5).spearman.value
        for part in (place, ~place)
    ]
    return Finding(
        "zeros",
        f"A correlation of {dot(whole.spearman.value)} is mostly one value: "
        f"{100 * share:.0f} % of Polaris’ captions have exactly 0 from people, and "
        f"LLaVA-Critic gives {100 * lowest:.1f} % of these its lowest score. Among the "
        f"other {above.height:,} captions ρ is {dot(figure.value)}.",
        "ρ among captions with more than 0",
        figure.value or 0,
        low,
        high,
        figure.n,
        ("polaris",),
        "visualjudge adopt tables/polaris-above-0.csv --score-range 1 5 --out above && "
        "visualjudge card above/llava-critic-7b",
        (
            f"Pearson’s r: {dot(whole.pearson.value)} with them, "
            f"{dot(some.pearson.value)} without",
            f"each half of the rest: {' and '.join(map(dot, halves))}",
        ),
        "If the zeros are captions as hard as the others, the whole correlation is the "
        "fair one; the set does not say how they came about. Restricting the range "
        "lowers any correlation.",
    )


def ratings(clone: Path) -> list[dict[str, str | float]]:
    """What each person gave each edit, by criterion and overall, as ``visualjudge
    agreement`` reads it.
    """
    path = clone / "results/Human_Evaluation/human_eval_results_latest.csv"
    return [
        {
            "item": row["task_id"],
            "source": "edit",
            "rater": row["annotator_id"],
            "dimension": FACTORS.get(name, name),
            "score": float(row[name]),
        }
        for row in table(path)
        for name in (*row["factors_order"].split("|"), OVERALL)
    ]


OVERALL = "overall"


def people(analysis: Analysis, clone: Path) -> Finding:
    """Do the people agree whose mean is the truth?"""
    rows = pl.DataFrame(ratings(clone))
    found = {
        row.dimension: row for row in agreement(rows, level="interval").alpha
    }
    overall = found.pop(OVERALL)
    value = {name: row.alpha or 0.0 for name, row in found.items()}
    best = max(value, key=lambda name: value[name])
    weak = sum(alpha < 0.2 for alpha in value.values())
    ordinal = [
        row
        for row in agreement(rows, level="ordinal").alpha
        if row.dimension != OVERALL
    ]
    middle = median(value.values())
    seen = {
        judge.name: sum(
            bool(own.spearman.interval and (own.spearman.interval[0] or 0) > 0)
            for own in judge[SCORES].tasks.values()
        )
        for judge in analysis.judges
    }
    low, high = overall.ci95 or (None, None)
    return Finding(
        "people",
        f"People hardly agree on most criteria of image edits: on {weak} of 12, those "
        "whose mean is the truth have a Krippendorff’s α below .2 (median "
        f"{dot(middle)}, highest {dot(value[best])}, {best}; {dot(overall.alpha)} "
        "overall), so the set says little about how well GPT-5 mini and Gemini 2.5 Pro "
        "judge them.",
        "α of people’s overall rating",
        overall.alpha or 0.0,
        low,
        high,
        overall.units,
        ("edits",),
        "visualjudge agreement tables/ratings.csv --level interval",
        (
            f"ordinal α: {sum((row.alpha or 0) < 0.2 for row in ordinal)} of 12 below "
            ".2",
            "criteria on which a judge’s ρ with the mean is above 0 by its interval: "
            + ", ".join(
                f"{count} ({name})" for name, count in sorted(seen.items())
            ),
        ),
        "19 people rated 20 edits each. The mean of five is more reliable than one "
        f"person (Spearman and Brown: {dot(5 * middle / (1 + 4 * middle))} at the "
        "median); more ratings per edit would make it a better truth even if single "
        "people go on to differ.",
    )


def same_score(realism: Analysis, safety: Analysis) -> Finding:
    """Equal scores of judges that nearly always say one number."""
    often = of(realism, "gpt-5.4-mini")
    other = of(realism, "internvl3.5-30b")
    ranks = of(realism, "gemini-3-flash")
    middle = [twos(judge) for judge in (often, other)]
    truth = ranks.scorings["truth"]
    of_people = (truth - MIDDLE).abs().lt(1).mean()
    rho = often[SCORES].spearman
    best = ranks[SCORES].spearman
    low, high = rho.interval or (None, None)
    return Finding(
        "same-score",
        "Equal scores reward a judge that says one thing: how realistic generated "
        "drives are, from 1 to 3, GPT-5.4 mini and InternVL3.5-30B say exactly as "
        f"people in {percent(often[SCORES].exact.value)} and "
        f"{percent(other[SCORES].exact.value)} %, more than Gemini 3 Flash "
        f"({percent(ranks[SCORES].exact.value)} %), by saying 2 of "
        f"{percent(middle[0])} and {percent(middle[1])} % of them, which people do of "
        f"{percent(of_people)}. Their ρ is {dot(rho.value)} "
        f"({ends(rho)}) and {dot(other[SCORES].spearman.value)}, Gemini’s "
        f"{dot(best.value)} ({ends(best)}).",
        "ρ of GPT-5.4 mini with people, how realistic drives are",
        rho.value or 0.0,
        low,
        high,
        often[SCORES].n,
        ("realism", "safety"),
        "visualjudge adopt tables/realism.csv --score-range 1 3 --out realism && "
        "visualjudge card realism/gpt-5.4-mini realism/gemini-3-flash",
        (
            "how safe they are, where people seldom say 2: "
            f"{percent(of(safety, often.name)[SCORES].exact.value)} % against "
            f"{percent(of(safety, ranks.name)[SCORES].exact.value)} % for Gemini, ρ "
            f"{dot(of(safety, often.name)[SCORES].spearman.value)} against "
            f"{dot(of(safety, ranks.name)[SCORES].spearman.value)}",
            "each half of the videos: ρ "
            + " and ".join(dot(half) for half in halves(often))
            + " against "
            + " and ".join(dot(half) for half in halves(ranks)),
        ),
        "A scale of more than three steps, on which one number is right less "
        "often. The files have one score of people a video, and no video is real, so "
        "the scores differ little and any ρ is low.",
    )


MIDDLE = 5.0
"""The score of 2 of 1 to 3, from 0 to 10; also the distance of its steps."""


def twos(judge: JudgeResult) -> float:
    """The share of 2 among the scores of a judge."""
    scores = judge.scorings.filter("usable")["number"]
    return float((scores - MIDDLE).abs().lt(1).mean() or 0)


def halves(judge: JudgeResult) -> list[float | None]:
    """ρ in each half of the videos."""
    read = judge.scorings.filter("usable").drop_nulls("truth")
    place = pl.int_range(pl.len()) % 2 == 0
    return [
        scores_of(read.filter(part), MIDDLE).spearman.value
        for part in (place, ~place)
    ]


def percent(value: object) -> str:
    """A share as a percentage."""
    assert isinstance(value, float)
    return f"{100 * value:.0f}"


OF_NOISE = (
    "mllm-judge",
    "realism",
    "safety",
    "edits",
    "opening",
    "genai-bench/image_generation",
    "genai-bench/image_edition",
)
BEST = {"gpt4o", "gemini-1.5-pro", "gemini-3-flash", "qwen3-vl-30b, tools"}
"""The judges that the authors of sets of more than four rank first and second."""
FEW = 4
OPENLY = "genai-bench/image_edition"


def differences(analyses: Analyses) -> list[tuple[str, Comparison]]:
    """Differences between two judges of one set, in ρ or accuracy."""
    return [
        (name, row)
        for name in OF_NOISE
        for row in analyses[name][COMPARISONS]
        if row.measure != "mae"
        and row.gap.value is not None
        and (len(analyses[name].judges) <= FEW or {row.a, row.b} <= BEST)
    ]


def noise(analyses: Analyses) -> Finding:
    """Differences of judges that images could explain."""
    rows = differences(analyses)
    p = [row.p for _, row in rows]
    adjusted = holm(p)
    within = [
        f"{row.a} and {row.b}"
        for (_, row), own in zip(rows, adjusted, strict=True)
        if own is None or own >= LEVEL
    ]
    unadjusted = sum(own is None or own >= LEVEL for own in p)
    shown = next(row for name, row in rows if name == OPENLY)
    sign = 1 if shown.a == "gemini-1.5-pro" else -1
    low, high = sorted(
        100 * sign * (end or 0) for end in shown.gap.interval or (0, 0)
    )
    gap = 100 * sign * (shown.gap.value or 0)
    best, second = (
        [
            row.value
            for row in of(analyses[OPENLY], name)[AS_PUBLISHED]
            if row.value
        ][-1]
        for name in ("gemini-1.5-pro", "gpt4o")
    )
    return Finding(
        "noise",
        f"Some published differences are noise: of {len(rows)} between two judges of "
        f"one set, {len(within)} are within what other images could give (Holm, 5 %), "
        "among them GenAI-Bench’s first place on edits, Gemini 1.5 Pro before GPT-4o "
        f"by {gap:.1f} points ({figure(low)} to {figure(high)}; "
        f"{figure(best - second)} by the authors’ reading of the replies).",
        "accuracy of Gemini 1.5 Pro less that of GPT-4o on edits, points",
        gap,
        low,
        high,
        shown.verdicts,
        OF_NOISE,
        "visualjudge adopt CLONES/GenAI-Bench/results --benchmark genai-bench --out "
        "genai --replies gpt4o --replies gemini-1.5-pro && visualjudge report "
        "genai/gpt4o genai/gemini-1.5-pro --where task=image_edition",
        (
            f"without Holm’s adjustment: {unadjusted} of {len(rows)} are within noise",
            f"all that are: {'; '.join(within)}",
        ),
        "More images: these sets have 75 to 5,716. Judges that do not answer, or "
        "always alike, are not among the pairs.",
    )


def figure(value: float) -> str:
    """A figure with one decimal and a true minus."""
    return f"{value:.1f}".replace("-", "−")
