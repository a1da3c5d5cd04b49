"""Seconds to adopt a CSV of 200,000 verdicts, with replies and without.

    python benchmarks/adopt.py [ROWS]

Half of the rows show the pair in the other order. Replies are all different, about 150
characters each; those of the third table repeat 1,000 texts.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import visualjudge as vj
from visualjudge.core.seeding import rng_for


def rows(count: int, texts: int | None) -> list[dict[str, str]]:
    """``count`` verdicts; ``texts`` different replies, 0: as many as rows, None:
    none."""
    draw = rng_for(0, "benchmark of adopt")
    made = []
    for number in range(count):
        value, order = "AB"[draw.integers(2)], ("AB", "BA")[number % 2]
        said = value if order == "AB" else "AB"[value == "A"]
        row = {
            "item": f"q{number // 2}",
            "image": f"i{number // 20}",
            "judge": "gpt",
        }
        row |= {
            "model_a": "x",
            "model_b": "y",
            "order": order,
            "verdict": value,
        }
        row["truth"] = "AB"[number // 2 % 2]
        if texts is not None:
            place = draw.integers(texts or 1_000_000_000)
            row["reply"] = (
                "Option A keeps sharper edges than B, while option B loses detail in "
                f"region {place}. Weighing both, the answer is [[{said}]]."
            )
        made.append(row)
    return made


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    for name, texts in (
        ("no replies", None),
        ("1,000 replies", 1_000),
        ("all differ", 0),
    ):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "verdicts.csv"
            pl.DataFrame(rows(count, texts)).write_csv(table)
            begun, busy = time.perf_counter(), time.process_time()
            done = vj.adopt(table, Path(folder) / "study")
            seconds, busy = (
                time.perf_counter() - begun,
                time.process_time() - busy,
            )
            print(
                f"{name}: {done.verdicts} rows, {seconds:.1f} s, {busy:.1f} s of this "
                f"process's CPU, {done.differing} readings differ"
            )


if __name__ == "__main__":
    main()
