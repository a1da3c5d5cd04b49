"""Replies that were written by hand over time: none may be misread, and most are read.

``grammar.yaml`` and ``languages.yaml`` hold forms, ``paraphrases.yaml`` and ``replies.yaml`` whole
replies. What is left unread is allowed by a share; another value than the label never is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import pytest
import yaml

from visualjudge.replies import read_reply

DATA = Path(__file__).parent / "data"
OTHER = {"A": "B", "B": "A"}
FAILURES = ("unparseable", "refusal", "truncated")
KINDS: dict[str, tuple[Any, int]] = {"pairwise": ("pairwise", 2), "scoring": ("scoring", 1)} | {
    f"ranking{n}": ("ranking", n) for n in (3, 4, 5)
}
LAST_WINS = (
    "Winner: A\nWinner: B\nWinner: A",
    "Answer: A\nFinal check done. Answer: B",
    "Score: 7\nScore: 5",
    "Ranking: BCA\nRanking: CBA",
)
"""Once unread; the last declaration wins now."""
WORST_FIRST = (
    "Ranking: B, A, C, worst first.",
    "B, A, C (weakest first)",
    "ABCD (worst first)",
    "ABCD (from left to right, weakest first)",
    "Lowest to highest: A, B, C, D",
)
"""Once unread; they say which way round they stand."""
ARGUED = ("Answer: A clear win for the second",)
"""Once called unreadable; B is what it says."""
Case = tuple[str, Any, int, str | float | None]


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DATA / name).read_text("utf-8"))
    return found


def pair(form: str, letter: str, name: str = "{}") -> str:
    said = form.replace("{X}", name.format(letter)).replace("{Y}", name.format(OTHER[letter]))
    return said[0].upper() + said[1:]


def grammar() -> Iterator[Case]:
    found = load("grammar.yaml")
    for form in found["pairwise"]:
        yield from (
            (pair(form, letter, name), "pairwise", 2, letter)
            for name in found["names"][:3]
            for letter in "AB"
        )
    for n, core in enumerate(found["cores"]):
        for k, before in enumerate(found["before"]):
            after = ["", *found["after"]][(n + k) % (len(found["after"]) + 1)]
            yield before + pair(core, "B", "option {}")[:-1] + after + ".", "pairwise", 2, "B"
    for doubt in found["doubts"]:
        yield from (
            (doubt.format(said=pair(core, "A").rstrip(".")), "pairwise", 2, None)
            for core in found["cores"]
        )
    yield from (
        (form.format(*order), "ranking", 3, "".join(order))
        for form in found["ranking"]
        for order in permutations("ABC")
    )
    yield from (
        (form.format(score), "scoring", 1, float(score))
        for form in found["scoring"]
        for score in (0, 1, 7, 7.5, 10)
    )


def languages() -> Iterator[Case]:
    for found in load("languages.yaml").values():
        for state, kinds in found.items():
            for kind, forms in kinds.items():
                for form in forms:
                    yield from in_language(kind, form, read=state == "read")


def in_language(kind: str, form: str, *, read: bool) -> Iterator[Case]:
    if kind == "ranking":
        yield from (
            (form.format(*order), "ranking", 3, order if read else None)
            for order in ("BAC", "CBA", "ACB")
        )
    elif kind == "scoring":
        yield from (
            (form.format(score), "scoring", 1, score if read else None) for score in (0.0, 6.5, 7.0)
        )
    else:
        yield from (
            (pair(form, letter), "pairwise", 2, letter if read else None) for letter in "AB"
        )


def whole() -> Iterator[Case]:
    for kind, values in load("paraphrases.yaml").items():
        for value, said in values.items():
            yield from ((text, *KINDS[kind], None if value in FAILURES else value) for text in said)
    for kind, chapters in load("replies.yaml").items():
        for entries in chapters.values():
            yield from (
                (text, *KINDS[kind], None if value in FAILURES else value)
                for text, value, *_ in entries
            )


@pytest.mark.parametrize(("cases", "least"), [(grammar, 0.7), (languages, 0.7), (whole, 0.65)])
def test_no_reply_is_misread_and_most_are_read(
    cases: Callable[[], Iterator[Case]], least: float
) -> None:
    misread, read, clear = [], 0, 0
    for text, kind, n, label in islice(cases(), 0, None, 3):
        value = read_reply(text, kind, n).value
        if value not in ("Failed", label) and text not in LAST_WINS + WORST_FIRST + ARGUED:
            misread.append((label, value, text))
        read += label is not None and value == label
        clear += label is not None
    assert misread == []
    assert read >= least * clear
