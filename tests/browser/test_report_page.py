"""The report in a browser: no serious fault, no overflow, tables that sort, and nothing
asked for but the page.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from browsing import faults
from judged_records import pair, said, scoring, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.report.page import html


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("report")
    tasks = ("object_detection", "keypoint")
    pairs = [
        pair(
            i,
            (8.0, 8.0 - i % 7 - 1),
            task=tasks[i % 2],
            sources=("yolo", "detr"),
            images=("i.png",) * 3,
        )
        for i in range(60)
    ]
    scores = [scoring(100 + i, i / 3) for i in range(30)]
    dataset = write_dataset(root / "ds", [*pairs, *scores])
    Image.new("RGB", (40, 30), (90, 120, 150)).save(dataset / "i.png")
    runs: list[Path] = []
    for name, wrong in (("careful", 9), ("hasty", 3)):
        verdicts = [
            said(q, "B" if i % wrong == 0 else "A", order)
            for order in ("AB", "BA")
            for i, q in enumerate(pairs)
        ]
        verdicts += [said(q, min(10.0, float(q.answer) + 1)) for q in scores]
        runs.append(write_run(root / name, dataset, verdicts, judge=name))
    page = root / "report.html"
    analysis = analyse(runs)
    page.write_text(html(analysis), "utf-8")
    (root / "one.html").write_text(html(analysis, summary=True), "utf-8")
    return page.as_uri()


@pytest.mark.parametrize(
    ("name", "theme", "width"),
    [
        ("report", "light", 1440),
        ("report", "dark", 1024),
        ("report", "light", 400),
    ],
)
def test_axe_finds_no_serious_fault(
    browser: Any, axe: str, address: str, name: str, theme: str, width: int
) -> None:
    browser.size(width, 900)
    browser.theme(theme)
    address = address.replace("report.html", f"{name}.html")
    browser.open(address)
    browser.js(
        "for (const part of document.querySelectorAll('details')) part.open = true"
    )
    assert faults(browser, axe, serious=True) == []
    assert (
        browser.js(
            "return document.documentElement.scrollWidth - "
            "document.documentElement.clientWidth"
        )
        <= 0
    )
    assert set(browser.complaints()) == {address}


def test_the_first_screen_has_the_answer_a_picture_and_at_most_eight_links(
    browser: Any, address: str
) -> None:
    browser.size(1440, 900)
    browser.open(address)
    seen = (
        "return [...document.querySelectorAll(arguments[0])].filter(e => "
        "e.checkVisibility() && e.getBoundingClientRect().top < innerHeight).length"
    )
    assert browser.js(seen, ".answer") == 2
    assert browser.js(seen, "#answer figure") == 1
    assert 0 < browser.js(seen, "a") <= 8
    assert browser.js("return document.documentElement.scrollHeight") <= 6000
    assert set(browser.complaints()) == {address}


def test_a_summary_is_one_page_of_paper(browser: Any, address: str) -> None:
    summary = address.replace("report.html", "one.html")
    browser.open(summary)
    printed = browser.driver.execute_cdp_cmd(
        "Page.printToPDF", {"preferCSSPageSize": True}
    )
    assert base64.b64decode(printed["data"]).count(b"/Type /Page\n") == 1
    assert set(browser.complaints()) == {summary}


def test_a_card_is_enlarged(browser: Any, address: str) -> None:
    browser.size(1440, 900)
    browser.open(address)
    wide = (
        "return document.querySelector('.miss').getBoundingClientRect().width"
    )
    before = browser.js(wide)
    for pressed in (".miss .zoom", ".miss img"):
        browser.js(f"document.querySelector('{pressed}').click()")
        larger = browser.js(wide)
        browser.js("document.querySelector('.miss .zoom').click()")
        assert larger > 1.5 * before and browser.js(wide) == before, pressed
    assert set(browser.complaints()) == {address}


def test_all_that_is_folded_is_printed_but_long_tables(
    browser: Any, address: str
) -> None:
    browser.open(address)
    browser.js("dispatchEvent(new Event('beforeprint'))")
    closed = (
        "return [...document.querySelectorAll('details:not([open])')].map(d => "
        "d.className)"
    )
    inside = (
        "return document.querySelectorAll('.miss details:not([open])').length"
    )
    names = [name for name in browser.js(closed) if name]
    folded = ("long", "setup", "reading", "tables")
    assert all(any(word in name for word in folded) for name in names), names
    assert len(browser.js(closed)) - len(names) == browser.js(inside)
    assert set(browser.complaints()) == {address}


def test_contents_bring_each_question_to_the_top(
    browser: Any, address: str
) -> None:
    browser.open(address)
    for name in browser.js(
        "return [...document.querySelectorAll('#contents a')].map(link => "
        "link.hash.slice(1))"
    ):
        browser.js(
            "document.querySelector(`#contents a[href='#${arguments[0]}']`).click()",
            name,
        )
        top, end = browser.js(
            "return "
            "[document.getElementById(arguments[0]).getBoundingClientRect().top, "
            "scrollY + innerHeight >= document.documentElement.scrollHeight - 2]",
            name,
        )
        assert end or 0 <= top < 40, name
    assert set(browser.complaints()) == {address}


def test_a_table_sorts_by_the_column_that_is_pressed(
    browser: Any, address: str
) -> None:
    browser.open(address)
    read = (
        "return [...document.querySelector('#tasks table').tBodies[0].rows].map(row => "
        "row.cells[0].textContent)"
    )
    before = browser.js(read)
    browser.js("document.querySelector('#tasks table th button').click()")
    assert browser.js(read) == sorted(before)
    browser.js("document.querySelector('#tasks table th button').click()")
    assert browser.js(read) == sorted(before, reverse=True)
    assert set(browser.complaints()) == {address}
