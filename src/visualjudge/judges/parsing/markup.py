"""What surrounds an answer: thoughts, answer tags, LaTeX boxes, JSON. Text in, plain text and marked answers out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

# Opening and closing marks of a model's thinking, by family: DeepSeek, Qwen and most; Kimi; Mistral; Seed; gpt-oss.
_THOUGHTS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<analysis>", "</analysis>"),
    ("<seed:think>", "</seed:think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
)
_ANSWER_TAGS = (
    "answer",
    "final_answer",
    "final",
    "verdict",
    "choice",
    "output",
    "solution",
    "score",
    "ranking",
    "response",
)
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
_LATEX_COMMAND = re.compile(
    r"\\(?:text\w*|math\w*|mbox|rm|bf|left|right|large|huge|displaystyle|quad|,|;|!)(?![a-z])", re.I
)
_LATEX_ORDER = re.compile(r"\\(?:succ(?:eq)?|gt|rightarrow|to|geq?)(?![a-zA-Z])")
_TAG = re.compile(r"<\|?/?[a-zA-Z][^<>\n]{0,40}>")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M)
_DOUBLE = re.compile(r"\[\[([^\[\]\n]{1,40})\]\]")
ANSWER_KEYS = (
    "final_answer",
    "final",
    "answer",
    "verdict",
    "winner",
    "choice",
    "better",
    "better_option",
    "best",
    "preferred",
    "preference",
    "selected_option",
    "selection",
    "decision",
    "prediction",
    "option",
    "result",
    "final_score",
    "overall_score",
    "overall",
    "score",
    "rating",
    "final_ranking",
    "ranking",
    "rank",
    "order",
)


Span = tuple[int, int, str | None]


@dataclass(frozen=True, slots=True)
class Marked:
    """``answers`` were marked as such (tag, box, double brackets, JSON key); ``plain`` is the text without them."""

    plain: str
    answers: tuple[str, ...]


def without_thoughts(text: str) -> str:
    """The text after a model's thinking; empty where the thinking never ended.

    Chat templates often put the opening mark into the prompt, so that a reply has the closing one alone.
    """
    for opening, closing in _THOUGHTS:
        folded = text.lower()
        end = folded.rfind(closing.lower())
        if end >= 0:
            text = text[end + len(closing) :]
        elif opening.lower() in folded:
            text = text[: folded.index(opening.lower())]
    return text


def unwrap(text: str) -> Marked:
    """Find the answers that a reply marks as such."""
    answers: list[str] = []
    text = _take(text, _tagged(text), answers)
    text = _take(text, _boxed(text), answers)
    text = _take(text, _json(text), answers)
    text = _take(text, ((m.start(), m.end(), m[1]) for m in _DOUBLE.finditer(text)), answers)
    return Marked(_plain(text), tuple(_plain(answer) for answer in answers))


def _take(text: str, found: Iterator[Span], answers: list[str]) -> str:
    """Move the found spans from the text to ``answers``; a span without an answer is only left out."""
    out, at = [], 0
    for start, end, answer in found:
        if start >= at:
            out.append(text[at:start])
            answers.extend([answer] if answer is not None else [])
            at = end
    out.append(text[at:])
    return " ".join(out)


def _plain(text: str) -> str:
    """Without code fences, HTML and LaTeX commands; braces."""
    text = _LATEX_ORDER.sub(" > ", _FENCE.sub("\n", text))
    text = _LATEX_COMMAND.sub(" ", text).replace("\\(", " ").replace("\\)", " ").replace("\\[", " ").replace("\\]", " ")
    text = _TAG.sub(" ", text.replace("<br>", "\n").replace("\\n", "\n"))
    return text.replace("{", " ").replace("}", " ").replace("&gt;", ">").replace("&nbsp;", " ")


def _tagged(text: str) -> Iterator[Span]:
    """Each ``<answer>…</answer>``, of the first kind of tag that occurs; the closing tag may be missing."""
    folded = text.lower()
    name = next((name for name in _ANSWER_TAGS if f"<{name}>" in folded), None)
    start = folded.find(f"<{name}>") if name else -1
    while name and start >= 0:
        inside = start + len(name) + 2
        end = folded.find(f"</{name}>", inside)
        stop = len(text) if end < 0 else end
        yield start, min(stop + len(name) + 3, len(text)), text[inside:stop]
        start = folded.find(f"<{name}>", stop)


def _boxed(text: str) -> Iterator[Span]:
    for match in _BOX.finditer(text):
        end = _closing(text, match.end() - 1)
        if end:
            yield match.start(), end, text[match.end() : end - 1]


def _closing(text: str, start: int) -> int:
    """One past the brace that closes the one at ``start``; 0 where none does. Braces in JSON strings do not count."""
    depth, quoted = 0, False
    for at in range(start, len(text)):
        char = text[at]
        if char == '"' and text[at - 1] != "\\":
            quoted = not quoted
        elif not quoted and char in "{}":
            depth += 1 if char == "{" else -1
            if depth == 0:
                return at + 1
    return 0


def _json(text: str) -> Iterator[Span]:
    """Each outermost JSON object, with the answer that one of its keys names; a half-written one as far as it goes."""
    at = 0
    while (start := text.find("{", at)) >= 0:
        end = _closing(text, start) or len(text)
        value = _loads(text[start:end])
        answer = _answer_in(value) if isinstance(value, dict) else None
        if isinstance(value, dict) and value:
            yield start, end, answer
        at = end


def _loads(chunk: str) -> Any:
    try:
        return json.loads(chunk)
    except ValueError:
        return json_repair.loads(chunk) if ":" in chunk else None


def _answer_in(value: dict[str, Any]) -> str | None:
    keys = {str(key).strip().lower().replace(" ", "_").replace("-", "_"): key for key in value}
    for name in ANSWER_KEYS:
        if name in keys:
            return _phrase(value[keys[name]])
    return None


def _phrase(value: Any) -> str:
    """A JSON value as the words a reader would say."""
    if isinstance(value, dict):
        return _answer_in(value) or "?"
    if isinstance(value, list):
        return ", ".join(_phrase(item) for item in value)
    return "?" if value is None or isinstance(value, bool) else str(value)
