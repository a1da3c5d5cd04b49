"""Planted judges of judgekit and judgecal, adopted: faults convicted, and how often
wrongly.

    pip install judgekit judgecal
    python benchmarks/planted_text_judges.py [REPEATS]

The generators of both packages make pairs, people's choices and judges with a fault
each; their own audit and visualjudge, over ``adopt``, are given the same verdicts.
visualjudge is counted twice: what its report flags (5 %, Holm), and whose interval lies
wholly beyond 5 points, as judgekit's audit decides. Planted are faults that verdicts in
both orders show: position, length and one's own family. judgecal's judges that waver
between templates and repeats are left out: they are no bias, and take prompts of its
own.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import judgecal.fixtures
from judgecal.executors import MockJudgeExecutor
from judgecal.probes import ProbeConfig, analyze_suite, plan_suite
from judgecal.report import build_card
from judgekit import synthetic
from judgekit.audit import run_audit

import visualjudge as vj

PAIRS = 300
BAND = 0.05
OWN = "judge-self"
KIT = {
    "clean": {},
    "position": {"position": 0.35},
    "length": {"verbosity": 0.5},
}
CAL = {
    "clean": {},
    "position": {"beta_position": 0.8},
    "length": {"beta_length": 1.0},
    "own family": {"beta_quality": 1.5, "beta_self": 1.0},
}
FEATURES = {"position": "position", "text_chars": "length"}
KIT_FLAGS = {
    "position preference": "position",
    "verbosity bias (pairwise)": "length",
}
CAL_FLAGS = {
    "position_bias_detected": "position",
    "verbosity_bias_detected": "length",
    "self_preference_detected": "own family",
}
Flags = Iterator[tuple[str, str]]
"""Pairs of who flags and what."""


def ours(rows: list[dict[str, str]]) -> Flags:
    """What the report flags, and what lies beyond the band."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run = vj.adopt(rows, home / "study").runs[0]
        for row in vj.analyse([run]).metrics["judges"][0]["bias"]:
            if row["flagged"]:
                yield "report", FEATURES[row["feature"]]
            low, high = row["ci95"] or (0, 0)
            if low > BAND or high < -BAND:
                yield "interval", FEATURES[row["feature"]]


def kit(seed: int, dials: dict[str, float]) -> Flags:
    """A judge of judgekit; lengths as texts of that length."""
    items = synthetic.pair_items(PAIRS, seed=seed)
    people = synthetic.human_pairwise(items)
    verdicts = synthetic.pairwise_judge(
        items, judge_id="planted", seed=1000 + seed, **dials
    )
    truth = {one.item_id: one.choice for one in people}
    texts = {
        one.item_id: ("x" * one.length_a, "x" * one.length_b) for one in items
    }
    yield from ours(
        [
            {
                "item": one.item_id,
                "model_a": "a",
                "model_b": "b",
                "order": "BA" if one.swapped else "AB",
                "verdict": one.choice,
                "truth": truth[one.item_id],
                "text_a": texts[one.item_id][0],
                "text_b": texts[one.item_id][1],
            }
            for one in verdicts
        ]
    )
    for probe in run_audit(verdicts, people).probes:
        if probe.triggered and probe.name in KIT_FLAGS:
            yield "judgekit", KIT_FLAGS[probe.name]


def cal(seed: int, dials: dict[str, float]) -> Flags:
    """A judge of judgecal, whose replies are text."""
    made = judgecal.fixtures.SyntheticConfig(
        n_items=PAIRS, seed=seed, authors=(OWN, "other-model")
    )
    items = {one.item_id: one for one in judgecal.fixtures.generate_items(made)}
    config = ProbeConfig(n_boot=300, seed=seed)
    judge = MockJudgeExecutor(
        judgecal.fixtures.MockJudgeConfig(seed=seed, **dials)
    )
    probes = ["position", "verbosity", "self_preference"]
    judgments = judge.execute(plan_suite(list(items.values()), probes, config))
    yield from ours(
        [
            {
                "item": one.meta["item_id"],
                "model_a": items[one.meta["item_id"]].author_a,
                "model_b": items[one.meta["item_id"]].author_b,
                "order": "AB" if one.meta["first_is_a"] else "BA",
                "judge": OWN,
                "verdict": one.mapped_verdict,
                "truth": items[one.meta["item_id"]].label,
                "reply": one.raw_text,
                "text_a": items[one.meta["item_id"]].response_a,
                "text_b": items[one.meta["item_id"]].response_b,
            }
            for one in judge.execute(
                plan_suite(list(items.values()), ["position"], config)
            )
        ]
    )
    card = build_card(
        analyze_suite(judgments, probes, config),
        judge={"model": OWN},
        config={},
    )
    for flag in card.overall_flags:
        if flag in CAL_FLAGS:
            yield "judgecal", CAL_FLAGS[flag]


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    print(
        f"{repeats} sets of {PAIRS} pairs, both orders; sets in which a fault was "
        "flagged"
    )
    for suite, run, planted in (("judgekit", kit, KIT), ("judgecal", cal, CAL)):
        for fault, dials in planted.items():
            found = Counter(
                flag
                for seed in range(repeats)
                for flag in set(run(seed, dials))
            )
            for what in planted.keys() - {"clean"}:
                said = ", ".join(
                    f"{who} {found[who, what]}"
                    for who in ("report", "interval", suite)
                )
                there = "planted" if what == fault else "absent"
                print(f"{suite}: {fault}: {what} ({there}): {said}", flush=True)


if __name__ == "__main__":
    main()
