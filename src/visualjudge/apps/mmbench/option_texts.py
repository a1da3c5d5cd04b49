"""Where the options' texts stand in a reply, at word bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff"
_SCRIPTS_WITHOUT_BLANKS = re.compile(f"[{_CJK}]")
_EDGES = " \t\r\n.。．!！?？,，;；:：\"'“”‘’*_`()[]（）"


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters ``start`` to ``end`` (exclusive) of a reply are the text of option ``letter``."""

    letter: str
    start: int
    end: int


def bare(text: str) -> str:
    """A text as it is compared: case folded, blanks single, no punctuation or quotes at its ends."""
    return " ".join(text.casefold().split()).strip(_EDGES)


def mentions(reply: str, options: Mapping[str, str]) -> tuple[Mention, ...]:
    """Every place where an option's text stands at word bounds, in any case.

    A text within a longer option's text is no mention of its own: "oil painting" does not name "painting".
    """
    folded = reply.casefold()
    likely = ((letter, text) for letter, text in options.items() if _first_word(text) in folded)
    found = [mention for letter, text in likely for mention in _places(reply, letter, text)]
    return tuple(m for m in found if not any(_inside(m, other) for other in found))


def _first_word(text: str) -> str:
    """What must occur in a reply that holds the text; spares most replies a search of their own."""
    return next(iter(text.casefold().split()), "").rstrip(".。．")


def _places(reply: str, letter: str, text: str) -> list[Mention]:
    core = text.strip().rstrip(".。．")
    if not core:
        return []
    return [Mention(letter, m.start(), m.end()) for m in _pattern(core).finditer(reply)]


def _pattern(core: str) -> re.Pattern[str]:
    body = r"\s+".join(re.escape(word) for word in core.split())
    return re.compile(_bound_before(core[0]) + body + _bound_after(core[-1]), re.IGNORECASE)


def _bound_before(first: str) -> str:
    if first.isdigit():
        return rf"(?<![^\W_{_CJK}])(?<!\d[.,:/])(?<![-−+.])"
    return rf"(?<![^\W{_CJK}])" if _delimited(first) else ""


def _bound_after(last: str) -> str:
    if last.isdigit():
        return rf"(?![^\W_{_CJK}])(?![.,:/]\d)"
    return rf"(?![^\W{_CJK}])(?![-'’][^\W_])" if _delimited(last) else ""


def _delimited(character: str) -> bool:
    """Whether the script sets its words apart, so that a word's bound can be seen."""
    return bool(re.match(r"\w", character)) and not _SCRIPTS_WITHOUT_BLANKS.match(character)


def _inside(mention: Mention, other: Mention) -> bool:
    longer = other.end - other.start > mention.end - mention.start
    return longer and other.start <= mention.start and mention.end <= other.end
