"""VLMEvalKit's heuristics, so that figures can be compared with published ones. Our own
rules are in ``reply_reading.py``.

The order is that of ``can_infer`` in VLMEvalKit's ``matching_util`` (written anew here
from its description): known refusals; the one option letter among the tokens; "answer
is X"; the one option whose text the reply contains. It reads an article as option A and
"grandma" as "man"; the report lists where ``strict`` differs. Its fallback for
unreadable replies (ask GPT, or draw a random option) is not implemented.
"""

import ast
import re
from collections.abc import Mapping

from visualjudge.apps.mmbench.reply_reading import ChoiceReading

REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
FAILED_CALL = "Failed to obtain answer via API"
# Number of last tokens within which a letter counts if it first occurs there.
LAST_TOKENS = 4
_PUNCTUATION = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_DECLARED = re.compile(r"(?i)answer\s+is\s+\**([ABCD])\**")


def read_vlmevalkit(reply: str, options: Mapping[str, str]) -> ChoiceReading:
    """Return the letter that VLMEvalKit finds in ``reply``; None for its Z, or without
    one."""
    reading = _by_letter(reply, options) if FAILED_CALL not in reply else None
    if reading is not None:
        return reading
    lowered = reply.lower()
    if len(lowered) > 2 * sum(len(text) for text in options.values()):
        return ChoiceReading(None, "longer than twice all options")
    there = [
        letter for letter, text in options.items() if text.lower() in lowered
    ]
    if len(there) == 1:
        return ChoiceReading(there[0], "the only option text contained in it")
    return ChoiceReading(
        None,
        "several option texts" if there else "no option letter, no option text",
    )


def _by_letter(reply: str, options: Mapping[str, str]) -> ChoiceReading | None:
    if any(refusal in reply for refusal in REFUSALS):
        return ChoiceReading(None, "refusal (Z)")
    tokens = reply.translate(_PUNCTUATION).split()
    there = [letter for letter in options if letter in tokens]
    if len(there) == 1 and tokens.index(there[0]) >= len(tokens) - LAST_TOKENS:
        return ChoiceReading(
            there[0], f"one option letter, among the last {LAST_TOKENS} tokens"
        )
    if not there and "Z" in tokens:
        return ChoiceReading(None, "Z")
    declared = _DECLARED.search(reply)
    return (
        ChoiceReading(declared[1].upper(), '"answer is"')
        if declared and declared[1].upper() in options
        else None
    )


# Removed by XLRSBench before letters are looked for, as its code spells them.
_XLRS_PREFIXES = re.compile(
    "The best answer is|The correct answer is|The answer is|The answer|The best option "
    "isThe correct option is|Best answer:Best option:"
)


def read_vlmevalkit_letters(
    reply: str, _options: Mapping[str, str]
) -> ChoiceReading:
    """Return all letters A to E of a reply, as ``XLRSBench`` in VLMEvalKit reads them:
    those in parentheses, or without any, every one, even inside words.
    """
    text = _XLRS_PREFIXES.sub("", reply.strip())
    if not re.search("[A-E]", text):
        return ChoiceReading(None, "no capital letter A to E")
    named = re.findall(r"\(([a-eA-E])\)", text) or re.findall("[a-eA-E]", text)
    return ChoiceReading(
        "".join(sorted({letter.upper() for letter in named})),
        "every letter A to E",
    )


def read_vlmevalkit_list(
    reply: str, _options: Mapping[str, str]
) -> ChoiceReading:
    """Return the letters of a reply that is a Python list of them, as
    ``AffordanceDataset`` in VLMEvalKit reads them. Its evaluation ends at the first
    other reply; here that reply is unread.
    """
    try:
        named = ast.literal_eval(reply.strip())
        letters = sorted(named)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ChoiceReading(None, "no Python list")
    if not all(
        isinstance(letter, str) and len(letter) == 1 for letter in letters
    ):
        return ChoiceReading(None, "no list of letters")
    return ChoiceReading("".join(letters), "a list of letters")
