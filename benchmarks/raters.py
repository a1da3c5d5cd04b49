"""Raters in real browsers while everything goes wrong: is an answer lost, doubled,
changed or given unseen?

    python benchmarks/raters.py --seeds 0 1 2

Two to five raters answer in a Chromium each (Selenium), the last of them by touch on a
phone, the others by keyboard, with corrections, second tabs, losses of the network,
held keys, double taps, pinches, and answers before the images were looked at, while the
server is killed 20 times. What the pages sent, and which images had been on the screen
by then, is recorded in the browsers and compared with the study's file; counts,
Krippendorff's α, Cohen's κ and Kendall's τ of the overview with those of independent
code. Ends with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import html
import itertools
import json
import re
import sys
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from browsing import Browser, Studio
from judged_records import pair, ranking, scoring, write_dataset

LEAST = 0.4
KILLS = 20
NAMES = ("anna", "ben", "carl", "dora", "eve")
RECORD = """
const frames = {}, colours = {};
let last = null, sampled = 0;
const sample = (slot) => {
  const seen = (colours[slot] ??= new Set());
  for (const canvas of document.querySelectorAll("vj-stage canvas")) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    if (document.elementFromPoint(x, y) !== canvas) continue;
    const context = canvas.getContext("2d");
    const middle = context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data;
    seen.add([...middle].slice(0, 3).join(" "));
  }
};
const look = (now) => {
  const page = document.querySelector("vj-rater");
  const shown = page?.querySelector(".choices") && page.question;
  const open = document.querySelector("dialog[open]");
  const stage = page?.querySelector("vj-stage");
  const drawn = !stage || stage.querySelector("canvas, img");
  if (shown && last !== null && !document.hidden && !open && drawn)
    frames[shown.slot] = (frames[shown.slot] ?? 0) + now - last;
  last = now;
  if (shown && !document.hidden && now - sampled > 60) {
    sampled = now;
    sample(shown.slot);
  }
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
const real = window.fetch;
window.fetch = async (path, options = {}) => {
  if (!String(path).endsWith("/answer")) return real(path, options);
  const page = document.querySelector("vj-rater");
  const body = JSON.parse(options.body);
  const key = `sent ${Date.now()} ${Math.random()}`;
  const { type, before, after, options: shown } = page.question;
  const texts = Object.fromEntries(shown.map((o) => [o.letter, o.text]));
  sample(body.slot);
  const seen = { at: Date.now(), frames: frames[body.slot] ?? 0, colours: [...colours[body.slot]] };
  const entry = { ...body, ...seen, status: null, type, before: `${before} ${after}`, texts };
  localStorage.setItem(key, JSON.stringify(entry));
  const reply = await real(path, options);
  entry.status = reply.status;
  localStorage.setItem(key, JSON.stringify(entry));
  return reply;
};
"""
STATE = """
const page = document.querySelector("vj-rater");
const q = page?.question;
return {
  slot: q?.slot ?? null,
  ready: page?.hasAttribute("data-ready") ?? false,
  type: q?.type,
  ties: q?.ties ?? [],
  letters: (q?.options ?? []).map((o) => o.letter).join(""),
  held: Boolean(page?.held),
  done: Boolean(page?.querySelector(".finished")),
  dialog: Boolean(document.querySelector("dialog[open]")),
  toast: document.querySelector(".toast")?.textContent ?? "",
  unseen: q && !page.held ? page.unseen.length : 0,
};
"""
SENT = (
    "return Object.keys(localStorage).filter((k) => k.startsWith('sent '))"
    ".map((k) => localStorage[k])"
)
HELD_KEY = (
    "for (let i = 0; i < 12; i++) setTimeout(() => document.body.dispatchEvent(new "
    "KeyboardEvent('keydown', {key: 'b', repeat: i > 0, bubbles: true})), 30 * i)"
)


TAP = (
    "const e = document.querySelector(arguments[0]); if (!e) return null;if "
    "(arguments[1]) e.scrollIntoView({block: 'center'});const b = "
    "e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]"
)


def colours(case: int) -> list[str]:
    """Those of the two images of a case, as the page records them; none where it has no
    image."""
    shades = ((5 * case % 255, 90, 160), (5 * case % 255, 160, 90))
    return (
        [" ".join(map(str, shade)) for shade in shades]
        if case < 36 and case % 2
        else []
    )


def study(root: Path) -> Path:
    """36 pairs (half with images, some with ties), 6 rankings and 6 scores; each names
    its case."""
    text = (
        "Case {n}.\n\nOptions:\n\nA. {m}option {n}-A\n\nB. {m}option {n}-B\n\nWhich "
        "is better?"
    )
    questions: list[Any] = []
    for n in range(36):
        images = (f"media/{n}a.png", f"media/{n}b.png") if n % 2 else ()
        mark = "<image>\n" if images else ""
        questions.append(
            pair(
                n,
                (9.0, float(n % 8)),
                prompt=text.format(n=n, m=mark),
                images=images,
                encoding="pixel_s0_m0" if images else "text_xyxy",
                image_id=f"i{n}",
                ties=("tie", "both_bad") if n % 3 == 0 else None,
            )
        )
    for n in range(36, 42):
        options = "\n\n".join(
            f"{letter}. option {n}-{letter}" for letter in "ABCD"
        )
        prompt = f"Case {n}.\n\nOptions:\n\n{options}\n\nRank them."
        questions.append(
            ranking(n, (1.0, 5.0, 9.0, 3.0), prompt=prompt, image_id=f"i{n}")
        )
    questions += [
        scoring(n, 5.0, prompt=f"Case {n}. Score it.") for n in range(42, 48)
    ]
    made = write_dataset(root / "ds", questions)
    (made / "media").mkdir()
    for k, question in enumerate(questions):
        for name, shade in zip(question.images, colours(k), strict=True):
            red, green, blue = map(int, shade.split())
            Image.new("RGB", (320, 240), (red, green, blue)).save(made / name)
    (root / "how.md").write_text("# Look well\n")
    return made


class Rater(threading.Thread):
    """One rater in one browser, until nothing is left."""

    def __init__(self, link: str, seed: tuple[int, int], profile: Path) -> None:
        super().__init__(daemon=True)
        self.link = link
        self.rng = np.random.default_rng(seed)
        self.browser = Browser(profile)
        self._record()
        kinds = (
            "answer",
            "correct",
            "tab",
            "offline",
            "hold",
            "reload",
            "hasty",
            "pinch",
        )
        self.done = dict.fromkeys(kinds, 0)
        self.error: BaseException | None = None
        self.sent: list[dict[str, Any]] = []

    def _record(self) -> None:
        order = "Page.addScriptToEvaluateOnNewDocument"
        self.browser.driver.execute_cdp_cmd(order, {"source": RECORD})

    def run(self) -> None:
        try:
            self._open()
            while not (state := self._state())["done"]:
                self._step(state)
            self.sent = [json.loads(text) for text in self.browser.js(SENT)]
        except BaseException as error:
            self.error = error
        finally:
            self.browser.driver.quit()

    def _undo(self) -> None:
        self.browser.keys("u")

    def _open(self) -> None:
        from selenium.common.exceptions import WebDriverException

        while True:
            try:
                self.browser.open(self.link)
                if self._wait(
                    lambda s: bool(s["slot"] or s["done"] or s["held"])
                ):
                    return
            except WebDriverException:
                pass
            time.sleep(0.3)

    def _state(self) -> dict[str, Any]:
        from selenium.common.exceptions import JavascriptException

        try:
            found: dict[str, Any] = self.browser.js(STATE)
            return found
        except JavascriptException:
            return {"slot": None, "done": False, "held": False, "toast": "",
                    "dialog": False, "ready": False}  # fmt: skip

    def _wait(self, holds: Any, seconds: float = 12) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds(self._state()):
                return True
            time.sleep(0.03)
        return False

    def _step(self, state: dict[str, Any]) -> None:
        if state["dialog"]:
            self.browser.js("document.querySelector('dialog button').click()")
            return
        if state["held"]:
            self.browser.keys("\ue007")
            self._wait(lambda s: not s["held"], 3)
            return
        if not self._wait(
            lambda s: s["ready"] or s["held"] or s["done"] or s["dialog"]
        ):
            self.done["reload"] += 1
            self._open()
            return
        state = self._state()
        if not state["ready"] or not state["slot"]:
            return
        kinds = ["answer", "correct", "tab", "offline", "hold"]
        kind = str(self.rng.choice(kinds, p=[0.66, 0.12, 0.07, 0.1, 0.05]))
        self.done[kind] += 1
        getattr(self, f"_{kind}")(state)

    def _answer(self, state: dict[str, Any]) -> None:
        letters = state["letters"].lower()
        if state["type"] == "pairwise":
            ties = [{"tie": "t", "both_bad": "w"}[tie] for tie in state["ties"]]
            keys = [str(self.rng.choice(["a", "a", "b", "b", "c", *ties]))]
        elif state["type"] == "ranking":
            keys = [*("".join(self.rng.permutation(list(letters)))), "\ue007"]
        else:
            keys = [str(self.rng.integers(10)), "\ue007"]
        self.browser.keys(*keys)
        moved = self._wait(
            lambda s: s["slot"] != state["slot"] or s["toast"] or s["held"], 5
        )
        if not moved or "reached" in self._state()["toast"]:
            time.sleep(0.5)

    def _correct(self, state: dict[str, Any]) -> None:
        self._undo()
        back = self._wait(
            lambda s: s["slot"] not in (None, state["slot"]) and s["ready"], 4
        )
        if back:
            self._answer(self._state())

    def _tab(self, state: dict[str, Any]) -> None:
        driver = self.browser.driver
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        self._record()
        try:
            self._open()
            if self._wait(lambda s: s["ready"] or s["held"] or s["dialog"], 6):
                found = self._state()
                if found["slot"] and found["ready"]:
                    self._answer(found)
        finally:
            driver.close()
            driver.switch_to.window(first)
        self._answer(state)  # of a question that the other tab has answered

    def _offline(self, state: dict[str, Any]) -> None:
        self._network(offline=True)
        try:
            self._answer(state)
        finally:
            self._network(offline=False)

    def _network(self, *, offline: bool) -> None:
        speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        order = "Network.emulateNetworkConditions"
        self.browser.driver.execute_cdp_cmd(
            order, {"offline": offline, **speed}
        )

    def _hold(self, state: dict[str, Any]) -> None:
        self.browser.js(HELD_KEY)
        self._wait(lambda s: s["slot"] != state["slot"], 2)


class TouchRater(Rater):
    """A rater who has a phone and no keyboard."""

    def _record(self) -> None:
        super()._record()
        touch = {"enabled": True, "maxTouchPoints": 2}
        self.browser.driver.execute_cdp_cmd(
            "Emulation.setTouchEmulationEnabled", touch
        )
        self.browser.size(400, 800)

    def _fingers(self, start: Any, stop: Any, steps: int = 4) -> None:
        """Fingers that move from one set of places on the screen to another."""
        a, b = np.array(start, float), np.array(stop, float)
        moves = [
            ("touchStart", 0.0),
            *(("touchMove", k / steps) for k in range(1, steps + 1)),
        ]
        for kind, part in moves if steps else moves[:1]:
            points = [
                {"x": x, "y": y, "id": k}
                for k, (x, y) in enumerate(a + (b - a) * part)
            ]
            self._dispatch(kind, points)
        self._dispatch("touchEnd", [])

    def _dispatch(self, kind: str, points: list[dict[str, float]]) -> None:
        event = {"type": kind, "touchPoints": points}
        self.browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", event)

    def _tap(self, element: str, *, scroll: bool = False) -> None:
        place = self.browser.js(TAP, element, scroll)
        if place:
            self._fingers([place], [place], 0)

    def _undo(self) -> None:
        self._tap("[aria-keyshortcuts=U]", scroll=True)

    def _answer(self, state: dict[str, Any]) -> None:
        if self.rng.random() < 0.3:
            self._pinch()
        if (
            self.rng.random() < 0.3
        ):  # before looking: refused, unless all has been in view
            self.done["hasty"] += 1
            self._choose(state)
        else:
            self._see()
            self._choose(state)
        moved = self._wait(
            lambda s: s["slot"] != state["slot"] or s["toast"] or s["held"], 5
        )
        if not moved or "reached" in self._state()["toast"]:
            time.sleep(0.5)

    def _pinch(self) -> None:
        middle = self.browser.js(TAP, "vj-stage .panes", False)
        if not middle:
            return
        self.done["pinch"] += 1
        x, y = middle
        near, far = sorted(self.rng.uniform(15, 110, 2))
        if self.rng.random() < 0.5:
            near, far = far, near
        self._fingers(
            [(x - near, y), (x + near, y)], [(x - far, y), (x + far, y)]
        )
        for _ in range(int(self.rng.integers(4))):
            across, down = self.rng.uniform(-120, 120, 2)
            self._fingers([(x, y)], [(x + across, y + down)])

    def _see(self) -> None:
        """Look at all there is: scroll through texts, swipe through images."""
        for _ in range(8):
            if not self._state().get("unseen"):
                return
            self._tap(".zooms [aria-keyshortcuts='0']", scroll=True)
            for n in range(2):
                self.browser.js(
                    "document.querySelectorAll('.text-option')[arguments[0]]?.scrollIntoView("
                    "{block: 'start'})", n + int(self.rng.integers(3)),
                )  # fmt: skip
                time.sleep(0.05)
            middle = self.browser.js(TAP, "vj-stage .panes", False)
            if middle:
                x, y = middle
                self._fingers([(x + 60, y)], [(x - 60, y)])
            time.sleep(0.1)

    def _choose(self, state: dict[str, Any]) -> None:
        if state["type"] == "pairwise":
            ties = [{"tie": "T", "both_bad": "W"}[tie] for tie in state["ties"]]
            key = str(self.rng.choice(["A", "A", "B", "B", "C", *ties]))
            self._tap(f".decide [aria-keyshortcuts={key}]")
        elif state["type"] == "ranking":
            for letter in self.rng.permutation(list(state["letters"])):
                self._tap(f".rest [aria-label='Rank {letter} next']")
            self._tap(".decide .confirm")
        else:
            self._tap(
                f".scale button:nth-child({int(self.rng.integers(1, 12))})"
            )
            self._tap(".decide .confirm")

    def _hold(self, state: dict[str, Any]) -> None:
        """A double tap, and another."""
        self._see()
        for _ in range(4):
            self._tap(".decide .choice")
        self._wait(lambda s: s["slot"] != state["slot"], 2)


# ---------------------------------------------------------------- what must hold


def stored(entry: dict[str, Any]) -> Any:
    """What the rater meant, in the letters of the dataset, from the texts on the
    screen."""
    if entry.get("cannot_tell"):
        return "cannot_tell"
    value = entry["value"]
    if entry["type"] == "scoring" or value in ("tie", "both_bad"):
        return value
    return "".join(entry["texts"][letter].strip()[-1] for letter in value)


def written(line: dict[str, Any]) -> Any:
    """What the file says."""
    return "cannot_tell" if line["status"] == "cannot_tell" else line["value"]


Key = tuple[str, int]
"""A case and which time it was asked."""


def compare(
    name: str, sent: list[dict[str, Any]], lines: list[dict[str, Any]]
) -> list[str]:
    """What differs between what a rater's browser sent and what the file holds."""
    of_page: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    of_file: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    for key, entry in keyed(sent):
        if entry["status"] in (200, None):
            of_page[key].append(entry)
    for line in lines:
        of_file[re.sub(r"\D", "", line["id"]), line["turn"]].append(line)
    faults = [
        f"{name}: {stored(entry)} taken after {entry['frames']:.0f} ms in view"
        for entry in sent
        if entry["status"] == 200 and entry["frames"] < 1000 * LEAST - 60
    ]
    for (case, _), entry in keyed(sent):
        missing = set(colours(int(case))) - set(entry["colours"])
        if entry["status"] == 200 and missing:
            faults.append(
                f"{name}: case {case} answered without a look at {missing}"
            )
    for key in of_file.keys() | of_page.keys():
        faults += [
            f"{name} {key}: {fault}"
            for fault in differing(of_page[key], of_file[key])
        ]
    return faults


def keyed(sent: list[dict[str, Any]]) -> list[tuple[Key, dict[str, Any]]]:
    """What was sent, by time, with the case on the screen; its second slot is the
    repeat."""
    slots: dict[str, list[str]] = defaultdict(list)
    found = []
    for entry in sorted(sent, key=lambda entry: entry["at"]):
        case = re.findall(r"Case (\d+)", entry["before"])[0]
        if entry["slot"] not in slots[case]:
            slots[case].append(entry["slot"])
        found.append(((case, slots[case].index(entry["slot"])), entry))
    return found


def differing(
    asked: list[dict[str, Any]], found: list[dict[str, Any]]
) -> list[str]:
    """What is wrong with the lines on one question; without a reply, an entry may be
    written or not.
    """
    sure = [entry for entry in asked if entry["status"] == 200]
    values, given = (
        [written(line) for line in found],
        [stored(entry) for entry in asked],
    )
    faults = []
    if found and sum(not line.get("revised") for line in found) != 1:
        faults.append(f"doubled: {values}")
    said = [
        stored(entry) for entry in sure
    ]  # the same again is no correction, and has no line
    if not sum(1 for _ in itertools.groupby(said)) <= len(found) <= len(asked):
        faults.append(
            f"{len(found)} lines of {len(asked)} sent, {len(sure)} sure"
        )
    if not set(values) <= set(given):
        faults.append(f"changed: {values}, sent {given}")
    after = given[asked.index(sure[-1]) :] if sure else []
    if sure and (not found or values[-1] not in after):
        faults.append(f"lost: {values}, last confirmed {stored(sure[-1])}")
    return faults


def figures(overview: str, lines: list[dict[str, Any]]) -> list[str]:
    """What differs between the overview and figures from the file by other code."""
    faults = []
    last = {(line["rater"], line["id"], line["turn"]): line for line in lines}
    for name in sorted({line["rater"] for line in lines}):
        row = re.findall(
            rf'<th scope="row">{name}</th><td>.*?</td><td>(\S+?)</td>', overview
        )
        count = sum(
            line["rater"] == name and line["purpose"] != "practice"
            for line in last.values()
        )
        if row != [str(count)]:
            faults.append(f"{name}: the overview says {row}, the file {count}")
    for kind, level in (
        ("pairwise", "nominal"),
        ("ranking", "ordinal"),
        ("scoring", "interval"),
    ):
        answers = {
            (line["rater"], line["id"]): line["value"]
            for line in last.values()
            if line["purpose"] == "question"
            and line["status"] == "ok"
            and _kind(line) == kind
        }
        cells = re.findall(
            rf'<th scope="row">{kind}</th><td>(.*?)</td>', overview
        )
        said = html.unescape(cells[0]) if cells else None
        if kind == "ranking":  # an option is rated by its place
            answers = {
                (rater, f"{item} {letter}"): place
                for (rater, item), order in answers.items()
                for place, letter in enumerate(order)
            }
        wanted = _alpha(answers, level)
        if said != wanted:
            faults.append(
                f"{kind}: the overview says {said}, other code {wanted}"
            )
    return faults


def _kind(line: dict[str, Any]) -> str:
    return {"q": "pairwise", "r": "ranking", "s": "scoring"}[line["id"][0]]


def _alpha(answers: dict[tuple[str, str], Any], level: str) -> str:
    raters, items = (sorted({key[k] for key in answers}) for k in (0, 1))
    codes = {
        value: k
        for k, value in enumerate(sorted({str(v) for v in answers.values()}))
    }
    table = np.full((len(raters), len(items)), np.nan)
    for (rater, item), value in answers.items():
        table[raters.index(rater), items.index(item)] = (
            codes[str(value)] if level == "nominal" else value
        )
    try:
        return f"{krippendorff.alpha(table, level_of_measurement=level):.3f}"
    except ValueError:
        return "–"


def trial(seed: int) -> list[str]:
    """One study; what went wrong in it."""
    rng = np.random.default_rng(seed)
    raters = NAMES[: 2 + seed % 4]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        dataset = study(root)
        words = [
            "--people",
            str(root / "people"),
            "--seed",
            str(seed),
            "--repeats",
            "3",
        ]
        words += ["--known", "2", "--practice", "1", "--per-item", "2"]
        words += [
            "--least-seconds",
            str(LEAST),
            "--instructions",
            str(root / "how.md"),
        ]
        words += ["--sample", "30", "--show", "all"]
        words += [word for name in raters for word in ("--rater", name)]
        server = Studio(str(dataset), *words, cache=root / "cache")
        threads = [
            (TouchRater if name == raters[-1] else Rater)(
                server.links[name], (seed, k), root / f"profile-{name}"
            )
            for k, name in enumerate(raters)
        ]
        for thread in threads:
            thread.start()
        kills = 0
        while any(thread.is_alive() for thread in threads):
            time.sleep(float(rng.uniform(0.8, 3.0)))
            if kills < KILLS:
                server.kill()
                time.sleep(float(rng.uniform(0, 0.4)))
                server.start()
                kills += 1
        server.kill()
        server.start()
        overview = (
            urllib.request.urlopen(server.links["progress"]).read().decode()
        )
        journal = root / "people" / "verdicts.jsonl"
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        server.kill()
    faults = [f"{t.link}: {t.error!r}" for t in threads if t.error is not None]
    for name, thread in zip(raters, threads, strict=True):
        own = [line for line in lines if line["rater"] == name]
        faults += compare(name, thread.sent, own)
    faults += figures(overview, lines)
    if kills < KILLS:
        faults.append(f"only {kills} kills")
    done = {
        key: sum(thread.done[key] for thread in threads)
        for key in threads[0].done
    }
    sent = [entry for thread in threads for entry in thread.sent]
    statuses = {
        str(status): sum(entry["status"] == status for entry in sent)
        for status in {entry["status"] for entry in sent}
    }
    print(
        f"seed {seed}: {len(raters)} raters, {kills} kills, {len(lines)} lines, "
        f"{len(sent)} sent {statuses}, {done}, {len(faults)} faults",
        flush=True,
    )
    return faults


def main() -> int:
    """Run the trials; 1 where anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    found = [
        fault for seed in parser.parse_args().seeds for fault in trial(seed)
    ]
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
