"""axe-core finds no fault of any level on any page of the studio, in light and dark:
all templates are listed.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from browsing import faults
from judged_records import pair, ranking, scoring, write_dataset

PARTS = {"base.html.j2", "shares.html.j2", "state.html.j2"}
"""Templates that are part of pages."""
SHOWN = {
    "home.html.j2": "test_pages_of_a_dataset",
    "grid.html.j2": "test_pages_of_a_dataset",
    "question.html.j2": "test_pages_of_a_dataset",
    "judges.html.j2": "test_pages_of_a_dataset",
    "slices.html.j2": "test_pages_of_a_dataset",
    "run.html.j2": "test_pages_of_a_dataset",
    "error.html.j2": "test_pages_of_a_dataset",
    "indexing.html.j2": "test_pages_while_a_dataset_is_indexed",
    "people.html.j2": "test_pages_of_a_study",
    "rater.html.j2": "test_pages_of_a_study",
}
"""Which test below looks at the page of a template."""
CARDS = "return [...document.querySelectorAll('.card:not(.loading)')].length"
READY = "return document.querySelector('vj-rater[data-ready]')?.question"
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])


def test_every_template_is_looked_at() -> None:
    held = {
        entry.name
        for entry in (files("visualjudge.studio") / "templates").iterdir()
    }
    assert held - PARTS == SHOWN.keys()
    assert set(SHOWN.values()) <= globals().keys()


@contextmanager
def _served(app: Any) -> Iterator[str]:
    """The application at an address of this machine, until the end."""
    uvicorn = pytest.importorskip("uvicorn")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    config = uvicorn.Config(
        app, port=port, log_level="critical", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@THEMES
def test_pages_of_a_dataset(
    browser: Any, studio: Any, axe: str, theme: str
) -> None:
    browser.theme(theme)
    browser.open(studio.address)
    link = browser.until(
        "return document.querySelector('.tile h2 a')?.getAttribute('href')"
    )
    run = browser.js("return document.querySelector('[data-run]').dataset.run")
    assert faults(browser, axe) == []
    for page in (
        "",
        "/q/q1",
        "/q/r1",
        "/q/s1",
        "/judges",
        "/slices?by=margin",
        "/slices?by=task&across=margin",
    ):
        browser.open(f"{studio.address}{link}{page}")
        browser.until("return document.readyState === 'complete'")
        if not page:
            browser.until(CARDS)
        assert faults(browser, axe) == [], page
    browser.open(f"{studio.address}{link}?q=nothingofthis")
    browser.until(
        "return document.querySelector('vj-grid').hasAttribute('data-empty')"
    )
    assert faults(browser, axe) == []
    browser.open(f"{studio.address}/r/{run}")
    assert faults(browser, axe) == []
    browser.open(f"{studio.address}/r/{run}?failed=")
    assert faults(browser, axe) == []
    browser.open(f"{studio.address}/open/0123456789abcdef")
    assert faults(browser, axe) == []
    browser.complaints()  # the last page does not exist


@THEMES
def test_pages_while_a_dataset_is_indexed(
    browser: Any, axe: str, theme: str, tmp_path: Path
) -> None:
    from visualjudge.studio.app import create_app
    from visualjudge.studio.places import find_places
    from visualjudge.studio.studio_data import Site

    site = Site(
        find_places([write_dataset(tmp_path / "ds", [pair(0, (1.0, 2.0))])]),
        tmp_path,
    )
    slug = site.places.datasets[0].slug
    site._indexing = {slug: None}
    browser.theme(theme)
    with _served(create_app(site)) as address:
        for page in ("", f"/d/{slug}"):
            browser.open(address + page)
            told = "return document.querySelector('vj-indexing').textContent"
            assert "reading the questions" in browser.until(told)
            assert faults(browser, axe) == []
        site._indexing = {}
        browser.until(
            "return location.pathname !== '/' && document.querySelector('vj-grid')"
        )
        browser.until(CARDS)
        browser.open("about:blank")
    browser.complaints()  # the page asked for what was still being read


@THEMES
def test_pages_of_a_study(
    browser: Any, axe: str, theme: str, tmp_path: Path
) -> None:
    from visualjudge.studio.people.pages import ADMIN, people_app, people_pages
    from visualjudge.studio.people.plan import Settings, StudyFiles
    from visualjudge.studio.places import find_places
    from visualjudge.studio.serving import LOOPBACK
    from visualjudge.studio.studio_data import Site

    questions: list[Any] = [
        pair(i, (9.0, 1.0), prompt="A or B?", ties=("tie", "both_bad"))
        for i in range(3)
    ]
    questions += [ranking(0, (1.0, 5.0, 9.0)), scoring(0, 5.0)]
    site = Site(
        find_places([write_dataset(tmp_path / "ds", questions)]),
        tmp_path / "cache",
    )
    (tmp_path / "how.md").write_text(
        "# Look well\n\n[no link](https://example.org)"
    )
    settings = Settings(practice=1, least_seconds=0)
    pages = people_pages(
        site,
        tmp_path / "run",
        settings,
        ["anna"],
        StudyFiles(instructions=tmp_path / "how.md"),
    )
    browser.theme(theme)
    with _served(people_app(pages, LOOPBACK)) as address:
        for name in (ADMIN, "anna"):
            browser.open(address + pages.link(name))
            assert faults(browser, axe) == []
        _look_while_answering(browser, axe)
        browser.open("about:blank")
    pages.run.close()


def _look_while_answering(browser: Any, axe: str) -> None:
    """From the instructions to the thanks at the end."""
    browser.until("return document.querySelector('dialog[open]')")
    assert faults(browser, axe) == []
    browser.js("document.querySelector('dialog button').click()")
    kinds, slot = set(), None
    while True:
        state = browser.until(
            f"{READY.replace('return ', 'const q = ')}; const page = "
            "document.querySelector('vj-rater'); if "
            "(document.querySelector('.finished')) return 'finished';if (page.held) "
            "return 'feedback';return q && q.slot !== arguments[0] ? q : null",
            slot,
        )
        if isinstance(state, str):
            assert faults(browser, axe) == [], state
            if state == "finished":
                break
            browser.keys("\ue007")
            continue
        slot = state["slot"]
        if state["type"] not in kinds:
            assert faults(browser, axe) == [], state["type"]
        kinds.add(state["type"])
        letters = "".join(
            option["letter"] for option in state["options"]
        ).lower()
        keys = {"pairwise": "a", "ranking": letters, "scoring": "7"}[
            state["type"]
        ]
        browser.keys(
            *keys, *([] if state["type"] == "pairwise" else ["\ue007"])
        )
    assert kinds == {"pairwise", "ranking", "scoring"}
