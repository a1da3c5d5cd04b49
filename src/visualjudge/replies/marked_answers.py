"""Answers in marks: ``\\boxed{B}``, ``<answer>B</answer>``, ``[[A>B]]``, "BETTER IMAGE: 2" and JSON
objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from visualjudge.replies.json_answers import MOST_MARKS, answers
from visualjudge.replies.phrases import all_words, listed, sign_of
from visualjudge.replies.prose_answers import read_sentences
from visualjudge.replies.read_value import Said
from visualjudge.replies.sentences import has
from visualjudge.replies.stripped_text import without_markup
from visualjudge.replies.tokens import plain, tokens

_TAGS = (
    "answer|final_answer|final|verdict|choice|output|solution|score|rating|ranking|winner|response|result"
    "|conclusion|decision|judg(?:e?ment)|preference|selection|pick|vote"
)
_MARKS = {
    "box": (
        r"\\(?:boxed|fbox|framebox)\s*(?P<brace>\{)|<\|begin_of_box\|>",
        r"((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\}){0,400}?)(?(brace)\}|<\|)",
    ),
    "tag": (rf"<(?P<tag>{_TAGS})>", r"(.{0,400}?)</(?P=tag)>"),
    "double brackets": (r"\[\[", r"([^\[\]\n]{1,60})\]\]"),
    "brackets": (r"\[(?=[AB] ?[>=~])", r"([AB] ?(?:[>=~] ?(?:[AB]|good|bad)){1,2})\]"),
    "better": (
        r"\bbetter (?:image|response|answer)[ \t*]*:",
        r"[ \t*]*(?:(?:image|response|answer)[ -])?([012])(?=[ \t*.`]*$)",
    ),
}
"""Rules: the beginning of a mark, and the rest; the first rule with a match counts. "better" is
MJ-Bench's form.
"""
_FLAGS = re.I | re.M | re.S
_OPENINGS = {rule: re.compile(opening, _FLAGS) for rule, (opening, _) in _MARKS.items()}
_PATTERNS = {
    rule: re.compile(f"(?:{opening}){rest}", _FLAGS) for rule, (opening, rest) in _MARKS.items()
}
_BLAMES = ("worse", "worst", "worst first")
NEAR = 6
"""Number of words before a mark that may reject its content."""
SHORT = 60
"""Maximum length of a mark whose reading is cached."""
_OF_NUMBER = {"0": "tie", "1": "A", "2": "B"}
_TIES = {
    "A=B": "tie",
    "A~B": "tie",
    "A=B=GOOD": "tie",
    "A=B=BAD": "both_bad",
    "BOTH_BAD": "both_bad",
    "BOTHBAD": "both_bad",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """The content of a mark and its position; ``opened`` is where the mark itself begins."""

    text: str
    start: int
    end: int
    rule: str
    opened: int


def read_marks(text: str, question_type: str, n_options: int) -> Said | None:
    """Return the value of a reply's marks: the last one, if several differ and it concludes."""
    marks = next((found for rule in _MARKS if (found := _found(text, rule))), [])
    marks = marks or [
        Mark(said, start, end, "JSON", start) for said, start, end in answers(text, question_type)
    ]
    letters = [mark.text.strip() for mark in marks]
    if (
        question_type == "ranking"
        and len(marks) > 1
        and all(len(letter) == 1 for letter in letters)
    ):
        # one mark per letter, "[[C]], [[A]], [[B]]", as in MLLM-as-a-Judge
        marks = [replace(marks[0], text=", ".join(letters), end=marks[-1].end)]
    said = [_of_mark(mark, question_type, n_options) for mark in marks]
    values = {one.value for one in said}
    agreed = len(values) < 2 or (
        len(values) == 2 and None not in values and _concludes(marks, text)
    )
    if not agreed or any(_is_blamed(text, mark) for mark in marks):
        return Said(None, "several answers")
    return said[-1] if said else None


def _found(text: str, rule: str) -> list[Mark]:
    """Return the last marks of a kind; for tags, those with the name of the first, and the text
    after an unclosed last one.
    """
    opened = list(_OPENINGS[rule].finditer(text))
    unclosed = opened[-1:] if rule == "tag" else []
    if rule == "tag":
        opened = [match for match in opened if match["tag"].lower() == opened[0]["tag"].lower()]
    found = list[Mark]()
    for opening in opened[-MOST_MARKS:]:
        if match := _PATTERNS[rule].match(text, opening.start()):
            last = match.re.groups
            said = _OF_NUMBER[match[last]] if rule == "better" else match[last]
            found.append(Mark(said, *match.span(last), rule, opening.start()))
        elif opening in unclosed:
            found.append(
                Mark(text[opening.end() :], opening.end(), len(text), rule, opening.start())
            )
    return found


def _of_mark(mark: Mark, question_type: str, n_options: int) -> Said:
    """Read the content of a mark as a reply."""
    inner = plain(without_markup(mark.text))
    letters = re.sub(r"[\s()\[\]'.!]", "", inner).upper()
    tie = _TIES.get(letters) or (
        "tie" if mark.rule == "double brackets" and letters == "C" else None
    )
    if tie and question_type == "pairwise":
        return Said(tie, None, mark.start, mark.end, mark.rule, marked=True)  # C: MT-Bench's
    read = _read_short if len(inner) <= SHORT else _read_inner
    said = read(inner, question_type, n_options)
    if said.value is None:
        return said
    begin = mark.start + said.start if mark.rule != "JSON" else mark.start
    return replace(said, start=begin, end=mark.end, rule=mark.rule, marked=True)


def _read_inner(inner: str, question_type: str, n_options: int) -> Said:
    return read_sentences(inner, question_type, n_options, marked_only=False)


_read_short = lru_cache(maxsize=4096)(_read_inner)
"""Most marks contain a letter or a number; each is read once."""


def _lead(text: str, mark: Mark) -> str:
    """Return the line before a mark."""
    begin = max(text.rfind("\n", 0, mark.opened) + 1, mark.opened - 120)
    return plain(text[begin : mark.opened])


def _is_blamed(text: str, mark: Mark) -> bool:
    """Return whether the words before a mark make it the worse one: "Worse: \boxed{A}"."""
    if set(">=") & set(mark.text) or mark.rule == "JSON":
        return False
    lead = _lead(text, mark)
    if lead.isascii() and _is_free(lead.lower()):
        return False  # spares most replies the tokens of a line
    return has(listed(tokens(lead))[-NEAR:], *_BLAMES)


def _is_free(lead: str) -> bool:
    """Return whether clearly none of the last words of an ASCII line rejects: no sign of such a
    word occurs, or enough words follow the last one.

    A word that is not part of an entry counts as one word, and so does what lies between two of
    them.
    """
    signs = [*sign_of(*_BLAMES).finditer(lead)]
    if not signs:
        return True
    known, count, within = all_words(), 0, True
    for part in lead[signs[-1].end() :].partition(" ")[2].split():
        word = part.rstrip(".,:;")
        if word not in known and word != "vs" and (word.isalpha() or word.isdigit()):
            count, within = count + 1, False
        elif not within and any(map(str.isalnum, part)):
            count, within = count + 1, True
    return count >= NEAR


def _concludes(marks: Sequence[Mark], text: str) -> bool:
    """Return whether the last of different marks replaces the earlier ones: it is separate, and has
    no other label.
    """
    last, lead = marks[-1], listed(tokens(_lead(text, marks[-1])))
    between = text[marks[-2].end : last.opened]
    if ("\n" not in between and len(between) < 40) or has(lead, "supposes"):
        return False
    words = [token for token in lead if token.text[0].isalnum()]
    return not words or has(words, "answer", "so", "again", "score", "ranking")
