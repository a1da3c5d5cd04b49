"""Skipped, with the reason, where Selenium or Chromium is not installed; ``make
test-browser`` installs what it can.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from browsing import CHROMIUM, DRIVER, Browser, Studio
from judged_records import (
    pair,
    ranking,
    said,
    scoring,
    write_dataset,
    write_run,
)

AXE = [
    Path(p)
    for p in (os.environ.get("VISUALJUDGE_AXE", ""), ".venv/axe.min.js")
    if p
]
PROMPT = (
    "<image>\n\nJudge.\n\nOptions:\n\nA. <image>\n\nB. <image>\n\nWhich of the two "
    "predictions "
    "is better, A or B?"
)
NASTY = (
    "</script><script>document.title='broken'</script><img src=x "
    "onerror=document.title='broken'>"
)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    pytest.importorskip(
        "selenium", reason="Selenium is not installed: run make test-browser"
    )
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(
            "Chromium and chromedriver are not installed: apt-get install chromium "
            "chromium-driver"
        )
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser; a test fails if its pages complained on the console or asked anybody
    else for anything.
    """
    chromium.size(1440, 900)
    chromium.theme("light")
    chromium.complaints()
    yield chromium
    assert chromium.complaints() == []


def _photograph(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pixels = np.repeat(
        np.repeat(rng.integers(0, 255, (12, 16, 3), dtype=np.uint8), 10, 0),
        10,
        1,
    )
    Image.fromarray(pixels).save(path)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with images and hostile texts, and two runs on it."""
    home = tmp_path_factory.mktemp("studio")
    names = [f"media/image_{i}.png" for i in range(12)]

    def three(i: int) -> tuple[str, ...]:
        return tuple(names[(i + k) % 12] for k in range(3))

    changes = {
        "prompt": PROMPT,
        "encoding": "pixel_s0_m0",
        "class_of_interest": ("cat", NASTY),
    }
    questions = [
        pair(i, (i % 8 + 0.5, 9.5), images=three(i), **changes)
        for i in range(3000)
    ]
    questions += [
        ranking(i, (1.0, 5.0, 9.0, 3.0), prompt=NASTY) for i in range(6)
    ]
    questions += [scoring(i, float(i), image_id=NASTY) for i in range(6)]
    root = write_dataset(home / "ds", questions)
    (root / "media").mkdir()
    for i, name in enumerate(names):
        _photograph(root / name, i)
    mixed = [
        said(q, "AB"[i % 3 == 0], order)
        for i, q in enumerate(questions[:600])
        for order in ("AB", "BA")
    ]
    write_run(home / "runs/one", root, mixed, judge=f"one {NASTY}")
    write_run(
        home / "runs/two",
        root,
        [said(q, "B") for q in questions[:900]],
        judge="two",
    )
    return home


@pytest.fixture(scope="session")
def studio(folder: Path) -> Iterator[Studio]:
    made = Studio(str(folder), cache=folder / "cache")
    yield made
    made.kill()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    found = [path for path in AXE if path.is_file()]
    if not found:
        pytest.skip(
            "axe-core is not here: run make test-browser, or set VISUALJUDGE_AXE to "
            "axe.min.js"
        )
    return found[0].read_text()
