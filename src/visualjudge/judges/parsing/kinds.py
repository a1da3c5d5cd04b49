"""What a value is: one of two letters for a pairwise question, a number for a scoring one."""

from __future__ import annotations

from collections.abc import Iterator

from visualjudge.judges.parsing.grammar import COMPARED, QUALIFIED, STATED, Claim, Found, Grammar
from visualjudge.judges.parsing.lexicon import Term
from visualjudge.judges.parsing.tokens import Kind, Token

_OTHER = {"A": "B", "B": "A"}
_AFTER_THE_REFERENCE = (
    "より",
    "よりも",
    "보다",
)  # the thing compared with stands before these, in other languages after "than"
_COMPARE_WORDS = 8
FIRST_CJK = 0x3000


class Letters(Grammar):
    """What pairwise and ranking share: how one option is named."""

    def option(self, at: int, *, stated: bool) -> Found | None:
        """``[noun] letter``, in brackets or not: ``Option A``, ``(B)``, ``"b"`` after a label."""
        start = self.openers(at)
        named = self.skip(start, Term.NOUN)
        at = self.openers(named)
        token = self.peek(at)
        if token is None or token.kind is not Kind.LETTER:
            return None
        if named == start and not self._is_letter(at, token, stated=stated):
            return None
        return Found(token.text.upper(), self.closers(at + 1))

    def _is_letter(self, at: int, token: Token[Term], *, stated: bool) -> bool:
        """Whether a lone letter names an option and is not an article: "a better one", "A quick look"."""
        if self._part_of_a_name(at):
            return False
        after = self.peek(at + 1)
        followed = after is not None and after.kind in (Kind.WORD, Kind.LETTER, Kind.LETTERS, Kind.NUMBER)
        if token.text.islower():
            return not followed and (stated or len(self._home) <= 3)
        if token.text != "A" or after is None or not followed:
            return True
        verbs = (
            Term.IS,
            Term.WINS,
            Term.FOLLOW,
            Term.BECAUSE,
            Term.OR,
            Term.AND,
            Term.THAN,
            Term.THEN,
            Term.NOT,
            Term.ASPECT,
            Term.WORSE,
        )
        return after.term in verbs or not after.text[0].isascii()

    def _part_of_a_name(self, at: int) -> bool:
        """Whether an unknown word stands right before: "Vitamin B", "Plan A"."""
        before = self.tokens[at - 1]
        return at > 0 and before.kind is Kind.WORD and before.term is None and ord(before.text[0]) < FIRST_CJK

    def _chosen(self, at: int) -> Claim | None:
        """``B を選びます``: where the verb stands last."""
        found = self.value(at, stated=False)
        verb = self.peek(self.skip(found.end, Term.FILL, Term.IS)) if found else None
        if found is None or found.value is None or verb is None or verb.term is not Term.CHOOSE:
            return None
        return Claim(found.value, STATED, at) if ord(verb.text[0]) >= FIRST_CJK else None

    def _at(self, at: int) -> Iterator[Claim]:
        yield from super()._at(at)
        chosen = self._chosen(at)
        if chosen:
            yield chosen

    def joined(self, at: int, *links: str) -> bool:
        """Whether another option is joined here by "or", "and" or one of ``links``."""
        token = self.peek(at)
        linked = token is not None and (token.term in (Term.OR, Term.AND) or token.mark("/", "&", *links))
        return linked and self.option(at + 1, stated=True) is not None


class Pairwise(Letters):
    """A or B."""

    def value(self, at: int, *, stated: bool) -> Found | None:
        found = self.option(at, stated=stated)
        if found is None:
            return self._no_option(at) if stated else None
        if self.joined(found.end, "=", "<"):
            return Found(None, len(self.tokens))
        token = self.peek(found.end)
        if token is not None and token.mark(">"):
            other = self.option(found.end + 1, stated=True)
            return Found(self._known(found), other.end) if other else Found(self._known(found), found.end)
        return Found(self._known(found), found.end)

    def _no_option(self, at: int) -> Found | None:
        """After a label, a tie, a number or a string of letters is an answer that cannot be used."""
        token = self.peek(self.openers(at))
        said = token is not None and (token.term is Term.TIE or token.kind in (Kind.LETTERS, Kind.NUMBER))
        return Found(None, at + 1) if said else None

    def _known(self, found: Found) -> str | None:
        return str(found.value) if found.value in _OTHER else None

    def extra(self) -> Iterator[Claim]:
        """``A is better [than B]``, ``B wins``, ``A is worse than B``."""
        for sentence in self.sentences:
            if not sentence.question:
                for at in range(sentence.start, sentence.end):
                    claim = self._compared(at, sentence.end) if self.free(at) and not self.negated(at) else None
                    if claim:
                        yield claim

    def _compared(self, at: int, end: int) -> Claim | None:
        subject = self.option(at, stated=False)
        if subject is None or subject.value not in _OTHER or self._is_reference(at, subject.end):
            return None
        verdict = self._verdict_after(subject.end, end)
        if verdict is None or self._limited(verdict + 1):
            return None
        winner = subject.value if self.tokens[verdict].term is not Term.WORSE else _OTHER[str(subject.value)]
        summing_up = any(token.term in (Term.CONCLUDE, Term.FINAL) for token in self.tokens[self._home[at].start : end])
        return Claim(winner, STATED if summing_up else COMPARED, at)

    def _is_reference(self, start: int, end: int) -> bool:
        """Whether the option is what the other is compared with: "than A", and in Japanese and Korean "A than"."""
        while start and self.tokens[start - 1].term is Term.NOUN:
            start -= 1
        before, token = self.tokens[start - 1] if start else None, self.peek(end)
        if before is not None and before.term is Term.THAN and before.text not in _AFTER_THE_REFERENCE:
            return True
        return token is not None and token.term is Term.THAN and token.text in _AFTER_THE_REFERENCE

    def _verdict_after(self, at: int, end: int) -> int | None:
        """Index of "better", "wins" or "worse" as said of the option that ended before ``at``."""
        provides = False
        for _ in range(_COMPARE_WORDS):
            token = self.peek(at)
            if token is None or at >= end or token.term is Term.NOT or token.kind is Kind.MARK:
                return None
            if token.term in (Term.BETTER, Term.WINS, Term.WORSE):
                return at if not provides or self._names_result(at + 1) else None
            reference = self.option(at + (token.term is Term.THAN), stated=False)
            if reference:
                after = self.peek(reference.end)
                at = reference.end + (after is not None and after.text in _AFTER_THE_REFERENCE)
                continue
            provides = provides or token.term is Term.FOLLOW
            at += 1
        return None

    def _names_result(self, at: int) -> bool:
        token = self.peek(at)
        return token is not None and token.term in (Term.NOUN, Term.ANSWER)

    def _limited(self, at: int) -> bool:
        """Whether "better" is said of one aspect only: "better at edges", "better localization"."""
        at = self.skip(at, Term.NOUN, Term.ANSWER, Term.FILL, Term.CONCLUDE)
        token = self.peek(at)
        if token is None or token.kind is not Kind.WORD:
            return False
        if token.term is Term.THAN:
            return self.option(self.skip(at + 1, Term.FILL), stated=True) is None and not self._names_result(at + 1)
        if token.term is Term.ASPECT:
            after = self.peek(self.skip(at + 1, Term.FILL))
            return after is None or after.term not in (Term.WHOLE, Term.CONCLUDE, Term.TIE)
        return token.term is None and token.text[0].isalpha() and ord(token.text[0]) < FIRST_CJK


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
