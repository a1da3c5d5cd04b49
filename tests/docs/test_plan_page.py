"""The commands of the pages on plans run as written, one after the other, on small data."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from frontdoor_example import write_data
from visualjudge.core.seeding import rng_for

DOCS = Path(__file__).parents[2] / "docs"


def words_of(page: str) -> str:
    return " ".join((DOCS / page).read_text("utf-8").split())


def run_commands(page: str, place: Path) -> dict[str, str]:
    """What each command of the page prints."""
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    printed = {}
    for line in (line for block in blocks for line in block.splitlines() if line):
        words = shlex.split(line)[1:]
        done = subprocess.run(
            [sys.executable, "-m", "visualjudge", *words], cwd=place, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr}"
        printed[shlex.join(words)] = " ".join(done.stdout.split())
    return printed


def write_ratings(path: Path, raters: str, source: str = "s", classes: int = 3) -> None:
    """Raters of 60 items, each right in 80 % and guessing otherwise."""
    rng, lines = rng_for(0, "ratings"), ["item,source,rater,dimension,score"]
    for n in range(60):
        truth = int(rng.integers(0, classes))
        for rater in raters.split():
            said = truth if rng.random() < 0.8 else int(rng.integers(0, classes))
            lines.append(f"i{n},{source},{rater},type,{said}")
    path.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.timeout(600)
def test_the_commands_run_as_written(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    printed = run_commands("plan.md", tmp_path)
    first = next(text for line, text in printed.items() if line.startswith("plan data"))
    (answer,) = re.findall(r"\"(These 6 images[^\"]*)\"", words_of("plan.md"))
    assert answer in first, "the sentence on the page is the one that is printed"
    assert (tmp_path / "plan.html").is_file()
    early = next(text for line, text in printed.items() if "--until" in line)
    assert "runs/early" in early


@pytest.mark.timeout(600)
def test_judges_are_chosen_as_the_page_says(tmp_path: Path) -> None:
    write_data(tmp_path / "data", 120)
    printed = run_commands("choose-judges.md", tmp_path)
    found = next(text for line, text in printed.items() if line.startswith("plan --judges"))
    (answer,) = re.findall(r"\"(Within a risk[^\"]*)\"", words_of("choose-judges.md"))
    assert answer in found
    for shown in ("2.5 % (0.6 to 6.3)", "412", "300", "9.4 %"):
        assert shown in found and shown in words_of("choose-judges.md")
    assert "--cascade judges.json --cheap runs/1" in found


def test_a_judge_is_held_against_people_as_the_page_says(tmp_path: Path) -> None:
    people = "ann bo cy di gpt"
    write_ratings(tmp_path / "ratings.csv", people)
    write_ratings(tmp_path / "preferences.csv", people, "first option", classes=2)
    write_ratings(tmp_path / "judges.csv", "gpt qwen llava")
    classes, preferences, panel = run_commands("people-disagree.md", tmp_path).values()
    page = words_of("people-disagree.md")
    told = json.loads((tmp_path / "agreement.json").read_text())["truth"]
    rows = {row["rater"]: row for row in told}
    judge, ceiling = rows["gpt"]["person"], rows["people, mean"]["person"]
    assert f"with a fresh person on {judge:.0%}".replace("%", " %") in page
    assert f"with each other on {ceiling:.0%}".replace("%", " %") in page
    assert "people, mean" in classes and "Discrimination" in preferences
    assert "weaker evidence" in panel
