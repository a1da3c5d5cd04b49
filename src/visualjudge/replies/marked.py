"""The tier ``marked``: boxes, tags, brackets, JSON, "Answer: B" lines, ranked lists, lines that are the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from visualjudge.replies.jsons import answers
from visualjudge.replies.markup import Marked, marked, plain as without_markup
from visualjudge.replies.orders import chain, direction_of, place_of
from visualjudge.replies.phrases import again, is_filler, listed, spoken
from visualjudge.replies.prose import OTHER, read_prose
from visualjudge.replies.said import Said
from visualjudge.replies.scores import only_score
from visualjudge.replies.tokens import Word, plain, tokens

HEAD, TAIL, HEAD_LINES, TAIL_LINES = 1_000, 2_000, 12, 40
"""Characters, and lines, at the beginning and at the end of a reply that are looked at."""
LONGEST_LABEL, LONGEST_ANSWER, LONGEST_LINE = 60, 80, 400
_TIE_WORDS = dict.fromkeys(("tie", "tied", "equal", "draw", "same", "both"), "tie") | {"neither": "both_bad"}
_ENDS_ANSWER = frozenset(("reason", "although", "other scale"))
_HEAD = re.compile(r"(?:^|[\n.;,])[\s>*-]*(?:option |image )?([A-H])\s*[:\-(]", re.I)
_LABELS = ("answer", "heading", "filler", "so", "option", "I", "best first", "points", "and", "is", "again", "denies")
"""Lists of the words that a label may have beside the one that is asked for."""
_PIECE = re.compile(r"[^\n.!?。！？]*(?:[.!?](?!\s|$)[^\n.!?。！？]*)*[.!?。！？]?")
_TIES = dict.fromkeys(("A=B", "A~B", "A=B=GOOD"), "tie") | dict.fromkeys(("A=B=BAD", "BOTH_BAD", "BOTHBAD"), "both_bad")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line or a sentence on a line that declares something: its label ("" for none), the value, and the place."""

    label: str
    value: str | float | None
    start: int
    end: int
    final: bool = False
    cause: str | None = None


def read_marked(text: str, clean: str, question_type: str, n_options: int) -> Said | None:
    """What a text declares by marks, or its lines (``clean``: without markup); None where nothing is marked."""
    reader = _Reader(question_type, n_options)
    marks = marked(text) or answers(text, question_type)
    said = reader.of_marks(marks, text) if marks else None
    return said if said is not None else reader.of_lines(clean)


@dataclass(frozen=True, slots=True)
class _Reader:
    question_type: str
    n_options: int

    def of_marks(self, marks: Sequence[Marked], text: str) -> Said | None:
        """The value of the marks; the last, where several differ and it concludes."""
        if self.question_type == "ranking":
            marks = _joined(marks, text)
        said = [self.of_mark(mark) for mark in marks]
        if any(_blamed(text, mark) for mark in marks):
            return Said(None, "several answers")
        values = {one.value for one in said}
        if len(values) > 1 and not (len(values) == 2 and None not in values and _concludes(marks, text)):
            return Said(None, "several answers")
        return said[-1]

    def of_mark(self, mark: Marked) -> Said:
        inner = mark.text.strip()
        if self.question_type == "pairwise" and mark.rule == "double brackets" and inner == "C":
            return Said("tie", None, mark.start, mark.end, mark.rule)  # MT-Bench's and MLLM-as-a-Judge's
        said = self.only(inner) or read_marked_text(inner, self.question_type, self.n_options)
        if said.value is None:
            return said
        begin = mark.start + said.start if said.end and mark.rule != "JSON" else mark.start
        return replace(said, start=begin, end=mark.end, rule=mark.rule)

    def only(self, text: str) -> Said | None:
        """The answer that a text is, and nothing else."""
        said = plain(without_markup(text))
        if len(said) > LONGEST_ANSWER or said.rstrip().endswith((":", "?")):
            return None
        found = tokens(said)
        value = self.only_tokens(found, said)
        places = [token for token in found if token.text[0].isalnum()] or found
        turned = self.question_type == "ranking" and direction_of(listed(found)) == "up"
        return None if value is None else Said(value, None, places[0].start, places[-1].end, "only", turned)

    def only_tokens(self, found: list[Word], said: str) -> str | float | None:
        if self.question_type == "ranking":
            return _order(found, self.n_options)
        words = listed(found)
        if self.question_type == "scoring":
            return only_score(words)
        return _pair([token for token in words if token.text[0].isalnum() or token.text[0] in "=<>~/|+%^"], said)

    def of_lines(self, text: str) -> Said | None:
        """The last declaration of labelled lines, ranked lists, and first and last lines that are the answer."""
        lines = list(self.declared(text))
        strong = [line for line in lines if line.label != "heading"]
        chosen = strong or lines
        if chosen:
            return _last(chosen, text)
        if self.question_type == "ranking" and (order := _ranked_list(text, self.n_options)):
            return order
        short = self.question_type == "pairwise" and len(text) < LONGEST_LINE and text.count("\n") < 3
        if short and (order := _ranked_list(text, 2)) and order.rule == "list":
            return replace(order, value=order.value and str(order.value)[0])
        return self.at_the_ends(text)

    def declared(self, text: str) -> Iterator[_Line]:
        """Each "Label: answer" in the head and the tail of the text."""
        for start, piece in _pieces(text):
            head, sign, rest = _split(piece)
            if sign and all("again" in token.kinds for token in listed(tokens(head))):
                head, sign, rest = _split(rest)  # "Correction: Answer: B"
            label = _label(head, self.question_type) if sign else ""
            if not label:
                continue
            if not rest.strip(" -=>:"):
                following = next(((at, line) for at, line in _lines(text[start + len(piece) :]) if line.strip()), None)
                if following and (alone := self.only(following[1])):
                    place = start + len(piece) + following[0]
                    yield _Line(label, alone.value, place, place + len(following[1]), _is_final(head))
                continue
            begin = start + len(piece) - len(rest)
            said = self.only(rest) or (self.begins(rest, text[begin + len(rest) :]) if label != "heading" else None)
            listed_again = self.question_type == "ranking" and any(
                "option" in token.kinds for token in listed(tokens(head))
            )
            if said is not None and not (listed_again and said.value == "ABCDEFGH"[: self.n_options]):
                first = begin - len(sign) - len(head.lstrip(" \n-*>"))
                yield _Line(label, said.value, first, begin + said.end, _is_final(head), said.cause)

    def begins(self, rest: str, following: str) -> Said | None:
        """The answer that the text after a label begins with, where only a reason follows."""
        found = listed(tokens(rest[:LONGEST_LINE]))
        while (
            found
            and not found[0].option
            and (
                found[0].text in ("=>([" if self.question_type == "scoring" else "=>([-")
                or found[0].kinds & {"option", "filler"}
            )
        ):
            found.pop(0)
        ends = (n for n, t in enumerate(found) if n and (t.text[0] in ",;(-:" or t.kinds & _ENDS_ANSWER))
        bound = next(ends, None)
        if bound is None:
            return None
        stop = found[bound]
        if bound == len(found) - 1 and stop.text == ":":
            return None  # a heading
        said = self.only(rest[: stop.start])
        if said is None or (self.question_type == "ranking" and stop.text[0] in ",-"):
            return None
        after = spoken(found[bound:])
        letters = {token.option for token in after[:4] if token.option}
        if any(t.kinds & {"supposes", "again", "doubts"} for t in after):
            return None
        if self.question_type == "pairwise":
            heads = set(_HEAD.findall(rest[stop.start :] + following[:LONGEST_LINE])) - {said.value}
            if heads or (letters - {said.value} and stop.text[0] in ",;:("):
                return None
        if self.question_type == "scoring" and stop.text[0] in "-," and len(after) > 1 and after[1].number is not None:
            return None
        if len(after) > 1 and after[1].kinds & {"denies", "worse", "worst"} and len(after) < 5:
            return None
        return said

    def at_the_ends(self, text: str) -> Said | None:
        """The answer of a reply whose first or last line is nothing else."""
        lines = [(start, line) for start, line in _lines(text) if line.strip(" -*>#=")]
        if not lines:
            return None
        first, last = self.only(lines[0][1]), self.only(lines[-1][1])
        alone = [one for one in (self.only(line) for _, line in lines[1:-1] if len(line) < 30) if one]
        chosen, start = (last, lines[-1][0]) if last else (first, lines[0][0])
        if chosen is None or chosen.value is None:
            return None
        if any(one.value != chosen.value for one in (first, *alone) if one):
            return Said(None, "several answers")
        above = lines[-2][1] if len(lines) > 1 else ""
        towards = direction_of(listed(tokens(above)))
        if towards and (above if last else lines[0][1]).strip().endswith("?"):
            return None  # an answer to "Which is worse?"
        if self.question_type == "ranking" and last and towards == "up" and not set("<>") & set(text):
            chosen = replace(chosen, value=str(chosen.value)[::-1], turned=True)
        return replace(chosen, start=start + chosen.start, end=start + chosen.end)


def read_marked_text(text: str, question_type: str, n_options: int) -> Said:
    """What stands inside a mark, as a reply of its own."""
    reader = _Reader(question_type, n_options)
    said = plain(without_markup(text))
    return reader.of_lines(said) or read_prose(said, question_type, n_options)


def _pair(words: Sequence[Word], said: str) -> str | None:
    if tie := _TIES.get(re.sub(r"[\s()\[\]'.!]", "", said).upper()):
        return tie
    kept = [t for t in words if t.option or "option" not in t.kinds or t.kinds & {"first", "second"}]
    kept = [t for t in kept if "filler" not in t.kinds or t.option or len(words) == 1] or [
        t for t in words if t.text == "a"
    ]
    letters = [token.option or _letter_of(token) for token in kept]
    if len(kept) == 1:
        return letters[0] if letters[0] in OTHER else _TIE_WORDS.get(kept[0].text)
    if len(kept) == 3 and kept[1].text[0] in "<>" and {letters[0], letters[2]} == {"A", "B"}:
        return letters[0] if kept[1].text[0] == ">" else letters[2]
    return letters[0] if set(letters) in ({"A"}, {"B"}) else None


def _letter_of(token: Word) -> str:
    """The option that a word stands for which is a whole answer: "first", "b"."""
    first, second = "first" in token.kinds or token.text == "a", "second" in token.kinds or token.text == "b"
    return "A" if first else "B" if second else ""


def _order(found: list[Word], n_options: int) -> str | None:
    said = [token for token in listed(found) if token.text[0] not in "()[]{}.;:!'"]
    places = [n for n, token in enumerate(said) if token.option]
    if len(places) == n_options:  # "B (best), A, C (worst)"
        noted = [
            n
            for n, token in enumerate(said)
            if (token.kinds & {"best"} and n < places[1]) or (token.kinds & {"worst"} and n > places[-2])
        ]
        said = [token for n, token in enumerate(said) if n not in noted]
    towards = direction_of(said)
    kept = [token for token in said if token.kinds.isdisjoint(("best first", "worst first", "ranking"))]
    while kept and not kept[-1].text[0].isalnum():
        kept.pop()
    if kept and said[0].text.split()[0] in ("rank", "order", "sort") and len(said) > len(kept):
        return None  # the question's own words
    letters = chain(kept, n_options) if kept else None
    if letters == "ABCDEFGH"[:n_options] and any("option" in token.kinds and not token.option for token in kept):
        return None  # "Options: A, B, C"
    if (
        letters is None
        or towards == "?"
        or (towards and any(token.text[0] in "<>" for token in kept) and towards == "up")
    ):
        return None
    return letters[::-1] if towards == "up" else letters


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of the head and the tail, with their places."""
    spans = ((0, len(text)),) if len(text) <= HEAD + TAIL else ((0, HEAD), (len(text) - TAIL, len(text)))
    found = []
    for begin, end in spans:
        at = begin
        for line in text[begin:end].split("\n"):
            found.append((at, line))
            at += len(line) + 1
    yield from found if len(found) <= HEAD_LINES + TAIL_LINES else found[:HEAD_LINES] + found[-TAIL_LINES:]


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of the lines, with their places."""
    for start, line in _lines(text):
        for match in _PIECE.finditer(line):
            if match[0].strip():
                yield start + match.start(), match[0]


def _split(piece: str) -> tuple[str, str, str]:
    """A label, its colon, and what follows; a colon that is too far away is none."""
    places = [at for sign in (":", "=", " - ") if 0 < (at := piece.find(sign)) <= LONGEST_LABEL]
    if not places:
        return "", "", ""
    at = min(places)
    return piece[:at], piece[at], piece[at + (3 if piece[at] == " " else 1) :]


def _label(head: str, question_type: str) -> str:
    """The kind of a label: "answer", "heading", or nothing."""
    asked = {"pairwise": "answer", "ranking": "ranking", "scoring": "score"}[question_type]
    found = [token for token in listed(tokens(head)) if token.text[0].isalnum()]
    if any(token.option or token.letters for token in found) or set("<>≤≥±~/") & set(head):
        return ""
    known = {asked, *_LABELS}
    if asked == "score" and any(token.kinds & {"best", "better"} for token in found):
        return ""
    if not found or not all(
        token.kinds & known
        or token.text in ("for", "of", "to", "in")
        or (token.number is not None and asked == "score")
        for token in found
    ):
        return ""
    kinds = frozenset().union(*(token.kinds for token in found))
    if "worst first" in kinds:
        return ""
    strong = kinds & {asked, "answer"} if question_type != "ranking" else kinds & {asked, "answer", "best first"}
    return "answer" if strong else "heading" if "heading" in kinds else ""


def _is_final(head: str) -> bool:
    return any(
        token.text.startswith(("final", "overall", "total")) or "so" in token.kinds for token in listed(tokens(head))
    )


def _last(lines: Sequence[_Line], text: str) -> Said:
    """The last declaration; none where headings disagree, or labels that do not say that they are final."""
    last = lines[-1]
    values = {line.value for line in lines}
    corrected = len(lines) > 1 and again().search(text, max(0, lines[-2].end - 1), last.end)
    if (
        len(values) > 1
        and not corrected
        and (last.label == "heading" or not last.final)
        and any(line.final for line in lines)
    ):
        return Said(None, "several answers")
    return Said(last.value, last.cause, last.start, last.end, "label")


def _ranked_list(text: str, n_options: int) -> Said | None:
    """Items "1. B", "Rank 1: B", "1st: B", or lines that begin with an option, each once; not where words blame."""
    rows: list[_Item] = []
    heads: list[_Item] = []
    introduced: list[Word] = []
    for start, line in _lines(text):
        found = [
            t for t in listed(tokens(line[:LONGEST_LINE])) if t.option or not ("option" in t.kinds or is_filler(t))
        ]
        said = [token for token in found if token.text[0].isalnum()]
        if not rows and not heads and not (said and said[0].option):
            introduced += said
        rows += _items(found, start)
        if said and said[0].option:
            heads.append(_Item(0, said[0], said[1:4], start, len(said) == 1, found))
    noted = {place_of(row.note[0], n_options, 0) or 0: row for row in heads if row.note}
    placed = "".join(noted[place].token.option for place in sorted(noted))
    if sorted(noted) == list(range(1, n_options + 1)) and "".join(sorted(placed)) == "ABCDEFGH"[:n_options]:
        return Said(placed, None, heads[0].start, heads[-1].start + heads[-1].token.end, "list")
    numbered = [row.place for row in rows] == list(range(1, n_options + 1))
    chosen = rows if numbered else heads
    letters = "".join(row.token.option for row in chosen)
    towards = direction_of(introduced[-12:])
    if len(chosen) != n_options or "".join(sorted(letters)) != "ABCDEFGH"[:n_options]:
        return None
    tells = any(token.kinds & {"ranking", "best first", "worst first"} for token in introduced)
    if (
        numbered
        and letters == "".join(sorted(letters))
        and not (tells or all(row.alone or row.after[:1] == "-" for row in rows))
    ):
        return None  # a list of the options
    bare = all(row.alone for row in heads) and letters != "".join(sorted(letters))
    bounded = all(row.alone or row.bounded for row in heads)
    if not numbered and not (bare or (towards in ("up", "down") and bounded)):
        return None
    if towards == "?" or direction_of(chosen[0].note) or any("best" in token.kinds for token in chosen[-1].note):
        return Said(None, "several answers")
    first, last = chosen[0], chosen[-1]
    order, rule = (letters[::-1] if towards == "up" else letters), "list" if numbered else "lines"
    return Said(order, None, first.start, last.start + last.token.end, rule, towards == "up")


@dataclass(frozen=True, slots=True)
class _Item:
    """An option in a list, with its place (0: none), the words after it, and whether the line is nothing else."""

    place: int
    token: Word
    note: Sequence[Word]
    start: int
    alone: bool
    line: Sequence[Word] = ()

    @property
    def bounded(self) -> bool:
        """Whether a mark follows the option."""
        return not self.after or self.after[0] in ":-(,."

    @property
    def after(self) -> str:
        """The token after the option, or nothing."""
        beyond = self.line[self.line.index(self.token) + 1 :]
        return beyond[0].text if beyond else ""


def _items(found: Sequence[Word], start: int) -> list[_Item]:
    """The options of a line that stand right after a place: "1. B", "Rank 1: B 2. A", "Best: B"."""
    items = []
    for n, token in enumerate(found):
        place, previous = _place(token), found[n - 1] if n else None
        if not place or (
            previous
            and previous.text[0].isalnum()
            and not ("ranking" in previous.kinds or previous.option or previous.number is not None)
        ):
            continue
        rest = [one for one in found[n + 1 : n + 5] if one.text[0].isalnum() or one.text[0] not in ".):-#>]|,"]
        if rest and rest[0].option:
            note = [one for one in found[n + 2 : n + 8] if one.text[0].isalnum() and one is not rest[0]][:3]
            items.append(_Item(place, rest[0], note, start, len(rest) == 1, found))
    return items


def _place(token: Word) -> int:
    """The place that a token counts: 1, "1st", "first place"."""
    if token.number is not None:
        return int(token.number) if token.number in (1, 2, 3, 4, 5, 6, 7, 8) else 0
    ordinals = ("1st", "2nd", "3rd", "4th", "5th", "first", "second", "third", "fourth", "fifth")
    named = next((n for n in (1, 2, 3) if f"place {n}" in token.kinds), 0)
    return named or (ordinals.index(token.text) % 5 + 1 if token.text in ordinals else 0)


def _joined(marks: Sequence[Marked], text: str) -> Sequence[Marked]:
    """A mark for each letter, "[[C]], [[A]], [[B]]", as the one that they make together: MLLM-as-a-Judge's form."""
    if len(marks) == 1 or not all(mark.rule == "double brackets" and len(mark.text.strip()) == 1 for mark in marks):
        return marks
    first, end = marks[0], marks[-1].end
    return [replace(first, text=text[first.start : end].replace("[", " ").replace("]", " "), end=end)]


def _lead(text: str, mark: Marked) -> list[Word]:
    """The words of the line before a mark."""
    begin = max(text.rfind("\n", 0, mark.opened) + 1, mark.opened - 120)
    return listed(tokens(plain(text[begin : mark.opened]), 0))


def _blamed(text: str, mark: Marked) -> bool:
    """Whether the words before a mark make it the worse one, or suppose it: "Worse: \\boxed{A}"."""
    if set(">=") & set(mark.text) or mark.rule == "JSON":
        return False
    lead = _lead(text, mark)[-6:]
    return any(token.kinds & {"worse", "worst", "worst first"} for token in lead)


def _concludes(marks: Sequence[Marked], text: str) -> bool:
    """Whether the last of different marks replaces the earlier ones: it stands apart and under no other label."""
    last, before = marks[-1], marks[-2]
    between = text[before.end : last.opened]
    if ("\n" not in between and len(between) < 40) or any(token.kinds & {"supposes"} for token in _lead(text, last)):
        return False
    lead = [token for token in _lead(text, last) if token.text[0].isalnum()]
    return not lead or any(token.kinds & {"answer", "so", "again", "score", "ranking"} for token in lead)
