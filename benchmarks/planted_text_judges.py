"""Planted judges of judgekit, adopted: which faults are convicted, and how often wrongly.

    pip install judgekit
    python benchmarks/planted_text_judges.py [REPEATS]

judgekit's own generators (:mod:`judgekit.synthetic`) make pairs, people's choices and judges with
one fault each; its own audit and visualjudge, over ``adopt``, are given the same verdicts. Only
faults of pairs are planted: position and length.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from judgekit import synthetic
from judgekit.audit import run_audit

import visualjudge as vj

PAIRS = 200
FAULTS: dict[str, dict[str, float]] = {
    "clean": {},
    "first-picker": {"position": 0.35},
    "length-lover": {"verbosity": 0.5},
}
TOLD = {"position": "first-picker", "text_chars": "length-lover"}
THEIRS = {"position preference": "position", "verbosity bias (pairwise)": "text_chars"}


def rows(items: list[Any], verdicts: list[Any]) -> list[dict[str, str]]:
    """judgekit's verdicts as a table; lengths as texts of that length."""
    truth = {one.item_id: one.choice for one in synthetic.human_pairwise(items)}
    texts = {one.item_id: ("x" * one.length_a, "x" * one.length_b) for one in items}
    return [
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


def ours(items: list[Any], verdicts: list[Any]) -> set[str]:
    """What the report flags."""
    with tempfile.TemporaryDirectory() as folder:
        done = vj.adopt(rows(items, verdicts), Path(folder) / "study")
        judge = vj.analyse([done.runs[0]]).metrics["judges"][0]
    return {row["feature"] for row in judge["bias"] if row["flagged"]}


def theirs(items: list[Any], verdicts: list[Any]) -> set[str]:
    """What judgekit's audit flags."""
    report = run_audit(verdicts, synthetic.human_pairwise(items))
    return {
        THEIRS[probe.name] for probe in report.probes if probe.triggered and probe.name in THEIRS
    }


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    convicted: Counter[tuple[str, str, str]] = Counter()
    for repeat in range(repeats):
        items = synthetic.pair_items(PAIRS, seed=repeat)
        for fault, dials in FAULTS.items():
            made = synthetic.pairwise_judge(items, judge_id=fault, seed=1000 + repeat, **dials)
            for tool, flags in (
                ("visualjudge", ours(items, made)),
                ("judgekit", theirs(items, made)),
            ):
                convicted.update((tool, fault, flag) for flag in flags)
    print(f"{repeats} sets of {PAIRS} pairs, both orders; sets in which a fault was flagged")
    for fault in FAULTS:
        for flag, planted in TOLD.items():
            found = ", ".join(
                f"{tool} {convicted[tool, fault, flag]}" for tool in ("visualjudge", "judgekit")
            )
            print(f"{fault}: {flag} ({'planted' if planted == fault else 'not there'}): {found}")


if __name__ == "__main__":
    main()
