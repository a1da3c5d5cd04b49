"""Answers in marks: ``\\boxed{B}``, ``<answer>B</answer>``, ``[[A>B]]``, "BETTER IMAGE: 2" and JSON objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from visualjudge.replies.jsons import MOST_MARKS, answers
from visualjudge.replies.markup import without_markup
from visualjudge.replies.phrases import listed
from visualjudge.replies.prose import read_sentences
from visualjudge.replies.said import Said
from visualjudge.replies.sentences import has
from visualjudge.replies.tokens import Word, plain, tokens

_LONGEST = 400
_TAG = re.compile(
    r"<(answer|final_answer|final|verdict|choice|output|solution|score|rating|ranking|winner|response|result"
    r"|conclusion|decision|judg(?:e?ment)|preference|selection|pick|vote)>"
)
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{|<\|begin_of_box\|>")
_DOUBLE = re.compile(r"\[\[([^\[\]\n]{1,60})\]\]")
_SINGLE = re.compile(r"\[([AB] ?(?:[>=~] ?(?:[AB]|[Gg]ood|[Bb]ad)){1,2})\]")
_BETTER = re.compile(
    r"\bbetter (?:image|response|answer)[ \t*]*:[ \t*]*(?:(?:image|response|answer)[ -])?([012])(?=[ \t*.`]*$)",
    re.I | re.M,
)
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
    opened: int = 0


def read_marks(text: str, question_type: str, n_options: int) -> Said | None:
    """The value of the marks of a reply; the last, where several differ and it concludes."""
    finders = (_boxed, _tagged, _doubled, _numbered, _objects)
    marks: Sequence[Mark] = next((found for one in finders if (found := list(one(text, question_type)))), [])
    if not marks:
        return None
    if question_type == "ranking":
        marks = _joined(marks, text)
    said = [_of_mark(mark, question_type, n_options) for mark in marks]
    if any(_is_blamed(text, mark) for mark in marks):
        return Said(None, "several answers")
    values = {one.value for one in said}
    if len(values) > 1 and not (len(values) == 2 and None not in values and _concludes(marks, text)):
        return Said(None, "several answers")
    return said[-1]


def _of_mark(mark: Mark, question_type: str, n_options: int) -> Said:
    """What a mark holds, read as a reply of its own."""
    inner = plain(without_markup(mark.text))
    letters = re.sub(r"[\s()\[\]'.!]", "", inner).upper()
    tie = _TIES.get(letters) or ("tie" if mark.rule == "double brackets" and letters == "C" else None)
    if tie and question_type == "pairwise":
        return Said(tie, None, mark.start, mark.end, mark.rule, marked=True)  # C: MT-Bench's
    said = read_sentences(inner, question_type, n_options, marked_only=False)
    if said.value is None:
        return said
    begin = mark.start + said.start if mark.rule != "JSON" else mark.start
    return replace(said, start=begin, end=mark.end, rule=mark.rule, marked=True)


def _boxed(text: str, _: str) -> Iterator[Mark]:
    for match in list(_BOX.finditer(text))[-MOST_MARKS:] if "box" in text else ():
        end = _closing(text, match.end()) if match[0].endswith("{") else text.find("<|", match.end())
        if end > 0:
            yield Mark(text[match.end() : end], match.end(), end, "box", match.start())


def _closing(text: str, start: int) -> int:
    """Where the brace that stands before ``start`` is closed; -1 if not soon."""
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return at
    return -1


def _tagged(text: str, _: str) -> Iterator[Mark]:
    """Each ``<answer>…</answer>``; the closing tag of the last may be missing."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    found = list(_TAG.finditer(lowered)) if "<" in text else []
    for tag in found[-MOST_MARKS:]:
        if tag[1] == found[0][1]:
            end = lowered.find(f"</{tag[1]}>", tag.end(), tag.end() + _LONGEST)
            if end >= 0 or tag is found[-1]:
                end = end if end >= 0 else len(text)
                yield Mark(text[tag.end() : end], tag.end(), end, "tag", tag.start())


def _doubled(text: str, _: str) -> Iterator[Mark]:
    found = list(_DOUBLE.finditer(text)) if "[[" in text else list(_SINGLE.finditer(text))
    for match in found[-MOST_MARKS:]:
        yield Mark(match[1], match.start(1), match.end(1), "double brackets", match.start())


def _numbered(text: str, _: str) -> Iterator[Mark]:
    """Each "BETTER IMAGE: 2", 0 for a tie: MJ-Bench's form."""
    for match in _BETTER.finditer(text) if "etter" in text or "ETTER" in text else ():
        yield Mark(_OF_NUMBER[match[1]], match.start(1), match.end(1), "better", match.start())


def _objects(text: str, question_type: str) -> Iterator[Mark]:
    """The values of JSON objects under a key that names an answer."""
    for said, start, end in answers(text, question_type):
        yield Mark(said, start, end, "JSON")


def _joined(marks: Sequence[Mark], text: str) -> Sequence[Mark]:
    """A mark for each letter, "[[C]], [[A]], [[B]]", as one: MLLM-as-a-Judge's form."""
    if len(marks) == 1 or not all(mark.rule == "double brackets" and len(mark.text.strip()) == 1 for mark in marks):
        return marks
    first, end = marks[0], marks[-1].end
    return [replace(first, text=text[first.start : end].replace("[", " ").replace("]", " "), end=end)]


def _lead(text: str, mark: Mark) -> list[Word]:
    """The words of the line before a mark."""
    begin = max(text.rfind("\n", 0, mark.opened) + 1, mark.opened - 120)
    return listed(tokens(plain(text[begin : mark.opened])))


def _is_blamed(text: str, mark: Mark) -> bool:
    """Whether the words before a mark make it the worse one: "Worse: \\boxed{A}"."""
    if set(">=") & set(mark.text) or mark.rule == "JSON":
        return False
    return has(_lead(text, mark)[-6:], "worse", "worst", "worst first")


def _concludes(marks: Sequence[Mark], text: str) -> bool:
    """Whether the last of different marks replaces the earlier: it stands apart, under no other label."""
    last, lead = marks[-1], _lead(text, marks[-1])
    between = text[marks[-2].end : last.opened]
    if ("\n" not in between and len(between) < 40) or has(lead, "supposes"):
        return False
    words = [token for token in lead if token.text[0].isalnum()]
    return not words or has(words, "answer", "so", "again", "score", "ranking")
