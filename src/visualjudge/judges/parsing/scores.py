"""What a score is: a number from 0 to 10, and which numbers of a reply are none."""

from __future__ import annotations

from collections.abc import Iterator

from visualjudge.judges.parsing.grammar import COMPARED, QUALIFIED, Claim, Found, Grammar
from visualjudge.judges.parsing.lexicon import Term
from visualjudge.judges.parsing.tokens import Kind, Token


class Scoring(Grammar):
    """A number from 0 to 10."""

    heads = frozenset({Term.ANSWER, Term.SCORE})
    colon_heads = frozenset({Term.FINAL, Term.CONCLUDE})
    verbs = frozenset({Term.GIVE, Term.CHOOSE})
    lead_marks = (",", "-", ":")

    def value(self, at: int, *, stated: bool) -> Found | None:
        at = self.openers(at)
        token = self.peek(at)
        if token is None or token.kind is not Kind.NUMBER:
            said = stated and token is not None and (token.term is Term.TIE or token.kind is Kind.LETTERS)
            return Found(None, at + 1) if said else None
        if self._of_the_scale(at):
            return None
        end = self._full_marks(at + 1)
        if end is None or self._ranged(at, end):
            return Found(None, at + 1)
        if self._counts_something(end):
            return None
        return Found(token.value if 0 <= token.value <= 10 else None, self.closers(end))

    def _full_marks(self, at: int) -> int | None:
        """Past ``/10``, ``out of 10`` or ``points``; None where another full mark is given, or a per cent sign."""
        token = self.peek(at)
        if token is None:
            return at
        if token.mark("/") or token.term is Term.OUT_OF:
            ten = self.peek(at + 1)
            good = ten is not None and ten.kind is Kind.NUMBER and ten.value == 10
            return self.skip(at + 2, Term.POINTS) if good else None
        return None if token.mark("%") else self.skip(at, Term.POINTS)

    def _ranged(self, at: int, end: int) -> bool:
        """Whether two numbers are given: ``7-8``, ``7 or 8``, ``between 6 and 7``."""
        link, other = self.peek(end), self.peek(end + 1)
        linked = link is not None and (link.term in (Term.TO, Term.OR, Term.AND) or link.mark("-", "/", "&", ">"))
        forward = linked and other is not None and other.kind is Kind.NUMBER
        return forward or self._bounded_before(at)

    def _bounded_before(self, at: int) -> bool:
        """Whether what stands before makes the number a bound: ``between 6 and``, ``5-``, ``>``."""
        before = self.tokens[at - 1] if at else None
        first = self.tokens[at - 2] if at >= 2 else None
        if before is None:
            return False
        if before.mark(">", "<"):
            return first is None or not first.mark("-", "=")
        link = before.term in (Term.TO, Term.OR) or before.mark("-")
        return before.term is Term.FROM or (link and first is not None and first.kind is Kind.NUMBER)

    def _of_the_scale(self, at: int) -> bool:
        """Whether the number belongs to the scale as the question gave it: ``0 to 10``, ``0 = worst``."""
        link, other, value = self.peek(at + 1), self.peek(at + 2), self.tokens[at].value
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
        return super().between(at) or (self.tokens[at].kind is Kind.NUMBER and self._of_the_scale(at))

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
                        yield Claim(found.value, COMPARED, at)
