"""Orders of options: chains ("B > A > C"), numbered lists, and ranks ("B is best, C second, A
last").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from visualjudge.replies.read_value import Said
from visualjudge.replies.sentences import Sentence, has
from visualjudge.replies.tokens import Word
from visualjudge.replies.value_tokens import direction_of, is_whole

_LEADS = frozenset(
    (
        "ranking",
        "answer",
        "heading",
        "so",
        "I",
        "is",
        "again",
        "best first",
        "worst first",
        "choose",
        "score",
        "option",
        "place 1",
        "best",
    )
)
_FOLLOWS = frozenset(("reason", "so", "but", "although", "best first", "worst first", "and"))
_ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "first", "second", "third", "fourth", "fifth")


def order_in(found: Sequence[Sentence], n_options: int, *, marked_only: bool) -> Said:
    """Return the order that sentences or list items state."""
    said: list[Said] = []
    direction = ""
    for sentence in found:
        if said and has(sentence.said[:2], "again"):
            said = []
        towards = direction_of(sentence.said)
        if not sentence.asks and not has(sentence.said, "supposes", "doubts", "denies"):
            claims = _chains(sentence, direction, n_options)
            said += [one for one in claims if one.marked or not marked_only]
        named = bool(sentence.options())
        direction = "" if named and towards == "?" else towards or ("" if named else direction)
    listed = None if said else listed_order(found, n_options)
    listed = listed or (None if said or marked_only else _placed(found, n_options))
    if listed:
        return listed
    marked = [one for one in said if one.marked]
    if marked and said[-1].value == marked[-1].value:
        return marked[-1]
    if said and len({one.value for one in said}) == 1:
        return said[-1]
    return Said(None, "several answers" if said else _cause(found, n_options))


def _cause(found: Sequence[Sentence], n_options: int) -> str:
    named = [letter for sentence in found for letter in sentence.options()]
    if any(match.kind == "ties" for sentence in found for match in sentence.matches()):
        return "tie"
    ordered = any(
        token.text[0] == ">"
        or token.letters
        or token.kinds & {"best", "worst", "ranking", "place 1"}
        for sentence in found
        for token in sentence.said
    )
    if 0 < len(set(named)) < n_options and len(named) == len(set(named)) and ordered:
        return "incomplete"
    return "several answers" if named else "no answer"


def _chains(sentence: Sentence, direction: str, n_options: int) -> Iterator[Said]:
    """Yield the orders in a sentence, if the surrounding words permit."""
    said = sentence.said
    for at, token in enumerate(said):
        if "order" not in token.kinds:
            continue
        before, after = said[:at], said[at + 1 :]
        known = frozenset[str]().union(*(one.kinds for one in before))
        compared, upward = "compared" in token.kinds, "upward" in token.kinds
        stop = next(
            (n for n, one in enumerate(after) if one.kinds & {"reason", "so", "although"}),
            len(after),
        )
        behind = direction_of(after[:stop])
        towards = (
            direction_of(before) or ("" if behind == "?" and compared else behind) or direction
        )
        if (
            towards == "?"
            or (upward and towards == "down")
            or (towards == "up" and "downward" in token.kinds)
        ):
            continue
        if not _may_be_led(before, known) or not _may_be_followed(after):
            continue
        bare = sentence.whole and not any(one.text[0].isalnum() for one in [*before, *after])
        menu = token.letters == "ABCDEFGH"[:n_options] and not bare
        if menu and not _is_no_menu(before, token, towards):
            continue
        labelled = before and before[-1].text in (":", "=")
        marked = bool(labelled or bare) and not any(one.text[0].isalnum() for one in after[:1])
        order = token.letters[::-1] if towards == "up" and not upward else token.letters
        yield Said(
            order,
            None,
            token.start,
            token.end,
            "label" if labelled else "chain",
            turned=upward or towards == "up",
            marked=marked,
        )


def _may_be_led(before: Sequence[Word], known: frozenset[str]) -> bool:
    """Return whether the words before an order are known and not the question's own ("Rank
    them").
    """
    named = {"ranking", "answer", "best first", "worst first", "choose", "score", "place 1", "best"}
    if "option" in known and not known & named:
        return False
    if known.isdisjoint(("I", "is")) and _asks_to_rank(before):
        return False
    start = max((n + 1 for n, one in enumerate(before[:-1]) if one.text in ",;-"), default=0)
    words = (one for one in before[start:] if one.text[0].isalnum())
    return all(
        one.kinds & _LEADS or one.text in ("as", "to", "by", "in", "of", "them") for one in words
    )


def _asks_to_rank(said: Sequence[Word]) -> bool:
    """Return whether the words are the question's own: "Rank A, B, C from best to worst."."""
    return (
        bool(said)
        and said[0].text.split()[0] in ("rank", "order", "sort")
        and ":" not in {one.text for one in said}
    )


def _may_be_followed(after: Sequence[Word]) -> bool:
    if after and after[0].text == ":":
        return False
    return (
        not after
        or not after[0].text[0].isalnum()
        or bool(after[0].kinds & _FOLLOWS)
        or after[0].text == "in"
    )


def _is_no_menu(before: Sequence[Word], token: Word, towards: str) -> bool:
    """Return whether options in alphabetical order are a ranking rather than a list of the
    options.
    """
    known = frozenset[str]().union(*(one.kinds for one in before))
    if "spelt" in token.kinds and "option" in known:
        return False
    if towards or "compared" in token.kinds:
        return True
    told = before and before[-1].text == ":" and not known & {"option", "I"}
    return "ranking" in known and bool(told or (before and "is" in before[-1].kinds))


@dataclass(frozen=True, slots=True)
class _Item:
    """A listed option with its rank (0: none), the token after it, and the words of its note."""

    place: int
    token: Word
    after: str
    note: Sequence[Word]


def _gathered(
    found: Sequence[Sentence],
) -> tuple[list[_Item], list[_Item], list[Word], dict[int, int]]:
    """Return the items with a rank, the lines that begin with an option, the words of all other
    lines, and how many of these words precede the option at a position of the reply.
    """
    rows, lines, introduced, led = list[_Item](), list[_Item](), list[Word](), dict[int, int]()
    for sentence in found:
        said = [one for one in sentence.parts if one.option or "option" not in one.kinds]
        words = [one for one in said if one.text[0].isalnum()]
        items = list(_items(said))
        rows += items
        if words and words[0].option:
            lines.append(_item(0, words[0], said))
        elif not items and not _asks_to_rank(sentence.parts):
            introduced += words
        for one in (*items, *lines[-1:]):
            led.setdefault(one.token.start, len(introduced))
    return rows, lines, introduced, led


def listed_order(found: Sequence[Sentence], n_options: int) -> Said | None:
    """Read items "1. B", "Rank 1: B", "B (best)", or lines that are an option, unless words reverse
    the order.
    """
    rows, lines, introduced, led = _gathered(found)
    lines = lines[-n_options:]
    numbered = [row.place for row in rows] == list(range(1, n_options + 1))
    noted = {
        _place(row.note[0], n_options, 0): row for row in (rows if numbered else lines) if row.note
    }
    by_note = sorted(noted) == list(range(1, n_options + 1))
    chosen = [noted[place] for place in sorted(noted)] if by_note else rows if numbered else lines
    letters = "".join(row.token.option for row in chosen)
    if len(chosen) != n_options or not is_whole(letters, n_options):
        return None
    introduced = introduced[: led[chosen[0].token.start]][-12:]
    towards, menu = direction_of(introduced), letters == "".join(sorted(letters))
    alone = all(not row.note for row in chosen) and (
        numbered or len({led[row.token.start] for row in chosen}) == 1
    )
    if numbered and not by_note:
        told = has(introduced, "ranking", "best first", "worst first")
        if menu and not told and not alone and not all(row.after == "-" for row in rows):
            return None
    elif not by_note:
        bounded = all(
            not row.note or row.after[:1] in ("", ":", "-", "(", ",", ".") for row in lines
        )
        if not (alone and not menu) and not (towards in ("up", "down") and bounded):
            return None
    blamed = towards == "?" or direction_of(chosen[0].note) or has(chosen[-1].note, "best")
    if blamed and not by_note:
        return Said(None, "several answers")
    turned = towards == "up" and not by_note
    order = letters[::-1] if turned else letters
    return Said(
        order, None, chosen[0].token.start, chosen[-1].token.end, "list", turned=turned, marked=True
    )


def _items(said: Sequence[Word]) -> Iterator[_Item]:
    """Yield the options that directly follow a rank: "1. B", "first: B"."""
    for n, token in enumerate(said):
        place, previous = _number_of_place(token), said[n - 1] if n else None
        if (
            previous
            and previous.text[0].isalnum()
            and not ("ranking" in previous.kinds or previous.option or previous.number is not None)
        ):
            continue
        rest = [one for one in said[n + 1 : n + 8] if one.text[0].isalnum()]
        if place and rest and rest[0].option:
            yield _item(place, rest[0], said)


def _item(place: int, token: Word, said: Sequence[Word]) -> _Item:
    at = next(n for n, one in enumerate(said) if one is token)
    note = [one for one in said[at + 1 : at + 7] if one.text[0].isalnum()][:3]
    return _Item(place, token, said[at + 1].text if at + 1 < len(said) else "", note)


def _number_of_place(token: Word) -> int:
    """Return the rank that a token states: 1, "1st", "first place"; 0 without one."""
    if token.number in range(1, 9):
        return int(token.number or 0)
    named = next((n for n in range(1, 6) if f"place {n}" in token.kinds), 0)
    return named or (_ORDINALS.index(token.text) % 5 + 1 if token.text in _ORDINALS else 0)


def _placed(found: Sequence[Sentence], n_options: int) -> Said | None:
    """Return the order that ranks give: "B is best, A is second and C last", "Best: B.
    Worst: C.".
    """
    places: dict[str, set[int]] = {}
    previous = 0
    for sentence in found:
        if sentence.asks or has(sentence.said, "supposes", "doubts", "denies"):
            continue
        for option, place in _places_of(sentence, n_options, previous):
            places.setdefault(option, set()).add(place)
            previous = place
    order = {min(at): option for option, at in places.items() if len(at) == 1}
    if len(places) != n_options or sorted(order) != list(range(1, n_options + 1)):
        return None
    ends = found[-1].said[-1].end
    letters = "".join(order[place] for place in sorted(order))
    return Said(letters, None, found[0].said[0].start, ends, "places")


def _places_of(sentence: Sentence, n_options: int, previous: int) -> Iterator[tuple[str, int]]:
    """Yield the options of a sentence with a rank, part by part."""
    held: list[Word] = []
    for token in [*sentence.parts, Word(",", 0, 0)]:
        if not (token.text in (",", ";") or "and" in token.kinds):
            held.append(token)
            continue
        options = [one.option for one in held if one.option]
        given = {place for one in held if (place := _place(one, n_options, previous))}
        others = (one for one in held if not one.option and not _place(one, n_options, previous))
        known = all(
            one.kinds & {"is", "I", "choose", "ranking", "so", "option", "answer", "but"}
            or not one.text[0].isalnum()
            or one.text in ("in", "as", "place", "goes", "to")
            for one in others
        )
        if len(options) == len(given) == 1 and known:
            previous = given.pop()
            yield options[0], previous
        held = []


def _place(token: Word, n_options: int, previous: int) -> int:
    """Return the rank that a word gives: "first", "best", "last", "then"; 0 without one."""
    for n in range(1, 6):
        if f"place {n}" in token.kinds:
            return n
    if token.kinds & {"worst", "last"}:
        return n_options
    if "best" in token.kinds or token.text.startswith("best "):
        return 1
    if "then" in token.kinds and previous:
        return previous + 1
    return 2 if "middle" in token.kinds and n_options == 3 else 0
