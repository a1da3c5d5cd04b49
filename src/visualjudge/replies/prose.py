"""The tier ``prose``: what sentences say, by the phrases of ``phrases.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from visualjudge.replies.orders import order_in
from visualjudge.replies.said import Said
from visualjudge.replies.scores import GREATEST, number_of, only_score, score_at
from visualjudge.replies.sentences import Clause, Sentence, has, sentences, stands
from visualjudge.replies.tokens import Word

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
    concluding: bool = True


@dataclass(slots=True)
class _Heard:
    """What sentences claim, deny and call a tie; ``taken_back``: the sentence that took back what stood before it."""

    claims: list[_Claim] = field(default_factory=list)
    denied: list[tuple[str | float, int]] = field(default_factory=list)
    ties: list[_Claim] = field(default_factory=list)
    taken_back: int = -1


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
    said = _decided(found, scoring=question_type == "scoring")
    if said.value is None and question_type == "scoring":
        return replace(said, cause=_cause_of_no_score(found, said.cause))
    return said


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


def _compared(sentence: Sentence, heard: _Heard) -> None:
    """The options that a sentence prefers, and those that it says not to."""
    for match in sentence.matches():
        if match.kind in ("void", "scores"):
            continue
        state, clause, level = stands(sentence, match), sentence.clause_of(match.start), LEVELS.get(match.kind, 0)
        place = (sentence.number, clause.limb, sentence.said[match.start].start, sentence.said[match.end - 1].end)
        if match.kind in ("ties", "both bad"):
            if state != "denied" and not (sentence.asks or sentence.has("supposes") or sentence.has("doubts")):
                sure = int(state == "yes" and not sentence.options())
                heard.ties.append(_Claim(match.kind, sure, *place, "tie", sentence.concludes()))
            continue
        quality = match.slots.get("better") or match.slots.get("is better") or match.slots.get("best")
        if match.kind == "compares" and quality is not None and "as a whole" not in quality.kinds:
            level = LEVELS["in one respect"]
        value = match.slots["X"].option if "X" in match.slots else OTHER.get(match.slots["Y"].option, "")
        concluding = clause.opened == "so" or sentence.concludes()
        around = [*sentence.said[: match.start], *sentence.said[match.end :]]
        if (level == 1 and has(around, "blame")) or (match.kind == "when concluding" and not concluding):
            continue
        if state == "denied":
            heard.denied.append((value, sentence.number))
        elif value in OTHER and (state == "yes" or (state == "limited" and concluding and clause.opened != "and")):
            heard.claims.append(_Claim(value, level, *place, match.kind, concluding))


def _scored(sentence: Sentence, heard: _Heard) -> None:
    """The scores that a sentence gives."""
    for match in sentence.matches():
        if match.kind != "scores":
            continue
        token, clause = match.slots["n"], sentence.clause_of(match.start)
        found = score_at(sentence.said, sentence.said.index(token))
        match = replace(match, end=max(match.end, found[1] if found else 0))
        state = stands(sentence, match)
        if state == "denied":
            heard.denied.append((number_of(token) or 0.0, sentence.number))
        elif state == "yes" and found and not _other_numbers(sentence, clause, range(match.start, match.end)):
            end = sentence.said[match.end - 1].end
            place = (sentence.number, clause.limb, token.start, end)
            heard.claims.append(_Claim(found[0], 2, *place, match.kind, sentence.concludes()))


def _other_numbers(sentence: Sentence, clause: Clause, inside: range) -> bool:
    """Whether the limb of a clause holds another number that is not denied: "6 or 7"."""
    limb = [one for one in sentence.clauses if one.limb == clause.limb and one.opened not in ("although", "reason")]
    plain = [one for one in limb if one is clause or not sentence.has("denies", one.start, one.end)]
    return any(
        sentence.said[at].number is not None for one in plain for at in range(one.start, one.end) if at not in inside
    )


def _bare_scores(found: Sequence[Sentence], heard: _Heard) -> None:
    """A score that is the whole of the first clause, or of the last: "7, because …", "One dog is missed: 7."."""
    for sentence, at in ((found[0], 0), (found[-1], -1)):
        clause = sentence.clauses[at]
        said, after = sentence.said[clause.start : clause.end], sentence.said[clause.end :]
        value = only_score(said)
        listed = any(
            one is not sentence and len(one.said) == 1 and one.said[0].number not in (None, value) for one in found
        )
        if value is None or sentence.asks or listed:
            continue
        limb = [one for one in sentence.clauses if one.limb == clause.limb]
        noted = at == 0 and len(after) > 0 and (after[0].text, sentence.said[-1].text) == ("(", ")")
        noted = noted and (has(after, "reason", "supposes", "bounds") or any(token.text == "iou" for token in after))
        if not noted and has(sentence.said[limb[0].start : limb[-1].end], "supposes", "doubts"):
            continue
        leads = at == 0 and clause.start == 0 and _leads(said, [] if noted else after, value, len(found))
        if leads or (at == -1 and _follows(sentence, clause)):
            place = (sentence.number, clause.limb, said[0].start, said[-1].end)
            heard.claims.append(_Claim(value, 2, *place, "alone"))


def _leads(said: Sequence[Word], rest: Sequence[Word], value: float, n_sentences: int) -> bool:
    """Whether the first clause is the score, and what follows its reason."""
    explicit = any(token.text == "/" or "points" in token.kinds for token in said)
    if value == 1.0 and n_sentences > 1 and not explicit:
        return False  # the first of a list
    if has(rest[:2], "denies", "other scale") or any(token.text == "/" for token in rest):
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
    colon = before[-1].text == ":"
    if colon and len(label) < 4 and not all(token.kinds & {"score", "heading", "so"} for token in label):
        return False
    explicit = any(token.text == "/" for token in sentence.said[clause.start :])
    numbers = any(token.number is not None for token in before)
    return (explicit or colon or not numbers) and not any(token.text == "|" or token.option for token in before)


def _leading(found: Sequence[Sentence], heard: _Heard) -> None:
    """A reply that begins with an option and its reason: "B, because …"; not where the other begins a part."""
    first, said = found[0], found[0].said
    if len(said) < 2 or said[0].option not in OTHER or first.asks or first.has("doubts"):
        return
    if not (said[1].text[0] in ":-(" or has(said[1:3], "reason")):
        return
    if said[1].text == ":" and (len(found) > 1 or first.has("but")):
        return
    rest = [token for sentence in found for token in sentence.said]
    heads = {sentence.said[0].option for sentence in found}
    heads |= {two.option for one, two in pairwise(rest) if one.text[0] in ",:-(" or "and" in one.kinds}
    if heads <= {"", said[0].option} and not has(said[1:4], "denies", "supposes", "worse", "worst", "again"):
        heard.claims.append(_Claim(said[0].option, 3, first.number, 0, said[0].start, said[0].end, "leading"))


def _is_alone(sentence: Sentence) -> bool:
    said = [t for t in sentence.said if t.text[0].isalnum() and not has([t], "heading", "again", "so", "but")]
    said = said[1:] if said and said[0].text == "no" else said
    return len(said) == 1 and said[0].option in OTHER and not sentence.asks and sentence.said[-1].text != ":"


def _alone(found: Sequence[Sentence], heard: _Heard) -> str | None:
    """A sentence that is only an option, "B.", the first or the last of a reply; no answer to a question of blame.

    Returns the cause where several such sentences make the reply unread.
    """
    blamed = any(one.asks and not one.options() and not has(one.said, "better", "best", "choose") for one in found)
    blamed = blamed or any(
        (one.has("worse") or one.said[0].text == "options")
        and not one.options()[1:]
        and ":" in {token.text for token in one.said}
        for one in found[:-1]
    )
    if blamed:
        heard.claims = [claim for claim in heard.claims if claim.rule == "compares"]
    alone = [sentence for sentence in found if sentence.number >= heard.taken_back and _is_alone(sentence)]
    if not blamed and len({sentence.options()[0] for sentence in alone}) == 1:
        numbered = {one.number + 1 for one in found if one.said[-1].number is not None}
        for sentence in alone:
            if sentence.number in {0, found[-1].number} - numbered:
                token = next(token for token in sentence.said if token.option)
                heard.claims.append(_Claim(token.option, 3, sentence.number, 0, token.start, token.end, "alone"))
    elif len(alone) > 1 and not heard.claims:
        return "several answers"
    if not heard.claims and not blamed and heard.taken_back < 0:
        _leading(found, heard)
    return None


def _decided(found: list[Sentence], *, scoring: bool) -> Said:
    """The one value that the sentences agree on, or why there is none."""
    heard, named = _Heard(), False
    for sentence in found:
        takes_back = has(sentence.said[:2], "again") or sentence.said[0].text == "no"
        if takes_back and (heard.claims or heard.ties or named):
            heard = _Heard(denied=heard.denied, taken_back=sentence.number)
        named = named or scoring or bool(sentence.options())
        (_scored if scoring else _compared)(sentence, heard)
    if scoring and found:
        _bare_scores([sentence for sentence in found if sentence.number >= heard.taken_back], heard)
    elif found and (cause := _alone(found, heard)):
        return Said(None, cause)
    return _chosen(heard, found)


def _chosen(heard: _Heard, found: list[Sentence]) -> Said:
    ties, several = heard.ties, Said(None, "several answers")
    if not heard.claims:
        if ties and ties[-1].sentence == found[-1].number and ties[-1].level:
            value = "both_bad" if ties[-1].value == "both bad" else "tie"
            return Said(value, None, ties[-1].start, ties[-1].end, "tie")
        named = {letter for sentence in found for letter in sentence.options()}
        unclear = heard.taken_back >= 0 or (len(named) > 1 and not heard.denied)
        return Said(None, _hedged(found) or ("tie" if ties else "several answers" if unclear else "no answer"))
    claims = sorted(heard.claims, key=lambda claim: (claim.sentence, claim.limb, claim.start))
    last, top = claims[-1], max(claim.level for claim in claims)
    best = [claim for claim in claims if claim.level == top]
    if len({claim.value for claim in best}) > 1:
        best = [claim for claim in best if (claim.sentence, claim.limb) == (best[-1].sentence, best[-1].limb)]
        if not best[-1].concluding or len({claim.value for claim in best}) > 1:
            return several
    chosen = best[-1]
    if any(c.value != chosen.value and (c.sentence, c.limb) == (chosen.sentence, chosen.limb) for c in claims):
        return several
    told = next((sentence for sentence in found if sentence.number == chosen.sentence), found[-1])
    if chosen.level == 1 and not chosen.concluding:
        if told.has("but") and len(set(told.options())) > 1:
            return several
        naming = [sentence.number for sentence in found if sentence.options()]
        if naming and chosen.sentence != naming[-1]:
            return Said(None, "no answer")
    against = last.value != chosen.value and last.start > chosen.start
    tied = any(tie.start > chosen.end and (tie.level or tie.sentence == chosen.sentence) for tie in ties)
    if against or tied or any(value == chosen.value and at >= chosen.sentence for value, at in heard.denied):
        return Said(None, "tie" if ties and not against else "several answers")
    return Said(chosen.value, None, chosen.start, chosen.end, chosen.rule)


def _hedged(found: list[Sentence]) -> str | None:
    """ "hedge" where options are named in sentences that only suppose."""
    supposed = any(sentence.has("supposes") and sentence.options() for sentence in found)
    return "hedge" if supposed and not any(sentence.has("either") for sentence in found) else None
