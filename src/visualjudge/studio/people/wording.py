"""A question as people are asked it: what only a model needs to be told is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from visualjudge.core.records import QuestionType

_BEFORE = (
    (re.compile(r"You are a judge to decide the quality of answers to an? (.+?) task(?: based on "
                r"my given image)?\."),
     r"Task: \1."),
    (re.compile(r"^Format of predictions?:", re.MULTILINE), "How the predictions are shown:"),
    (re.compile(r"^(?:First image|Image): .*$", re.MULTILINE), ""),
)  # fmt: skip
_AFTER = (
    (re.compile(r"\s*Please answer with A or B\.?"), ""),
    (
        re.compile(r"\s*Respond with the ranking as a single string of letters only.*", re.DOTALL),
        "",
    ),
    (re.compile(r"0 = random guessing / worst"), "0 = worst"),
    (re.compile(r"\s*Please answer with a single score from 0 to 10 only\.?"), ""),
)
ASKED: Mapping[QuestionType, str] = {
    "pairwise": "Which one is better?",
    "ranking": "Put them in order, the best one first.",
    "scoring": "How good is the prediction, from 0 (worst) to 10 (best)?",
}
"""What is asked where the prompt says it before the options, to a model alone."""
_GAPS = re.compile(r"\n{3,}")


def for_people(before: str, after: str, kind: QuestionType) -> tuple[str, str]:
    """The texts of a prompt before and after the options, as people are asked; prompts of others
    stay as they are.
    """
    for pattern, said in _BEFORE:
        before = pattern.sub(said, before)
    for pattern, said in _AFTER:
        after = pattern.sub(said, after)
    return _GAPS.sub("\n\n", before).strip(), after.strip() or ASKED[kind]
