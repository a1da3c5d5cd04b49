"""What single words and phrases mean: the codes of ``lexicon.txt``, and of the forms that it does not list."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import product


class Phrase:
    """A node of the tree of phrases, by their words: what may follow, and the code of the phrase that ends here."""

    __slots__ = ("code", "next")

    def __init__(self) -> None:
        self.code: str | None = None
        self.next: dict[str, Phrase] = {}

    def after(self, word: str) -> Phrase:
        """The node of one word more, in lower case, with a capital and in capitals."""
        node = self.next.setdefault(word, Phrase())
        return self.next.setdefault(word.capitalize(), self.next.setdefault(word.upper(), node))


@cache
def lexicon() -> tuple[dict[str, str], dict[str, Phrase]]:
    """Word or mark to its code, where two kinds list a word, the first holds; and the phrases by their first word.

    A phrase is written with ``_`` between its words; ``(a|b)`` stands for a or b.
    """
    lines = (files(__package__) / "lexicon.txt").read_text("utf-8").splitlines()
    rows = [line.split(" : ", 1) for line in lines if line and not line.startswith("//")]
    found: dict[str, str] = {}
    root = Phrase()
    for head, entries in rows:
        code = "" if head[0] == "_" else head[0]
        for entry in entries.split():
            for pieces in (
                product(*(piece.split("|") for piece in re.split(r"[()]", entry))) if "_" in entry else ((entry,),)
            ):
                words = tuple(filter(None, "".join(pieces).split("_")))
                if len(words) == 1:
                    found.setdefault(words[0], code)
                    continue
                node = root
                for word in words:
                    node = node.after(word)
                node.code = code if node.code is None else node.code
    return found, root.next


_OFTEN_MISSPELT = (
    "answer option options prediction image response ranking score rating overall better preferred winner final "
    "verdict choice candidate choose prefer superior"
)


@cache
def misspelt() -> dict[str, str]:
    """Slips of the keyboard in words that matter: two letters exchanged, a vowel or one of a double letter left out."""
    slips: dict[str, str] = {}
    for word in _OFTEN_MISSPELT.split():
        code = lexicon()[0][word]
        for at in range(1, len(word) - 1):
            before, letter, after = word[:at], word[at], word[at + 1 :]
            slips[before + after[0] + letter + after[1:]] = code
            if letter in "aeiou" or letter in (before[-1], after[0]):
                slips[before + after] = code
            slips[before + letter + letter + after] = code
    return {slip: code for slip, code in slips.items() if slip not in lexicon()[0]}


_INFLECTED = "gvlρJ⊕⊖⊘"
_ENDING = re.compile(r"(?:es|e|s|ed)$")


@cache
def _stems() -> dict[str, str]:
    """What is left of each verb without its ending."""
    verbs = ((word, code) for word, code in lexicon()[0].items() if code in _INFLECTED and word.isascii())
    return {stem: code for word, code in verbs if len(stem := _ENDING.sub("", word)) > 3}


_DEGREE = re.compile(r"(.{3,})(er|est)")


def _of_degree(word: str) -> str | None:
    """The code of a comparative or superlative that is not listed, by the adjective: crisper, blurriest."""
    found = _DEGREE.fullmatch(word)
    if not found:
        return None
    root, listed = found[1], lexicon()[0]
    stems = (root, root + "e", root[:-1] + "y" if root.endswith("i") else root[:-1])
    stem = next((code for stem in stems if (code := listed.get(stem, "")) in ("+", "W", "⊖", "⊕")), None)
    return stem if stem is None or found[2] == "er" else "b" if stem == "+" else "u"


def derived(word: str) -> str:
    """The code of a form that is not listed, of a verb or a plural. Manner ("happily") is nothing; a quality stays."""
    if word.endswith("mente"):
        return ""
    degree = _of_degree(word)
    if degree:
        return degree
    if word.endswith("ly") and not word.endswith("ally"):
        stem = lexicon()[0].get(word[:-2], "") if len(word) > 6 else "w"
        return "⊙" if stem == "⊕" else stem if stem in "+W5w⊖" else ""
    found = lexicon()[0].get(word + "s", lexicon()[0].get(word.removesuffix("s"), "w"))
    return found if found in "In" else _stems().get(_ENDING.sub("", word), "w")


@cache
def meaning(word: str) -> str:
    """The code of a word in lower case as the lexicon has it, for any question: of praise and blame as well."""
    found = lexicon()[0].get(word)
    return found if found is not None else derived(word) if len(word) > 3 else "w"
