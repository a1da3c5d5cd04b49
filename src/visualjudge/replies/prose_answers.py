"""Answers in lines and sentences, by the phrases of ``phrases.yaml``: claims, and the one that
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from visualjudge.replies.phrases import Match
from visualjudge.replies.ranking_orders import listed_order, order_in
from visualjudge.replies.read_value import Said
from visualjudge.replies.sentences import Clause, Sentence, has, sentences, stands
from visualjudge.replies.tokens import Word
from visualjudge.replies.value_tokens import GREATEST, direction_of

LABEL, LINE = 5, 4
LEVELS = {
    "declares": LABEL,
    "prefers": 3,
    "compares": 2,
    "scores": 2,
    "in one respect": 1,
    "when concluding": 1,
}
OTHER = {"A": "B", "B": "A"}
TIES = {"tie": "tie", "both bad": "both_bad", "ties": "tie"}


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
    """Claims, denials and ties of the sentences; ``taken_back`` is the sentence that retracted the
    preceding ones.
    """

    claims: list[_Claim] = field(default_factory=list)
    denied: list[tuple[str | float, int]] = field(default_factory=list)
    ties: list[_Claim] = field(default_factory=list)
    taken_back: int = -1


def read_sentences(text: str, question_type: str, n_options: int, *, marked_only: bool) -> Said:
    """Read plain text: its labelled lines and lines that are the answer, or else its sentences."""
    found = sentences(text, question_type, n_options)
    if not found:
        return Said(None, "no answer")
    if question_type == "ranking":
        return order_in(found, n_options, marked_only=marked_only)
    scoring = question_type == "scoring"
    heard = _listen(found, scoring=scoring)
    if not scoring and not heard.claims and (order := _listed_pair(found)):
        return order
    _lines(found, heard, scoring=scoring)
    if not marked_only and not any(claim.level >= LINE for claim in heard.claims):
        cause = _bare_scores(found, heard) if scoring else _alone(found, heard)
        if cause:
            return Said(None, cause)
    said = _chosen(heard, found, marked_only=marked_only)
    if said.value is None and scoring and said.cause != "tie":
        return Said(None, _cause_of_no_score(found, said.cause))
    return said


def _listen(found: Sequence[Sentence], *, scoring: bool) -> _Heard:
    """Collect the claims of the sentences since the last one that retracts the preceding ones."""
    heard, named = _Heard(), False
    for sentence in found:
        if sentence.takes_back() and (heard.claims or heard.ties or named):
            heard = _Heard(denied=heard.denied, taken_back=sentence.number)
        named = named or scoring or bool(sentence.options())
        for match in sentence.matches():
            if match.kind != "void" and (sentence.near or match.kind == "declares"):
                _hear(sentence, match, heard, scoring=scoring)
    return heard


def _listed_pair(found: Sequence[Sentence]) -> Said | None:
    """Return the first option of "1. B 2. A", if the reply has nothing else."""
    tokens = [token for sentence in found for token in sentence.parts]
    named = [token for token in tokens if token.option]
    others = [
        token
        for token in tokens
        if not token.option and token.number is None and token.text[0].isalnum()
    ]
    places = [
        token for token in tokens if token.number is not None or has([token], "place 1", "place 2")
    ]
    known = len(places) == 2 and all(
        has([token], "ranking", "place 1", "place 2", "is", "answer") for token in others
    )
    if len(named) != 2 or not known or any(sentence.asks for sentence in found):
        return None
    order = listed_order(found, 2)
    return replace(order, value=str(order.value)[0]) if order and order.value else None


def _hear(sentence: Sentence, match: Match, heard: _Heard, *, scoring: bool) -> None:
    """Record what one phrase claims, denies or calls a tie."""
    level = LEVELS.get(match.kind, 0)
    value = _value(match)
    if isinstance(value, float) != scoring or value == "":
        return
    state, clause = stands(sentence, match), sentence.clause_of(match.start)
    place = (
        sentence.number,
        clause.limb,
        sentence.said[match.start].start,
        sentence.said[match.end - 1].end,
    )
    if value in TIES.values() and level != LABEL:
        if state != "denied" and not (sentence.asks or has(sentence.said, "supposes", "doubts")):
            others = set(sentence.options()) - {slot.option for slot in match.slots.values()}
            sure = int(state == "yes" and not others)
            heard.ties.append(_Claim(value, sure, *place, "tie", sentence.concludes()))
        return
    quality = match.slots.get("better") or match.slots.get("is better") or match.slots.get("best")
    if match.kind == "compares" and quality is not None and "as a whole" not in quality.kinds:
        level = LEVELS["in one respect"]
    concluding = clause.opened == "so" or sentence.concludes()
    around = [*sentence.said[: match.start], *sentence.said[match.end :]]
    if (level == 1 and has(around, "blame")) or (
        match.kind == "when concluding" and not concluding
    ):
        return
    if match.kind == "declares" and not _may_declare(sentence, match):
        return
    if match.kind == "scores" and _other_numbers(sentence, match):
        return
    if state == "denied":
        heard.denied.append((value, sentence.number))
    elif state == "yes" or (
        state == "limited" and level < LINE and _concludes(sentence, match, clause)
    ):
        heard.claims.append(_Claim(value, level, *place, match.kind, concluding))


def _concludes(sentence: Sentence, match: Match, clause: Clause) -> bool:
    """Return whether a preference in one respect ends a concluding sentence: "Overall, B is better
    in colour".
    """
    but = next(
        (one.start for one in sentence.clauses if one.opened == "but" and one.start >= match.end),
        None,
    )
    other = but is not None and any(token.option for token in sentence.said[but:])
    return (clause.opened == "so" or sentence.concludes()) and clause.opened != "and" and not other


def _value(match: Match) -> str | float:
    """Return the value in the slots of a phrase; "" without one."""
    slots = match.slots
    if match.kind in TIES:
        return TIES[match.kind]
    if "n" in slots:
        return float(slots["n"].number or 0)
    if "X" in slots:
        return slots["X"].option if slots["X"].option in OTHER else ""
    if "Y" in slots:
        return OTHER.get(slots["Y"].option, "")
    return next((TIES[kind] for kind in ("tie", "both bad") if kind in slots), "")


def _may_declare(sentence: Sentence, match: Match) -> bool:
    """Return whether a label's answer is not a heading or a list item followed by its own
    reason.
    """
    clause = sentence.clause_of(match.start)
    follows = clause.start > 0 and sentence.said[clause.start - 1].text == ":"
    if follows and not has(
        sentence.said[: clause.start], "again", "answer", "heading", "so", "score"
    ):
        return False  # "Format: Answer: A"
    after = sentence.said[match.end : match.end + 8]
    first = after[0].text[0] if after else ""
    if "n" in match.slots and has(sentence.said[match.start : match.end], "best", "better"):
        return False
    if "n" in match.slots and (
        _other_numbers(sentence, match) or any(t.number is not None for t in after[:2])
    ):
        return False
    if first == ":" or has(after[:4], "worse", "worst", "again", "supposes"):
        return False
    own = match.slots["X"].option if "X" in match.slots else ""
    options = {token.option for token in after if token.option} - {own}
    if has(after[:1], "and") or first in ",;-":
        return not options or has(after[1:2], "denies")
    return True


def _lines(found: Sequence[Sentence], heard: _Heard, *, scoring: bool) -> None:
    """Read answers on separate lines: under a label, and on the first or last line."""
    whole = [one for one in found if one.whole and any(t.text[0].isalnum() for t in one.said)]
    for sentence, following in pairwise(found):
        label = (
            (sentence.whole or sentence.said[-1].text == ":")
            and not sentence.asks
            and _is_label(sentence, scoring=scoring)
        )
        label = label and following.number >= heard.taken_back
        if label and following.whole and (value := _bare(following, scoring=scoring)) is not None:
            heard.claims.append(_claim(following, value, LABEL, "label"))
    whole = [one for one in whole if one.number >= heard.taken_back and not _is_heading(found, one)]
    bare = {
        one.number: value for one in whole if (value := _bare(one, scoring=scoring)) is not None
    }
    headings = len(set(bare.values())) > 1 and found[-1].number not in bare  # "### Option A"
    ends = [] if headings else [one for one in (found[0], found[-1]) if one.number in bare]
    asked = len(found) > 1 and found[-2].asks and direction_of(found[-2].said)
    if ends and not asked and not (ends[0].number == 0 and found[0].asks):
        heard.claims += [
            _claim(one, bare[one.number], LINE, "only") for one in whole if one.number in bare
        ]


def _is_heading(found: Sequence[Sentence], sentence: Sentence) -> bool:
    """Return whether labelled points follow a line, "A" and "- Strengths: …", so that it is a
    heading.
    """
    after = [
        token.text for one in found[sentence.number + 1 : sentence.number + 2] for token in one.said
    ]
    return len(after) > 2 and after[0] in ("-", "*", "•", "+") and ":" in after[1:4]


def _claim(sentence: Sentence, value: str | float, level: int, rule: str) -> _Claim:
    said = [token for token in sentence.said if token.text[0].isalnum()] or sentence.said
    return _Claim(value, level, sentence.number, 0, said[0].start, said[-1].end, rule)


def _is_label(sentence: Sentence, *, scoring: bool) -> bool:
    words = [token for token in sentence.said if token.text[0].isalnum()]
    known = {
        "answer",
        "heading",
        "score" if scoring else "answer",
        "so",
        "I",
        "is",
        "again",
        "option",
    }
    asked = {"answer", "score" if scoring else "answer"}
    return (
        bool(words)
        and all(token.kinds & known and not token.option for token in words)
        and has(words, *asked)
    )


def _bare(sentence: Sentence, *, scoring: bool) -> str | float | None:
    """Return the answer if the sentence consists only of it."""
    if sentence.asks or sentence.said[-1].text == ":":
        return None
    if any(one.option and two.text == ":" for one, two in pairwise(sentence.said)):
        return None
    skipped = (
        {"around", "score", "so", "and", "answer", "again", "points"}
        if scoring
        else {"again", "so", "but", "option", "I", "answer", "heading"}
    )
    words = [t for t in sentence.said if t.text[0].isalnum() or t.text[0] in ".=<>~/|+%^-"]
    kept = [t for t in words if t.option or "n" in t.kinds or not t.kinds & skipped]
    while kept and (kept[0].text == "no" or not kept[0].text.strip("-=<>~")):
        kept.pop(0)
    while kept and not kept[-1].text.strip("->"):
        kept.pop()
    if scoring:
        alone = len(kept) == 1 and "n" in kept[0].kinds and not has(words, "best", "better")
        return kept[0].number if alone else None
    if len(kept) == 1 and not kept[0].option:
        ties = next((TIES[kind] for kind in ("tie", "both bad") if kind in kept[0].kinds), None)
        return ties or {"a": "A", "b": "B", "first": "A", "second": "B"}.get(kept[0].text)
    letters = {token.option for token in kept}
    if len(kept) == 3 and kept[1].text[0] in "<>" and letters >= {"A", "B"}:
        return kept[0 if kept[1].text[0] == ">" else 2].option
    return letters.pop() if letters in ({"A"}, {"B"}) else None


def _other_numbers(sentence: Sentence, match: Match) -> bool:
    """Return whether the clauses around a score contain another number that is not denied: "6 or
    7".
    """
    clause = sentence.clause_of(match.start)
    limb = [one for one in sentence.limb_of(clause) if one.opened not in ("although", "reason")]
    plain = [one for one in limb if one is clause or not sentence.has("denies", one.start, one.end)]
    places = (
        at for one in plain for at in range(one.start, one.end) if not match.start <= at < match.end
    )
    return any(sentence.said[at].number is not None for at in places)


def _bare_scores(found: Sequence[Sentence], heard: _Heard) -> str | None:
    """Read a score that is the entire first or last clause: "7, because …", "One dog is missed:
    7.".
    """
    kept = [one for one in found if one.number >= heard.taken_back and one.near]
    for sentence, at in ((kept[0], 0), (kept[-1], 0), (kept[-1], -1)) if kept else ():
        clause = sentence.clauses[at]
        said, after = sentence.said[clause.start : clause.end], sentence.said[clause.end :]
        value = _bare(Sentence(list(said), False), scoring=True)
        listed = any(
            one is not sentence and len(one.said) == 1 and one.said[0].number not in (None, value)
            for one in kept
        )
        if value is None or sentence.asks or listed:
            continue
        limb = sentence.limb_of(clause)
        if (
            at == 0
            and sentence is not kept[0]
            and (sentence.clauses[1:] == [] or not sentence.near)
        ):
            continue
        noted = at == 0 and len(after) > 0 and (after[0].text, sentence.said[-1].text) == ("(", ")")
        noted = noted and (
            has(after, "reason", "supposes", "bounds")
            or any(token.text == "iou" for token in after)
        )
        if not noted and has(sentence.said[limb[0].start : limb[-1].end], "supposes", "doubts"):
            continue
        leads = (
            at == 0 and clause.start == 0 and _leads(said, [] if noted else after, value, len(kept))
        )
        if leads or (at == -1 and _follows(sentence)):
            place = (sentence.number, clause.limb, said[0].start, said[-1].end)
            heard.claims.append(_Claim(value, 2, *place, "alone"))
    return None


def _leads(
    said: Sequence[Word], rest: Sequence[Word], value: str | float, n_sentences: int
) -> bool:
    """Return whether the first clause is the score, followed by its reason."""
    explicit = any("/" in token.text for token in said)
    if value == 1.0 and n_sentences > 1 and not explicit:
        return False  # the first item of a list
    if (
        has(rest[:2], "denies", "other scale")
        or (n_sentences > 1 and any(token.text == ":" for token in rest[:1]))
        or any(token.text == "/" for token in rest)
    ):
        return False
    reason = next((n for n, token in enumerate(rest) if "reason" in token.kinds), len(rest))
    return explicit or not any(token.number is not None for token in rest[:reason])


def _follows(sentence: Sentence) -> bool:
    """Return whether the last clause does not belong to a criterion ("Noise: 6"), and no number of
    another kind precedes it.
    """
    clause = sentence.clauses[-1]
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
    criterion = len(label) < 4 and not any(token.number is not None for token in label)
    if (
        colon
        and criterion
        and not all(token.kinds & {"score", "heading", "so", "around", "again"} for token in label)
    ):
        return False
    explicit = any(
        "/" in token.text and "n" in token.kinds for token in sentence.said[clause.start :]
    )
    if colon and label and label[-1].text.isdigit() and not explicit:
        return False  # "Question 7: 5"
    numbers = any(token.number is not None for token in before)
    return (explicit or colon or not numbers) and not any(
        token.text == "|" or token.option for token in before
    )


def _alone(found: Sequence[Sentence], heard: _Heard) -> str | None:
    """Read a sentence that is only an option, the first or the last of a reply, unless the question
    asks for the worse one.

    Return the cause if several such sentences make the reply unreadable.
    """
    asked = [one for one in found if one.asks and not one.options() and one.said[0].text != "why"]
    blamed = any(not has(one.said, "better", "best", "choose") for one in asked)
    blamed = blamed or any(
        (one.has("worse") or one.said[0].text == "options")
        and not one.options()[1:]
        and ":" in {token.text for token in one.said}
        for one in found[:-1]
    )
    if blamed:
        heard.claims = [claim for claim in heard.claims if claim.rule == "compares"]
    alone = [
        one
        for one in found
        if one.number >= heard.taken_back
        and len(one.options()) == 1
        and _bare(one, scoring=False) in OTHER
        and not _is_heading(found, one)
    ]
    if any(one.said[0].text == "or" and one.options() for one in found):
        return "several answers"  # "A … or B."
    if not blamed and len({sentence.options()[0] for sentence in alone}) == 1:
        numbered = {one.number + 1 for one in found if one.said[-1].number is not None}
        for sentence in alone:
            if sentence.number in {0, found[-1].number} - numbered:
                heard.claims.append(_claim(sentence, sentence.options()[0], 3, "alone"))
    elif len(alone) > 1 and not heard.claims:
        return "several answers"
    if not heard.claims and not blamed and heard.taken_back < 0:
        _leading(found, heard)
    return None


def _leading(found: Sequence[Sentence], heard: _Heard) -> None:
    """Read a reply that begins with an option and its reason, "B, because …", unless the other
    option begins a part.
    """
    first, said = found[0], found[0].said
    if len(said) < 2 or said[0].option not in OTHER or first.asks or first.has("doubts"):
        return
    if not (said[1].text[0] in ":-(" or has(said[1:3], "reason")):
        return
    if said[1].text == ":" and (len(found) > 1 or first.has("but")):
        return
    rest = [token for sentence in found for token in sentence.said]
    heads = {
        next((t.option for t in sentence.said if t.text[0].isalnum()), "") for sentence in found
    }
    heads |= {
        two.option for one, two in pairwise(rest) if one.text[0] in ",:-(" or "and" in one.kinds
    }
    if heads <= {"", said[0].option} and not has(
        said[1:4], "denies", "supposes", "worse", "worst", "again"
    ):
        heard.claims.append(
            _Claim(said[0].option, 3, first.number, 0, said[0].start, said[0].end, "leading")
        )


def _chosen(heard: _Heard, found: list[Sentence], *, marked_only: bool) -> Said:
    """Return the one value on which the claims agree, or why there is none."""
    claims = sorted(heard.claims, key=lambda claim: (claim.sentence, claim.limb, claim.start))
    top = max((claim.level for claim in claims), default=0)
    if top >= LINE:
        return _declared(claims, top, heard, found)
    if claims and not marked_only:
        return _agreed(claims, top, heard, found)
    ties = [] if marked_only else heard.ties
    if ties and ties[-1].sentence == found[-1].number and ties[-1].level:
        return Said(str(ties[-1].value), None, ties[-1].start, ties[-1].end, "tie")
    named = {letter for sentence in found for letter in sentence.options()}
    unclear = heard.taken_back >= 0 or (len(named) > 1 and not heard.denied)
    return Said(
        None, _hedged(found) or ("tie" if ties else "several answers" if unclear else "no answer")
    )


def _declared(claims: Sequence[_Claim], top: int, heard: _Heard, found: Sequence[Sentence]) -> Said:
    """Return the last declaration, unless its own line or later text contradicts it."""
    best = [claim for claim in claims if claim.level == top]
    chosen = best[-1]
    line = _line_of(found, chosen)
    beside = {claim.value for claim in best if top < LABEL or _line_of(found, claim) == line}
    ties = [tie for tie in heard.ties if tie.level]
    later = {claim.value for claim in (*claims, *ties) if claim.start > chosen.end}
    if len(beside | later) > 1:
        return Said(None, "several answers")
    return Said(
        chosen.value, None, chosen.start, chosen.end, "label" if top > LINE else "only", marked=True
    )


def _agreed(claims: Sequence[_Claim], top: int, heard: _Heard, found: Sequence[Sentence]) -> Said:
    """Return the option that the sentences prefer, if nothing of equal weight or later contradicts
    it.
    """
    several = Said(None, "several answers")
    if top == 1 and any(tie.level for tie in heard.ties):
        return Said(None, "tie")
    best = [claim for claim in claims if claim.level == top]
    if len({claim.value for claim in best}) > 1:
        best = [
            claim
            for claim in best
            if (claim.sentence, claim.limb) == (best[-1].sentence, best[-1].limb)
        ]
        if not best[-1].concluding or len({claim.value for claim in best}) > 1:
            return several
    chosen, last = best[-1], claims[-1]
    if any(
        c.value != chosen.value and (c.sentence, c.limb) == (chosen.sentence, chosen.limb)
        for c in claims
    ):
        return several
    told = next((sentence for sentence in found if sentence.number == chosen.sentence), found[-1])
    if chosen.level == 1 and told.has("but") and len(set(told.options())) > 1:
        return several
    naming = [sentence.number for sentence in found if sentence.options() and sentence.near]
    if chosen.level == 1 and not chosen.concluding and naming and chosen.sentence != naming[-1]:
        return Said(None, "no answer")
    against = last.value != chosen.value and last.start > chosen.start
    end = max(claim.end for claim in claims if claim.value == chosen.value)
    tied = any(
        tie.start > end and (tie.level or tie.sentence == chosen.sentence) for tie in heard.ties
    )
    if (
        against
        or tied
        or any(value == chosen.value and at >= chosen.sentence for value, at in heard.denied)
    ):
        return Said(None, "tie" if heard.ties and not against else "several answers")
    return Said(chosen.value, None, chosen.start, chosen.end, chosen.rule)


def _line_of(found: Sequence[Sentence], claim: _Claim) -> int:
    """Return the line of a claim."""
    return next((sentence.line for sentence in found if sentence.number == claim.sentence), 0)


def _hedged(found: list[Sentence]) -> str | None:
    """Return "hedge" if options are named in sentences that only suppose."""
    supposed = any(sentence.has("supposes") and sentence.options() for sentence in found)
    return "hedge" if supposed and not any(sentence.has("either") for sentence in found) else None


def _cause_of_no_score(found: Sequence[Sentence], cause: str | None) -> str | None:
    """Return ``other scale`` if a number is above ten or on another scale, and ``several answers``
    if there are two.
    """
    tokens = [token for sentence in found for token in sentence.said]
    numbers = {token.number for token in tokens if token.number is not None}
    over = any(
        one.text == "/" and two.number not in (None, GREATEST) for one, two in pairwise(tokens)
    )
    if over or (
        numbers and (min(numbers) > GREATEST or any(token.text == "%" for token in tokens))
    ):
        return "other scale"
    return "several answers" if len(numbers) > 1 else cause
