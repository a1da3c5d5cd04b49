"""A user looks at questions: filter, open, flicker, zoom to one pixel, next; and comes
back to the same view.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from browsing import faults

CARDS = "return [...document.querySelectorAll('.card:not(.loading)')].length"
SCALE = "return Number(document.querySelector('vj-stage.ready')?.dataset.scale)"
SHOWN = "return document.querySelector('vj-stage')?.dataset.shown"


@pytest.fixture(scope="module")
def home(studio: Any) -> str:
    with urlopen(studio.address, timeout=30) as page:
        return str(page.read().decode())


@pytest.fixture(scope="module")
def slug(home: str) -> str:
    return home.partition('<h2><a href="/d/')[2].partition('"')[0]


@pytest.fixture(scope="module")
def runs(home: str) -> list[str]:
    return re.findall('data-run="([^"]*)"', home)


def _choose(browser: Any, facet: str, value: str) -> None:
    browser.until("return document.querySelector('vj-facets input')")
    box = f"f-{facet}-{value}"
    browser.js(
        "document.getElementById(arguments[0]).closest('details').open = true",
        box,
    )
    browser.js("document.getElementById(arguments[0]).click()", box)


def test_filter_open_flicker_zoom_to_one_pixel_next(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(f"{studio.address}/d/{slug}")
    browser.until(CARDS)
    _choose(browser, "margin", "4 and more")
    browser.until(
        "return document.querySelector('.total').textContent.includes(' of ')"
    )
    browser.until(CARDS)
    assert "margin=4+and+more" in browser.driver.current_url
    browser.js("document.querySelector('.card:not(.loading)').click()")
    browser.until(
        "return document.querySelector('vj-stage.ready')?.dataset.shown === 'A,B'"
    )
    browser.keys("f")
    assert browser.until(f"{SHOWN} === 'A'")
    browser.keys("f")
    assert browser.until(f"{SHOWN} === 'B'")
    browser.keys("1")
    assert browser.until(f"{SCALE} === 1")
    browser.keys("8", "+", "+", "+")
    assert browser.until(f"{SCALE} === 64")
    first = browser.driver.current_url
    browser.keys("j")
    browser.until("return location.href !== arguments[0]", first)
    assert "margin=4+and+more" in browser.driver.current_url
    browser.until(
        "return document.querySelector('.steps')?.textContent.trim().startsWith('2 of')"
    )
    browser.keys("k")
    browser.until("return location.href === arguments[0]", first)


def test_what_is_on_the_canvas_is_the_image_to_the_pixel(
    browser: Any, studio: Any, slug: str, folder: Path
) -> None:
    from PIL import Image

    browser.open(f"{studio.address}/d/{slug}/q/q0")
    browser.until(
        "return document.querySelector('vj-stage.ready')?.dataset.shown === 'A,B'"
    )
    browser.keys("8")
    browser.until(f"{SCALE} === 8")
    colors = browser.until(
        """const next = requestAnimationFrame;
        return new Promise((done) => next(() => next(() => done(
          [...document.querySelectorAll('vj-stage canvas')].map((c) => {
            const [x, y] = [Math.floor(c.width / 2) + 3, Math.floor(c.height / 2) + 3];
            return [...c.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3);
          })))))"""
    )
    for color, name in zip(colors, ("image_1", "image_2"), strict=True):
        assert tuple(color) == Image.open(
            folder / f"ds/media/{name}.png"
        ).getpixel((80, 60))


def test_slider_and_difference_show(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(f"{studio.address}/d/{slug}/q/q0")
    browser.until("return document.querySelector('vj-stage.ready')")
    browser.keys("d")
    browser.until(
        "return document.querySelector('vj-stage "
        "figcaption').textContent.startsWith('|Option A − Option B|')"
    )
    browser.keys("l")
    browser.until(
        "return document.querySelector('vj-stage figcaption').textContent === 'Option "
        "A | Option B'"
    )


def test_the_address_restores_the_view(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(
        f"{studio.address}/d/{slug}?type=pairwise&sort=-margin&q=judge"
    )
    browser.until(CARDS)
    browser.js("const g = document.querySelector('vj-grid'); g.goTo(900)")
    browser.until("return new URLSearchParams(location.search).get('at') > 800")
    before = browser.js("return document.querySelector('vj-grid').first")
    browser.driver.refresh()
    browser.until(CARDS)
    assert (
        browser.until("return document.querySelector('vj-grid').first")
        == before
    )
    assert (
        browser.js("return document.querySelector('[name=sort]').value")
        == "-margin"
    )
    assert (
        browser.js("return document.querySelector('[name=q]').value") == "judge"
    )
    assert "Question type: pairwise" in browser.js(
        "return document.querySelector('.chips').textContent"
    )


def test_judges_are_compared_within_the_filters_of_the_grid(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(f"{studio.address}/d/{slug}?sort=margin")
    browser.until(CARDS)
    _choose(browser, "margin", "2 to 4")
    browser.until(
        "return new URLSearchParams(location.search).get('margin') === '2 to 4'"
    )
    browser.js("document.querySelector('a[href*=judges]').click()")
    browser.until("return location.pathname.endsWith('/judges')")
    assert "Difference in true score, of 10: 2 to 4" in browser.js(
        "return document.querySelector('main').textContent"
    )


def test_a_note_is_saved_while_one_types(
    browser: Any, studio: Any, slug: str
) -> None:
    address = f"{studio.address}/d/{slug}/q/q9"
    browser.open(address)
    browser.until("return document.querySelector('vj-mark textarea')")
    browser.js("document.querySelector('vj-mark textarea').focus()")
    browser.keys(*"why")
    assert (
        browser.js("return document.querySelector('vj-mark textarea').value")
        == "why"
    )
    browser.driver.refresh()  # at once: the page that goes saves it
    browser.until(
        "return document.querySelector('vj-mark textarea')?.value === 'why'"
    )
    browser.js("document.querySelector('vj-mark textarea').focus()")
    browser.keys("?")
    browser.until(
        "return document.querySelector('vj-mark [role=status]').textContent === "
        "'Saved.'"
    )
    assert browser.js("return document.activeElement.localName") == "textarea"


def test_one_tag_alone_is_a_filter(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(f"{studio.address}/d/{slug}/q/q11")
    browser.until("return document.querySelector('vj-mark button')")
    browser.js("document.querySelector('vj-mark input').value = 'alone'")
    browser.js("document.querySelector('vj-mark form button').click()")
    browser.until("return document.querySelector('vj-mark .chip')")
    browser.open(f"{studio.address}/d/{slug}?type=ranking")
    browser.until("return document.querySelector('vj-facets summary')")
    browser.open(f"{studio.address}/d/{slug}")
    browser.until("return document.getElementById('f-tag-alone')")


def test_questions_are_starred_and_tagged(
    browser: Any, studio: Any, slug: str, folder: Path
) -> None:
    browser.open(f"{studio.address}/d/{slug}/q/q7")
    browser.until("return document.querySelector('vj-mark button')")
    browser.keys("m")
    browser.until(
        "return document.querySelector('vj-mark [aria-pressed=true]')"
    )
    browser.js("document.querySelector('vj-mark input').value = 'odd <b>'")
    browser.js("document.querySelector('vj-mark form button').click()")
    browser.until(
        "return document.querySelector('vj-mark .chip')?.textContent.includes('odd "
        "<b>')"
    )
    browser.open(f"{studio.address}/d/{slug}?star=starred")
    browser.until(CARDS)
    assert browser.js(
        "return [...document.querySelectorAll('.card[data-star]')].map((c) => "
        "c.dataset.id)"
    ) == ["q7"]
    browser.js("document.querySelector('.sets summary').click()")
    browser.until(
        "return document.querySelector('.commands "
        "pre')?.textContent.includes('--questions')"
    )
    browser.js(
        "[...document.querySelectorAll('.sets button')].find((b) => b.textContent === "
        "'Unstar all').click()"
    )
    browser.until(
        "return document.querySelector('vj-grid').hasAttribute('data-empty')"
    )
    browser.open(f"{studio.address}/d/{slug}/q/q7")
    browser.until(
        "return document.querySelector('vj-mark .chip')?.textContent.includes('odd "
        "<b>')"
    )
    assert (
        browser.js(
            "return document.querySelector('vj-mark "
            "[aria-pressed]').getAttribute('aria-pressed')"
        )
        == "false"
    )
    stored = (folder / "ds.studio/marks.json").read_text()
    assert "star" not in stored
    assert "odd <b>" in stored


def test_only_visible_cards_are_in_the_page_and_the_last_one_is_reached(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(f"{studio.address}/d/{slug}")
    browser.until(CARDS)
    assert browser.js("return document.querySelectorAll('.card').length") < 60
    browser.js(
        "const g = document.querySelector('vj-grid'); g.scrollTop = g.scrollHeight"
    )
    browser.until(
        "return [...document.querySelectorAll('.card')].some((c) => c.dataset.id === "
        "'s5')"
    )
    assert browser.js("return document.querySelectorAll('.card').length") < 60


def test_a_grid_taller_than_a_browser_allows_is_scrolled_to_its_end(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(f"{studio.address}/d/{slug}?at=0")
    browser.until(CARDS)
    browser.js(
        "const g = document.querySelector('vj-grid'); g.total = 2_000_000; g.measure(0)"
    )
    assert (
        browser.js("return document.querySelector('.grid-space').offsetHeight")
        <= 8_000_000
    )
    for card in (1_000_000, 1_999_999):
        browser.js("document.querySelector('vj-grid').goTo(arguments[0])", card)
        columns = browser.js("return document.querySelector('vj-grid').columns")
        assert (
            abs(
                browser.js("return document.querySelector('vj-grid').first")
                - card
            )
            < 6 * columns
        )
    browser.js(
        "const g = document.querySelector('vj-grid'); g.scrollTop = g.scrollHeight"
    )
    browser.until(
        "return [...document.querySelector('vj-grid').cards.keys()].includes(1_999_999)"
    )
    browser.js(
        "const g = document.querySelector('vj-grid'); g.total = 10; g.measure(0)"
    )


def test_cards_are_reached_by_the_keyboard(
    browser: Any, studio: Any, slug: str
) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(f"{studio.address}/d/{slug}")
    browser.until(CARDS)
    browser.js("document.querySelector('vj-grid').focus()")
    browser.keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert browser.js("return document.activeElement.dataset.id") == "q1"
    browser.keys(Keys.ENTER)
    browser.until("return location.pathname.endsWith('/q/q1')")


def test_hostile_texts_stay_texts(
    browser: Any, studio: Any, slug: str, runs: list[str]
) -> None:
    pages = [
        "",
        f"/d/{slug}",
        f"/d/{slug}/q/q1",
        f"/d/{slug}/q/r1",
        f"/d/{slug}/q/s1",
        f"/d/{slug}/judges",
    ]
    for page in [*pages, *(f"/r/{run}" for run in runs)]:
        browser.open(studio.address + page)
        browser.until("return document.readyState === 'complete'")
        assert browser.driver.title != "broken"
        assert (
            browser.js("return document.querySelectorAll('img[src=x]').length")
            == 0
        )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_no_serious_fault(
    browser: Any,
    studio: Any,
    slug: str,
    runs: list[str],
    axe: str,
    theme: str,
    width: int,
) -> None:
    browser.size(width, 900)
    browser.theme(theme)
    for page in (
        "",
        f"/d/{slug}?type=pairwise",
        f"/d/{slug}/q/q1",
        f"/d/{slug}/q/r1",
        f"/d/{slug}/judges",
        f"/d/{slug}/slices?by=margin",
        f"/r/{runs[0]}",
    ):
        browser.open(studio.address + page)
        browser.until("return document.readyState === 'complete'")
        if page.startswith(f"/d/{slug}?"):
            browser.until(CARDS)
            browser.js("document.querySelector('.sets').open = true")
        assert faults(browser, axe) == []
        overflow = browser.js(
            "return document.documentElement.scrollWidth - "
            "document.documentElement.clientWidth"
        )
        assert overflow <= 0, page


def test_what_is_wrong_with_a_large_margin_is_three_clicks_from_home(
    browser: Any, studio: Any
) -> None:
    browser.open(studio.address)
    click = (
        "const found = [...document.querySelectorAll(arguments[0])].find((e) => "
        "e.textContent.includes(arguments[1]) && e.checkVisibility()); found?.click(); "
        "return found"
    )
    browser.until(click, ".tile-actions a", "Questions")
    for value in ("4 and more", "wrong"):
        browser.until(click, "vj-facets label", value)
        browser.until(
            "return document.querySelector('.chips').textContent.includes(arguments[0])",
            value,
        )
    browser.until(CARDS)


def test_the_filters_used_most_are_on_the_first_screen(
    browser: Any, studio: Any, slug: str
) -> None:
    browser.open(f"{studio.address}/d/{slug}")
    browser.until("return document.querySelector('vj-facets input')")
    shown = browser.js(
        "return [...document.querySelectorAll('vj-facets details')].filter((d) => "
        "d.getBoundingClientRect().bottom <= innerHeight).map((d) => "
        "d.querySelector('summary span').textContent)"
    )
    difference = "Difference in true score, of 10"
    assert shown[: shown.index(difference) + 1] == [
        *("Outcome", "Both orders"),
        *("Outcome", difference),  # asked in one order
    ]
    links = browser.js(
        "return [...document.querySelectorAll('.slice-link')].map((link) => {const box "
        "= link.getBoundingClientRect();return !link.checkVisibility() || box.bottom > "
        "innerHeight ||link.contains(document.elementFromPoint(box.x + 2, box.y + 4))})"
    )
    assert all(links)
