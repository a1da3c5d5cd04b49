"""The commands of the page on plans run as written, one after the other, on small data."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from frontdoor_example import write_data
from visualjudge.core.seeding import rng_for

PAGE = Path(__file__).parents[2] / "docs/plan.md"


def commands() -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line]


def write_ratings(path: Path) -> None:
    """Four people and a judge on 40 items of three classes."""
    rng, lines = rng_for(0, "ratings"), ["item,source,rater,dimension,score"]
    for n in range(40):
        truth = int(rng.integers(0, 3))
        for rater in ("ann", "bo", "cy", "di", "gpt"):
            said = truth if rng.random() < 0.8 else int(rng.integers(0, 3))
            lines.append(f"i{n},s,{rater},type,{said}")
    path.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.timeout(600)
def test_the_commands_run_as_written(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    write_ratings(tmp_path / "ratings.csv")
    printed = {}
    for words in commands():
        done = subprocess.run(
            [sys.executable, "-m", "visualjudge", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-2000:]}\n{done.stderr}"
        printed[shlex.join(words)] = done.stdout
    first = next(text for line, text in printed.items() if line.startswith("plan data"))
    (answer,) = re.findall(r"\"(These 6 images[^\"]*)\"", " ".join(PAGE.read_text("utf-8").split()))
    assert answer in " ".join(first.split()), "the sentence on the page is the one that is printed"
    assert (tmp_path / "plan.html").is_file()
    early = next(text for line, text in printed.items() if "--until" in line)
    assert "runs/early" in early
