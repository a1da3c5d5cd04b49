"""Remove what surrounds an answer: thoughts, the question's own words, tags and boxes. Texts keep
their length, so positions remain valid in the reply.
"""

from __future__ import annotations

import re

_NAMES = (
    "think thinking thought thoughts reasoning reason rationale analysis scratchpad cot "
    "reflection seed:think plan "
    "inner_monologue chain_of_thought"
)
# Marks of a model's thoughts, by family: DeepSeek, Qwen and most others; Sky; Kimi; Mistral; gpt-
# oss; MedGemma.
_THOUGHT = re.compile(
    rf"(?P<open><(?:{'|'.join(_NAMES.split())})>|<\|(?:begin_of_thought|thinking)\|>|◁think▷|\[think\]|<\|channel\|>(?:analysis|commentary)"
    rf"|<unused94>thought)|</(?:{'|'.join(_NAMES.split())})>|<\|(?:end_of_thought|/thinking)\|>|◁/think▷|\[/think\]"
    r"|<\|channel\|>final(?:<\|message\|>)?|assistantfinal|<unused95>"
)
_MAY_THINK = ("<", "◁", "[think]", "[/think]", "assistantfinal")
_TAG = re.compile(r"<\|?/?[a-z][a-zA-Z0-9_|:\- /]{0,40}>|<｜[^｜>\n]{1,40}｜>|\[/?INST\]")
_BREAK = re.compile(r"<br ?/?>")
_LATEX = re.compile(
    r"\\(?:text\w*|math\w*|mbox|rm|bf|left|right|large|Large|huge|displaystyle|quad|[,;!()\[\]])"
)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(\d{1,2})\s*\}\s*\{\s*(\d{1,2})\s*\}")
_ABOVE = re.compile(r"\\(?:succ(?:eq)?|gt|rightarrow|to|geq?)(?![a-zA-Z])|&gt;")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[a-zA-Z]{2,}[ \t]*$", re.M)
# Speaker labels, if a model also writes the chat template or the question.
_ROLE = re.compile(
    r"\A\W{0,20}(?:assistant|model|bot|ai|gpt|judge|q(?:uestion)?:[^\n]{0,200}\sa)\s*:(?=\s*\S)",
    re.I,
)
_STRUCK = re.compile(r"~~[^~\n]{1,80}~~|<(del|s|strike)>[^<\n]{1,80}</\1>")
_ECHOES = (
    "respond with the ranking as a single string of letters only",
    "rank the predictions from best to worst",
    "(best first, worst last). for example, bcaed",
    "please answer with a or b",
    "please answer with a single score from 0 to 10",
    "score the quality of the prediction from 0 to 10",
    "0 = random guessing",
    "10 = best possible",
    "for example, bcaed",
)
# Sentences of the prompts: a model that repeats its question has not answered.
_MAY_ECHO = (
    "respond with",
    "rank the",
    "please answer",
    "score the quality",
    "possible",
    "bcaed",
    "random",
)
_IMAGE_MARK = re.compile(r"^[ \t]*[A-H]\.[ \t]*(?:<image>|(?=[{\[]))", re.M)


def without_thoughts(text: str) -> str:
    """Blank out every thought in the text, including one that never ends.

    Chat templates often put the opening mark into the prompt, so that a reply has only the closing
    one. Then all text before it is a thought, unless nothing follows.
    """
    lowered = text.lower()
    if not any(mark in lowered for mark in _MAY_THINK):
        return text
    pieces, at, depth, begun, whole = [], 0, 0, 0, len(text.rstrip())
    for mark in _THOUGHT.finditer(lowered if len(lowered) == len(text) else text):
        if mark["open"]:
            if not depth:
                pieces.append(text[at : mark.start()])
                begun = mark.start()
            depth = 1
        else:
            if not depth:
                before = text[at : mark.start()]
                keeps = mark.end() >= whole
                pieces.append(before if keeps else " " * len(before))
                begun = mark.start()
            pieces.append(" " * (mark.end() - begun))
            depth, at = 0, mark.end()
    return "".join([*pieces, " " * (len(text) - begun) if depth else text[at:]])


def without_echo(text: str) -> str:
    """Blank out the question's own words, and the text before them."""
    lowered = text.lower()
    if len(lowered) == len(text) and any(words in lowered for words in _MAY_ECHO):
        ends = [at + len(echo) for echo in _ECHOES if (at := lowered.rfind(echo)) >= 0]
        if ends:
            stop = max(ends)
            line = re.compile(r"[^\w\n]*(?:only)?[^\w\n]*").match(text, stop)
            stop = line.end() if line else stop
            text = " " * stop + text[stop:]
    return (
        _IMAGE_MARK.sub(_blank, text)
        if "<image>" in text or ". {" in text or ". [" in text
        else text
    )


def without_markup(text: str) -> str:
    """Blank out code fences, tags and LaTeX commands."""
    if "\\" in text or "&" in text:
        text = _FRACTION.sub(lambda match: f"{match[1]}/{match[2]}".rjust(len(match[0])), text)
        text = _ABOVE.sub(lambda match: ">".center(len(match[0])), text)
        text = _LATEX.sub(_blank, text).replace("\\n", " \n")
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(_blank, text)
    if "<" in text or "INST]" in text:
        text = _TAG.sub(_blank, _BREAK.sub(lambda match: "\n".ljust(len(match[0])), text))
    text = _ROLE.sub(_blank, text)
    return _FENCE.sub(_blank, text) if "```" in text or "~~~" in text else text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
