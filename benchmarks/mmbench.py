"""Loading and evaluating a multiple-choice table, beside pandas ``read_csv`` of the
same file.

    python benchmarks/mmbench.py [--rows 20000] [--image-kb 12] [--folder DIR]

Each step runs in a process of its own, so that its time and peak memory are its own.
The goal for 20,000 rows is 20 s and 500 MB for reading the table, reading the workbook,
scoring under both rules, and writing the scores.
"""

from __future__ import annotations

import argparse
import base64
import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS = [
    "umbrella",
    "tractor",
    "penguin",
    "violin",
    "lantern",
    "harbour",
    "glacier",
    "cabinet",
    "bicycle",
    "pumpkin",
    "dolphin",
    "curtain",
]
ABILITIES = [
    "coarse_perception",
    "logic_reasoning",
    "relation_reasoning",
    "attribute_reasoning",
]
COLUMNS = [
    "index",
    "question",
    "hint",
    "A",
    "B",
    "C",
    "D",
    "answer",
    "category",
    "l2-category",
    "split",
    "image",
]
REPLIES = [
    "{L}",
    "The answer is {L}.",
    "({L}) {T}",
    "It is the {T}.",
    "I am not sure.",
    "{T}, as far as one can tell",
]
STEPS = {
    "pandas.read_csv": """
import pandas
len(pandas.read_csv(TSV, sep="\\t"))
""",
    "read_table": """
from visualjudge.apps.mmbench.table import read_table
read_table(TSV)
""",
    "mmbench eval (strict)": """
from visualjudge.cli.mmbench import app
app(["eval", XLSX, "--data", TSV, "--json", XLSX + ".json"], standalone_mode=False)
""",
    "mmbench eval (vlmevalkit)": """
from visualjudge.cli.mmbench import app
words = ["eval", XLSX, "--data", TSV, "--json", XLSX + ".json", "--rules", "vlmevalkit"]
app(words, standalone_mode=False)
""",
}
MEASURE = """
import contextlib, io, resource, time
started = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
{body}
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def make(folder: Path, rows: int, image_kb: float) -> tuple[Path, Path]:
    """A table of questions in four rotations, each row with an image's worth of base64,
    and replies to it.
    """
    from visualjudge.apps.mmbench.reply_files import write_workbook
    from visualjudge.apps.mmbench.table import read_table

    rng = np.random.default_rng(0)
    tsv, xlsx = folder / "table.tsv", folder / "pred.xlsx"
    with tsv.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for number in range(rows):
            question, turn = divmod(number, 4)
            options = [
                str(word) for word in rng.choice(WORDS, 4, replace=False)
            ]
            image = base64.b64encode(rng.bytes(int(image_kb * 768))).decode()
            where = [f"c{question % 20}", ABILITIES[question % 4], "dev", image]
            hint = (
                'A hint with "quotes"\nand a second line.'
                if question % 10 == 0
                else ""
            )
            index = question + turn * 1_000_000
            writer.writerow(
                [
                    index,
                    f"What is shown ({index})?",
                    hint,
                    *options,
                    "ABCD"[question % 4],
                    *where,
                ]
            )
    table = read_table(tsv)
    replies = []
    for row in table.rows:
        letter = (
            row.answer if rng.random() < 0.8 else "ABCD"[int(rng.integers(4))]
        )
        replies.append(
            str(rng.choice(REPLIES)).format(L=letter, T=row.options[letter])
        )
    write_workbook(
        xlsx,
        zip(table.rows, replies, strict=True),
        table.letters,
        whole="pred.jsonl",
    )
    return tsv, xlsx


def measure(body: str, tsv: Path, xlsx: Path) -> tuple[float, float]:
    """Seconds and peak MB of a piece of code in a fresh interpreter."""
    lines = (
        f"TSV, XLSX = {str(tsv)!r}, {str(xlsx)!r}\n{body.strip()}".splitlines()
    )
    code = MEASURE.format(body="\n".join(f"    {line}" for line in lines))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument(
        "--image-kb",
        type=float,
        default=12.0,
        help="base64 text of an image, in KB",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the files are made (default: a temporary folder)",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        started = time.perf_counter()
        tsv, xlsx = make(Path(scratch), given.rows, given.image_kb)
        size = tsv.stat().st_size / 1e6
        print(
            f"{given.rows} rows, {size:.0f} MB (made in "
            f"{time.perf_counter() - started:.0f} s)\n"
        )
        print(f"{'step':<28}{'seconds':>9}{'peak MB':>10}")
        for name, body in STEPS.items():
            seconds, megabytes = measure(body, tsv, xlsx)
            print(f"{name:<28}{seconds:>9.2f}{megabytes:>10.0f}", flush=True)


if __name__ == "__main__":
    main()
