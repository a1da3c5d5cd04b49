"""Read which option an MMBench reply chooses. Replies to a dataset's questions are read by
``visualjudge.replies``.

An answer is a letter, or an option's text at word boundaries.

Each step is tried if those before found neither an answer nor a reason to stop:

1. the whole reply is a letter ("B", "(B)", "**B.**"), or an option's text;
2. a final mark: ``\\boxed{B}``, ``<answer>B</answer>``, "Final answer: B";
3. a declared letter: "the answer is B", "Answer: B", "option B", "B is correct", "答案是B";
4. a leading letter: "B. tractor", "(B) because …", or B on a line of its own;
5. the one option letter that stands alone in prose;
6. the one option text found at word bounds.

Nothing is read, and ``why`` gives the reason, if there are two letters or texts instead of one, a
letter that is not an option, a refusal, or a negated mention. A letter inside an option's own text
("vitamin C") is not an answer; neither is the article in "A man", nor the pronoun in "I think".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from visualjudge.replies.stripped_text import without_thoughts

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff"
_SCRIPTS_WITHOUT_BLANKS = re.compile(f"[{_CJK}]")
_EDGES = " \t\r\n.。．!！?？,，;；:：\"'“”‘’*_`()[]（）"
_OPEN, _CLOSE = r"[(\[{（【「\"'“‘*_`$]", r"[)\]}）】」\"'”’*_`$]"
_HEAD = r"(?<![A-Za-z0-9_À-ÿ'’#&/\\-])"
_TAIL = r"(?![A-Za-z0-9_À-ÿ#&+]|['’][A-Za-z]|[-/][A-Za-z0-9]|\.[A-Za-z0-9])"
_LONE = re.compile(rf"{_HEAD}([A-Z]){_TAIL}")
_WHOLE = re.compile(
    rf"(?:(?:option|choice|answer)\s*[:：]?\s*)?{_OPEN}*([A-Za-z])[.．。:：,、;!]?{_CLOSE}*[.．。:：,、;!]?{_CLOSE}*",
    re.I,
)
_BOXED = re.compile(
    r"\\boxed\s*\{+\s*(?:\\(?:text|mathrm|textbf)\s*\{)?\s*\(?([A-Za-z])\)?\s*\}"
    r"|<answer>\s*[(*\[]*([A-Za-z])(?:[)\]*.:,][^<]{0,200}|\s*)</answer>",
    re.I,
)
_MARKED = rf"(?:option\s+|choice\s+|选项\s*)?{_OPEN}{{0,4}}(?-i:([A-Z])){_TAIL}"
_FINAL = re.compile(
    rf"\bfinal\s+(?:answer|choice)\s*(?:(?:is|would\s+be)\b\s*)?[:：]?\s*{_MARKED}|最终答案\s*[是为]?\s*[:：]?\s*{_MARKED}",
    re.I,
)
_CUES = (
    rf"\b(?:answer|choice|option)s?\b{_CLOSE}{{0,3}}\s*(?:(?:is|are|would\s+be|should\s+be|must\s+be|will\s+be|seems\s+to\s+be|has\s+to\s+be)\b\s*[:：]?|[:：=])\s*{_MARKED}",
    rf"\b(?:option|choice)\s+{_OPEN}{{0,4}}(?-i:([A-Z])){_TAIL}",
    rf"\b(?:choose|chose|pick|select|go\s+with|go\s+for|opt\s+for)\s+(?:the\s+)?{_MARKED}",
    rf"(?:antwort|réponse|respuesta|resposta|risposta|ответ|答案|正解|答え)\s*(?:(?:ist|lautet|est|es|é|è|是|为|為|は)\b)?\s*[:：]?\s*(?:是|为)?\s*{_MARKED}",
    rf"(?:选择?|選択?)\s*(?:项|選項)?\s*[:：]?\s*{_MARKED}",
    rf"{_HEAD}(?-i:([A-Z])){_CLOSE}{{0,3}}\s+(?:is|seems|looks|would\s+be|must\s+be)\s+(?:clearly\s+|probably\s+|the\s+)*(?:correct\b|right\b(?!\s+(?:of|to|next|side|hand|above|below|behind))|best\b|answer\b|most\s+\w+)",
)
_CUE = tuple(re.compile(cue, re.I) for cue in _CUES)
_LOWER_CUE = re.compile(
    rf"\b(?:answer|choice|option)\s*(?:is\b|[:：])\s*{_OPEN}{{0,4}}(?-i:([a-z])){_CLOSE}{{0,4}}[.!]?\s*(?:$|\n)",
    re.I,
)
_FURTHER = re.compile(
    rf"{_CLOSE}{{0,3}}\s*(?:,|/|&|\bor\b|\band\b|或|和|、)\s*(?:option\s+|choice\s+)?{_OPEN}{{0,3}}([A-Z]){_TAIL}"
)
_LEAD = re.compile(
    rf"\s*(?:{_OPEN}+([A-Z]){_CLOSE}+|([A-Z])\s*[.．。:：)）,、;]|([A-Z])\s*(?:\n|[-–—]\s))",
    re.ASCII,
)
_LABEL = re.compile(rf"(?:^|\n)[ >*+-]*{_OPEN}*([A-Z])(?:{_CLOSE}+|[.．:：)）]|\s*(?:\n|$))")
_ARTICLE = re.compile(r"\s+[a-zà-ÿ]")
_AS_LETTER = re.compile(
    r"\s+(?:is|was|be|are|as|because|since|for|due|given|seems?|looks?|appears?|fits?|matches|matched|would|should|must|can|"
    r"could|will|may|might|has|and|or|but|if|it|which|that|not|best|here|in\s+my|makes|shows|describes|represents|correctly)\b"
)
_PRONOUN = re.compile(r"\s+(?!is\b|because\b|since\b)[a-zà-ÿ]|['’,]\s*(?:m|ve|d|ll|[a-z])")
_NEGATED = re.compile(
    r"(?:\b(?:not|never|neither|nor|without|except|excluding|isn't|isn’t|aren't|wasn't|cannot\s+be|can't\s+be|rather\s+than|"
    r"instead\s+of|no)|n't\s+be|不是|没有|不选|并非)\s*(?:(?:a|an|the|any|option|choice|in|on|at|of)\s+)*[(\[*\"'“]*$",
    re.I,
)
_DOUBTED = re.compile(
    r"(?:n['’]t|\bnot)\s+(?:think|believe|say|mean|agree|claim)\b[^.!?\n]*$", re.I
)
_REJECTED = re.compile(
    r"\s+(?:(?:is|are|was|seems|looks|would\s+be|can\s+be)\s+(?:\w+ly\s+|also\s+|the\s+)*(?:not|wrong|incorrect|false|too|unlikely|"
    r"ruled|eliminated|irrelevant)\b|isn['’]t|does\s+not|doesn['’]t|can(?:no|['’])t|cannot)",
    re.I,
)
_REFUSAL = re.compile(
    r"\b(?:I|we)(?:\s+(?:can(?:no|['’])t|can\s+not|could(?:\s+not|n['’]t)|am\s+(?:unable|not\s+able)|do(?:\s+not|n['’]t)\s+know|"
    r"do(?:\s+not|n['’]t)\s+have|am\s+not\s+(?:sure|certain))|['’]m\s+(?:unable|not\s+(?:able|sure|certain)))\b"
    r"|\b(?:cannot|can['’]t|can\s+not|unable\s+to|impossible\s+to|not\s+possible\s+to)\s+(?:be\s+)?"
    r"(?:determine|tell|say|identif|answer|help|assist|process|provide|see|view|comply|decide|know)"
    r"|\b(?:sorry|apologi[sz]e)\b|\bno\s+idea\b|\bas\s+an\s+AI\b|\bwithout\s+(?:the\s+)?(?:image|picture|more\s+context)"
    r"|无法|不能确定|抱歉|对不起|不知道",
    re.I,
)
_SENTENCE = re.compile(r"[.!?。！？]\s+|\n+|[。！？]")
_BLANKS, _EMPTY_LINES = re.compile(r"[^\S\n]+"), re.compile(r"\n\s*\n")
_FULL_WIDTH = {
    code: chr(code - 0xFEE0) for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """The result of reading one reply: the letter of an option, or None, and the reason."""

    letter: str | None
    why: str


LONGEST_LETTER = 60
"""Maximum number of characters of a reply that is a decorated letter."""
LONGEST_SENTENCE = 400
"""Maximum distance to search back for a sentence, so that time is linear in the reply's length."""


def read_strict(reply: str, options: Mapping[str, str]) -> ChoiceReading:
    """Return the option that ``reply`` names as its answer by the steps above, or None and the
    reason."""
    text = _spoken(reply)
    if not text:
        return ChoiceReading(None, "empty")
    whole = _whole(text, options)
    if whole is not None:
        return whole
    view = _View(text, options, mentions(text, options))
    for step in (_final, _declared, _leading, _prose, _option_text):
        reading = step(view)
        if reading is not None:
            return reading
    return ChoiceReading(None, "no option letter, no option text")


@dataclass(frozen=True, slots=True)
class _View:
    """A reply with the positions of option texts in it."""

    text: str
    options: Mapping[str, str]
    found: tuple[Mention, ...]

    def inside_text(self, at: int) -> bool:
        """Return whether the character is within an option's text of more than one letter."""
        return any(m.start <= at < m.end and m.end - m.start > 1 for m in self.found)

    def refusal(self) -> bool:
        """Return whether the reply refuses, ignoring the options' texts."""
        return self.refuses(0, len(self.text))

    def refuses(self, start: int, end: int) -> bool:
        hits = _REFUSAL.finditer(self.text, start, end)
        return any(not any(m.start <= hit.start() < m.end for m in self.found) for hit in hits)

    def sentence(self, at: int) -> tuple[int, int]:
        """Return the start and end of the sentence that contains the character."""
        begin = max(0, at - LONGEST_SENTENCE)
        start = max(
            (stop.end() for stop in _SENTENCE.finditer(self.text, begin, at)), default=begin
        )
        stop = _SENTENCE.search(self.text, at)
        return start, stop.start() if stop else len(self.text)

    def negated(self, at: int) -> bool:
        """Return whether the words before the character negate it."""
        start = max(self.sentence(at)[0], at - 80)
        return bool(_NEGATED.search(self.text, start, at) or _DOUBTED.search(self.text, start, at))


def _spoken(reply: str) -> str:
    """Remove the thoughts of a reasoning model; nothing is left if they do not end."""
    opened = without_thoughts(unicodedata.normalize("NFC", reply))
    narrow = _BLANKS.sub(" ", _EMPTY_LINES.sub("\n\n", opened))
    return narrow.translate(_FULL_WIDTH).strip()


def _whole(text: str, options: Mapping[str, str]) -> ChoiceReading | None:
    alone = _WHOLE.fullmatch(text) if len(text) <= LONGEST_LETTER else None
    if alone:
        letter = alone[1] if alone[1] in options else alone[1].upper()
        if letter in options:
            return ChoiceReading(letter, "a letter alone")
    for form in (str.strip, bare):
        same = [
            letter
            for letter, option in options.items()
            if form(text) and form(option) == form(text)
        ]
        if len(same) == 1:
            return ChoiceReading(same[0], "an option's text alone")
        if same:
            return ChoiceReading(None, "two options have this text")
    if alone and alone[1].isupper():
        return ChoiceReading(None, "a letter that is not an option")
    return None


def _one(letters: Iterable[str], options: Mapping[str, str], why: str) -> ChoiceReading | None:
    """Return the only letter among ``letters``, or None without letters, to continue."""
    distinct = sorted(set(letters))
    if not distinct:
        return None
    if len(distinct) > 1:
        return ChoiceReading(None, f"two letters ({', '.join(distinct)})")
    return (
        ChoiceReading(distinct[0], why)
        if distinct[0] in options
        else ChoiceReading(None, "a letter that is not an option")
    )


def _final(view: _View) -> ChoiceReading | None:
    boxed = [(m.end(), (m[1] or m[2]).upper()) for m in _BOXED.finditer(view.text)]
    named = [
        (m.end(), m[1] or m[2])
        for m in _FINAL.finditer(view.text)
        if not _FURTHER.match(view.text, m.end())
    ]
    marks = boxed or named
    return _one([max(marks)[1]], view.options, "marked as final") if marks else None


def _declared(view: _View) -> ChoiceReading | None:
    letters: list[str] = []
    for cue in _CUE:
        for match in cue.finditer(view.text):
            if not _holds(view, match):
                continue
            letters.append(match[1])
            letters += _further(view.text, match.end(1))
    lower = _LOWER_CUE.search(view.text)
    if lower and not letters and lower[1].upper() in view.options and _holds(view, lower):
        letters.append(lower[1].upper())
    return _one(letters, view.options, "declared")


def _holds(view: _View, cue: re.Match[str]) -> bool:
    """Return whether a cue declares its letter, and is not an article, an option's text, a denial
    or a doubt.
    """
    at = cue.start(1)
    if _is_article(view.text, at) or view.inside_text(at) or _REJECTED.match(view.text, at + 1):
        return False
    return not view.negated(at) and not view.refuses(*view.sentence(at))


def _further(text: str, at: int) -> Iterable[str]:
    """Return the further letters of a list: "A or C", "A, C and D"."""
    while match := _FURTHER.match(text, at):
        at = match.end(1)
        if not _is_article(text, match.start(1)):
            yield match[1]


def _leading(view: _View) -> ChoiceReading | None:
    match = _LEAD.match(view.text)
    if match is None:
        return None
    letter = match[1] or match[2] or match[3]
    if letter not in view.options or view.inside_text(match.start(match.lastindex or 1)):
        return None
    first = view.text.split("\n", 1)[0]
    rivals = {m[1] for m in _LABEL.finditer(view.text)}
    rivals |= {
        c for at, c in _standing(view) if at < len(first) and not _REJECTED.match(view.text, at + 1)
    }
    return ChoiceReading(letter, "leading letter") if rivals <= {letter} else None


def _prose(view: _View) -> ChoiceReading | None:
    standing = [(at, letter) for at, letter in _standing(view) if letter in view.options]
    if not standing or view.refusal():
        return None
    if all(view.negated(at) for at, _ in standing):
        return ChoiceReading(None, "only negated letters")
    return _one((letter for _, letter in standing), view.options, "the one letter in prose")


def _standing(view: _View) -> list[tuple[int, str]]:
    """Return capital letters that stand alone and are not an article, a pronoun or part of an
    option's text.
    """
    found = ((m.start(1), m[1]) for m in _LONE.finditer(view.text))
    return [
        (at, c)
        for at, c in found
        if c in view.options and not _is_article(view.text, at) and not view.inside_text(at)
    ]


def _is_article(text: str, at: int) -> bool:
    if text[at] == "A":
        return bool(_ARTICLE.match(text, at + 1)) and not _AS_LETTER.match(text, at + 1)
    return text[at] == "I" and bool(_PRONOUN.match(text, at + 1))


def _option_text(view: _View) -> ChoiceReading | None:
    if view.refusal():
        return ChoiceReading(None, "refusal")
    letters = {m.letter for m in view.found}
    if len(letters) > 1:
        return ChoiceReading(None, f"two option texts ({', '.join(sorted(letters))})")
    if letters and all(view.negated(m.start) for m in view.found):
        return ChoiceReading(None, "only a negated option text")
    return ChoiceReading(letters.pop(), "the one option text in it") if letters else None


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters ``start`` to ``end`` (exclusive) of a reply are the text of option ``letter``."""

    letter: str
    start: int
    end: int


def bare(text: str) -> str:
    """Normalise a text for comparison: case folded, single spaces, no punctuation or quotes at its
    ends.
    """
    return " ".join(text.casefold().split()).strip(_EDGES)


def mentions(reply: str, options: Mapping[str, str]) -> tuple[Mention, ...]:
    """Return every position of an option's text at word boundaries, ignoring case.

    A text within a longer option's text is not a mention: "oil painting" does not mention
    "painting".
    """
    folded = reply.casefold()
    likely = ((letter, text) for letter, text in options.items() if _first_word(text) in folded)
    found = [mention for letter, text in likely for mention in _places(reply, letter, text)]
    return tuple(m for m in found if not any(_inside(m, other) for other in found))


def _first_word(text: str) -> str:
    """Return a word that a reply must contain if it contains the text, to skip most searches."""
    return next(iter(text.casefold().split()), "").rstrip(".。．")


def _bound_before(first: str) -> str:
    if first.isdigit():
        return rf"(?<![^\W_{_CJK}])(?<!\d[.,:/])(?<![-−+.])"
    return rf"(?<![^\W{_CJK}])" if _delimited(first) else ""


def _bound_after(last: str) -> str:
    if last.isdigit():
        return rf"(?![^\W_{_CJK}])(?![.,:/]\d)"
    return rf"(?![^\W{_CJK}])(?![-'’][^\W_])" if _delimited(last) else ""


def _places(reply: str, letter: str, text: str) -> list[Mention]:
    core = text.strip().rstrip(".。．")
    if not core:
        return []
    return [Mention(letter, m.start(), m.end()) for m in _pattern(core).finditer(reply)]


def _pattern(core: str) -> re.Pattern[str]:
    body = r"\s+".join(re.escape(word) for word in core.split())
    return re.compile(_bound_before(core[0]) + body + _bound_after(core[-1]), re.IGNORECASE)


def _delimited(character: str) -> bool:
    """Return whether the script separates words, so that word boundaries exist."""
    return bool(re.match(r"\w", character)) and not _SCRIPTS_WITHOUT_BLANKS.match(character)


def _inside(mention: Mention, other: Mention) -> bool:
    longer = other.end - other.start > mention.end - mention.start
    return longer and other.start <= mention.start and mention.end <= other.end


REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
FAILED_CALL = "Failed to obtain answer via API"
LAST_TOKENS = 4
"""Number of last tokens within which a letter counts if it first occurs there."""
_PUNCTUATION = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_DECLARED = re.compile(r"(?i)answer\s+is\s+\**([ABCD])\**")


def read_vlmevalkit(reply: str, options: Mapping[str, str]) -> ChoiceReading:
    """Return the letter that VLMEvalKit's heuristics find in ``reply``; None for its Z or if
    nothing is found.

    The order is that of ``can_infer`` in VLMEvalKit's ``matching_util`` (written anew here from its
    description): known refusals; the one option letter among the tokens; "answer is X"; the one
    option whose text the reply contains. It reads an article as option A and "grandma" as "man";
    the report lists where ``strict`` differs. Its fallback for unreadable replies (ask GPT, or draw
    a random option) is not implemented.
    """
    if FAILED_CALL not in reply:
        reading = _by_letter(reply, options)
        if reading is not None:
            return reading
    lowered = reply.lower()
    if len(lowered) > 2 * sum(len(text) for text in options.values()):
        return ChoiceReading(None, "longer than twice all options")
    there = [letter for letter, text in options.items() if text.lower() in lowered]
    if len(there) == 1:
        return ChoiceReading(there[0], "the only option text contained in it")
    return ChoiceReading(
        None, "several option texts" if there else "no option letter, no option text"
    )


def _by_letter(reply: str, options: Mapping[str, str]) -> ChoiceReading | None:
    if any(refusal in reply for refusal in REFUSALS):
        return ChoiceReading(None, "refusal (Z)")
    tokens = reply.translate(_PUNCTUATION).split()
    there = [letter for letter in options if letter in tokens]
    if len(there) == 1 and tokens.index(there[0]) >= len(tokens) - LAST_TOKENS:
        return ChoiceReading(there[0], f"one option letter, among the last {LAST_TOKENS} tokens")
    if not there and "Z" in tokens:
        return ChoiceReading(None, "Z")
    declared = _DECLARED.search(reply)
    if declared and declared[1].upper() in options:
        return ChoiceReading(declared[1].upper(), '"answer is"')
    return None
