"""Studies of scores and of unnamed pairs, from other tools, are looked at and answered
in the studio.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from browsing import Studio

READY = "return document.querySelector('vj-rater[data-ready]:has(.choices)') !== null"
CHOICES = (
    "return [...document.querySelectorAll('.choices button')].map((b) => "
    "b.textContent)"
)
CRITERIA = """const legends = [...document.querySelectorAll('fieldset.criterion legend')];
return legends.map((legend) => legend.textContent)"""
TOAST = "return document.querySelector('.toast')?.textContent"
SEEN = "return document.querySelector('vj-rater').dataset.answered"
PAIR = "pair"
SCORE = "score"
RUBRIC = """rubric: style
version: v1
criteria:
  - {id: clear, ask: Which is clearer?, answer: option}
  - {id: sure, ask: How sure are you?, answer: {scale: [1, 5]}}
"""


def _rows(kind: str) -> list[dict[str, Any]]:
    rows = []
    for k in range(40):
        row: dict[str, Any] = {"item": f"q{k}", "judge": "gpt"}
        row |= {"image": f"i{k}", "text_a": f"a caption {k}"}
        if kind == PAIR:
            row |= {"text_b": f"another caption {k}"}
            row |= {"verdict": "AB"[k % 2], "truth": "AB"[k % 3 % 2]}
        else:
            row |= {"verdict": 1 + k % 5, "truth": 1 + (k + k % 2) % 5}
        rows.append(row)
    return rows


@pytest.fixture(params=[SCORE, PAIR])
def study(request: Any, tmp_path: Path) -> tuple[str, vj.Adopted]:
    scale = {"score_range": (1, 5)} if request.param == SCORE else {}
    rows = _rows(request.param)
    return request.param, vj.adopt(rows, tmp_path / "out", **scale)


@pytest.fixture
def browsing(study: tuple[str, vj.Adopted], tmp_path: Path) -> Iterator[Studio]:
    adopted = study[1]
    folders = map(str, (adopted.dataset, *adopted.runs))
    made = Studio(*folders, cache=tmp_path / "cache")
    yield made
    made.kill()


@pytest.fixture
def rating(study: tuple[str, vj.Adopted], tmp_path: Path) -> Iterator[Studio]:
    rubric = tmp_path / "style.yaml"
    rubric.write_text(RUBRIC)
    people = tmp_path / "people"
    made = Studio(
        "people",
        str(study[1].dataset),
        *("--out", str(people), "--rater", "anna"),
        *("--show", "all", "--rubric", str(rubric)),
        cache=tmp_path / "cache",
    )
    yield made
    made.kill()


def test_an_adopted_study_is_looked_at_page_by_page(
    browser: Any, browsing: Studio, study: tuple[str, vj.Adopted]
) -> None:
    browser.open(browsing.address)
    links = browser.until(
        "const of = [...document.querySelectorAll('main a[href^=\"/\"]')].map((a) => "
        "a.getAttribute('href')); return of.length && of"
    )
    seen = ""
    for link in dict.fromkeys(links):
        browser.open(f"{browsing.address}{link}")
        text = browser.until("return document.querySelector('main')?.innerText")
        assert "cannot be shown" not in text
        seen += text
    grid = next(link for link in links if "/questions" in link or "/d/" in link)
    browser.open(f"{browsing.address}{grid}")
    card = browser.until(
        'return document.querySelector(\'a[href*="/q/"], a[href*="/question"]\')'
        "?.getAttribute('href')"
    )
    browser.open(f"{browsing.address}{card}")
    page = browser.until("return document.querySelector('main')?.innerText")
    assert "a caption" in page
    assert "gpt" in page


def test_people_answer_an_adopted_study_with_a_rubric(
    browser: Any, rating: Studio, study: tuple[str, vj.Adopted], tmp_path: Path
) -> None:
    kind = study[0]
    browser.open(rating.links["anna"])
    browser.until(READY)
    asked = browser.js(CRITERIA)
    if kind == SCORE:
        assert browser.js(CHOICES)[:5] == ["1", "2", "3", "4", "5"]
        assert asked == ["How sure are you? (1 to 5)"]
        keys = ("4", "\ue007")
    else:
        assert asked == ["Which is clearer?", "How sure are you? (1 to 5)"]
        keys = ("a",)
    browser.keys(*keys)
    assert "Please answer first" in browser.until(TOAST)
    browser.js(
        """for (const input of document.querySelectorAll('.criterion input[type=number]')) {
  input.value = "1";
  input.dispatchEvent(new Event("input"));
}
document.querySelector('.criterion input[value=B]')?.click();
document.activeElement.blur();"""
    )
    browser.keys(*keys)
    assert browser.until(f"{SEEN} === '1'")
    (line,) = (tmp_path / "people" / "verdicts.jsonl").read_text().splitlines()
    saved = json.loads(line)
    assert saved["criteria"]["sure"] == 1
    if kind == SCORE:
        assert saved["value"] == 7.5
    else:  # the other than the one that was chosen
        assert {saved["value"], saved["criteria"]["clear"]} == {"A", "B"}
