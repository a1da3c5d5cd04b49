"""People answer by keyboard alone; a server that is killed loses nothing; two at once
do not meet.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsing import Studio, faults
from judged_records import pair, ranking, write_dataset

SLOT = (
    "return "
    "document.querySelector('vj-rater[data-ready]:has(.choices)')?.question?.slot"
)
NEXT = SLOT + " !== arguments[0] && " + SLOT.removeprefix("return ")
"""Another question than the one of this slot, once its images can be seen."""
PRESS = (
    "const press = (repeat) => document.body.dispatchEvent(new "
    "KeyboardEvent('keydown', {key: 'a', repeat, bubbles: true}));"
)
UNSEEN = "return document.querySelector('vj-stage')?.unseen.length"
COVERED = """const box = document.querySelector('.toast').getBoundingClientRect();
return [...document.querySelectorAll('button')].filter((b) => b.checkVisibility()).filter((b) => {
  const { left, right, top, bottom } = b.getBoundingClientRect();
  return left < box.right && right > box.left && top < box.bottom && bottom > box.top;
}).map((b) => b.textContent)"""
"""The buttons that a message covers."""
KIND = (
    "const q = document.querySelector('vj-rater').question; return [q.type, "
    "q.options.map((o) => o.letter).join('')]"
)


@pytest.fixture
def rating(folder: Path, tmp_path: Path) -> Iterator[Studio]:
    people = (
        "--people",
        str(tmp_path / "people"),
        "--rater",
        "anna",
        "--rater",
        "ben",
        "--sample",
        "40",
        "--known",
        "2",
        "--show",
        "all",
    )
    made = Studio(str(folder / "ds"), *people, cache=folder / "cache")
    yield made
    made.kill()


def _lines(studio: Studio) -> list[dict[str, Any]]:
    journal = Path(studio.arguments[2]) / "verdicts.jsonl"
    return [json.loads(line) for line in journal.read_text().splitlines()]


def _answer(browser: Any, before: str | None = None) -> str:
    """Answer the question on the page by keys, once it is another one than ``before``;
    its slot."""
    slot: str = browser.until(NEXT, before)
    while browser.js(UNSEEN):
        browser.keys(
            "\ue014"
        )  # one image at a time, on a narrow screen: the next one
    kind, letters = browser.js(KIND)
    keys = {"pairwise": "b", "ranking": letters.lower()[::-1], "scoring": "7"}[
        kind
    ]
    browser.keys(*keys, *([] if kind == "pairwise" else ["\ue007"]))
    return slot


def test_thirty_answers_by_keyboard_survive_a_kill_at_a_random_moment(
    browser: Any, rating: Studio
) -> None:
    browser.open(rating.links["anna"])
    kill_after, slot = int(np.random.default_rng().integers(5, 25)), None
    for n in range(30):
        if n == kill_after:
            browser.until(NEXT, slot)
            rating.kill()
            rating.start()
            browser.driver.refresh()
            slot = None
        slot = _answer(browser, slot)
    browser.until(NEXT, slot)
    lines = _lines(rating)
    assert len(lines) == 30
    assert len({(line["id"], line["turn"]) for line in lines}) == 30
    assert {line["rater"] for line in lines} == {"anna"}
    assert {line["status"] for line in lines} == {"ok"}
    assert min(line["latency_s"] for line in lines) > 0
    browser.complaints()  # what the console says of the server that was away


def test_undo_note_and_cannot_tell_by_keyboard(
    browser: Any, rating: Studio
) -> None:
    browser.open(rating.links["anna"])
    slot = _answer(browser)
    browser.until(NEXT, slot)
    browser.keys("u")
    browser.until(SLOT + " === arguments[0]", slot)
    browser.keys("n", *"why?", "\ue00c")
    kind, _ = browser.js(KIND)
    browser.keys("c" if kind == "pairwise" else "x")
    browser.until(NEXT, slot)
    first, second = _lines(rating)
    assert (second["id"], second["repeat"], second["status"]) == (
        first["id"],
        first["repeat"],
        "cannot_tell",
    )
    assert second["note"] == "why?"


def test_a_corrected_ranking_is_written_with_the_new_order(
    browser: Any, folder: Path, tmp_path: Path
) -> None:
    people = ("--people", str(tmp_path / "people"), "--rater", "anna")
    people += ("--type", "ranking", "--show", "all")
    study = Studio(str(folder / "ds"), *people, cache=folder / "cache")
    try:
        browser.open(study.links["anna"])
        slot = browser.until(SLOT)
        _, letters = browser.js(KIND)
        browser.keys(*letters.lower(), "\ue007")
        browser.until(NEXT, slot)
        browser.keys("u")
        browser.until(SLOT + " === arguments[0]", slot)
        browser.keys(*letters.lower()[::-1], "\ue007")
        browser.until(NEXT, slot)
        first, corrected = (
            line["value"] for line in _lines(study)[-2:]
        )  # in the stored letters
        assert corrected == first[::-1]
    finally:
        study.kill()


def test_a_letter_of_a_ranking_does_not_change_the_view(
    browser: Any, folder: Path, tmp_path: Path
) -> None:
    people = ("--people", str(tmp_path / "people"), "--rater", "anna")
    people += ("--type", "ranking", "--show", "all")
    study = Studio(str(folder / "ds"), *people, cache=folder / "cache")
    try:
        browser.open(study.links["anna"])
        browser.until(SLOT)
        browser.js(
            "const stage = document.createElement('vj-stage');const layer = (key) => "
            "({key, title: key, src: '/static/mark.svg'});stage.dataset.layers = "
            "JSON.stringify([layer('A'), "
            "layer('B')]);document.querySelector('.rate-main').append(stage)"
        )
        browser.until(
            "return document.querySelector('vj-stage')?.dataset.mode === 'side'"
        )
        browser.keys("d")
        browser.until(
            "return document.querySelector('vj-rater').chosen === 'D'"
        )
        assert (
            browser.js("return document.querySelector('vj-stage').mode")
            == "side"
        )
        browser.keys("f")
        browser.until(
            "return document.querySelector('vj-stage').dataset.mode === 'flicker'"
        )
    finally:
        study.kill()


def test_a_held_key_answers_one_question_and_no_unseen_one(
    browser: Any, rating: Studio
) -> None:
    browser.open(rating.links["anna"])
    slot = browser.until(SLOT)
    while browser.js(KIND)[0] != "pairwise":
        _answer(browser)
        slot = browser.until(NEXT, slot)
    before = (
        len(_lines(rating))
        if (Path(rating.arguments[2]) / "verdicts.jsonl").exists()
        else 0
    )
    browser.js(
        PRESS
        + "for (let i = 0; i < 40; i++) setTimeout(() => press(i > 0), 50 * i)"
    )
    browser.until(NEXT, slot)
    browser.js(
        PRESS
        + "document.querySelector('vj-rater').ready = false; for (let i = 0; i < 5; "
        "i++) "
        "press(false)"
    )
    browser.until(
        "return document.querySelector('.toast').textContent.includes('Look at the "
        "question first')"
    )
    assert len(_lines(rating)) == before + 1


def test_instructions_practice_and_ties(browser: Any, tmp_path: Path) -> None:
    questions = [
        pair(i, (9.0, 1.0), prompt=f"A or B, {i}?", ties=("tie", "both_bad"))
        for i in range(6)
    ]
    dataset = write_dataset(tmp_path / "ds", questions)
    (tmp_path / "how.md").write_text(
        "# Look well\n\n<img src=x onerror=alert(1)>"
    )
    design = (
        "--practice",
        "1",
        "--least-seconds",
        "1.5",
        "--instructions",
        str(tmp_path / "how.md"),
    )
    people = (
        "--people",
        str(tmp_path / "people"),
        "--rater",
        "anna",
        "--show",
        "all",
        *design,
    )
    study = Studio(str(dataset), *people, cache=tmp_path / "cache")
    try:
        browser.open(study.links["anna"])
        browser.until(
            "return document.querySelector('dialog[open] h1')?.textContent === 'Look "
            "well'"
        )
        assert (
            browser.js("return document.querySelectorAll('dialog img').length")
            == 0
        )
        browser.keys("a")
        browser.until("return document.querySelector('vj-rater').question")
        assert (
            browser.js("return document.querySelector('vj-rater').ready")
            is False
        )
        browser.js("document.querySelector('dialog button').click()")
        slot = browser.until(SLOT)
        assert browser.js(
            "return document.querySelector('vj-rater').question.practice"
        )
        browser.keys("a")
        said = browser.until(
            "return document.querySelector('.feedback')?.textContent"
        )
        assert said in ("✓ Right: A is better.", "✕ B is better.")
        browser.keys("b")  # not before the feedback was read
        browser.keys("\ue007")
        slot = browser.until(NEXT, slot)
        browser.keys("w")
        slot = browser.until(NEXT, slot)
        browser.js("document.querySelector('[aria-keyshortcuts=T]').click()")
        browser.until(NEXT, slot)
        lines = _lines(study)
        assert [line["purpose"] for line in lines] == [
            "practice",
            "question",
            "question",
        ]
        assert [line["value"] for line in lines[1:]] == ["both_bad", "tie"]
        assert min(line["latency_s"] for line in lines) >= 1.5
    finally:
        study.kill()


def test_a_phone_shows_the_buttons_at_once_and_every_image_is_swiped(
    browser: Any, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "ids.txt").write_text("q0\nq1\nr0\ns0\n")
    people = (
        "--people",
        str(tmp_path / "people"),
        "--rater",
        "anna",
        "--questions",
        str(tmp_path / "ids.txt"),
    )
    rating = Studio(str(folder / "ds"), *people, cache=folder / "cache")
    try:
        _on_a_phone(browser, rating)
    finally:
        rating.kill()


def _on_a_phone(browser: Any, rating: Studio) -> None:
    browser.size(400, 800)
    browser.open(rating.links["anna"])
    kinds: set[str] = set()
    slot = None
    while len(kinds) < 3:
        slot = browser.until(NEXT, slot)
        kind = browser.js(KIND)[0]
        if kind not in kinds:
            below = browser.js(
                "return Math.max(...[...document.querySelectorAll('.decide button')]"
                ".map((b) => b.getBoundingClientRect().bottom))"
            )
            assert below <= 800, kind
        if kind == "pairwise" and kind not in kinds:
            assert (
                browser.js("return document.querySelector('vj-stage').mode")
                == "one"
            )
            assert browser.js(UNSEEN) == 2
            browser.keys("a")
            browser.until(
                "return document.querySelector('.toast').textContent.includes("
                "'Not seen yet: image A, image B. ')"
            )
            assert browser.js(COVERED) == []
            before = (
                len(_lines(rating))
                if (Path(rating.arguments[2]) / "verdicts.jsonl").exists()
                else 0
            )
            for left in (1, 0):
                _swipe(browser, -120)
                browser.until(
                    "return document.querySelector('vj-stage').unseen.length === "
                    "arguments[0]",
                    left,
                )
            _swipe(browser, 120)
            browser.until(
                "return document.querySelector('vj-stage').dataset.shown === 'A'"
            )
            browser.js("document.querySelector('.choice').click()")
            browser.until(
                "return document.querySelector('vj-rater').question?.slot !== "
                "arguments[0]",
                slot,
            )
            assert len(_lines(rating)) == before + 1
        else:
            _answer(browser)
        kinds.add(kind)
    browser.until("return document.querySelector('vj-rater').sending === false")


def _swipe(browser: Any, across: int) -> None:
    box = browser.js(
        "return document.querySelector('.panes').getBoundingClientRect()"
    )
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    steps = [
        ("touchStart", 0.0),
        ("touchMove", 0.3),
        ("touchMove", 0.7),
        ("touchMove", 1.0),
        ("touchEnd", None),
    ]
    for kind, part in steps:
        points = [] if part is None else [{"x": x + across * part, "y": y}]
        browser.driver.execute_cdp_cmd(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
        )


@pytest.fixture
def phone(browser: Any) -> Iterator[Any]:
    browser.driver.execute_cdp_cmd(
        "Emulation.setTouchEmulationEnabled",
        {"enabled": True, "maxTouchPoints": 2},
    )
    browser.size(400, 800)
    yield browser
    browser.driver.execute_cdp_cmd(
        "Emulation.setTouchEmulationEnabled", {"enabled": False}
    )


def test_no_pinch_or_swipe_moves_an_image_out_of_the_stage(
    phone: Any, rating: Studio
) -> None:
    phone.open(rating.links["anna"])
    slot = phone.until(SLOT)
    while phone.js(KIND)[0] != "pairwise":
        slot = phone.until(NEXT, _answer(phone, None))
    fitted = phone.until(
        "return Number(document.querySelector('vj-stage').dataset.scale)"
    )
    _touch(
        phone, [(-50, 0), (50, 0)], [(-30, 0), (30, 0)]
    )  # inwards: not below Fit
    assert (
        phone.js(
            "return Number(document.querySelector('vj-stage').dataset.scale)"
        )
        == fitted
    )
    _touch(phone, [(0, 0)], [(-120, 0)])
    phone.until(
        "return document.querySelector('vj-stage').dataset.shown === 'A'"
    )
    _touch(phone, [(-30, 0), (30, 0)], [(-90, 0), (90, 0)])
    phone.until("return Number(document.querySelector('vj-stage').dataset.scale) > "
                "arguments[0]",
                1.5 * fitted)  # fmt: skip
    for _ in range(5):
        _touch(phone, [(100, 100)], [(-100, -100)])
    assert phone.js(DRAWN) > 0.5
    # B is on the stage now, but most of it is outside
    phone.js("[...document.querySelectorAll('.picks button')].at(-1).click()")
    phone.until(
        "return document.querySelector('vj-stage').dataset.shown === 'B'"
    )
    phone.keys("a")
    phone.until(
        "return document.querySelector('.toast').textContent.includes('Not seen yet: "
        "image B. ')"
    )
    fit = "document.querySelector('.zooms button[aria-keyshortcuts=\"0\"]')"
    assert phone.js(f"return {fit}.getBoundingClientRect().width") > 0
    phone.js(f"{fit}.click()")
    phone.until(UNSEEN + " === 0")
    phone.keys("a")
    phone.until(NEXT, slot)
    assert _lines(rating)[-1]["status"] == "ok"


def test_an_option_that_is_covered_or_scrolled_away_is_not_seen(
    phone: Any, rating: Studio
) -> None:
    phone.open(rating.links["anna"])
    phone.until(SLOT)
    while phone.js(KIND)[0] != "pairwise":
        phone.until(NEXT, _answer(phone, None))
    phone.js(
        "const cover = document.createElement('div'); cover.id = "
        "'cover';cover.style.cssText = 'position: fixed; inset: 0; z-index: "
        "9';document.body.append(cover); "
        "document.querySelector('vj-stage').seen.forEach((s) => s.clear())"
    )
    for left in (3, 3, 3):
        _next_image(phone)
        assert phone.js(UNSEEN) == left
    phone.js("document.querySelector('#cover').remove()")
    for left in (2, 1, 0):
        _next_image(phone)
        phone.until(UNSEEN + " === arguments[0]", left)


def _next_image(browser: Any) -> None:
    shown = browser.js(
        "return document.querySelector('vj-stage').dataset.shown"
    )
    browser.keys("\ue014")
    browser.until(
        "return document.querySelector('vj-stage').dataset.shown !== arguments[0]",
        shown,
    )


def test_an_image_keeps_its_shape_in_every_view(
    phone: Any, folder: Path, tmp_path: Path
) -> None:
    names = tuple(f"media/image_{i}.png" for i in range(6))
    options = "\n\n".join(f"{letter}. <image>" for letter in "ABCDE")
    prompt = f"<image>\n\nOptions:\n\n{options}\n\nRank them."
    five = ranking(
        0,
        (1.0, 5.0, 9.0, 3.0, 2.0),
        prompt=prompt,
        images=names,
        encoding="pixel_s0_m0",
    )
    dataset = write_dataset(tmp_path / "ds", [five])
    (tmp_path / "ds/media").mkdir()
    for name in names:
        (tmp_path / "ds" / name).write_bytes(
            (folder / "ds" / name).read_bytes()
        )
    study = Studio(
        str(dataset),
        "--people",
        str(tmp_path / "p"),
        "--rater",
        "anna",
        cache=tmp_path / "cache",
    )
    try:
        for width in (400, 1280):
            phone.size(width, 800)
            phone.open(study.links["anna"])
            phone.until(SLOT)
            for mode in ("side", "one", "flicker", "side", "difference", "one"):
                phone.js(
                    f"document.querySelector('[data-mode={mode}]').click()"
                )
                phone.until(
                    "return document.querySelector('vj-stage').dataset.mode === "
                    f"'{mode}'"
                )
                shapes = phone.js(
                    "return [...document.querySelectorAll('vj-stage canvas')].map((c) "
                    "=> [c.width, c.height, c.clientWidth, c.clientHeight])"
                )
                assert all(shape[:2] == shape[2:] for shape in shapes), (
                    width,
                    mode,
                    shapes,
                )
    finally:
        study.kill()


def test_an_earlier_answer_can_be_left_as_it_is(
    browser: Any, rating: Studio
) -> None:
    browser.open(rating.links["anna"])
    slot = _answer(browser)
    now = browser.until(NEXT, slot)
    browser.keys("u")
    browser.until(SLOT + " === arguments[0]", slot)
    browser.keys("k")
    browser.until(SLOT + " === arguments[0]", now)
    assert len(_lines(rating)) == 1


def test_an_image_that_was_not_served_is_asked_for_again(
    browser: Any, rating: Studio
) -> None:
    browser.driver.execute_cdp_cmd("Network.enable", {})
    browser.driver.execute_cdp_cmd(
        "Network.setBlockedURLs", {"urls": ["*/people-image/*"]}
    )
    browser.open(rating.links["anna"])
    browser.until(
        "return document.querySelector('.toast').textContent.includes('keeps trying')"
    )
    assert browser.js(SLOT) is None
    browser.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    browser.until(SLOT)
    browser.complaints()


DRAWN = """
const canvas = document.querySelector('vj-stage canvas');
const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
let drawn = 0;
for (let i = 3; i < data.length; i += 4) drawn += data[i] > 0;
return (4 * drawn) / data.length;
"""
"""Share of the stage on which something is drawn."""


def _touch(browser: Any, start: list[Any], stop: list[Any]) -> None:
    """Fingers that move from one set of places to another, from the middle of the
    stage."""
    box = browser.js(
        "return document.querySelector('.panes').getBoundingClientRect()"
    )
    middle = np.array(
        [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    )
    a, b = np.array(start, float), np.array(stop, float)
    steps = [
        ("touchStart", 0.0),
        *(("touchMove", part / 6) for part in range(1, 7)),
    ]
    for kind, part in [*steps, ("touchEnd", None)]:
        places = [] if part is None else (middle + a + (b - a) * part).tolist()
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        browser.driver.execute_cdp_cmd(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
        )


def test_two_raters_in_two_windows_at_once(
    browser: Any, rating: Studio
) -> None:
    browser.open(rating.links["anna"])
    anna = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("window")
    browser.open(rating.links["ben"])
    ben = browser.driver.current_window_handle
    slots: dict[str, str | None] = {anna: None, ben: None}
    for _ in range(6):
        for window in (anna, ben):
            browser.driver.switch_to.window(window)
            slots[window] = _answer(browser, slots[window])
    browser.until(NEXT, slots[ben])
    browser.driver.close()
    browser.driver.switch_to.window(anna)
    assert Counter(line["rater"] for line in _lines(rating)) == {
        "anna": 6,
        "ben": 6,
    }


def test_a_window_left_behind_moves_on_without_a_second_verdict(
    browser: Any, rating: Studio
) -> None:
    browser.open(rating.links["anna"])
    slot = browser.until(SLOT)
    token = browser.js(
        "return document.querySelector('vj-rater').dataset.token"
    )
    browser.js(
        "return fetch('/people/anna/answer', {method: 'POST', headers: "
        "{'X-Studio-Token': arguments[0]}, body: JSON.stringify({slot: arguments[1], "
        "seconds: 1, cannot_tell: true})}).then((r) => r.status)",
        token,
        slot,
    )
    _answer(browser)
    browser.until(
        "return document.querySelector('.toast').textContent.includes('another window')"
    )
    browser.until(NEXT, slot)
    assert len(_lines(rating)) == 1
    assert all("409" in complaint for complaint in browser.complaints())


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_no_serious_fault_where_people_answer(
    browser: Any, rating: Studio, axe: str, theme: str, width: int
) -> None:
    browser.size(width, 900)
    browser.theme(theme)
    browser.open(rating.links["progress"])
    assert faults(browser, axe) == []
    browser.open(rating.links["anna"])
    seen, slot = set(), None
    for _ in range(12):
        browser.until(NEXT, slot)
        kind, _ = browser.js(KIND)
        if kind not in seen:
            assert faults(browser, axe) == []
        seen.add(kind)
        slot = _answer(browser, slot)
    browser.until(NEXT, slot)


def test_an_answer_during_a_slow_undo_is_not_taken_for_another_window(
    browser: Any, rating: Studio
) -> None:
    browser.open(rating.links["anna"])
    slot = _answer(browser)
    browser.until(NEXT, slot)
    browser.driver.execute_cdp_cmd("Network.enable", {})
    slow = {
        "offline": False,
        "latency": 400,
        "downloadThroughput": -1,
        "uploadThroughput": -1,
    }
    browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", slow)
    try:
        browser.keys("u", "a", "b")  # both before the earlier question is there
        browser.until(SLOT + " === arguments[0]", slot)
        assert (
            browser.js("return document.querySelector('.toast').textContent")
            == ""
        )
    finally:
        fast = {**slow, "latency": 0}
        browser.driver.execute_cdp_cmd("Network.emulateNetworkConditions", fast)
    assert len(_lines(rating)) == 1


def test_images_use_the_pane_and_legends_show_colours(
    browser: Any, folder: Path, tmp_path: Path
) -> None:
    names = tuple(f"media/image_{k}.png" for k in range(3))
    legend = (
        "<image>\n\nOptions:\n\nA. <image>\nLegend: cat = iris (#6258C4)\n\nB. "
        "<image>\n\nWhich?"
    )
    question = pair(
        0, (9.0, 1.0), images=names, prompt=legend, encoding="pixel_s0_m0"
    )
    dataset = write_dataset(tmp_path / "ds", [question])
    (tmp_path / "ds/media").mkdir()
    for name in names:
        (tmp_path / "ds" / name).write_bytes(
            (folder / "ds" / name).read_bytes()
        )
    people = ("--people", str(tmp_path / "p"), "--rater", "anna")
    study = Studio(str(dataset), *people, cache=tmp_path / "cache")
    try:
        browser.size(1280, 800)
        browser.open(study.links["anna"])
        browser.until(SLOT)
        widths = browser.js(
            "const s = document.querySelector('vj-stage');return "
            "[...s.querySelectorAll('canvas')].map(() => s.scale() * s.base.width)"
        )
        assert len(widths) == 3
        assert (
            min(widths) > 420
        )  # above their legends, they were 368 pixels wide
        text = browser.js(
            "return document.querySelector('.text-option pre').textContent"
        )
        assert "#" not in text
        assert browser.js(
            "return document.querySelector('.swatch').style.background"
        ) == ("rgb(98, 88, 196)")
    finally:
        study.kill()
