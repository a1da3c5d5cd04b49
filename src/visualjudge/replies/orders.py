"""Orders of options: chains ("B > C > A", "B, then C, then A") and places ("B is best, C second, A last")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from visualjudge.replies.phrases import is_filler
from visualjudge.replies.said import Said
from visualjudge.replies.sentences import Sentence
from visualjudge.replies.tokens import Word

_LINKS = frozenset((",", "→", ">", "-", "|", "/", "->", "=>", ">>", ">>>", "--", "than", "which", "most", "then", "&"))
_LINK_KINDS = frozenset(("then", "and", "is", "beats"))
_LEADS = frozenset(("ranking", "answer", "heading", "so", "I", "is", "again", "best first", "worst first", "choose"))
_BETWEEN = ("as", "to", "by", "in", "them")
_LEADS |= {"score", "option", "place 1", "best"}


def order_in(found: Sequence[Sentence], n_options: int) -> Said:
    """The order that sentences state."""
    said: list[Said] = []
    direction = ""
    for sentence in found:
        if said and any("again" in token.kinds for token in sentence.said[:2]):
            said = []
        towards = direction_of(sentence.said)
        if not sentence.asks and not any(sentence.has(kind) for kind in ("supposes", "doubts", "denies")):
            said += _chains(sentence, n_options, direction)
        direction = towards or (direction if not sentence.options() else "")
    if not said:
        placed = _placed(found, n_options)
        said = [placed] if placed else []
    if not said:
        letters = {
            letter for sentence in found for letter in [*sentence.options(), *"".join(t.letters for t in sentence.said)]
        }
        tied = any(match.kind == "ties" for sentence in found for match in sentence.matches())
        named = [letter for sentence in found for letter in sentence.options()]
        ordered = any(
            token.text[0] == ">" or token.letters or token.kinds & {"best", "worst", "ranking", "place 1"}
            for sentence in found
            for token in sentence.said
        )
        partial = 0 < len(letters) < n_options and len(named) == len(set(named)) and ordered
        cause = "tie" if tied else "incomplete" if partial else "several answers" if letters else "no answer"
        return Said(None, cause)
    return said[-1] if len({one.value for one in said}) == 1 else Said(None, "several answers")


def direction_of(said: Iterable[Word]) -> str:
    """ "down" where the words say best first, "up" where worst first, "?" where they only blame; else nothing."""
    kinds = frozenset().union(*(token.kinds for token in said))
    if "best first" in kinds or "worst first" in kinds:
        return "?" if {"best first", "worst first"} <= kinds else "down" if "best first" in kinds else "up"
    return "?" if kinds & {"worst", "worse", "last", "blame"} else ""


def chain(said: Sequence[Word], n_options: int) -> str | None:
    """The order that the tokens are, and nothing else: "BCA", "B > C > A", "B, C and A"; None where they are none."""
    found = [token for token in said if not is_filler(token) and ("option" not in token.kinds or token.option)]
    if len(found) == 1 and (found[0].letters or len(found[0].text) == n_options):
        return _whole(found[0].letters or found[0].text.upper(), n_options)
    letters = "".join(token.option for token in found if token.option)
    links = [token for token in found if not token.option]
    if not _whole(letters, n_options) or not found[0].option or not found[-1].option:
        return None
    if links and all(set(token.text) <= {"<"} for token in links):
        return letters[::-1]
    if any(token.text == "=" for token in links) or {">", ","} <= {token.text[0] for token in links}:
        return None
    return letters if all(token.text in _LINKS or token.kinds & {"then", "and"} for token in links) else None


def _whole(letters: str, n_options: int) -> str | None:
    return letters if "".join(sorted(letters)) == "ABCDEFGH"[:n_options] else None


def _chains(sentence: Sentence, n_options: int, direction: str) -> list[Said]:
    """The chains of a sentence that name every option once and that its words call the order."""
    said, found = sentence.said, []
    at = 0
    while at < len(said):
        if not (said[at].option or _whole(said[at].letters, n_options)):
            at += 1
            continue
        end = _end_of_chain(said, at)
        letters = _letters(said[at:end], n_options)
        if letters and (claim := _claimed(said, at, end, letters, direction)):
            found.append(claim)
        at = end
    return found


def _end_of_chain(said: Sequence[Word], at: int) -> int:
    end, after = at + 1, at + 1
    while after < len(said):
        token = said[after]
        if token.option:
            end = after + 1
        elif token.text not in _LINKS and not token.kinds & _LINK_KINDS and set(token.text) != {"<"}:
            better = "better" in token.kinds and after + 1 < len(said) and said[after + 1].text in ("than", "to")
            if not better:
                break
        after += 1
    return end


def _letters(said: Sequence[Word], n_options: int) -> str | None:
    if len(said) == 1:
        return _whole(said[0].letters, n_options)
    named = [token.option for token in said if token.option]
    signs = {token.text[0] for token in said if not token.option}
    kinds = frozenset().union(*(token.kinds for token in said if not token.option))
    if (
        (">" in signs and "," in signs)
        or (kinds & {"better", "beats"} and "and" in kinds and "," not in signs)
        or ("better" in kinds and "as a whole" not in kinds)
    ):
        return None
    short = [letter for n, letter in enumerate(named) if n == 0 or named[n - 1] != letter]
    turned = any(token.text[0] == "<" for token in said)
    if turned and any(token.text[0] not in "<" and not token.option for token in said):
        return None
    letters = _whole("".join(short), n_options)
    return letters[::-1] if letters and turned else letters


def _claimed(said: Sequence[Word], at: int, end: int, letters: str, direction: str) -> Said | None:
    """The chain as an order, if what stands around it lets it be one."""
    before, after = said[:at], said[end:]
    signs = {t.text[0] for t in said[at:end] if not t.option}
    known = frozenset().union(*(t.kinds for t in before))
    reason = next((n for n, t in enumerate(after) if t.kinds & {"reason", "so", "although"}), len(after))
    behind = direction_of(after[:reason])
    direction = direction_of(before) or ("" if behind == "?" and ">" in signs else behind) or direction
    asked = before and "I" not in known and before[0].text.split()[0] in ("rank", "order", "sort")
    if asked and ":" not in {t.text for t in before}:
        return None  # the question's own words
    compared = end == at + 1 or any(
        t.text[0] in ">-<" or t.kinds & {"then", "better", "beats"} for t in said[at + 1 : end]
    )
    named = bool(known & {"ranking", "answer", "best first", "worst first", "choose"}) or direction in ("down", "up")
    clause = before[max((n + 1 for n, t in enumerate(before[:-1]) if t.text in ",;-"), default=0) :]
    if not all(t.kinds & _LEADS or not t.text[0].isalnum() or t.text in _BETWEEN for t in clause):
        return None
    sorted_letters = letters == "".join(sorted(letters))
    if sorted_letters and end == at + 1 and "option" in known:
        return None
    if sorted_letters and not compared and not direction:  # a list of the options?
        told = before and before[-1].text == ":" and not known & {"option", "I"}
        if "ranking" not in known or not (told or "is" in before[-1].kinds):
            return None
    if not (compared or named) and any(t.text[0].isalnum() for t in before):
        return None
    if after and not _may_follow(after[0]):
        return None
    if direction == "?" or (direction == "up" and ">" in signs) or (direction == "down" and "<" in signs):
        return None
    order = letters[::-1] if direction == "up" and "<" not in signs else letters
    return Said(order, None, said[at].start, said[end - 1].end, "chain", direction == "up" or "<" in signs)


def _may_follow(token: Word) -> bool:
    return (
        not token.text[0].isalnum()
        or bool(token.kinds & {"reason", "so", "but", "although", "best first", "worst first", "and"})
        or token.text == "in"
    )


def _placed(found: Sequence[Sentence], n_options: int) -> Said | None:
    """The order that places give: "B is best, A is second and C last", "Best: B. Worst: C. Middle: A."."""
    places: dict[str, set[int]] = {}
    previous = 0
    for sentence in found:
        if sentence.asks or any(sentence.has(kind) for kind in ("supposes", "doubts", "denies")):
            if sentence.options():
                return None
            continue
        for option, place in _places_of(sentence, n_options, previous):
            places.setdefault(option, set()).add(place)
            previous = place
    order = {min(at): option for option, at in places.items() if len(at) == 1}
    if len(places) != n_options or sorted(order) != list(range(1, n_options + 1)):
        return None
    ends = found[-1].said[-1].end
    return Said("".join(order[place] for place in sorted(order)), None, found[0].said[0].start, ends, "places")


def _places_of(sentence: Sentence, n_options: int, previous: int) -> list[tuple[str, int]]:
    """The options of a sentence that are given a place, part by part."""
    out: list[tuple[str, int]] = []
    held: list[Word] = []
    for token in [*sentence.said, None]:
        bound = token is None or token.text in (",", ";") or "and" in token.kinds
        if not bound and token is not None:
            held.append(token)
            continue
        if pair := _pair(held, n_options, out[-1][1] if out else previous):
            out.append(pair)
        held = []
    return out


def _pair(held: Sequence[Word], n_options: int, previous: int) -> tuple[str, int] | None:
    options = [token.option for token in held if token.option]
    given = [place for token in held if (place := place_of(token, n_options, previous))]
    others = [token for token in held if not token.option and not place_of(token, n_options, previous)]
    harmless = all(
        token.kinds & {"is", "I", "choose", "ranking", "so", "option", "answer", "but"}
        or not token.text[0].isalnum()
        or token.text in ("in", "as", "place", "goes", "to")
        for token in others
    )
    if len(options) == 1 and len(set(given)) == 1 and harmless:
        return options[0], given[0]
    return None


def place_of(token: Word, n_options: int, previous: int) -> int | None:
    kinds = token.kinds
    for n in (1, 2, 3):
        if f"place {n}" in kinds:
            return n
    if kinds & {"worst", "last"}:
        return n_options
    if "best" in kinds or token.text.startswith("best "):
        return 1
    if "then" in kinds and previous:
        return previous + 1
    return 2 if "middle" in kinds and n_options == 3 else None
