"""Sentences and their clauses: where a phrase counts, and where it is denied, supposed or
limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from visualjudge.replies.phrases import Match, listed, matches, spoken
from visualjudge.replies.tokens import Word, tokens
from visualjudge.replies.value_tokens import with_orders, with_scores

HEAD, TAIL = 260, 760
"""Number of characters at the beginning and end of a reply in which sentences are read."""
FAR_HEAD, FAR_TAIL = 1_000, 2_000
FAR_LINES = 20
"""Maximum number of characters, and of lines, that are searched for labels and lists."""
_CONNECTIVES = ("reason", "although", "but", "so", "and")
_HARMLESS_BEFORE = frozenset(
    (
        "option",
        "I",
        "again",
        "so",
        "and",
        "but",
        "answer",
        "heading",
        "is",
        "score",
        "best first",
        "ranking",
    )
)
_HARMLESS_AFTER = frozenset(
    (
        "around",
        "is",
        "option",
        "better",
        "best",
        "points",
        "so",
        "again",
        "I",
        "answer",
        "winner",
        "best first",
        "worst first",
    )
)
_FAR = re.compile(r"(?:^|(?<=[.!?。]))(?=[^\n]{0,30}$|[^\n.:=]{1,60}[:=：])[^\n]{1,200}", re.M)
_FAR_LINE = re.compile(r"^[^\n]{1,100}", re.M)


@dataclass(slots=True)
class Clause:
    """Tokens ``start`` to ``end`` of a sentence; ``opened`` is the kind of word that begins the
    clause, and ``limb`` counts the parts of the sentence separated by "but", "so" and semicolons.
    """

    start: int
    end: int
    opened: str
    limb: int


@dataclass(slots=True)
class Sentence:
    """A sentence without fillers. ``asks``: it is a question. ``whole``: it fills its line.
    ``near``: it is in the head or tail, so its phrases are read. ``parts``: the tokens before
    orders and scores are joined.
    """

    said: list[Word]
    asks: bool
    number: int = 0
    line: int = 0
    whole: bool = False
    near: bool = True
    parts: list[Word] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clauses = list(_clauses(self.said))

    def has(self, kind: str, start: int = 0, end: int | None = None) -> bool:
        """Return whether a word of this list occurs between two tokens."""
        return any(kind in token.kinds for token in self.said[start:end])

    def options(self) -> list[str]:
        """Letters of the options named, in order."""
        return [letter for token in self.said for letter in token.option or token.letters]

    def clause_of(self, at: int) -> Clause:
        """Return the clause that contains or begins with a token."""
        held = (one for one in self.clauses if at < one.end and not one.start > at + 1)
        return next(held, self.clauses[-1])

    def limb_of(self, clause: Clause) -> list[Clause]:
        """Return the clauses of the same part of the sentence."""
        return [one for one in self.clauses if one.limb == clause.limb]

    def matches(self) -> Iterator[Match]:
        """Yield the phrases in the sentence."""
        return matches(self.said)

    def takes_back(self) -> bool:
        """Whether it begins by retracting the preceding text: "Wait, …", "No, …"."""
        words = [token for token in self.said if token.text[0].isalnum()][:2]
        return has(words, "again") or self.said[0].text == "no"

    def concludes(self) -> bool:
        """Whether it begins with "so", "overall", or a label and a colon."""
        if not self.clauses:
            return False
        first = self.clauses[0]
        labelled = [token.text for token in self.said[first.end : first.end + 1]] == [":"]
        return first.opened == "so" or (
            labelled and has(self.said[: first.end], "answer", "heading", "score")
        )


def sentences(text: str, question_type: str, n_options: int) -> list[Sentence]:
    """Return the sentences of plain text: those of the head and the tail, and between them only
    those of labels.
    """
    found: list[Sentence] = []
    line = 0
    for start, end, near in _windows(text, question_type):
        held: list[Word] = []
        line_begins, line = len(found), line + 1
        found_tokens = [*tokens(text, start, end), Word("\n", end, end)]
        for token, following in zip_longest(
            found_tokens, found_tokens[1:], fillvalue=found_tokens[-1]
        ):
            if not _ends(token, held, following, question_type):
                held.append(token)
                continue
            if held:
                numbered = (
                    len(held) > 2 and held[0].number is not None and held[1].text in (".", ")")
                )
                said = spoken(listed(held), ordinals=question_type == "pairwise")
                drop = int(numbered and question_type == "pairwise")  # "1. B is better."
                valued = _valued(said[drop:], question_type, n_options)
                found.append(Sentence(valued, "?" in token.text, line=line, near=near, parts=said))
                held = []
            elif found and "?" in token.text:
                found[-1].asks = True
            if token.text == "\n":
                if len(found) == line_begins + 1:
                    found[-1].whole = True
                line_begins, line = len(found), line + 1
    found = [sentence for sentence in found if sentence.clauses]
    for number, sentence in enumerate(found):
        sentence.number = number
    return found


def _valued(said: list[Word], question_type: str, n_options: int) -> list[Word]:
    if question_type == "pairwise":
        return _without_brackets(said)
    return with_scores(said) if question_type == "scoring" else with_orders(said, n_options)


def _without_brackets(said: list[Word]) -> list[Word]:
    """Return the tokens with "B" for "(B)", and without "(A or B)", which a label may contain."""
    out: list[Word] = []
    for token in said:
        out.append(token)
        if token.text == ")" and len(out) > 2 and out[-3].text == "(" and out[-2].option:
            said_before = (
                len(out) > 3 and out[-4].option == out[-2].option
            )  # "B (the second image)"
            out[-3:] = [] if said_before else [out[-2]]
        elif (
            token.text == ")"
            and len(out) > 4
            and out[-5].text == "("
            and out[-4].option
            and out[-2].option
        ):
            del out[-5:]
    return out


def _ends(token: Word, held: Sequence[Word], following: Word, question_type: str) -> bool:
    """Return whether a token ends a sentence; the point of "1. B" does not."""
    before = held[-2] if len(held) > 1 else None
    listing = question_type == "ranking" or (len(held) == 3 and held[0].text == "ranking")
    leads = before is None or bool(before.option) or (listing and before.text in (":", ",", "rank"))
    names = bool(following.option) or following.text in ("option", "image", "prediction", "model")
    if token.text == "." and held and held[-1].number is not None and leads and names:
        return False
    return token.text[0] in ".!?\n…;" and token.number is None


def _windows(text: str, question_type: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of a text to read, and whether they are read completely."""
    if len(text) <= HEAD + TAIL:
        yield 0, len(text), True
        return
    tail = len(text) - TAIL
    bounds = [
        at + 1 for sign in (". ", "\n", "。") if (at := text.find(sign, tail, tail + 300)) >= 0
    ]
    tail = min(bounds, default=tail)
    yield 0, HEAD, True
    pattern = _FAR_LINE if question_type == "ranking" else _FAR
    head = list(pattern.finditer(text, HEAD, max(HEAD, min(FAR_HEAD, tail))))[:FAR_LINES]
    begin = max(FAR_HEAD, len(text) - FAR_TAIL)
    far = [*head, *list(pattern.finditer(text, begin, max(begin, tail)))[-FAR_LINES:]]
    yield from ((one.start(), one.end(), False) for one in far)
    yield tail, len(text), True


def _clauses(said: Sequence[Word]) -> Iterator[Clause]:
    start, opened, limb = 0, "", 0
    for at, token in enumerate(said):
        kind = next((kind for kind in _CONNECTIVES if kind in token.kinds), "")
        dash = token.text[0] == "-" and 0 < at < len(said) - 1
        spaced = dash and said[at - 1].end < token.start and token.end < said[at + 1].start
        dash = spaced or (dash and token.text == "--")  # the Chinese dash has no spaces
        if kind or token.text[0] in ",;:()[]|" or dash:
            if at > start:
                yield Clause(start, at, opened, limb)
                opened = ""
            limb += kind in ("but", "so")
            start, opened = at + 1, kind or opened
    if start < len(said):
        yield Clause(start, len(said), opened, limb)


def has(said: Iterable[Word], *kinds: str) -> bool:
    """Return whether a token is on one of these lists."""
    return any(not token.kinds.isdisjoint(kinds) for token in said)


def stands(sentence: Sentence, match: Match) -> str:
    """Return whether a phrase counts: ``"yes"``, ``"denied"``, ``"limited"``, or ``"no"``."""
    said, first = sentence.said, sentence.clause_of(match.start)
    last = sentence.clause_of(match.end - 1)
    before, after = said[first.start : match.start], said[match.end : last.end]
    limb = (range(one.start, one.end) for one in sentence.limb_of(first))
    limb_words = [said[at] for part in limb for at in part if not match.start <= at < match.end]
    taken_back = sentence.has("again", match.end) or any(t.text == "no" for t in said[match.end :])
    supposed = first.opened in ("reason", "although") or sentence.asks or sentence.has("doubts")
    if taken_back or supposed or has(limb_words, "supposes"):
        return "no"
    if (
        has([*before, *after], "denies")
        or _denied_before(sentence, first)
        or _blamed_later(sentence, last)
    ):
        return "denied"
    if has([*before, *after], "worse", "worst", "middle", "blame"):
        return "no"
    if match.kind == "in one respect" and has([*said[: match.start], *said[match.end :]], "blame"):
        return "no"
    if match.kind == "scores" and has(before, "best", "better", "middle"):
        return "no"
    linked = [
        token for token in said[match.start : match.end] if token.text not in ("to", "and", "or")
    ]
    if match.kind in ("scores", "in one respect") and has(linked, "denies", "supposes", "bounds"):
        return "no"
    follows = [one for one in sentence.clauses if one.start >= last.end][:1]
    if any(
        c.opened in ("", "and") and all(t.option for t in said[c.start : c.end]) for c in follows
    ):
        return "no"  # "I choose B and A"
    earlier = [
        one
        for one in sentence.limb_of(first)
        if one.end <= first.start and one.opened in ("", "and")
    ]
    if any("limits" in said[one.start].kinds for one in earlier):
        return "limited"  # "In terms of sharpness, …"
    return _bounded(match, before, after)


def _bounded(match: Match, before: Sequence[Word], after: Sequence[Word]) -> str:
    """Return whether the words of the clause directly before and after a phrase are known."""
    if not all(_harmless(token, _HARMLESS_BEFORE) for token in before):
        return "limited" if has(before, "limits") else "no"
    if has(after, "limits"):
        return "limited"
    known = all(_harmless(token, _HARMLESS_AFTER) for token in _without_other(after, match))
    return "yes" if known or match.kind in ("in one respect", "when concluding") else "no"


def _harmless(token: Word, kinds: frozenset[str]) -> bool:
    linking = token.text in ("that", "than", "to", "->", "=>") or not token.text[0].isalnum()
    return linking or not token.kinds.isdisjoint(kinds)


def _without_other(after: Sequence[Word], match: Match) -> Sequence[Word]:
    """Return the words after a phrase without "than A", if A is the other option."""
    other = [n for n, token in enumerate(after[:3]) if token.option]
    named = match.slots.get("X") or match.slots.get("Y")
    lead = {token.text for token in after[: other[0]]} if other else set()
    if (
        named
        and "Y" not in match.slots
        and lead & {"than", "over", "to"}
        and after[other[0]].option != named.option
    ):
        return after[other[0] + 1 :]
    return after


def _denied_before(sentence: Sentence, clause: Clause) -> bool:
    """Return whether an earlier clause of the part, which names no option, denies: "It is not true
    that, …".
    """
    for one in sentence.limb_of(clause):
        held = sentence.said[one.start : one.end]
        if one.end <= clause.start and one.opened not in ("reason", "although"):
            alone = all("again" in token.kinds or token.text == "no" for token in held)
            if not alone and not any(token.option for token in held) and has(held, "denies"):
                return True
    return False


def _blamed_later(sentence: Sentence, clause: Clause) -> bool:
    """Return whether a later part, which names no option, denies or blames: "A looks better but is
    worse".
    """
    for one in sentence.clauses:
        held = sentence.said[one.start : one.end]
        if one.start >= clause.end and one.opened in ("but", "") and one.limb >= clause.limb:
            named = any(token.option for token in held[: 1 if one.opened else None])
            numbers = any(token.number is not None for token in held)
            if not named and not numbers and has(held, "denies", "worse", "worst", "blame"):
                return True
    return False
