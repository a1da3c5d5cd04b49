"""Answers in marks: ``\\boxed{B}``, ``<answer>B</answer>``, ``[[A>B]]``, "BETTER IMAGE: 2" and JSON
objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from visualjudge.replies.json_answers import MOST_MARKS, answers
from visualjudge.replies.phrases import listed
from visualjudge.replies.prose_answers import read_sentences
from visualjudge.replies.read_value import Said
from visualjudge.replies.sentences import has
from visualjudge.replies.stripped_text import without_markup
from visualjudge.replies.tokens import Word, plain, tokens

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
"""By rule: what a mark begins with, and the rest; the first rule that finds one counts. "better" is
MJ-Bench's form.
"""
_FLAGS = re.I | re.M | re.S
_OPENINGS = {rule: re.compile(opening, _FLAGS) for rule, (opening, _) in _MARKS.items()}
_PATTERNS = {
    rule: re.compile(f"(?:{opening}){rest}", _FLAGS) for rule, (opening, rest) in _MARKS.items()
}
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
    """What a mark holds, and where; ``opened`` is where the mark itself begins."""

    text: str
    start: int
    end: int
    rule: str
    opened: int


def read_marks(text: str, question_type: str, n_options: int) -> Said | None:
    """The value of the marks of a reply; the last, where several differ and it concludes."""
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
        # a mark for each letter, "[[C]], [[A]], [[B]]": MLLM-as-a-Judge's form
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
    """The last marks of a kind; of tags, those named as the first, and what follows a last one that
    nothing closes.
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
    """What a mark holds, read as a reply of its own."""
    inner = plain(without_markup(mark.text))
    letters = re.sub(r"[\s()\[\]'.!]", "", inner).upper()
    tie = _TIES.get(letters) or (
        "tie" if mark.rule == "double brackets" and letters == "C" else None
    )
    if tie and question_type == "pairwise":
        return Said(tie, None, mark.start, mark.end, mark.rule, marked=True)  # C: MT-Bench's
    said = read_sentences(inner, question_type, n_options, marked_only=False)
    if said.value is None:
        return said
    begin = mark.start + said.start if mark.rule != "JSON" else mark.start
    return replace(said, start=begin, end=mark.end, rule=mark.rule, marked=True)


def _lead(text: str, mark: Mark) -> list[Word]:
    """The words of the line before a mark."""
    begin = max(text.rfind("\n", 0, mark.opened) + 1, mark.opened - 120)
    return listed(tokens(plain(text[begin : mark.opened])))


def _is_blamed(text: str, mark: Mark) -> bool:
    """Whether the words before a mark make it the worse one: "Worse: \\boxed{A}"."""
    compared = set(">=") & set(mark.text) or mark.rule == "JSON"
    return not compared and has(_lead(text, mark)[-6:], "worse", "worst", "worst first")


def _concludes(marks: Sequence[Mark], text: str) -> bool:
    """Whether the last of different marks replaces the earlier: it stands apart, under no other
    label.
    """
    last, lead = marks[-1], _lead(text, marks[-1])
    between = text[marks[-2].end : last.opened]
    if ("\n" not in between and len(between) < 40) or has(lead, "supposes"):
        return False
    words = [token for token in lead if token.text[0].isalnum()]
    return not words or has(words, "answer", "so", "again", "score", "ranking")
