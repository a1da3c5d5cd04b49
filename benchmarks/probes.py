"""How often probes convict a judge of the fault it has, and of faults it does not have;
the same for drift.

Scripted judges answer 200 questions a probe on 100 images. Each has one fault, and is
otherwise right with a probability of 0.9 (chance where nothing can be known). Run
``python benchmarks/probes.py --seeds 200``.

``--few``: 40, 60 and 120 questions a probe on 10 to 60 images, judges without a fault,
and each fault in 60 % of the answers; prints how often the fault is convicted, and how
often any other probe fails.

``--photograph``: 60 pairs on 20 images, with the photograph and without; how often a
judge that ignores the image, and one that is right in 75 % with the photograph and in
50 % without, are found not to need it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from visualjudge.analysis.answers import join
from visualjudge.analysis.figures.photograph import photograph_need
from visualjudge.analysis.figures.probes import probe_results
from visualjudge.analysis.study_table import VERDICT_SCHEMA, question_table
from visualjudge.core.records import Probe, ProbeDesign, Question

NUMBER, IMAGES, STEPS = 200, 100, 4
DESIGNS: dict[str, ProbeDesign] = {
    "same_option": "same",
    "withheld": "withheld",
    **dict.fromkeys(
        ("renamed", "recoloured", "recompressed", "mirrored", "encoding"),
        "change",
    ),
    **dict.fromkeys(
        (
            "confidence",
            "decimals",
            "author",
            "length",
            "label",
            "file_format",
            "file_size",
            "painted_instruction",
            "bright",
            "tool",
        ),
        "cue",
    ),
    "severity": "staircase",
}
ALARM = 20
Rng = np.random.Generator
Judge = Callable[[pl.DataFrame, Rng], tuple[np.ndarray, np.ndarray]]


def question(
    name: str, design: ProbeDesign, k: int, images: int = IMAGES
) -> Question:
    """The k-th question of a probe."""
    group = k // {"cue": 2, "staircase": STEPS}.get(design, 1)
    answer, step = "AB"[group % 3 == 0], k % STEPS
    note = Probe(
        name,
        design,
        f"g{group}",
        "",
        "any" if design in ("same", "withheld") else "answer",
        "AB"[k % 2] if design == "cue" else None,
        float(step) if design == "staircase" else None,
    )
    scoring = design == "staircase"
    if design in ("same", "withheld"):
        answer = "AB"[k % 2]
    return Question(
        id=f"{name}{k}",
        task="t",
        encoding="e",
        question_type="scoring" if scoring else "pairwise",
        subset=(),
        image_id=f"i{group % images}",
        class_of_interest=None,
        error_type=None,
        annotation_ids=("a",) if scoring else ("a", "b"),
        final_scores=(8.0 - 2 * step,)
        if scoring
        else ((6.0, 4.0) if answer == "A" else (4.0, 6.0)),
        sources=(None,) if scoring else (None, None),
        prompt="",
        images=(),
        answer=8.0 - 2 * step if scoring else answer,
        probe=note,
    )


def fair(
    table: pl.DataFrame, rng: Rng, skill: float = 0.9
) -> tuple[np.ndarray, np.ndarray]:
    """Letters (as whether it says A) and scores."""
    chance = table["probe_design"].is_in(["same", "withheld"]).to_numpy()
    right = rng.random(table.height) < np.where(chance, 0.5, skill)
    is_a = (table["answer"].fill_null("A") == "A").to_numpy()
    truth = table["truth"].fill_null(0).to_numpy()
    return np.where(right, is_a, ~is_a), np.clip(
        truth + rng.normal(0, 1, table.height), 0, 10
    )


def swayed(name: str, share: float, towards: bool = True) -> Judge:
    """Follows the cue of a probe (or avoids it) in a share of its questions."""

    def judge(table: pl.DataFrame, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        said, score = fair(table, rng)
        follows = (table["probe_name"] == name).to_numpy() & (
            rng.random(table.height) < share
        )
        cued = (table["probe_cue"].fill_null("A") == "A").to_numpy()
        return np.where(follows, cued == towards, said), score

    return judge


def first(table: pl.DataFrame, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Always the first option."""
    return np.ones(table.height, dtype=bool), fair(table, rng)[1]


def blind(table: pl.DataFrame, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """As right without the original as with it."""
    said, score = fair(table, rng)
    known = (table["probe_name"] == "withheld").to_numpy() & (
        rng.random(table.height) < 0.9
    )
    return np.where(
        known, (table["answer"] == "A").fill_null(False).to_numpy(), said
    ), score


JUDGES: dict[str, tuple[str | None, Judge]] = {
    "fair": (None, fair),
    "always first": ("same_option", first),
    **{
        f"follows {name}, half of the time": (name, swayed(name, 0.5))
        for name in (
            "confidence",
            "painted_instruction",
            "length",
            "bright",
            "tool",
        )
    },
    "always the tool": ("tool", swayed("tool", 1.0)),
    "never the tool": ("tool", swayed("tool", 1.0, towards=False)),
    "ignores the original": ("withheld", blind),
}


def states(questions: pl.DataFrame, judge: Judge, rng: Rng) -> dict[str, str]:
    """Each probe's state for one draw of a judge."""
    return {
        row.name: row.state
        for row in probe_results(answered(questions, judge, rng))
    }


def answered(questions: pl.DataFrame, judge: Judge, rng: Rng) -> pl.DataFrame:
    """One draw of a judge's verdicts, joined with their questions."""
    said, score = judge(questions, rng)
    scoring = questions["kind"] == "scoring"
    letters = pl.Series(np.where(said, "A", "B"))
    columns = {
        "id": questions["id"],
        "order": "AB",
        "repeat": 0,
        "status": "ok",
        "text": pl.select(pl.when(~scoring).then(letters)).to_series(),
        "number": pl.select(
            pl.when(scoring).then(pl.Series(score))
        ).to_series(),
    }
    table = questions.select(
        pl.lit(columns[name]).cast(kind).alias(name)
        if name in columns
        else pl.lit(None, dtype=kind).alias(name)
        for name, kind in VERDICT_SCHEMA.items()
    )
    return join(questions, table)


FEW = ((40, 10), (40, 20), (40, 60), (60, 20), (60, 60), (120, 60))
"""Questions and images of ``--few``; faults are planted in 60 questions."""


def uneven(table: pl.DataFrame, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """A fair judge to whom images are of unlike difficulty, and who on each takes the
    first with a share of its own.
    """
    _, image = np.unique(table["cluster"].to_numpy(), return_inverse=True)
    skill, first = (
        rng.beta(4.5, 1.5, image.max() + 1)[image],
        rng.beta(6, 6, image.max() + 1)[image],
    )
    free = table["probe_design"].is_in(["same", "withheld"]).to_numpy()
    score = fair(table, rng)[1]
    is_a = (table["answer"].fill_null("A") == "A").to_numpy()
    right = rng.random(table.height) < skill
    return np.where(
        free, rng.random(table.height) < first, np.where(right, is_a, ~is_a)
    ), score


def faulty(name: str, share: float) -> Judge:
    """The fault that a probe looks for, in a share of its questions; otherwise fair."""
    design = DESIGNS[name]

    def judge(table: pl.DataFrame, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
        said, score = fair(table, rng, 0.75)
        mine = (table["probe_name"] == name).to_numpy() & (
            rng.random(table.height) < share
        )
        is_a = (table["answer"].fill_null("A") == "A").to_numpy()
        cued = (table["probe_cue"].fill_null("A") == "A").to_numpy()
        wanted = {
            "cue": cued,
            "withheld": is_a,
            "change": ~is_a,
            "same": np.ones(table.height, dtype=bool),
        }
        said = np.where(mine, wanted.get(design, said), said)
        return said, np.where(mine & (design == "staircase"), 10 - score, score)

    return judge


JUDGES_OF_FEW: dict[str, tuple[str | None, Judge]] = {
    "fair": (None, partial(fair, skill=0.75)),
    "fair, right in 90 %": (None, fair),
    "fair, images differ": (None, uneven),
    **{f"60 % by {name}": (name, faulty(name, 0.6)) for name in DESIGNS},
    "scores turned around": ("severity", faulty("severity", 1.0)),
}


def asked_of_few(number: int, images: int) -> pl.DataFrame:
    """The questions of all probes."""
    plain = [question("control", "control", k, images) for k in range(number)]
    return question_table(
        [
            *plain,
            *(
                question(name, design, k, images)
                for name, design in DESIGNS.items()
                for k in range(number)
            ),
        ]
    )


def few(seeds: int) -> None:
    """Few questions: any probe failed by a fair judge, and faults convicted."""
    for number, images in FEW:
        questions = asked_of_few(number, images)
        for label, (fault, judge) in JUDGES_OF_FEW.items():
            if fault and (number, images) != (60, 60):
                continue
            own = any_other = 0
            for seed in range(seeds):
                found = states(
                    questions,
                    judge,
                    np.random.default_rng([seed, number, images]),
                )
                failed = {
                    name for name, state in found.items() if state == "fail"
                }
                own += fault in failed
                any_other += bool(failed - {fault})
            told = f"{own / seeds:.1%}" if fault else ""
            print(
                f"| {label} | {number} | {images} | {told} | {any_other / seeds:.1%} |",
                flush=True,
            )


def photograph(seeds: int, pairs: int = 60, images: int = 20) -> None:
    """Print what is said of two judges that were asked pairs with and without the
    photograph."""
    versions: tuple[tuple[str, ProbeDesign], ...] = (
        ("control", "control"),
        ("grey", "photograph"),
        ("other", "photograph"),
    )
    asked = question_table(
        [
            question(name, design, k, images)
            for name, design in versions
            for k in range(pairs)
        ]
    )
    judges = {
        "ignores the image": partial(seeing, blind=True),
        "looks": partial(seeing, blind=False),
    }
    for label, judge in judges.items():
        said = Counter[str]()
        for seed in range(seeds):
            found = photograph_need(
                answered(asked, judge, np.random.default_rng(seed))
            )
            said.update([found[0].state if found else "nothing"])
        print(f"{label:20} {dict(said)} of {seeds}", flush=True)


def seeing(
    table: pl.DataFrame, rng: Rng, blind: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Right in 75 %: where ``blind``, by the predictions alone; else with the
    photograph, and in 50 % without.
    """
    pairs = table.height // 3
    draws = np.tile(rng.random(pairs), 3) if blind else rng.random(3 * pairs)
    skill = (
        0.75 if blind else np.where(table["probe_name"] == "control", 0.75, 0.5)
    )
    said = (table["answer"] == "A").to_numpy() == (draws < skill)
    return said, np.zeros(table.height)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument(
        "--few", action="store_true", help="few questions a probe"
    )
    parser.add_argument(
        "--photograph",
        action="store_true",
        help="judges that do and do not need the photograph",
    )
    args = parser.parse_args()
    seeds = args.seeds
    if args.photograph:
        photograph(seeds)
        return
    if args.few:
        few(seeds)
        return
    plain = [question("control", "control", k) for k in range(NUMBER)]
    asked = [
        question(name, design, k)
        for name, design in DESIGNS.items()
        for k in range(NUMBER)
    ]
    questions = question_table([*plain, *asked])
    for label, (fault, judge) in JUDGES.items():
        fails, passes, clean = Counter[str](), 0, 0
        for seed in range(seeds):
            found = states(
                questions, judge, np.random.default_rng([seed, len(label)])
            )
            fails.update(
                name for name, state in found.items() if state == "fail"
            )
            passed = sum(
                state == "pass"
                for name, state in found.items()
                if name != fault
            )
            passes += passed
            clean += passed == len(DESIGNS) - (fault is not None)
        others = sum(count for name, count in fails.items() if name != fault)
        rest = len(DESIGNS) - (fault is not None)
        own = f"{fails[fault] / seeds:7.1%}" if fault else "      –"
        print(
            f"{label:40} convicted {own}, of others {others / seeds / rest:.2%} a "
            f"probe, passes {passes / seeds / rest:.1%} of the others, all of them in "
            f"{clean / seeds:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
