"""What a score is: a number from 0 to 10, and which numbers of a reply are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from visualjudge.judges.parsing.grammar import COMPARED, FINAL, QUALIFIED, Claim, Found, Grammar
from visualjudge.judges.parsing.lexicon import Term
from visualjudge.judges.parsing.tokens import Kind, Token

# What may stand in a clause that states a score. Any other word might make the number a bound ("at least 8"), a
# deduction, a count, or the score of one aspect or of another image: then the clause is not read.
_SCORE_TERMS = frozenset(
    {
        Term.FINAL,
        Term.CONCLUDE,
        Term.ANSWER,
        Term.NOUN,
        Term.SCORE,
        Term.IS,
        Term.CHOOSE,
        Term.GIVE,
        Term.FILL,
        Term.OF,
        Term.POINTS,
        Term.ASPECT,
        Term.THEN,
        Term.RETRACT,
        Term.WHOLE,
    }
)
_MORE_SCORE_WORDS = """
    quality restored restoration segmentation mask detection given assigned assessment evaluation say think
    feel call for with has how well numerical single respond overall general di à que de du des della
    张 图 片 这张 打 出 と
"""
_SCORE_WORDS = frozenset(_MORE_SCORE_WORDS.split())
_OTHER_MEANINGS = frozenset(
    (
        "perfect",
        "full",
        "even",
        "more",
        "most",
        "far",
        "much",
        "possible",
        "better",
        "low",
        "high",
        "you",
        "confidence",
        "maximum",
        "minimum",
        "max",
        "min",
        "highest",
        "lowest",
        "top",
        "best possible",
        "the other",
        "the other one",
        "the other option",
    )
)
"""Fillers elsewhere that here make the number something else: "a perfect score is 10", "more than 8"."""
_OUT_OF = frozenset(("sur", "su", "auf", "von", "sobre", "em", "из"))
"""Prepositions that mean "out of" between two numbers."""
_LIMITING = frozenset(("for", "with", "without", "had", "were"))
"""Words that, opening a sentence, limit what it says: "For localization, 8", "Without the blur, I'd give 9"."""
_PAUSES = (",", ":", "-", "(", "[")
_ARITHMETIC = ("+", "^", "=", "%", "<")


class Scoring(Grammar):
    """A number from 0 to 10."""

    heads = frozenset({Term.ANSWER, Term.SCORE})
    colon_heads = frozenset({Term.FINAL, Term.CONCLUDE})
    verbs = frozenset({Term.GIVE, Term.CHOOSE})
    lead_marks = (",", "-", ":")

    # ------------------------------------------------ what the clause of a claim must be

    def claims(self) -> list[Claim]:
        """All claims; one whose clause says more than a score is kept without its value, to contradict the weaker."""
        return [claim if claim.value is None else self._checked(claim) for claim in super().claims()]

    def _checked(self, claim: Claim) -> Claim:
        numbers = range(claim.at, len(self.tokens))
        at = next((n for n in numbers if self.tokens[n].value == claim.value and not self._of_the_scale(n)), None)
        if (
            at is not None
            and not self._opens_list(claim, at)
            and self._plain_before(claim, at)
            and self._plain_after(claim, at)
        ):
            return claim
        strength = claim.strength if claim.strength == FINAL else min(claim.strength, QUALIFIED)
        return replace(claim, value=None, strength=strength)

    def _opens_list(self, claim: Claim, at: int) -> bool:
        """Whether the number after a heading is a list's: ``Score:``, next line ``1. Boxes: fine``."""
        after = self.peek(at + 1)
        dotted = after is not None and after.mark(".", ")")
        return claim.at < at and self.tokens[at].first and dotted and not self._home[at].closes_line

    def _plain_before(self, claim: Claim, at: int) -> bool:
        """Whether the clause says nothing but a score up to the number."""
        home = self._home[claim.at]
        first = self.tokens[home.start]
        if (first.term is Term.ASPECT or first.text.lower() in _LIMITING) and not self._only_score(
            home.start, claim.at
        ):
            return False
        start = home.start if claim.strength <= COMPARED else self._clause_start(home.start, claim.at)
        return self._only_score(start, at)

    def _clause_start(self, start: int, at: int) -> int:
        pauses = (n + 1 for n in range(start, at) if self.tokens[n].mark(*_PAUSES))
        return max((n for n in pauses if not self._of_the_scale(n)), default=start)

    def _plain_after(self, claim: Claim, at: int) -> bool:
        """Whether no other value follows in the sentence, and what follows at once limits nothing."""
        start = self._full_marks(at + 1)
        stop = self._home[at].end if at in self._home else at + 1
        if start is None:
            return False
        reason = next((n for n in range(start, stop) if self._gives_reason(n)), stop)
        pause = next((n for n in range(start, reason) if self.tokens[n].mark(*_PAUSES)), reason)
        if claim.strength <= COMPARED and claim.at == at and reason < stop and not self._home[at].opens_line:
            return False
        return self._only_score(start, pause) and not self._numbers(pause, reason, said=self.tokens[at].value)

    def _gives_reason(self, at: int) -> bool:
        token = self.tokens[at]
        return token.term in (Term.BECAUSE, Term.THOUGH) or token.text.lower() == "as"

    def _only_score(self, start: int, end: int) -> bool:
        """Whether tokens ``start`` to ``end`` are words of scoring, the scale, or marks that compute nothing."""
        return not self._numbers(start, end) and all(
            self._says_score(at) or self._scale_at(at) for at in range(start, end)
        )

    def _says_score(self, at: int) -> bool:
        token = self.tokens[at]
        if token.kind is Kind.MARK:
            return not token.mark("+", "^", "%")
        if token.kind in (Kind.BREAK, Kind.NUMBER):
            return True
        if token.text.lower() in _OTHER_MEANINGS:
            return False
        if token.kind is Kind.LETTER:  # an article, not "Option A"
            return token.text.islower() or at == self._home[at].start
        if token.term is Term.SCALE:
            return any(self._of_the_scale(n) for n in range(self._home[at].start, self._home[at].end))
        return token.term in _SCORE_TERMS or token.text.lower() in _SCORE_WORDS

    def _scale_at(self, at: int) -> bool:
        """Whether the word links the scale's numbers: ``from 0 to 10``, ``out of 10``."""
        near = range(max(0, at - 1), min(at + 2, len(self.tokens)))
        links = (Term.FROM, Term.TO, Term.AND, Term.OUT_OF, Term.BETTER, Term.WORSE)
        token = self.tokens[at]
        linked = token.term in links or token.text.lower() in _OUT_OF
        return linked and any(self._of_the_scale(n) for n in near)

    def _numbers(self, start: int, end: int, said: float | None = None) -> bool:
        """Whether a number stands there that is neither the scale's nor ``said`` once more: ``9 (nine)``."""
        others = (n for n in range(start, end) if self.tokens[n].kind is Kind.NUMBER and not self._of_the_scale(n))
        return any(self.tokens[n].value != said for n in others)

    # ------------------------------------------------ productions

    def value(self, at: int, *, stated: bool) -> Found | None:
        at = self.openers(at)
        token = self.peek(at)
        if token is None or token.kind is not Kind.NUMBER:
            said = stated and token is not None and (token.term is Term.TIE or token.kind is Kind.LETTERS)
            return Found(None, at + 1) if said else None
        if self._of_the_scale(at):
            return None
        end = self._full_marks(at + 1)
        if end is None or self._ranged(at, end) or self._computed(at, end):
            return Found(None, at + 1)
        if self._counts_something(end):
            return None
        return Found(token.value if 0 <= token.value <= 10 else None, self.closers(end))

    def _full_marks(self, at: int) -> int | None:
        """Past ``/10``, ``out of 10`` or ``points``; None where another full mark is given, or a per cent sign."""
        token = self.peek(at)
        if token is None:
            return at
        if self._divides(at):
            ten = self.peek(at + 1)
            good = ten is not None and ten.kind is Kind.NUMBER and ten.value == 10
            return self.skip(at + 2, Term.POINTS) if good else None
        return None if token.mark("%") else self.skip(at, Term.POINTS)

    def _divides(self, at: int) -> bool:
        """Whether the full mark follows: ``/10``, ``out of 10``, ``sur 10``."""
        token, ten = self.tokens[at], self.peek(at + 1)
        number = ten is not None and ten.kind is Kind.NUMBER
        return token.mark("/") or token.term is Term.OUT_OF or (number and token.text.lower() in _OUT_OF)

    def _ranged(self, at: int, end: int) -> bool:
        """Whether two numbers are given: ``7-8``, ``7 or 8``, ``between 6 and 7``."""
        link, other = self.peek(end), self.peek(end + 1)
        linked = link is not None and (link.term in (Term.TO, Term.OR, Term.AND) or link.mark("-", "/", "&", ">"))
        forward = linked and other is not None and other.kind is Kind.NUMBER
        return forward or self._bounded_before(at)

    def _computed(self, at: int, end: int) -> bool:
        """Whether the number is a term of a sum, signed, or less than exact: ``3+4``, ``- 3``, ``5+``, ``=7``."""
        if self.tokens[at].text.startswith("+"):
            return True
        after, before = self.peek(end), self.tokens[at - 1] if at else None
        first = self.tokens[at - 2] if at >= 2 else None
        if after is not None and after.mark(*_ARITHMETIC):
            return True
        minus = before is not None and before.mark("-", "+", "^") and first is not None
        return minus and first is not None and (first.kind is Kind.MARK or first.term is Term.IS)

    def _bounded_before(self, at: int) -> bool:
        """Whether what stands before makes the number a bound: ``between 6 and``, ``5-``, ``>``."""
        before = self.tokens[at - 1] if at else None
        first = self.tokens[at - 2] if at >= 2 else None
        if before is None:
            return False
        if before.mark("<"):
            return not self._in_angles(at)
        if before.mark(">"):
            return first is None or not first.mark("-", "=")
        if before.mark("=") and first is not None and first.mark(">", "<"):
            return True
        link = before.term in (Term.TO, Term.OR) or before.mark("-")
        return before.term is Term.FROM or (link and first is not None and first.kind is Kind.NUMBER)

    def _in_angles(self, at: int) -> bool:
        """``<7>``, as a template's place is filled in."""
        after = self.peek(at + 1)
        return after is not None and after.mark(">")

    def _named_end(self, at: int) -> bool:
        """``0: worst, 10: best``, ``worst = 0, best = 10``."""
        ends = (Term.BETTER, Term.WORSE)
        after, word = self.peek(at + 1), self.peek(at + 2)
        if after is not None and after.mark(":") and word is not None and word.term in ends:
            return True
        link, word = (self.tokens[at - 1], self.tokens[at - 2]) if at >= 2 else (None, None)
        return link is not None and link.mark(":", "=") and word is not None and word.term in ends

    def _of_the_scale(self, at: int) -> bool:
        """Whether the number belongs to the scale as the question gave it: ``0 to 10``, ``0 = worst``, ``/10``."""
        link, other, value = self.peek(at + 1), self.peek(at + 2), self.tokens[at].value
        if value == 10 and at and self._divides(at - 1):
            return True
        if value in (0, 1, 10) and self._named_end(at):
            return True
        if link is not None and link.mark("=") and not (other is not None and other.kind is Kind.NUMBER):
            return True
        to = link is not None and (link.term in (Term.TO, Term.AND) or link.mark("-"))
        if value in (0, 1) and to and other is not None and other.value == 10:
            return True
        first, link = (self.tokens[at - 2], self.tokens[at - 1]) if at >= 2 else (None, None)
        back = link is not None and (link.term in (Term.TO, Term.AND) or link.mark("-"))
        return value == 10 and back and first is not None and first.value in (0, 1)

    def _counts_something(self, at: int) -> bool:
        """Whether a noun follows: "4 edges" is no score."""
        token = self.peek(at)
        words = (
            Term.FOLLOW,
            Term.BECAUSE,
            Term.ASPECT,
            Term.IS,
            Term.AND,
            Term.CONCLUDE,
            Term.THOUGH,
            Term.IF,
            Term.RETRACT,
        )
        following = token is not None and token.kind in (Kind.WORD, Kind.LETTER, Kind.LETTERS, Kind.NUMBER)
        return following and token is not None and token.term not in words and token.text[0].isascii()

    def between(self, at: int) -> bool:
        """The scale, too, may stand between: "my score, on a scale from 0 to 10, is"."""
        number = self.tokens[at].kind is Kind.NUMBER
        return super().between(at) or (number and self._of_the_scale(at)) or self.tokens[at].mark("/")

    def loose(self, token: Token[Term]) -> bool:
        """ "I would rate the restored image a 7": any words but numbers may stand between."""
        return token.kind in (Kind.WORD, Kind.LETTER) and token.term not in (Term.NOT, Term.IF, Term.FROM, Term.SCALE)

    def _label_strength(self, at: int) -> int:
        """A score of something in particular ("localisation score") says less than a score."""
        before = self.tokens[at - 1] if at > self._home[at].start else None
        named = before is not None and before.kind is Kind.WORD and before.term is None
        return QUALIFIED if named else super()._label_strength(at)

    def is_marker(self, at: int) -> bool:
        """``1.`` opens a list; ``n.`` goes on with one where ``n - 1`` opened a line before."""
        number = self.tokens[at].value
        return number == 1 or any(t.first and t.value == number - 1 for t in self.tokens[:at])

    def _bare_claims(self, bare: list[tuple[object, Found]]) -> Iterator[Claim]:  # type: ignore[override]
        kept = [(s, found) for s, found in bare if s.closes_line or not self.is_marker(s.start)]  # type: ignore[attr-defined]
        return super()._bare_claims(kept)  # type: ignore[arg-type]

    def extra(self) -> Iterator[Claim]:
        """``8/10`` anywhere, ``8 out of 10``, ``8分``."""
        for sentence in self.sentences:
            for at in range(sentence.start, sentence.end):
                found = self.value(at, stated=False) if self.tokens[at].kind is Kind.NUMBER else None
                if found and found.value is not None and found.end > at + 1 and self.free(at) and not sentence.question:
                    fraction = any(
                        token.mark("/") or token.term in (Term.OUT_OF, Term.POINTS)
                        for token in self.tokens[at : found.end]
                    )
                    if fraction:
                        alone = at == self.openers(sentence.start) and self._ends(found.end)
                        value = found.value if alone or not self._other_numbers(found.value) else None
                        yield Claim(value, COMPARED, at)

    def _other_numbers(self, value: object) -> bool:
        return any(
            token.kind is Kind.NUMBER and token.value != value and not self._of_the_scale(at)
            for at, token in enumerate(self.tokens)
        )
