"""How an answer is said: the productions by which a reply is read, shared by the three kinds of question.

::

    reply      = { sentence }
    claim      = label | act | converse | bare | lead | (what a kind of question adds)
    label      = head  [ words ]  ( ":" | is )  { fill }  value           "Final answer: **B**", "The better one is B"
    act        = verb  { fill }  value                                    "I would go with B", "I'd give it an 8"
    converse   = value  is  { fill }  noun                                "B is my choice"
    bare       = { fill }  value                     as a whole sentence  "So: B."
    lead       = value  mark  more words             opening a line       "B. The boxes are tighter."

A claim has a strength. The strongest claims must agree, else nothing is read: which of two statements a model meant
is not for us to guess. A sentence that asks, supposes, concedes or gives an example claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from visualjudge.judges.parsing.lexicon import Term
from visualjudge.judges.parsing.tokens import Kind, Token
from visualjudge.records import Answer

MARKED, STATED, QUALIFIED, COMPARED, BARE, LEAD = 6, 5, 4, 3, 2, 1
FINAL = MARKED

_OPENERS = ("(", "[", '"', "'", "<", ":")
_CLOSERS = (")", "]", '"', "'", ">", "*")
_SENTENCE_ENDS = (".", "!", "?", ";")
_SEPARATORS = (":", "=", "-")
_ARROWS = (">",)
_LABEL_WORDS = 8
_ACT_WORDS = 8
_LOOK_BACK = 4


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer; ``value`` is None where what was stated is no possible answer."""

    value: Answer | None
    strength: int
    at: int


@dataclass(frozen=True, slots=True)
class Found:
    """A value that ends before token ``end``."""

    value: Answer | None
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """Tokens ``start`` to ``end``, without the mark that ends them."""

    start: int
    end: int
    question: bool
    opens_line: bool
    closes_line: bool


class Grammar:
    """The productions over one reply's tokens; a kind of question says what a value and what a head is."""

    heads: frozenset[Term] = frozenset({Term.ANSWER})
    colon_heads: frozenset[Term] = frozenset({Term.FINAL, Term.CONCLUDE, Term.NOUN})
    """Words that announce the answer only with a colon: "Final: B"."""
    verbs: frozenset[Term] = frozenset({Term.CHOOSE})
    lead_marks: tuple[str, ...] = (",", "-")

    def __init__(self, tokens: Sequence[Token[Term]]) -> None:
        self.tokens = tokens
        self.sentences = list(_sentences(tokens))
        self._home = {at: s for s in self.sentences for at in range(s.start, s.end)}

    # ------------------------------------------------ what a kind of question fills in

    def value(self, at: int, *, stated: bool) -> Found | None:
        """The value that begins at ``at``. ``stated``: a label stands before it, so that less form is asked of it."""
        raise NotImplementedError

    def extra(self) -> Iterator[Claim]:
        """Productions of this kind of question alone."""
        return iter(())

    def vetoed(self) -> bool:
        """Whether something in the reply forbids to read any value from it."""
        return False

    # ------------------------------------------------ reading

    def claims(self) -> list[Claim]:
        """All claims of the reply; a retraction takes back those before it."""
        found = sorted((*self._in_sentences(), *self.extra()), key=lambda claim: claim.at)
        taken_back = max((at for at in range(len(self.tokens)) if self._retracts(at)), default=-1)
        return [claim for claim in found if claim.at >= taken_back]

    def _in_sentences(self) -> Iterator[Claim]:
        bare: list[tuple[Sentence, Found]] = []
        for sentence in self.sentences:
            if sentence.question:
                continue
            for at in range(sentence.start, sentence.end):
                if self.free(at):
                    yield from self._at(at)
            whole = self._bare(sentence)
            if whole:
                bare.append((sentence, whole))
        yield from self._bare_claims(bare)
        yield from self._leads()

    def _at(self, at: int) -> Iterator[Claim]:
        for production in (self._label, self._act, self._converse):
            claim = production(at)
            if claim:
                yield claim

    # ------------------------------------------------ productions

    def _label(self, at: int) -> Claim | None:
        head = self.tokens[at].term
        if at > self._home[at].start and self.tokens[at - 1].term is Term.SCALE:  # "the highest score is 10"
            return None
        colon_only = head in self.colon_heads
        if head is None or not (colon_only or head in self.heads or head is Term.BETTER):
            return None
        mark = self._separator(at + 1, colon_only=colon_only, better=head is Term.BETTER)
        direct = mark is None and not colon_only and head is not Term.BETTER
        found = self._stated_value(at + 1 if mark is None else mark) if direct or mark is not None else None
        if found is None or (direct and not self._ends(found.end)):
            return None
        return Claim(found.value, self._label_strength(at), at)

    def _label_strength(self, at: int) -> int:
        before = self.tokens[max(self._home[at].start, at - _LOOK_BACK) : at]
        final = self.tokens[at].term in (Term.FINAL, Term.CONCLUDE) or any(
            token.term in (Term.FINAL, Term.CONCLUDE) for token in before
        )
        return FINAL if final else STATED

    def _separator(self, at: int, *, colon_only: bool, better: bool) -> int | None:
        """Where the value may begin: past the copula or colon that follows a head."""
        words = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            if token.mark("(") and not self._value_in_brackets(at):
                at = self._past_brackets(at)
                continue
            if token.mark(*_SEPARATORS) and (token.text == ":" or not colon_only):
                return at + 1
            if token.term is Term.IS and not colon_only:
                return at + 1
            if token.kind is Kind.BREAK and words == 0 and not better:
                return at if self._heading(at - 1) else None
            if token.mark(*_ARROWS) and words == 0:
                return at + 1
            passable = token.term is Term.NOUN if better or colon_only else self.between(at)
            words += 1
            if not passable or words > _LABEL_WORDS:
                return None
            at += 1
        return None

    def _value_in_brackets(self, at: int) -> bool:
        found = self.value(at, stated=True)
        return found is not None and found.value is not None

    def _past_brackets(self, at: int) -> int:
        for end in range(at + 1, min(at + 16, len(self.tokens))):
            if self.tokens[end].mark(")"):
                return end + 1
        return len(self.tokens)

    def _heading(self, at: int) -> bool:
        """Whether the line of ``at`` holds a head and nothing but words that belong to it."""
        line = self.tokens[at].line
        words = [t for t in self.tokens[max(0, at - 4) : at + 1] if t.line == line and t.kind is not Kind.BREAK]
        return all(t.term in (*self.heads, Term.FINAL, Term.FILL, Term.CONCLUDE, Term.NOUN) for t in words)

    def _stated_value(self, at: int) -> Found | None:
        """The value after a label: past fillers, line breaks and a second copula."""
        while at < len(self.tokens):
            found = self.value(at, stated=True)
            if found:
                return found
            token = self.tokens[at]
            passable = token.kind is Kind.BREAK or token.term in (
                Term.FILL,
                Term.IS,
                Term.CONCLUDE,
                Term.OF,
                Term.RETRACT,
            )
            if not (passable or token.mark(*_OPENERS, *_ARROWS, ",", "-")):
                return None
            at += 1
        return None

    def _act(self, at: int) -> Claim | None:
        if self.tokens[at].term not in self.verbs or self.negated(at):
            return None
        for step in range(at + 1, min(at + 1 + _ACT_WORDS, self._home[at].end)):
            found = self.value(step, stated=False)
            if found:
                after = self.peek(found.end)
                goes_on = after is not None and after.term in (Term.IS, Term.WINS, Term.NOT, Term.BETTER, Term.WORSE)
                disjunct = found.value is None
                return None if goes_on or disjunct else Claim(found.value, STATED, at)
            token = self.tokens[step]
            if not (token.term in (Term.FILL, Term.NOUN, *self.heads) or token.mark(*_OPENERS)) and not self.loose(
                token
            ):
                return None
        return None

    def loose(self, token: Token[Term]) -> bool:
        """Whether a verb may be parted from its value by this word."""
        return False

    def _converse(self, at: int) -> Claim | None:
        found = self.value(at, stated=False)
        copula = self.peek(found.end) if found else None
        if found is None or found.value is None or copula is None or copula.term is not Term.IS:
            return None
        end = self.skip(found.end + 1, Term.FILL, Term.FINAL, Term.CONCLUDE)
        noun = self.peek(end)
        if noun is None or noun.term not in self.heads:
            return None
        after = self.peek(end + 1)
        return None if after is not None and after.mark(":") else Claim(found.value, STATED, at)

    def _bare(self, sentence: Sentence) -> Found | None:
        """The value that a sentence consists of."""
        at, end = sentence.start, sentence.end
        while at < end:
            found = self.value(at, stated=False)
            if found:
                return found if self._ends(found.end) else None
            token = self.tokens[at]
            fill = token.term in (Term.CONCLUDE, Term.FINAL, Term.FILL, Term.IS, Term.THEN, Term.RETRACT) or token.mark(
                *_OPENERS, ",", "-"
            )
            if not fill:
                return None
            at += 1
        return None

    def _bare_claims(self, bare: list[tuple[Sentence, Found]]) -> Iterator[Claim]:
        """A line that is nothing but a value states it, unless such lines differ: then they are headings."""
        lines = [found.value for s, found in bare if s.opens_line and s.closes_line]
        headings = len(set(lines)) > 1
        for sentence, found in bare:
            if sentence.opens_line and sentence.closes_line:
                strength = LEAD if headings else STATED
            elif sentence.opens_line:
                strength = LEAD
            else:
                strength = BARE
            yield Claim(None if self._listed(sentence, found) else found.value, strength, sentence.start)

    def _listed(self, sentence: Sentence, bare: Found) -> bool:
        """The sentence before on the same line ends in another value: "Options: A. B." lists, it does not choose."""
        if sentence.opens_line:
            return False
        before = self.sentences[self.sentences.index(sentence) - 1]
        values = (self.value(at, stated=True) for at in range(before.start, before.end))
        return any(found.value != bare.value for found in values if found and found.end == before.end)

    def _leads(self) -> Iterator[Claim]:
        for sentence in self.sentences:
            if not sentence.opens_line or sentence.question:
                continue
            found = self.value(sentence.start, stated=False)
            after = self.peek(found.end) if found else None
            if found is None or after is None or found.value is None or self.is_marker(sentence.start):
                continue
            bracket = self.tokens[found.end - 1].mark(")") and not self.tokens[sentence.start].mark("(")
            marked = after.mark(*self.lead_marks) and self._more_words(found.end + 1)
            if bracket or marked or after.term is Term.BECAUSE or self._rather_than(after):
                yield Claim(found.value, LEAD, sentence.start)

    def _rather_than(self, token: Token[Term]) -> bool:
        """ "A over B" prefers A; where the word is not "over", only what is said after it tells."""
        return token.text.lower() in ("over", "rather than", "instead of")

    def _more_words(self, at: int) -> bool:
        """Whether words follow, and not another value: "B, A" leads with nothing."""
        token = self.peek(at)
        words = token is not None and token.kind is not Kind.BREAK and not token.mark(*_ARROWS)
        denies = token is not None and token.term is Term.NOT and not self._not_the_other(at)
        return words and not denies and self.value(at, stated=True) is None

    def _not_the_other(self, at: int) -> bool:
        """ "A, not B"; but "A, no B" takes A back."""
        return self.tokens[at].text.lower() == "not" and self.value(at + 1, stated=True) is not None

    def is_marker(self, at: int) -> bool:
        """Whether this opens an item of a list rather than saying a value."""
        return False

    # ------------------------------------------------ helpers

    def peek(self, at: int) -> Token[Term] | None:
        """The token, or None past the end."""
        return self.tokens[at] if at < len(self.tokens) else None

    def skip(self, at: int, *terms: Term) -> int:
        """Past tokens of these terms."""
        while at < len(self.tokens) and self.tokens[at].term in terms:
            at += 1
        return at

    def skip_marks(self, at: int, *marks: str) -> int:
        """Past these marks."""
        while at < len(self.tokens) and self.tokens[at].mark(*marks):
            at += 1
        return at

    def openers(self, at: int) -> int:
        """Past opening brackets and quotes."""
        return self.skip_marks(at, *_OPENERS[:-1])

    def closers(self, at: int) -> int:
        """Past closing brackets and quotes."""
        return self.skip_marks(at, ")", "]", '"', "'")

    def negated(self, at: int) -> bool:
        """Whether a negation stands shortly before ``at`` in its sentence."""
        before = self.tokens[max(self._home[at].start, at - _LOOK_BACK) : at]
        return any(token.term is Term.NOT for token in before)

    def between(self, at: int) -> bool:
        """Whether this may stand between a head and its copula: "the answer TO THIS QUESTION is"."""
        token = self.tokens[at]
        if token.kind is Kind.LETTER:
            return token.text.islower()
        barred = (Term.NOT, Term.FOLLOW, Term.BECAUSE, Term.IF, Term.OR)
        return token.kind is Kind.WORD and token.term not in barred

    def free(self, at: int) -> bool:
        """Whether the clause of ``at`` neither supposes, concedes nor gives an example."""
        home = self._home[at]
        if any(token.term is Term.SUPPOSE for token in self.tokens[home.start : home.end]):
            return False
        for token in reversed(self.tokens[self._home[at].start : at]):
            if token.mark(","):
                break
            if token.term in (Term.IF, Term.THOUGH):
                return False
        return self.tokens[self._home[at].start].term is not Term.EXAMPLE

    def _retracts(self, at: int) -> bool:
        """ "Wait", "sorry", "no," at the head of a clause: what was said before it no longer holds."""
        token = self.tokens[at]
        no = token.text.lower() == "no" and at + 1 < len(self.tokens) and self.tokens[at + 1].mark(",", ".", "-", "!")
        if at not in self._home or not (token.term is Term.RETRACT or no):
            return False
        start = self._home[at].start
        while at > start and not self.tokens[at - 1].mark(",", "-", "(", ":"):
            at -= 1
            if self.tokens[at].term not in (Term.FOLLOW, Term.AND, Term.RETRACT, Term.FILL):
                return False
        return True

    def _ends(self, at: int) -> bool:
        """Whether a sentence ends at ``at``, closing marks aside."""
        at = self.skip_marks(at, *_CLOSERS)
        token = self.peek(at)
        return token is None or token.kind is Kind.BREAK or token.mark(*_SENTENCE_ENDS)


def _sentences(tokens: Sequence[Token[Term]]) -> Iterator[Sentence]:
    start = 0
    for at in range(len(tokens) + 1):
        token = tokens[at] if at < len(tokens) else None
        if token is not None and token.kind is not Kind.BREAK and not token.mark(*_SENTENCE_ENDS):
            continue
        if at > start:
            yield Sentence(start, at, _asks(tokens, at), tokens[start].first, _line_ends(tokens, at))
        start = at + 1


def _asks(tokens: Sequence[Token[Term]], end: int) -> bool:
    return end < len(tokens) and tokens[end].mark("?")


def _line_ends(tokens: Sequence[Token[Term]], end: int) -> bool:
    """Whether nothing but marks stands between ``end`` and the end of the line."""
    while end < len(tokens) and tokens[end].kind is Kind.MARK:
        end += 1
    return end == len(tokens) or tokens[end].kind is Kind.BREAK
