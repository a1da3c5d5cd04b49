"""What a value is for a ranking question: all letters, best first."""

from __future__ import annotations

from collections.abc import Iterator

from visualjudge.judges.parsing.grammar import COMPARED, QUALIFIED, Claim, Found, Sentence
from visualjudge.judges.parsing.kinds import Letters
from visualjudge.judges.parsing.lexicon import Term
from visualjudge.judges.parsing.tokens import Kind, Token

_PLACES = ("second", "third", "last")  # wrong answers in "second choice", ranks here


class Ranking(Letters):
    """All letters, best first."""

    heads = frozenset({Term.ANSWER, Term.RANK})
    colon_heads = frozenset({Term.FINAL, Term.CONCLUDE})
    verbs = frozenset({Term.CHOOSE, Term.RANK})
    n_options = 5

    def vetoed(self) -> bool:
        """Another order than best first is spoken of: worst first, as shown. Turning it round would be a guess."""
        return any(token.term is Term.REVERSED for token in self.tokens)

    def free(self, at: int) -> bool:
        """A ranking after "e.g." anywhere in the sentence is an example, too."""
        home = self._home[at]
        said = self.tokens[home.start : home.end]
        reasons = next((i for i, token in enumerate(said) if token.term is Term.BECAUSE), len(said))
        denied = any(t.term in (Term.NOT, Term.WRONG) and t.text.lower() not in _PLACES for t in said[:reasons])
        return super().free(at) and not denied and all(token.term is not Term.EXAMPLE for token in said)

    def _bare(self, sentence: Sentence) -> Found | None:
        return super()._bare(sentence) if self.free(sentence.start) else None

    def value(self, at: int, *, stated: bool) -> Found | None:
        start = self.openers(at)
        token = self.peek(start)
        if token is not None and token.kind is Kind.LETTERS:
            return self._string(start, token, stated=stated)
        if (
            token is not None
            and stated
            and (token.term is Term.TIE or token.kind is Kind.NUMBER)
            and not self._item(start)
        ):
            return Found(None, start + 1)
        chain = self._chain(at, stated=stated)
        return (
            chain if chain is None or len(str(chain.value)) > 1 or chain.value is None else self._alone(chain, stated)
        )

    def _alone(self, chain: Found, stated: bool) -> Found | None:
        """One letter is no ranking; after a label it is an answer that cannot be used."""
        return Found(None, chain.end) if stated else None

    def _string(self, at: int, token: Token[Term], *, stated: bool) -> Found | None:
        whole = len(self._home) <= 3
        if not (token.text.isupper() or whole):
            return None
        return Found(self._complete(token.text.upper()), self.closers(at + 1))

    def _complete(self, letters: str) -> str | None:
        """The ranking, if it names each option once."""
        wanted = "ABCDEFGH"[: self.n_options]
        return letters if sorted(letters) == list(wanted) else None

    def _chain(self, at: int, *, stated: bool) -> Found | None:
        """``B > C > A``, ``B, C, A``, ``B, then C, and finally A``."""
        found = self.option(at, stated=stated)
        if found is None:
            return None
        letters, end, tied = str(found.value), found.end, False
        while True:
            link = self._link(end)
            following = self.option(link, stated=True) if link is not None else None
            if following is None or link is None:
                break
            tied = tied or any(token.mark("=", "<", "/") or token.term is Term.OR for token in self.tokens[end:link])
            letters, end = letters + str(following.value), following.end
        if len(letters) == 1:
            return Found(letters, end)
        return Found(None if tied else self._complete(letters), end)

    def _link(self, start: int) -> int | None:
        """Past what stands between two letters of a chain; None where nothing joins them."""
        words = (Term.THEN, Term.AND, Term.OR, Term.FINAL, Term.IS, Term.BETTER, Term.THAN, Term.FILL)
        at = start
        while at < len(self.tokens):
            token = self.tokens[at]
            spoken = token.term in words and token.kind is Kind.WORD
            if not (spoken or token.mark(">", ",", "-", "=", "<", "/")):
                break
            at += 1
        token_here = self.peek(at)
        side_by_side = token_here is not None and token_here.kind is Kind.LETTER and token_here.text.isupper()
        return at if at > start or side_by_side else None

    def extra(self) -> Iterator[Claim]:
        """A chain of ">" in the middle of a sentence, and numbered or plain lists of one option a line."""
        for sentence in self.sentences:
            for at in range(sentence.start, sentence.end):
                chain = self._chain(at, stated=False) if not sentence.question and self.free(at) else None
                if chain and chain.value and any(t.mark(">") for t in self.tokens[at : chain.end]):
                    yield Claim(self._complete(str(chain.value)), COMPARED, at)
        yield from self._lists()

    def _lists(self) -> Iterator[Claim]:
        """One option a line, on lines that follow each other."""
        letters, start, remarks = "", 0, False
        for at in self._line_starts():
            item = self._item_letter(at, len(letters) + 1)
            if item is None:
                letters, remarks = "", False
                continue
            start = start if letters else at
            letters, remarks = letters + str(item.value), remarks or not self._line_ends_at(item.end)
            if len(letters) == self.n_options:
                shown = letters == "".join(sorted(letters))  # remarks on the options as they were shown, one by one
                yield Claim(None if remarks and shown else self._complete(letters), QUALIFIED, start)
                letters, remarks = "", False

    def _line_starts(self) -> Iterator[int]:
        for at, token in enumerate(self.tokens):
            if token.kind is not Kind.BREAK and (at == 0 or self.tokens[at - 1].kind is Kind.BREAK):
                yield at

    def _line_ends_at(self, at: int) -> bool:
        token = self.peek(self.skip_marks(at, ".", ")", "]", ",", ";", '"', "'"))
        return token is None or token.kind is Kind.BREAK

    def _item(self, at: int) -> bool:
        token = self.peek(at)
        after = self.peek(at + 1)
        return token is not None and token.value == 1 and after is not None and after.mark(".", ")", ":", "-")

    def _item_letter(self, at: int, number: int) -> Found | None:
        """The letter of the line ``number. Option B …``, or of a line that is a letter alone."""
        token = self.tokens[at]
        if token.kind is Kind.NUMBER:
            if token.value != number:
                return None
            at = self.skip_marks(at + 1, ".", ")", ":", "-")
        found = self.option(at, stated=True)
        if found is None or self._line_ends_at(found.end):
            return found
        return found if token.kind is Kind.NUMBER and self._plain_remark(found.end) else None

    def _plain_remark(self, at: int) -> bool:
        """Whether the rest of the line neither scores nor ranks: such a remark could contradict the list."""
        ranks = (Term.BETTER, Term.WORSE, Term.TIE, Term.RANK, Term.WRONG)
        while at < len(self.tokens) and self.tokens[at].kind is not Kind.BREAK:
            if self.tokens[at].term in ranks or self.tokens[at].text.isdigit():
                return False
            at += 1
        return True
