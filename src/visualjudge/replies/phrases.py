"""``phrases.yaml`` as data structures: the lists that contain a word, and the phrases as a tree of
tokens.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product

import yaml

from visualjudge.replies.tokens import Word, plain, tokens

KINDS = ("declares", "prefers", "compares", "in one respect", "when concluding", "ties", "both bad",
         "void", "scores")  # fmt: skip
LONGEST_GAP = 5
_PIECE = re.compile(r"\{[^{}]+\}|…|[^{}…]+")
_BOUNDS = frozenset((",", ";", ":", "-", "--", "(", ")", "[", "]", "|", ">"))
_OPENING = frozenset(("reason", "although", "but", "so", "and"))
"""Marks that end a clause, and words that begin another."""
_GUARDS = ("denies", "doubts", "supposes", "again", "worse", "worst", "option", "first", "second")
"""Lists whose words count even if ``filler`` contains them too."""


@dataclass(slots=True)
class Node:
    """A node of the tree: the possible continuations, and what ends here (a list's name, or a kind
    of phrase).
    """

    next: dict[str, Node] = field(default_factory=dict)
    ends: set[str] = field(default_factory=set)

    def add(self, steps: Sequence[str], name: str) -> None:
        """Add the path ``steps``, at whose end ``name`` is found."""
        node = self
        for step in steps:
            node = node.next.setdefault(step, Node())
        node.ends.add(name)


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase of a kind at tokens ``start`` to ``end``, with the contents of its slots."""

    kind: str
    start: int
    end: int
    slots: dict[str, Word]


@cache
def source() -> dict[str, dict[str, dict[str, object]]]:
    """Return the file as parsed: language to section to rows."""
    text = (files(__package__) / "phrases.yaml").read_text("utf-8")
    loader = getattr(
        yaml, "CBaseLoader", yaml.BaseLoader
    )  # YAML would read "no" and "on" as truth values
    return yaml.load(text, Loader=loader)  # type: ignore[no-any-return]


def expanded(phrase: str) -> Iterator[str]:
    """Yield each variant of a phrase: ``(a|b|)`` is a, b or nothing, one level deep."""
    parts = [piece.split("|") for piece in re.split(r"\(([^()]*)\)", phrase)]
    ways = product(*(part if n % 2 else ["|".join(part)] for n, part in enumerate(parts)))
    return (" ".join("".join(said).split()) for said in ways)


@cache
def words() -> Node:
    """Return the tree of all lists of words."""
    root = Node()
    for language in source().values():
        for name, entries in language["words"].items():
            for entry in entries:  # type: ignore[attr-defined]
                for said in expanded(str(entry)):
                    root.add([token.text for token in tokens(plain(said))], name)
    return root


@cache
def all_words() -> frozenset[str]:
    """Return every word of every list entry."""
    found, nodes = set[str](), [words()]
    while nodes:
        node = nodes.pop()
        found.update(node.next)
        nodes.extend(node.next.values())
    return frozenset(found)


@cache
def sign_of(*lists: str) -> re.Pattern[str]:
    """Return a pattern for the longest word of each entry of these lists, in lower case: without a
    match, a text has no entry.
    """
    signs = {
        max((token.text for token in tokens(plain(said))), key=len)
        for language in source().values()
        for name in lists
        for entry in language["words"].get(name, ())  # type: ignore[attr-defined]
        for said in expanded(str(entry))
    }
    return re.compile(_any_of(signs))


def _any_of(words: Collection[str]) -> str:
    """Return a pattern for any of the words, as a tree of their letters: much faster than a list of
    a hundred words.
    """
    heads: dict[str, list[str]] = {}
    for word in sorted(words):
        if word:
            heads.setdefault(word[0], []).append(word[1:])
    ways = "|".join(re.escape(head) + _any_of(rest) for head, rest in heads.items())
    return f"(?:{ways}){'?' if '' in words else ''}" if ways else ""


@cache
def phrases() -> Node:
    """Return the tree of all phrases."""
    root = Node()
    for language in source().values():
        for kind in KINDS:
            for said in (way for row in language.get(kind, {}) for way in expanded(row)):
                steps = _steps(said)
                if steps[0] != "…" and set(steps) - {"{X}", "{n}", "."}:
                    root.add(steps, kind)
    return root


@cache
def after_option() -> frozenset[str]:
    """Return the words that follow an option in a phrase: "A" before one of them is an option, not
    an article.
    """
    root = phrases()
    found = {step for slot in ("{X}", "{Y}") for step in root.next[slot].next}
    unsure = {f"{{{kind}}}" for kind in ("better", "best", "worse", "is better", "is worse")}
    bounds = (
        "and",
        "but",
        "so",
        "reason",
        "then",
        "place 1",
        "place 2",
        "place 3",
        "last",
        "middle",
        "X",
        "Y",
    )
    return frozenset(found - unsure - {"…"} | {f"{{{kind}}}" for kind in bounds})


def _steps(said: str) -> list[str]:
    """Split a phrase into steps: words, ``{list}``, ``{X}``, ``…``; "." where nothing may
    follow.
    """
    found: list[str] = []
    for piece in _PIECE.findall(said):
        plain_words = piece[0] not in "{…"
        words = (token.text for token in listed(tokens(plain(piece))) if not is_filler(token))
        found += words if plain_words else [piece]
    return found


def listed(found: list[Word]) -> list[Word]:
    """Return the tokens with the lists that contain them; an entry of several words becomes one
    token.
    """
    out: list[Word] = []
    at, root = 0, words().next
    while at < len(found):
        token, ends, best = found[at], at + 1, set[str]()
        node = root.get(token.text)
        if node is None:
            out.append(token)
            at += 1
            continue
        if not token.option or not token.sure:
            stop = at + 1
            while node is not None:
                if node.ends:
                    ends, best = stop, node.ends
                node = (
                    node.next.get(found[stop].text)
                    if stop < len(found) and not found[stop].option
                    else None
                )
                stop += 1
        if token.text == "a" and ends == at + 1:
            best = {"filler"}
        if ends > at + 1:
            token = Word(
                " ".join(one.text for one in found[at:ends]), token.start, found[ends - 1].end
            )
        token.kinds = frozenset(best)
        out.append(token)
        at = ends
    return out


def is_filler(token: Word) -> bool:
    """Return whether a token does not affect any answer."""
    return "filler" in token.kinds and not token.option and token.kinds.isdisjoint(_GUARDS)


def spoken(found: list[Word], *, ordinals: bool = True) -> list[Word]:
    """Return the tokens of a sentence without fillers, and without the words for options beside a
    letter.

    With ``ordinals``, "the first" stands for option A. An "A" that is the article is left out.
    """
    out: list[Word] = []
    for n, token in enumerate(found):
        if ordinals and token.kinds & {"first", "second"}:
            named = list(
                dict.fromkeys(one.option for one in out if one.option)
            )  # "of B and A, the latter"
            order = (
                named if len(named) == 2 and token.text in ("the former", "the latter") else "AB"
            )
            token.option = order["second" in token.kinds]
            token.sure = len(token.text.split()) > 2 or "er" in token.text
        if token.option and not token.sure and not _is_option(found, n):
            token.option = ""
        heads = token.kinds & {"answer", "score"} and [
            one.text for one in found[n + 1 : n + 2]
        ] == [":"]
        alone = token.text == "a" and not any(one.text[0].isalnum() for one in found[n + 1 :])
        if is_filler(token) and not heads and not alone:
            continue
        if token.option:
            while out and "option" in out[-1].kinds and not out[-1].option:
                out.pop()
        elif "option" in token.kinds and out and out[-1].option and out[-1].text != "vs":
            continue
        out.append(token)
    return out


def _is_option(found: list[Word], at: int) -> bool:
    """Return whether a token that may be an article or an ordinal refers to an option."""
    token, before = found[at], found[at - 1] if at else None
    after_word = (
        before is not None
        and before.text[-1].isalnum()
        and (not before.option or before.text == "a")
    )
    if token.text == "a" and after_word:
        return True
    beyond = [
        one for one in found[at + 1 : at + 12] if not is_filler(one) or one.text in ("a", "the")
    ]
    after = beyond[0] if beyond else None
    if (
        after is not None
        and after.number is not None
        and any(one.number is not None for one in found[max(0, at - 2) : at])
    ):
        return True  # "1. A 2. B"
    if after is None or not after.text[-1].isalnum() or max(after.text) > "\u024f" or after.option:
        return True
    if not after_option().isdisjoint((after.text, *(f"{{{kind}}}" for kind in after.kinds))):
        return True
    if after.kinds.isdisjoint(("better", "worse", "best", "worst")) or "choice" in after.kinds:
        return False
    beyond = found[found.index(after) + 1 :]  # "A lebih baik." but not "A better one …"
    return not beyond or not beyond[0].text[-1].isalnum() or bool(beyond[0].option)


def matches(found: list[Word]) -> Iterator[Match]:
    """Yield every phrase in the tokens of a sentence, the longest at each position; phrases do not
    overlap.
    """
    at, root = 0, phrases()
    while at < len(found):
        best = _longest(root, found, at, {}, gap=True)
        if best is not None:
            yield from (Match(kind, at, best[0], best[2]) for kind in best[1])
        ends = (
            best[0] - ("declares" in best[1]) if best else 0
        )  # a declared value may begin a phrase
        at = max(ends, at + 1)


Ended = tuple[int, set[str], dict[str, Word]]


def _longest(
    node: Node, found: list[Word], at: int, slots: dict[str, Word], *, gap: bool
) -> Ended | None:
    """Return the end of the longest phrase that continues from ``node`` at token ``at``."""
    ways: list[Ended | None] = [(at, node.ends, slots)] if node.ends else []
    if "." in node.next and (
        at == len(found) or found[at].text in _BOUNDS or found[at].kinds & _OPENING
    ):
        ways = [(at, node.next["."].ends, slots)]
    for step in _fits(found[at]) if at < len(found) else ():
        if (child := node.next.get(step)) is not None:
            held = {**slots, step[1:-1]: found[at]} if step[0] == "{" and step[-1] == "}" else slots
            if not ("X" in held and "Y" in held and held["X"].option == held["Y"].option):
                ways.append(_longest(child, found, at + 1, held, gap=True))
    if gap and "…" in node.next and at < len(found) and found[at].text[-1].isalnum():
        for reach, token in enumerate(found[at : at + LONGEST_GAP], 1):
            if token.option or token.text in ".,;:!?\n/" or token.number is not None:
                break
            ways.append(_longest(node.next["…"], found, at + reach, slots, gap=False))
    return max((way for way in ways if way), key=lambda way: way[0], default=None)


def _fits(token: Word) -> Iterator[str]:
    """Yield the steps of the tree that match a token."""
    if token.option:
        yield "{X}"
        yield "{Y}"
        return
    yield token.text
    yield from (f"{{{kind}}}" for kind in token.kinds)
