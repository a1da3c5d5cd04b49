"""The built site: no serious accessibility fault on any page, no dead link, and search
that asks nobody.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browsing import Browser, faults

ROOT = Path(__file__).parents[2]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a dead link or anchor fails the build."""
    pytest.importorskip(
        "material",
        reason="MkDocs Material is not installed: run make test-browser",
    )
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_accessibility_fault(
    browser: Browser, axe: str, site: Path, address: str, theme: str
) -> None:
    """In light every page; in dark, which changes colours alone, one page of each
    kind."""
    browser.theme(theme)
    pages = sorted(
        page.relative_to(site).as_posix() for page in site.rglob("*.html")
    )
    assert len(pages) > 50
    kinds = {
        "index.html",
        "reference.html",
        "cli.html",
        "tasks/keypoint.html",
        "gallery/index.html",
    }
    found = {}
    for page in pages if theme == "light" else sorted(kinds & set(pages)):
        browser.open(f"{address}/{page}")
        if wrong := faults(browser, axe, serious=True):
            found[page] = wrong
    assert found == {}


def test_search_finds_pages_and_asks_nobody_else(
    browser: Browser, address: str
) -> None:
    browser.open(f"{address}/index.html")
    browser.js(
        "document.querySelector('[data-md-component=search-query]').focus()"
    )
    browser.keys(*"swap")
    found = browser.until(
        "const links = "
        "[...document.querySelectorAll('.md-search-result__link')].map((a) => "
        "a.href);return links.length ? links : null"
    )
    assert any("/judging.html" in link for link in found), found
