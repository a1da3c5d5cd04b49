"""The report in a browser: no serious fault, no overflow, tables that sort, and nothing asked for but the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browsing import faults
from judged_records import pair, said, scoring, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.report.page import html


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("report")
    tasks = ("object_detection", "keypoint")
    pairs = [pair(i, (8.0, 8.0 - i % 7 - 1), task=tasks[i % 2], sources=("yolo", "detr")) for i in range(60)]
    scores = [scoring(100 + i, i / 3) for i in range(30)]
    dataset = write_dataset(root / "ds", [*pairs, *scores])
    runs: list[Path] = []
    for name, wrong in (("careful", 9), ("hasty", 3)):
        verdicts = [
            said(q, "B" if i % wrong == 0 else "A", order) for order in ("AB", "BA") for i, q in enumerate(pairs)
        ]
        verdicts += [said(q, min(10.0, float(q.answer) + 1)) for q in scores]
        runs.append(write_run(root / name, dataset, verdicts, judge=name))
    page = root / "report.html"
    page.write_text(html(analyse(runs)), "utf-8")
    return page.as_uri()


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1440), ("light", 500), ("dark", 500)])
def test_axe_finds_no_serious_fault_in_the_report(browser: Any, axe: str, address: str, theme: str, width: int) -> None:
    browser.size(width, 900)
    browser.theme(theme)
    browser.open(address)
    browser.js("for (const part of document.querySelectorAll('details')) part.open = true")
    assert faults(browser, axe) == []
    assert browser.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert set(browser.complaints()) == {address}


def test_a_table_sorts_by_the_column_that_is_pressed(browser: Any, address: str) -> None:
    browser.open(address)
    read = "return [...document.querySelector('#tasks table').tBodies[0].rows].map(row => row.cells[0].textContent)"
    before = browser.js(read)
    browser.js("document.querySelector('#tasks table th button').click()")
    assert browser.js(read) == sorted(before)
    browser.js("document.querySelector('#tasks table th button').click()")
    assert browser.js(read) == sorted(before, reverse=True)
    assert set(browser.complaints()) == {address}
