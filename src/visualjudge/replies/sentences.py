"""Sentences and their clauses: where a phrase counts, and where something denies, supposes or limits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from visualjudge.replies.phrases import Match, listed, matches, spoken
from visualjudge.replies.tokens import Word, tokens

_CONNECTIVES = ("reason", "although", "but", "so", "and")
_BOUNDS = ",;:()[]|"
_HARMLESS_BEFORE = frozenset(
    ("option", "I", "again", "so", "and", "but", "answer", "heading", "is", "score", "best first")
)
_HARMLESS_AFTER = frozenset(
    ("around", "is", "option", "better", "best", "points", "so", "again", "I", "answer", "winner")
)


@dataclass(slots=True)
class Clause:
    """Tokens ``start`` to ``end`` of a sentence; ``opened`` is the kind of word that begins it, ``limb`` counts the
    parts of the sentence that "but", "so" and semicolons set apart."""

    start: int
    end: int
    opened: str
    limb: int


@dataclass(slots=True)
class Sentence:
    """A sentence without fillers. ``asks`` where it is a question."""

    said: list[Word]
    asks: bool
    number: int = 0
    clauses: list[Clause] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clauses = list(_clauses(self.said))

    def has(self, kind: str, start: int = 0, end: int | None = None) -> bool:
        """Whether a word of this list stands between two tokens."""
        return any(kind in token.kinds for token in self.said[start:end])

    def options(self) -> list[str]:
        """The letters named, in order."""
        return [token.option for token in self.said if token.option]

    def clause_of(self, at: int) -> Clause:
        """The clause that holds a token, or that it begins."""
        return next(
            (clause for clause in self.clauses if at < clause.end and not clause.start > at + 1), self.clauses[-1]
        )

    def matches(self) -> Iterator[Match]:
        """The phrases in it."""
        return matches(self.said)

    def concludes(self) -> bool:
        """Whether it begins with "so", "overall", or a label and a colon."""
        if not self.clauses:
            return False
        first = self.clauses[0]
        labelled = [token.text for token in self.said[first.end : first.end + 1]] == [":"]
        return first.opened == "so" or (labelled and has(self.said[: first.end], "answer", "heading", "score"))


def sentences(text: str, start: int = 0, end: int | None = None, *, ordinals: bool = True) -> list[Sentence]:
    """The sentences of plain text between two places, line by line."""
    found: list[Sentence] = []
    held: list[Word] = []
    for token in [*tokens(text, start, end), Word(".", 0, 0)]:
        if not (token.text[0] in ".!?\n…;" and token.number is None):
            held.append(token)
        elif held:
            found.append(Sentence(spoken(listed(held), ordinals=ordinals), "?" in token.text, len(found)))
            held = []
        elif found and "?" in token.text:
            found[-1].asks = True
    return found


def _clauses(said: Sequence[Word]) -> Iterator[Clause]:
    start, opened, limb = 0, "", 0
    for at, token in enumerate(said):
        kind = (
            "" if token.kinds.isdisjoint(_CONNECTIVES) else next(kind for kind in _CONNECTIVES if kind in token.kinds)
        )
        dash = (
            token.text[0] == "-"
            and at
            and said[at - 1].end < token.start
            and at + 1 < len(said)
            and token.end < said[at + 1].start
        )
        if kind or token.text[0] in _BOUNDS or dash:
            if at > start:
                yield Clause(start, at, opened, limb)
                opened = ""
            limb += kind in ("but", "so")
            start, opened = at + 1, kind or opened
    if start < len(said):
        yield Clause(start, len(said), opened, limb)


def stands(sentence: Sentence, match: Match) -> str:
    """Whether a phrase counts: ``"yes"``, ``"denied"``, ``"limited"``, or ``"no"``."""
    said, first = sentence.said, sentence.clause_of(match.start)
    last = sentence.clause_of(match.end - 1)
    before, inside, after = said[first.start : match.start], said[match.start : match.end], said[match.end : last.end]
    around = [*before, *after]
    limb = [said[at] for one in sentence.clauses if one.limb == first.limb for at in range(one.start, one.end)]
    limb = [token for token in limb if not any(token is one for one in inside)]
    careful = match.kind in ("scores", "in one respect")
    if sentence.has("again", match.end) or any(token.text == "no" for token in said[match.end :]):
        return "no"
    if match.kind == "in one respect" and has([*said[: match.start], *said[match.end :]], "blame"):
        return "no"
    if first.opened in ("reason", "although") or sentence.asks or sentence.has("doubts") or has(limb, "supposes"):
        return "no"
    if has(around, "denies") or _denied_before(sentence, first) or _taken_back(sentence, last):
        return "denied"
    if has(around, "worse", "worst", "middle", "blame"):
        return "no"
    if careful and has(inside, "denies", "supposes"):
        return "no"
    if careful and has([token for token in inside if token.text not in ("to", "and", "or")], "bounds"):
        return "no"
    if (match.kind == "scores" and has(before, "best", "better", "middle")) or _other_follows(sentence, last):
        return "no"
    return "limited" if _limited_before(sentence, first) else _bounded(match, before, after)


def has(said: Iterable[Word], *kinds: str) -> bool:
    """Whether a token is on one of these lists."""
    return any(not token.kinds.isdisjoint(kinds) for token in said)


def _bounded(match: Match, before: Sequence[Word], after: Sequence[Word]) -> str:
    """Whether the words of the clause right before and after a phrase are known."""
    if not all(_harmless(token, _HARMLESS_BEFORE) for token in before):
        return "limited" if any("limits" in token.kinds for token in before) else "no"
    if any("limits" in token.kinds for token in after):
        return "limited"
    if match.kind == "in one respect":
        return "yes"
    return "yes" if all(_harmless(token, _HARMLESS_AFTER) for token in _without_other(after, match)) else "no"


def _harmless(token: Word, kinds: frozenset[str]) -> bool:
    return (
        not token.kinds.isdisjoint(kinds)
        or token.text in ("that", "than", "to", "->", "=>")
        or not token.text[0].isalnum()
    )


def _without_other(after: Sequence[Word], match: Match) -> Sequence[Word]:
    """What follows a phrase, without "than A" where A is the other option."""
    other = [n for n, token in enumerate(after[:3]) if token.option]
    named = match.slots.get("X") or match.slots.get("Y")
    if other and named and "Y" not in match.slots and after[other[0]].option != named.option:
        lead = {token.text for token in after[: other[0]]}
        if lead & {"than", "over", "to"}:
            return after[other[0] + 1 :]
    return after


def _denied_before(sentence: Sentence, clause: Clause) -> bool:
    """Whether an earlier clause of the limb, about no option, denies: "It is not true, in my view, that …"."""
    for one in sentence.clauses:
        if one.limb == clause.limb and one.end <= clause.start and one.opened not in ("reason", "although"):
            held = sentence.said[one.start : one.end]
            alone = all("again" in token.kinds or token.text == "no" for token in held)
            if not alone and not any(token.option for token in held) and any("denies" in token.kinds for token in held):
                return True
    return False


def _limited_before(sentence: Sentence, clause: Clause) -> bool:
    """Whether an earlier clause of the limb names one respect: "In terms of sharpness, …"."""
    return any(
        one.limb == clause.limb
        and one.end <= clause.start
        and one.opened in ("", "and")
        and "limits" in sentence.said[one.start].kinds
        for one in sentence.clauses
    )


def _other_follows(sentence: Sentence, clause: Clause) -> bool:
    """Whether the next clause is nothing but an option: "I choose B and A"."""
    after = [one for one in sentence.clauses if one.start >= clause.end]
    return (
        bool(after)
        and after[0].opened in ("", "and")
        and all(token.option for token in sentence.said[after[0].start : after[0].end])
    )


def _taken_back(sentence: Sentence, clause: Clause) -> bool:
    """Whether a later part of the sentence, about no option, denies or blames: "A looks better but is worse"."""
    for one in sentence.clauses:
        held = sentence.said[one.start : one.end]
        if one.start >= clause.end and one.opened in ("but", "") and one.limb >= clause.limb:
            later = not any(token.option for token in held[: 1 if one.opened else None]) and not any(
                t.number is not None for t in held
            )
            if later and any(not token.kinds.isdisjoint(("denies", "worse", "worst", "blame")) for token in held):
                return True
    return False
