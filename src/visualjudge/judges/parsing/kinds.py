"""What a value is: one of two letters for a pairwise question."""

from __future__ import annotations

from collections.abc import Iterator

from visualjudge.judges.parsing.grammar import COMPARED, STATED, Claim, Found, Grammar
from visualjudge.judges.parsing.lexicon import Term
from visualjudge.judges.parsing.tokens import Kind, Token

_OTHER = {"A": "B", "B": "A"}
_AFTER_THE_REFERENCE = (
    "より",
    "よりも",
    "보다",
)  # the thing compared with stands before these, in other languages after "than"
_COMPARE_WORDS = 8
_LOOK_BACK = 4
_THAT = ("that", "dass", "que", "che", "что", "dat", "że")  # what follows is only as true as what stands before
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

    def free(self, at: int) -> bool:
        """Beyond what frees any claim: only words that are known, and deny nothing, lead up to this one."""
        return super().free(at) and all(self._harmless(i) for i in range(self._clause(at), at))

    def _clause(self, at: int) -> int:
        """Where the clause of ``at`` begins; with "that A is better" the clause before counts as well."""
        start = self._home[at].start
        subordinate = any(token.text.lower() in _THAT for token in self.tokens[max(start, at - _LOOK_BACK) : at])
        for before in range(at - 1, start - 1, -1):
            if self.tokens[before].mark(",", ":", "-", ")") and not subordinate:
                return before + 1
        return start

    def _harmless(self, at: int) -> bool:
        token = self.tokens[at]
        if token.kind is not Kind.WORD:
            return True
        barred = (None, Term.NOT, Term.WORSE, Term.WRONG)
        return token.term not in barred or token.text.lower() in _THAT

    def _denied(self, at: int) -> bool:
        """Whether the clause goes on after the value with a word that turns it round: "A is worse", "A is wrong"."""
        while (token := self.peek(at)) is not None and at in self._home:
            if token.mark(",", "(", "-", ":") or token.term in (Term.BECAUSE, Term.THAN):
                return False
            if token.term is Term.NOT:
                return self.option(at + 1, stated=True) is None
            if token.term in (Term.WORSE, Term.WRONG):
                return True
            at += 1
        return False

    def _label(self, at: int) -> Claim | None:
        claim = super()._label(at)
        if claim is None:
            return None
        value = next((i for i in range(at + 1, len(self.tokens)) if self.option(i, stated=True)), None)
        found = self.option(value, stated=True) if value is not None else None
        if value is None or found is None:
            return claim
        said = range(at + 1, value)
        wrong = any(self.tokens[i].term in (Term.WRONG, Term.WORSE, Term.NOT) for i in said)
        after = self.peek(found.end)
        if after is not None and after.term is Term.OR:  # "A or maybe B"
            return Claim(None, claim.strength, claim.at)
        return None if wrong or self._denied(found.end) else claim

    def _converse(self, at: int) -> Claim | None:
        claim = super()._converse(at)
        found = self.option(at, stated=False) if claim else None
        return None if found is None or self._denied(found.end) else claim

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
        if verdict is None or self._limited(verdict + 1) or self._denied(verdict + 1):
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
            if token.kind is Kind.WORD and token.term in (None, Term.WRONG, Term.FROM, Term.TIE, Term.IF):
                return None  # "rarely better", "far from the best", "less accurate": not known to affirm
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
            word = self.peek(at + 1)  # "better-looking", but not "better - it finds the dog"
            return token is not None and token.mark("-") and word is not None and word.text.endswith("ing")
        if token.term is Term.TO or token.text.lower() == "by":  # "better until …", "preferred by nobody"
            return True
        if token.term is Term.THAN:
            return self.option(self.skip(at + 1, Term.FILL), stated=True) is None and not self._names_result(at + 1)
        if token.term is Term.ASPECT:
            after = self.peek(self.skip(at + 1, Term.FILL))
            return after is None or after.term not in (Term.WHOLE, Term.CONCLUDE, Term.TIE)
        return token.term is None and token.text[0].isalpha() and ord(token.text[0]) < FIRST_CJK
