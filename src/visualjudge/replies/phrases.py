"""``phrases.yaml``, made ready: the lists that a word is on, and the phrases as a tree of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product

import yaml

from visualjudge.replies.tokens import Word, plain, tokens

PHRASES = ("prefers", "compares", "in one respect", "when concluding", "ties", "both bad", "void", "scores")
LONGEST_GAP = 5
_PIECE = re.compile(r"\{[^{}]+\}|…|[^{}…]+")
_GUARDS = ("denies", "doubts", "supposes", "again", "worse", "worst", "option", "first", "second")
"""Lists that make a word count although ``filler`` holds it as well."""


@dataclass(slots=True)
class Node:
    """A place in the tree: what may follow, and what ends here (a list's name, or a phrase)."""

    next: dict[str, Node] = field(default_factory=dict)
    ends: set[str] = field(default_factory=set)

    def at(self, steps: Sequence[str]) -> Node:
        """The node that is reached by ``steps``, made where it is missing."""
        node = self
        for step in steps:
            node = node.next.setdefault(step, Node())
        return node


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase of the kind ``kind`` at tokens ``start`` to ``end``, with what stands in its slots."""

    kind: str
    start: int
    end: int
    slots: dict[str, Word]


@cache
def source() -> dict[str, dict[str, dict[str, object]]]:
    """The file as it is: language to section to rows."""
    loaded: dict[str, dict[str, dict[str, object]]] = yaml.load(
        (files(__package__) / "phrases.yaml").read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return loaded


def expanded(phrase: str) -> Iterator[str]:
    """Each way to say a phrase: ``(a|b|)`` is a, b or nothing, one level deep."""
    parts = [piece.split("|") for piece in re.split(r"\(([^()]*)\)", phrase)]
    return (
        " ".join("".join(said).split())
        for said in product(*(p if n % 2 else ["|".join(p)] for n, p in enumerate(parts)))
    )


@cache
def words() -> Node:
    """The tree of all lists of words."""
    root = Node()
    for language in source().values():
        for name, entries in language["words"].items():
            for entry in entries:  # type: ignore[attr-defined]
                for said in expanded(str(entry)):
                    root.at([token.text for token in tokens(plain(said))]).ends.add(name)
    return root


@cache
def phrases() -> Node:
    """The tree of all phrases."""
    root = Node()
    for language in source().values():
        for kind in PHRASES:
            for phrase in language.get(kind, {}):
                for said in expanded(phrase):
                    steps = _steps(said)
                    if steps[0] != "…" and (set(steps) - {"{X}", "{n}", "."}):
                        root.at(steps).ends.add(kind)
    return root


@cache
def after_option() -> frozenset[str]:
    """What follows an option in some phrase: where it follows "A", that is no article."""
    root = phrases()
    found = {step for slot in ("{X}", "{Y}") for step in root.next[slot].next}
    about = {"{better}", "{best}", "{worse}", "{is better}", "{is worse}", "…"}
    bounds = ("and", "but", "so", "reason", "then", "place 1", "place 2", "place 3", "last", "middle", "X", "Y")
    return frozenset(found - about | {f"{{{kind}}}" for kind in bounds})


def _steps(said: str) -> list[str]:
    """A phrase as the steps of the tree: words, ``{list}``, ``{X}``, ``{n}``, ``…``; "." where nothing may follow."""
    found: list[str] = []
    for piece in _PIECE.findall(said):
        if piece.startswith("{") or piece == "…":
            found.append(piece)
        else:
            found += [token.text for token in listed(tokens(plain(piece))) if not is_filler(token)]
    return found


def listed(found: list[Word]) -> list[Word]:
    """The tokens with the lists that they are on; the longest entry of several words becomes one token."""
    out: list[Word] = []
    at, root = 0, words().next
    while at < len(found):
        token = found[at]
        node = root.get(token.text) if token.number is None else None
        if node is None or token.option:
            if token.text == "a":
                token.kinds = frozenset(("filler",))
            out.append(token)
            at += 1
            continue
        ends, best, stop = at + 1, node.ends, at + 1
        while stop < len(found) and not found[stop].option and (node := node.next.get(found[stop].text)) is not None:
            stop += 1
            if node.ends:
                ends, best = stop, node.ends
        said = " ".join(one.text for one in found[at:ends])
        whole = Word(said, token.start, found[ends - 1].end) if ends > at + 1 else token
        whole.kinds = frozenset(best)
        out.append(whole)
        at = ends
    return out


def is_filler(token: Word) -> bool:
    """Whether a token changes no answer."""
    return "filler" in token.kinds and not token.option and token.kinds.isdisjoint(_GUARDS)


def spoken(found: list[Word], *, ordinals: bool = True) -> list[Word]:
    """The tokens of a sentence without fillers and the words for options; "A" that is the article is left out too.

    With ``ordinals``, "the first" stands for option A.
    """
    out: list[Word] = []
    for n, token in enumerate(found):
        if ordinals and not token.kinds.isdisjoint(("first", "second")):
            token.option, token.sure = (
                ("A" if "first" in token.kinds else "B"),
                len(token.text.split()) > 2 or "er" in token.text,
            )
        if token.option and not token.sure and not _is_option(found, n):
            token.option = ""
        if not is_filler(token):
            out.append(token)
    return _named(out)


def _is_option(found: list[Word], at: int) -> bool:
    """Whether a token that may be the article or an ordinal stands for an option."""
    token = found[at]
    before = found[at - 1] if at else None
    if (
        token.text == "a"
        and before is not None
        and before.text[-1].isalnum()
        and not (before.option and before.text != "a")
    ):
        return True
    after = next((one for one in found[at + 1 :] if not is_filler(one) or one.text in ("a", "the")), None)
    if after is None or not after.text[-1].isalnum() or max(after.text) > "\u024f":
        return True
    steps = {after.text, *(f"{{{kind}}}" for kind in after.kinds)}
    if after.option or not steps.isdisjoint(after_option()):
        return True
    if not after.kinds.isdisjoint(("better", "worse")):  # "A lebih baik." but not "A better one …"
        beyond = found[found.index(after) + 1 :]
        return "choice" not in after.kinds and (
            not beyond or not beyond[0].text[-1].isalnum() or bool(beyond[0].option)
        )
    return False


def _named(found: list[Word]) -> list[Word]:
    """The tokens without the words for options beside a letter: "option B", "B's image"."""
    out: list[Word] = []
    for token in found:
        if token.option:
            while out and "option" in out[-1].kinds and not out[-1].option:
                out.pop()
        elif "option" in token.kinds and out and out[-1].option and out[-1].text != "vs":
            continue
        out.append(token)
    return out


def matches(found: list[Word]) -> Iterator[Match]:
    """Every phrase in the tokens of a sentence, the longest at each place; phrases do not overlap."""
    at, root = 0, phrases()
    while at < len(found):
        best = _longest(root, found, at, {}, 0)
        if best is None:
            at += 1
            continue
        ends, kinds, slots = best
        for kind in kinds:
            yield Match(kind, at, ends, slots)
        at = max(ends, at + 1)


Ended = tuple[int, set[str], dict[str, Word]]


def _longest(node: Node, found: list[Word], at: int, slots: dict[str, Word], gap: int) -> Ended | None:
    """Where the longest phrase ends that goes on from ``node`` at token ``at``."""
    ways: list[Ended | None] = [(at, node.ends, slots)] if node.ends else []
    if "." in node.next and (at == len(found) or found[at].text in ".,;:!\n-()>"):
        ways = [(at, node.next["."].ends, slots)]
    for step in _fits(found[at]) if at < len(found) else ():
        if (child := node.next.get(step)) is not None:
            held = {**slots, step[1:-1]: found[at]} if step[0] == "{" and step[-1] == "}" else slots
            if not ("X" in held and "Y" in held and held["X"].option == held["Y"].option):
                ways.append(_longest(child, found, at + 1, held, 0))
    gapped = node.next.get("…")
    if gapped is not None and gap < LONGEST_GAP and at < len(found) and found[at].text[-1].isalnum():
        for reach, token in enumerate(found[at : at + LONGEST_GAP], 1):
            if token.option or token.text in ".,;:!?\n/" or token.number is not None:
                break
            ways.append(_longest(gapped, found, at + reach, slots, LONGEST_GAP))
    return max((way for way in ways if way), key=lambda way: way[0], default=None)


def _fits(token: Word) -> Iterator[str]:
    """The steps of the tree that a token takes."""
    if token.option:
        yield "{X}"
        yield "{Y}"
        return
    if token.number is not None or any(kind.startswith("number ") for kind in token.kinds):
        yield "{n}"
    yield token.text
    for kind in token.kinds:
        yield f"{{{kind}}}"


@cache
def again() -> re.Pattern[str]:
    """A sentence that begins by taking back what stands before it."""
    lists = [language["words"].get("again", []) for language in source().values()]
    entries = {str(entry) for found in lists for entry in found}  # type: ignore[attr-defined]
    words = "|".join(sorted(map(re.escape, entries), key=len, reverse=True))
    return re.compile(
        rf"(?:^|[.!?\n,;(-])\s*(?:but |oh,? |no,? )?(?:{words}|no)(?![\w'])(?! (?:doubt|other|errors|one|artifacts))",
        re.I,
    )
