"""Read which option an MMBench reply chooses, with the words and marks of
``visualjudge.replies``. VLMEvalKit's rules are in ``vlmevalkit_rules.py``.

An option's text, at word boundaries, stands for its letter. Then, each if those before
found neither an answer nor two: a reply that is nothing but an option; a mark, a label,
a line or a sentence that states a letter; the one letter that stands alone in prose and
is not denied.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.replies.refusals import is_refusal
from visualjudge.replies.reply_to_value import LONGEST_REPLY, answer_in
from visualjudge.replies.statements import answer_pattern
from visualjudge.replies.stripped_text import without_markup, without_thoughts
from visualjudge.replies.words import Asked, lists, plain

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff"
_WITHOUT_BLANKS = re.compile(f"[{_CJK}]")
_EDGES = " \t\r\n.。．!！?？,，;；:：\"'“”‘’*_`()[]（）"
_ARTICLE = re.compile(r"\b(?:A(?=\s+[a-zà-ÿ])|I(?=\s+[a-zà-ÿ]|['’]))")
_LAST_ARTICLE = re.compile(r"\bA(?=\s+\Z)")
_LED = re.compile(r"[^\w\n]{0,9}([A-Z])[.):][^\w\n]{0,9}[A-Z]?[^\w\n]*")
_NEXT_WORD = re.compile(r"\s+([a-zà-ÿ]+)")
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]*")
# Words that follow a letter, and not the article.
_VERBS = frozenset(
    [
        *(
            "is",
            "was",
            "be",
            "are",
            "as",
            "because",
            "since",
            "for",
            "due",
            "given",
            "seems",
        ),
        *(
            "looks",
            "appears",
            "fits",
            "matches",
            "would",
            "should",
            "must",
            "can",
            "could",
            "has",
        ),
        *(
            "and",
            "or",
            "but",
            "if",
            "it",
            "which",
            "that",
            "not",
            "best",
            "shows",
            "describes",
        ),
    ]
)


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """The result of reading one reply: the letter of an option, or of several in order,
    or None, and the reason.
    """

    letter: str | None
    why: str


FORMS = {
    "JSON": "a field of JSON",
    "box": "a box",
    "brackets": "brackets",
    "label": "after “answer:”, “option” or the like",
    "line": "a line of nothing but a letter",
    "sentence": "a sentence that chooses",
    "tag": "a tag",
}
"""How a marked answer stands in a reply, by the rule of ``replies/`` that read it."""


def read_strict(reply: str, options: Mapping[str, str]) -> ChoiceReading:
    """Return the option that ``reply`` names as its answer, or None and the reason."""
    if len(reply) > LONGEST_REPLY:
        return ChoiceReading(None, "too long")
    spoken = without_thoughts(unicodedata.normalize("NFC", reply))
    if not spoken.strip():
        return ChoiceReading(None, "empty")
    alone = bare(spoken).upper()
    if alone in options:
        return ChoiceReading(alone, "a letter alone")
    same = [
        letter for letter, text in options.items() if bare(text) == bare(spoken)
    ]
    exact = [
        letter for letter in same if options[letter].strip() == spoken.strip()
    ]
    if same:
        item = exact if len(exact) == 1 else same
        why = (
            "an option's text alone"
            if len(item) == 1
            else "two options have this text"
        )
        return ChoiceReading(item[0] if len(item) == 1 else None, why)
    text = _lettered(spoken, options)
    led = _LED.fullmatch(text)
    if led and led[1] in options:
        return ChoiceReading(led[1], "a letter before a text")
    result = answer_in(text, Asked("choice", "".join(options)))
    answer_text = _SENTENCE.findall(plain(without_markup(text)))
    refused = is_refusal(spoken) or any(
        lists("undecided").within(sentence)
        and lists("denies", "cannot").within(sentence)
        for sentence in answer_text
    )
    if result.value in options and not (result.rule == "sentence" and refused):
        return ChoiceReading(str(result.value), FORMS.get(str(result.rule), ""))
    # "A = B" is a tie, which is no option
    if (
        result.value is not None
        or result.cause in ("several answers", "unknown option")
        or refused
    ):
        why = "refusal" if refused else result.cause or "several answers"
        return ChoiceReading(None, why)
    return _alone(answer_text, "".join(options))


_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
_LABELLED = re.compile(
    r"(?i:\banswers?)\s*(?i:is\b|are\b)?\s*[:：]?\s*([^\n]+)\Z"
)
_MARKS = re.compile(r"[\[\](){}'\"*`.]")
_SEVERAL = re.compile(
    r"[A-Z](?:\s*(?:[,;、&+/\s]|\band\b)+\s*[A-Z])*|[A-Z]{2,}"
)


def read_several(reply: str, options: Mapping[str, str]) -> ChoiceReading:
    """Return the letters of all options that a reply names as right, in order, or None
    and the reason. Read are a box, a last line after "answer:", a last line, and a
    reply that are nothing but letters or texts of options.
    """
    if len(reply) > LONGEST_REPLY:
        return ChoiceReading(None, "too long")
    spoken = without_thoughts(unicodedata.normalize("NFC", reply)).strip()
    boxes = _BOXED.findall(spoken)
    label = _LABELLED.search(spoken)
    lines = [label[1]] if label else [spoken, spoken.rpartition("\n")[2]]
    for part in boxes[-1:] or lines:
        named = _several_in(_lettered(part, options))
        if named and set(named) <= set(options):
            return ChoiceReading(named, "letters alone")
    return ChoiceReading(None, "not only letters of options")


def _several_in(text: str) -> str:
    """Return the letters of a text that is nothing but letters, in order; letters
    without anything between them only if they are in order, as other words are not."""
    plain_text = _MARKS.sub(" ", text).strip(" \t\n,;:")
    if not _SEVERAL.fullmatch(plain_text):
        return ""
    ordered = "".join(sorted(set(re.findall(r"[A-Z]", plain_text))))
    return ordered if plain_text == ordered or not plain_text.isalpha() else ""


def _alone(text: Sequence[str], letters: str) -> ChoiceReading:
    """Return the one letter of prose that no word denies; questions count if nothing
    else does."""
    asked = [sentence for sentence in text if sentence.endswith("?")]
    for part in ([item for item in text if not item.endswith("?")], asked):
        named = {
            option[0]
            for sentence in part
            for option in answer_pattern(letters).finditer(sentence)
            if not _is_denied(sentence, *option.span())
        }
        if named:
            several = f"two letters ({', '.join(sorted(named))})"
            why = "the one option in prose" if len(named) == 1 else several
            return ChoiceReading(named.pop() if len(named) == 1 else None, why)
    return ChoiceReading(None, "no option letter, no option text")


def _is_denied(sentence: str, start: int, end: int) -> bool:
    clause = re.split("[,;:(]", sentence[max(0, start - 80) : start])[-1]
    before = " ".join(clause.split()[-6:])
    after = " ".join(sentence[end : end + 80].split()[:3])
    denied = lists("denies", "cannot").within(before)
    return denied or lists("blames", "denies").within(after)


def _lettered(text: str, options: Mapping[str, str]) -> str:
    """Return the text with each option's text as its letter, and articles in lower
    case."""
    pieces = list[str]()
    at = 0
    for start, end, letter in mentions(text, options):
        pieces += [_LAST_ARTICLE.sub("a", _without_articles(text[at:start]))]
        pieces.append(letter.ljust(end - start))
        at = end
    return "".join([*pieces, _without_articles(text[at:])])


def _without_articles(text: str) -> str:
    def lowered(match: re.Match[str]) -> str:
        after = _NEXT_WORD.match(text, match.end())
        letter = after is not None and (match[0] == "A" and after[1] in _VERBS)
        return match[0] if letter else match[0].lower()

    return _ARTICLE.sub(lowered, text)


Mention = tuple[int, int, str]
"""Start and end (exclusive) of an option's text in a reply, and the option's letter."""


def bare(text: str) -> str:
    """Normalise a text for comparison: case folded, single spaces, no punctuation or
    quotes at its ends.
    """
    return " ".join(text.casefold().split()).strip(_EDGES)


def mentions(reply: str, options: Mapping[str, str]) -> list[Mention]:
    """Return the positions of the options' texts at word boundaries in order, ignoring
    case.

    A text within a longer option's text is not a mention: "oil painting" does not
    mention "painting".
    """
    folded = reply.casefold()
    likely = [
        (letter, text)
        for letter, text in options.items()
        if next(iter(text.casefold().split()), "").rstrip(".。．") in folded
    ]
    collected = [
        mention
        for letter, text in likely
        for mention in _places(reply, letter, text)
    ]
    apart = list[Mention]()
    reached = 0
    for mention in sorted(
        collected, key=lambda mention: (mention[0], -mention[1])
    ):
        if mention[0] >= reached:
            apart.append(mention)
            reached = mention[1]
    return apart


def _places(reply: str, letter: str, text: str) -> Iterator[Mention]:
    core = text.strip().rstrip(".。．")
    if len(core) < 2 and not core.isdigit() and not _WITHOUT_BLANKS.match(core):
        return
    body = r"\s+".join(re.escape(word) for word in core.split())
    pattern = re.compile(
        _before(core[0]) + body + _after(core[-1]), re.IGNORECASE
    )
    for match in pattern.finditer(reply):
        yield match.start(), match.end(), letter


def _before(first: str) -> str:
    if first.isdigit():
        return rf"(?<![^\W_{_CJK}])(?<!\d[.,:/])(?<![-−+.])"
    return rf"(?<![^\W{_CJK}])" if _is_delimited(first) else ""


def _after(last: str) -> str:
    if last.isdigit():
        return rf"(?![^\W_{_CJK}])(?![.,:/]\d)"
    return rf"(?![^\W{_CJK}])(?![-'’][^\W_])" if _is_delimited(last) else ""


def _is_delimited(character: str) -> bool:
    return bool(re.match(r"\w", character)) and not _WITHOUT_BLANKS.match(
        character
    )
