"""The tier ``prose``: what sentences say, by the phrases of ``phrases.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from visualjudge.replies.orders import order_in
from visualjudge.replies.said import Said
from visualjudge.replies.scores import GREATEST, number_of, only_score, score_at
from visualjudge.replies.sentences import Clause, Sentence, sentences, stands

LEVELS = {"prefers": 3, "compares": 2, "in one respect": 1, "when concluding": 1, "scores": 2}
OTHER = {"A": "B", "B": "A"}
HEAD, TAIL = 260, 760
"""Characters at the beginning and at the end of a reply that sentences are read in: judges conclude there."""


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
    found = [sentence for sentence in found if sentence.clauses]
    if question_type == "ranking":
        return order_in(found, n_options)
    if question_type == "pairwise":
        return _decided(found, _compared)
    said = _decided(found, _scored)
    return said if said.value is not None else replace(said, cause=_cause_of_no_score(found, said.cause))


def _cause_of_no_score(found: Sequence[Sentence], cause: str | None) -> str | None:
    """``other scale`` where a number is beyond ten or over another; ``several answers`` where there are two."""
    tokens = [token for sentence in found for token in sentence.said]
    numbers = {token.number for token in tokens if token.number is not None}
    over = any(one.text == "/" and two.number not in (None, GREATEST) for one, two in pairwise(tokens))
    if over or (numbers and (min(numbers) > GREATEST or any(token.text == "%" for token in tokens))):
        return "other scale"
    return "several answers" if len(numbers) > 1 else cause


def _tail(text: str) -> int:
    """Where the end begins that is read: at a sentence or a line."""
    at = len(text) - TAIL
    bounds = [place + 1 for sign in (". ", "\n", "。") if (place := text.find(sign, at, at + 300)) >= 0]
    return min(bounds, default=at)


def _compared(
    sentence: Sentence, claims: list[_Claim], denied: list[tuple[str | float, int]], ties: list[_Claim]
) -> None:
    """The options that a sentence prefers, and those that it says not to."""
    for match in sentence.matches():
        if match.kind in ("void", "scores"):
            continue
        state = stands(sentence, match)
        clause = sentence.clause_of(match.start)
        begin, end = sentence.said[match.start].start, sentence.said[match.end - 1].end
        level = LEVELS.get(match.kind, 0)
        quality = match.slots.get("better") or match.slots.get("is better") or match.slots.get("best")
        if match.kind == "compares" and quality is not None and "as a whole" not in quality.kinds:
            level = LEVELS["in one respect"]
        if match.kind in ("ties", "both bad"):
            if state != "denied" and not (sentence.asks or sentence.has("supposes") or sentence.has("doubts")):
                sure = state == "yes" and not sentence.options()
                ties.append(
                    _Claim(match.kind, int(sure), sentence.number, clause.limb, begin, end, "tie", sentence.concludes())
                )
            continue
        value = match.slots["X"].option if "X" in match.slots else OTHER.get(match.slots["Y"].option, "")
        if level == 1 and any(
            "blame" in token.kinds for n, token in enumerate(sentence.said) if not match.start <= n < match.end
        ):
            continue
        concluding = clause.opened == "so" or sentence.concludes()
        if match.kind == "when concluding" and not concluding:
            continue
        if state == "denied":
            denied.append((value, sentence.number))
        elif value in OTHER and (state == "yes" or (state == "limited" and concluding and clause.opened != "and")):
            claims.append(_Claim(value, level, sentence.number, clause.limb, begin, end, match.kind, concluding))


def _scored(
    sentence: Sentence, claims: list[_Claim], denied: list[tuple[str | float, int]], ties: list[_Claim]
) -> None:
    """The scores that a sentence gives."""
    said = sentence.said
    for match in sentence.matches():
        if match.kind != "scores":
            continue
        token, clause = match.slots["n"], sentence.clause_of(match.start)
        at = said.index(token)
        found = score_at(said, at)
        match = replace(match, end=max(match.end, found[1] if found else 0))
        state = stands(sentence, match)
        if state == "denied":
            denied.append((number_of(token) or 0.0, sentence.number))
        elif state == "yes" and found and not _other_numbers(sentence, clause, range(match.start, match.end)):
            end = match.end
            claims.append(
                _Claim(
                    found[0],
                    2,
                    sentence.number,
                    clause.limb,
                    token.start,
                    said[end - 1].end,
                    match.kind,
                    sentence.concludes(),
                )
            )


def _other_numbers(sentence: Sentence, clause: Clause, inside: range) -> bool:
    """Whether the limb of a clause holds another number that is not denied: "6 or 7"."""
    limb = [one for one in sentence.clauses if one.limb == clause.limb and one.opened not in ("although", "reason")]
    plain = [one for one in limb if one is clause or not sentence.has("denies", one.start, one.end)]
    return any(
        sentence.said[at].number is not None for one in plain for at in range(one.start, one.end) if at not in inside
    )


def _bare_scores(found: Sequence[Sentence], claims: list[_Claim]) -> None:
    """A score that is the whole of the first clause, or of the last: "7, because …", "One dog is missed: 7."."""
    for sentence, at in ((found[0], 0), (found[-1], -1)):
        clause = sentence.clauses[at]
        said = sentence.said[clause.start : clause.end]
        value = only_score(said)
        if value is None or sentence.asks or _in_a_list(found, sentence, value):
            continue
        limb = [one for one in sentence.clauses if one.limb == clause.limb]
        noted = at == 0 and [
            token.text for token in (*sentence.said[clause.end : clause.end + 1], sentence.said[-1])
        ] == ["(", ")"]
        noted = noted and any(
            token.kinds & {"reason", "supposes", "bounds"} or token.text == "iou"
            for token in sentence.said[clause.end :]
        )
        inside = [] if noted else sentence.said[limb[0].start : limb[-1].end]
        if any(token.kinds & {"supposes", "doubts"} for token in inside):
            continue
        if (at == -1 and _follows(sentence, clause)) or (
            at == 0 and clause.start == 0 and _leads(sentence, clause, value, noted, len(found))
        ):
            claims.append(_Claim(value, 2, sentence.number, clause.limb, said[0].start, said[-1].end, "alone", True))


def _in_a_list(found: Sequence[Sentence], sentence: Sentence, value: float) -> bool:
    """Whether other sentences are numbers alone: those of a list."""
    return any(one is not sentence and len(one.said) == 1 and one.said[0].number not in (None, value) for one in found)


def _leads(sentence: Sentence, clause: Clause, value: float, noted: bool, n_sentences: int) -> bool:
    """Whether the first clause is the score, and what follows its reason."""
    rest = [] if noted else sentence.said[clause.end :]
    explicit = any(token.text == "/" or "points" in token.kinds for token in sentence.said[: clause.end])
    if value == 1.0 and n_sentences > 1 and not explicit:
        return False  # the first of a list
    if any(token.kinds & {"denies", "other scale"} for token in rest[:2]) or any(token.text == "/" for token in rest):
        return False
    return explicit or not any(token.number is not None for token in rest)


def _follows(sentence: Sentence, clause: Clause) -> bool:
    """Whether the last clause is no criterion's ("Noise: 6"), and no number of another kind stands before it."""
    before = sentence.said[: clause.start]
    if clause.opened in ("although", "reason", "and") or (before and before[-1].text[0] == "-"):
        return False
    if len(before) > 1 and before[-1].text in ("→", "->", "=>") and before[-2].number is not None:
        return False
    if not before or clause.opened == "so":
        return True
    earlier = [one for one in sentence.clauses if one.end <= clause.start]
    label = sentence.said[earlier[-1].start : earlier[-1].end] if earlier else []
    explicit = any(token.text == "/" for token in sentence.said[clause.start :])
    if (
        before[-1].text == ":"
        and len(label) < 4
        and not all(token.kinds & {"score", "heading", "so"} for token in label)
    ):
        return False
    numbers = any(token.number is not None for token in before)
    return (explicit or before[-1].text == ":" or not numbers) and not any(
        token.text == "|" or token.option for token in before
    )


def _leading(found: Sequence[Sentence], claims: list[_Claim]) -> None:
    """A reply that begins with an option and its reason: "B, because …"; not where the other begins a part."""
    first = found[0]
    said = first.said
    if (
        len(said) < 2
        or said[0].option not in OTHER
        or first.asks
        or not (said[1].text[0] in ":-(" or any("reason" in token.kinds for token in said[1:3]))
    ):
        return
    if said[1].text == ":" and (len(found) > 1 or first.has("but")):
        return
    rest = [token for sentence in found for token in sentence.said]
    heads = {sentence.said[0].option for sentence in found} | {
        rest[n + 1].option for n, t in enumerate(rest[:-1]) if t.text[0] in ",:-(" or "and" in t.kinds
    }
    blamed = any(token.kinds & {"denies", "supposes", "worse", "worst", "again"} for token in said[1:4])
    if heads <= {"", said[0].option} and not blamed and not first.has("doubts"):
        claims.append(_Claim(said[0].option, 3, first.number, 0, said[0].start, said[0].end, "leading", True))


def _is_alone(sentence: Sentence) -> bool:
    said = [
        token
        for token in sentence.said
        if token.text[0].isalnum() and not token.kinds & {"heading", "again", "so", "but"}
    ]
    said = said[1:] if said and said[0].text == "no" else said
    heading = sentence.said[-1].text == ":"
    return len(said) == 1 and said[0].option in OTHER and not sentence.asks and not heading


def _alone(sentence: Sentence, claims: list[_Claim], found: Sequence[Sentence], n_sentences: int) -> None:
    """A sentence that is only an option: "B."; the first or the last of a reply, no answer to a question of blame."""
    before = [one for one in found if one.number == sentence.number - 1]
    if sentence.number in (0, n_sentences - 1) and not (before and before[0].said[-1].number is not None):
        said = [token for token in sentence.said if token.option]
        claims.append(_Claim(said[0].option, 3, sentence.number, 0, said[0].start, said[0].end, "alone", True))


def _decided(found: list[Sentence], read: object) -> Said:
    """The one value that the sentences agree on, or why there is none."""
    claims: list[_Claim] = []
    denied: list[tuple[str | float, int]] = []
    ties: list[_Claim] = []
    taken_back = -1
    for sentence in found:
        if _takes_back(sentence) and (
            claims or ties or any(one.options() or read is _scored for one in found[: found.index(sentence)])
        ):
            claims, ties, taken_back = [], [], sentence.number
        read(sentence, claims, denied, ties)  # type: ignore[operator]
    if read is _compared and found:
        blamed = any(
            one.asks
            and one.said
            and not one.options()
            and not any(one.has(kind) for kind in ("better", "best", "choose"))
            for one in found
        )
        blamed = blamed or any(
            one.said
            and (one.has("worse") or one.said[0].text == "options")
            and not one.options()[1:]
            and ":" in {t.text for t in one.said}
            for one in found[:-1]
        )
        if blamed:
            claims = [claim for claim in claims if claim.rule == "compares"]
        alone = [sentence for sentence in found if sentence.number > taken_back - 1 and _is_alone(sentence)]
        if not blamed and len({sentence.options()[0] for sentence in alone}) == 1:
            for sentence in alone:
                _alone(sentence, claims, found, found[-1].number + 1)
        elif len(alone) > 1 and not claims:
            return Said(None, "several answers")
        if not claims and not blamed and taken_back < 0:
            _leading(found, claims)
    elif found:
        _bare_scores([sentence for sentence in found if sentence.number >= taken_back] or found, claims)
    return _chosen(claims, denied, ties, taken_back, found)


def _takes_back(sentence: Sentence) -> bool:
    """Whether a sentence begins by taking back what stands before: "Wait, …", "No, …"."""
    opening = sentence.said[:2]
    return any("again" in token.kinds for token in opening) or opening[0].text == "no"


def _chosen(
    claims: list[_Claim],
    denied: list[tuple[str | float, int]],
    ties: list[_Claim],
    taken_back: int,
    found: list[Sentence],
) -> Said:
    if not claims:
        if ties and ties[-1].sentence == found[-1].number and ties[-1].level:
            return Said(
                "both_bad" if ties[-1].value == "both bad" else "tie", None, ties[-1].start, ties[-1].end, "tie"
            )
        named = {letter for sentence in found for letter in sentence.options()}
        cause = (
            "tie" if ties else "several answers" if taken_back >= 0 or (len(named) > 1 and not denied) else "no answer"
        )
        return Said(None, _hedged(found) or cause)
    claims = sorted(claims, key=lambda claim: (claim.sentence, claim.limb, claim.start))
    last = claims[-1]
    top = max(claim.level for claim in claims)
    best = [claim for claim in claims if claim.level == top]
    if len({claim.value for claim in best}) > 1:
        best = [claim for claim in best if claim.sentence == best[-1].sentence]
        later = [claim for claim in best if claim.limb == best[-1].limb]
        if not best[-1].concluding or len({claim.value for claim in later}) > 1:
            return Said(None, "several answers")
        best = later
    chosen = best[-1]
    if any(
        claim.value != chosen.value and (claim.sentence, claim.limb) == (chosen.sentence, chosen.limb)
        for claim in claims
    ):
        return Said(None, "several answers")
    told = next((sentence for sentence in found if sentence.number == chosen.sentence), found[-1])
    if chosen.level == 1 and not chosen.concluding and told.has("but") and len(set(told.options())) > 1:
        return Said(None, "several answers")
    naming = [sentence.number for sentence in found if sentence.options()]
    if chosen.level == 1 and not chosen.concluding and naming and chosen.sentence != naming[-1]:
        return Said(None, "no answer")
    against = last.value != chosen.value and last.start > chosen.start
    if (
        against
        or any(tie.start > chosen.end and (tie.level or tie.sentence == chosen.sentence) for tie in ties)
        or any(v == chosen.value and at >= chosen.sentence for v, at in denied)
    ):
        return Said(None, "several answers" if against else "tie" if ties else "several answers")
    return Said(chosen.value, None, chosen.start, chosen.end, chosen.rule)


def _hedged(found: list[Sentence]) -> str | None:
    """ "hedge" where options are named in sentences that only suppose."""
    supposed = any(sentence.has("supposes") and sentence.options() for sentence in found)
    return "hedge" if supposed and not any(sentence.has("either") for sentence in found) else None
