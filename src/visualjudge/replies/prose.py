"""The tier ``prose``: what sentences say, by the phrases of ``phrases.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.replies.orders import order_in
from visualjudge.replies.said import Said
from visualjudge.replies.sentences import Sentence, sentences, stands
from visualjudge.replies.tokens import Token

LEVELS = {"prefers": 3, "compares": 2, "in one respect": 1, "scores": 2}
OTHER = {"A": "B", "B": "A"}
HEAD, TAIL = 260, 760
"""Characters at the beginning and at the end of a reply that sentences are read in: judges conclude there."""
GREATEST = 10.0


@dataclass(frozen=True, slots=True)
class _Claim:
    value: str | float
    level: int
    sentence: int
    limb: int
    start: int
    end: int
    rule: str
    concluding: bool


def read_prose(text: str, question_type: str, n_options: int) -> Said:
    """What the sentences of plain text state."""
    ordinals = question_type == "pairwise"
    parts = ((0, HEAD), (_tail(text), None)) if len(text) > HEAD + TAIL else ((0, None),)
    found = [sentence for start, end in parts for sentence in sentences(text, start, end, ordinals=ordinals)]
    for number, sentence in enumerate(found):
        sentence.number = number
    found = [sentence for sentence in found if sentence.said]
    if question_type == "ranking":
        return order_in(found, n_options)
    return _decided(found, _scored if question_type == "scoring" else _compared)


def _tail(text: str) -> int:
    """Where the end begins that is read: at a sentence or a line."""
    at = len(text) - TAIL
    bounds = [place + 1 for sign in (". ", "\n", "。") if (place := text.find(sign, at, at + 300)) >= 0]
    return min(bounds, default=at)


def _compared(sentence: Sentence, claims: list[_Claim], denied: list[tuple[str | float, int]], ties: list[_Claim]) -> None:
    """The options that a sentence prefers, and those that it says not to."""
    for match in sentence.matches():
        if match.kind in ("void", "scores"):
            continue
        state = stands(sentence, match)
        clause = sentence.clause_of(match.start)
        begin, end = sentence.said[match.start].start, sentence.said[match.end - 1].end
        level = LEVELS.get(match.kind, 0)
        if match.kind in ("ties", "both bad"):
            if state != "no" and state != "denied":
                ties.append(_Claim(match.kind, 0, sentence.number, clause.limb, begin, end, "tie", sentence.concludes()))
            continue
        value = match.slots["X"].option if "X" in match.slots else OTHER.get(match.slots["Y"].option, "")
        concluding = clause.opened == "so" or sentence.concludes()
        if state == "denied":
            denied.append((value, sentence.number))
        elif value in OTHER and (state == "yes" or (state == "limited" and concluding and clause.opened != "and")):
            claims.append(_Claim(value, level, sentence.number, clause.limb, begin, end, match.kind, concluding))


def _scored(sentence: Sentence, claims: list[_Claim], denied: list[tuple[str | float, int]], ties: list[_Claim]) -> None:
    """The scores that a sentence gives."""
    for match in sentence.matches():
        if match.kind != "scores":
            continue
        state, token = stands(sentence, match), match.slots["n"]
        value = score_at(sentence.said, sentence.said.index(token))
        if state == "denied":
            denied.append((token.number or 0.0, sentence.number))
        elif state == "yes" and value is not None:
            concluding = sentence.concludes()
            claims.append(_Claim(value, 2, sentence.number, 0, token.start, token.end, match.kind, concluding))


def score_at(said: Sequence[Token], at: int) -> float | None:
    """The score whose number is token ``at``; None where what stands beside it makes it something else."""
    number = said[at].number
    before, after = said[at - 1] if at else None, said[at + 1 : at + 3]
    if number is None or (before is not None and before.text in ("-", "±", "<", ">", "~", "/", "+") and at > 1):
        return None
    if after and after[0].text == "/":
        return number if len(after) > 1 and after[1].number == GREATEST and 0 <= number <= GREATEST else None
    if after and (after[0].text in ("-", "±", "+", "^", "½", "%", "~", "=") or not after[0].kinds.isdisjoint(("other scale", "supposes"))):
        return number if after[0].text == "-" and len(after) > 1 and after[1].number is None else None
    return number if 0 <= number <= GREATEST else None


def _alone(sentence: Sentence, claims: list[_Claim], n_sentences: int) -> None:
    """A sentence that is only an option: "B."; the first or the last of a reply, no answer to a question of blame."""
    said = [token for token in sentence.said if token.text[0].isalnum() and "heading" not in token.kinds]
    if len(said) == 1 and said[0].option and not sentence.asks and sentence.number in (0, n_sentences - 1):
        claims.append(_Claim(said[0].option, 3, sentence.number, 0, said[0].start, said[0].end, "alone", True))


def _decided(found: list[Sentence], read: object) -> Said:
    """The one value that the sentences agree on, or why there is none."""
    claims: list[_Claim] = []
    denied: list[tuple[str | float, int]] = []
    ties: list[_Claim] = []
    taken_back = -1
    for sentence in found:
        if _takes_back(sentence) and (claims or ties):
            claims, ties, taken_back = [], [], sentence.number
        read(sentence, claims, denied, ties)  # type: ignore[operator]
    if read is _compared and found:
        blamed = any(one.asks and (one.has("worse") or one.has("worst")) for one in found)
        for sentence in (found[0], found[-1]):
            if not blamed and sentence.number > taken_back - 1:
                _alone(sentence, claims, found[-1].number + 1)
    return _chosen(claims, denied, ties, taken_back, found)


def _takes_back(sentence: Sentence) -> bool:
    """Whether a sentence begins by taking back what stands before: "Wait, …", "No, …"."""
    opening = sentence.said[:2]
    return any("again" in token.kinds for token in opening) or opening[0].text == "no"


def _chosen(
    claims: list[_Claim], denied: list[tuple[str | float, int]], ties: list[_Claim], taken_back: int, found: list[Sentence]
) -> Said:
    if not claims:
        if ties and ties[-1].sentence == found[-1].number:
            return Said("both_bad" if ties[-1].rule == "both bad" else "tie", None, ties[-1].start, ties[-1].end, "tie")
        named = {letter for sentence in found for letter in sentence.options()}
        cause = "tie" if ties else "several answers" if taken_back >= 0 or (len(named) > 1 and not denied) else "no answer"
        return Said(None, _hedged(found) or cause)
    claims = sorted(claims, key=lambda claim: (claim.sentence, claim.limb, claim.start))
    last = claims[-1]
    top = max(claim.level for claim in claims)
    best = [claim for claim in claims if claim.level == top]
    if len({claim.value for claim in best}) > 1:
        best = [claim for claim in best if claim.sentence == best[-1].sentence]
        later = [claim for claim in best if claim.limb == best[-1].limb]
        if not best[-1].concluding or len({claim.value for claim in later}) > 1 or best[-1].limb == 0 < len(best) - len(later):
            return Said(None, "several answers")
        best = later
    chosen = best[-1]
    against = last.value != chosen.value and last.start > chosen.start
    if against or any(tie.start > chosen.end for tie in ties) or any(v == chosen.value and at >= chosen.sentence for v, at in denied):
        return Said(None, "several answers" if against else "tie" if ties else "several answers")
    return Said(chosen.value, None, chosen.start, chosen.end, chosen.rule)


def _hedged(found: list[Sentence]) -> str | None:
    """"hedge" where options are named in sentences that only suppose."""
    supposed = any(sentence.has("supposes") and sentence.options() for sentence in found)
    return "hedge" if supposed and not any(sentence.has("either") for sentence in found) else None
