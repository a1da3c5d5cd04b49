"""Remove what surrounds an answer: thoughts, the question's own words, tags and boxes.
Texts keep their length, so positions remain valid in the reply. What remains is read in
``marked_answers.py``.
"""

import re

from visualjudge.replies.words import source

_ENDS = frozenset(("end_of_thought", "unused95", "final", "assistantfinal"))
# by family: gpt-oss; DeepSeek, Qwen and most others (MedGemma's numbers); Kimi and
# Mistral
_THOUGHT = re.compile(
    r"<\|channel\|>()([a-z]+)|()(assistantfinal)"
    r"|<\|?(/?)([a-z_:]{3,18}(?:9[45])?)\|?>|[◁\[](/?)(think)[▷\]]"
)
_MAY_THINK = ("<", "◁", "[think]", "[/think]", "assistantfinal")
_TAG = re.compile(
    r"<\|?/?[a-z][a-zA-Z0-9_|:\- /]{0,40}>|<｜[^｜>\n]{1,40}｜>|\[/?INST\]"
)
_LATEX = re.compile(
    r"\\(?:text\w*|math\w*|mbox|rm|bf|left|right|large|Large|quad|[,;!()\[\]])"
)
# Struck words, a line with an empty box or a cross, and the mark of a ticked box.
_STRUCK = re.compile(
    r"~~[^~\n]{1,80}~~|<(del|s|strike)>[^<\n]{1,80}</\1>"
    r"|^[ \t]*(?:[-*+] )?(?:(?:\[ \]|[☐❌✗✘])[^\n]*|\[[xX]\])",
    re.M,
)

# A question that the model repeats: "A. <image>".
_IMAGE_MARK = re.compile(r"^[ \t]*[A-H]\.[ \t]*(?:<image>|(?=[{\[]))", re.M)


def without_thoughts(text: str) -> str:
    """Blank out every thought in the text, including one that never ends.

    Chat templates often put the opening mark into the prompt, so that a reply has only
    the closing one. Then all text before it is a thought, unless nothing follows.
    """
    lowered = text.lower()
    if len(lowered) != len(text) or not any(
        mark in lowered for mark in _MAY_THINK
    ):
        return text
    pieces = list[str]()
    at = 0
    whole = len(text.rstrip())
    thoughts = source()["thoughts"]
    begun: int | None = None
    for mark in _THOUGHT.finditer(lowered):
        closing, name = (group for group in mark.groups() if group is not None)
        if name in _ENDS or (closing and name in thoughts):
            before = mark.start() if mark.end() >= whole else 0
            begun = before if begun is None else begun
            pieces = pieces if begun else []
            pieces += [
                text[at:begun] if begun else "",
                " " * (mark.end() - begun),
            ]
            begun = None
            at = mark.end()
        elif name in thoughts and begun is None:
            begun = mark.start()
    rest = (
        text[at:]
        if begun is None
        else text[at:begun] + " " * (len(text) - begun)
    )
    return "".join([*pieces, rest])


def without_markup(text: str) -> str:
    """Blank out code fences, tags and LaTeX commands."""
    if "\\" in text or "&" in text:
        text = _LATEX.sub(_blank, text).replace("\\n", " \n")
    if any(mark in text for mark in ("~~", "<", "[", *"☐❌✗✘")):
        text = _TAG.sub(
            _blank, _STRUCK.sub(_blank, _IMAGE_MARK.sub(_blank, text))
        )
    return text


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
