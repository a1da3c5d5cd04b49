"""Write README's table of the local judge from the report on a run of it: ``make demo``, then

    python tools/readme_table.py demo-out/metrics.json

The table names the weights that it was made with, and a test tells when they have changed since.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.atomic import write_text
from visualjudge.judges.local import model

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- local judge: weights {} -->", "<!-- end of local judge -->"
BLOCK = re.compile(re.escape(BEGIN).replace(r"\{\}", r"(\w+)") + r"\n.*?" + re.escape(END), re.DOTALL)


def main() -> None:
    """Replace the block in README.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metrics", type=Path)
    judges = orjson.loads(parser.parse_args().metrics.read_bytes())["judges"]
    judge = next(row for row in judges if row["info"].get("backend") == "local")
    readme = ROOT / "README.md"
    block = "\n".join([BEGIN.format(weights()), *_lines(judge), END])
    write_text(readme, BLOCK.sub(lambda _: block, readme.read_text("utf-8"), count=1))


def weights() -> str:
    """The first digits of the checksum of the package's weights."""
    return hashlib.sha256(Path(model.__file__).with_name("default.vj").read_bytes()).hexdigest()[:12]


def _lines(judge: dict[str, Any]) -> list[str]:
    rows = [(name, cell["pairwise"]) for name, cell in judge["by_task"].items() if cell["pairwise"]["n"]]
    read = [row for row in rows if row[1]["failed"] < row[1]["n"]]
    read.sort(key=lambda row: -row[1]["accuracy_parsed"])
    declined = [name for name, row in rows if row["failed"] == row["n"]]
    whole = judge["pairwise"]
    return [
        f"The local judge on the demo's photographs: right in {whole['accuracy_parsed']:.1%} of the",
        f"{whole['n'] - whole['failed']:,} pairwise verdicts that it did not decline. It declined {whole['failed']},",
        f"among them all of {', '.join(declined) or 'no task'}. The errors are of kinds that it was trained on, the",
        "photographs are not (but were seen when the features of poses were chosen); docs/local.md has others.",
        "",
        "| Task | Right | 95 % | Verdicts | Images |",
        "|---|---:|---|---:|---:|",
        *(_line(name, row) for name, row in read),
    ]


def _line(name: str, row: dict[str, Any]) -> str:
    ends = row["accuracy_parsed_ci95"]
    between = "fewer than 5 images" if ends is None else f"{ends[0]:.1%} to {ends[1]:.1%}"
    return f"| {name} | {row['accuracy_parsed']:.1%} | {between} | {row['n'] - row['failed']:,} | {row['images']} |"


if __name__ == "__main__":
    main()
