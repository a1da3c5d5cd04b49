"""What is tuned: an encoding, a version of the final question, and a mode; and a question as an arm asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.judges.options import Mode
from visualjudge.prompts.prompt_set import PromptSet
from visualjudge.prompts.spans import spans_of
from visualjudge.prompts.store import PromptAssetStore

LAYOUT = "questions/layout"
FINAL = "final_pairwise"


@dataclass(frozen=True, slots=True)
class Arm:
    """``prompts`` is a version of the final question; None: as the dataset was built."""

    encoding: str
    prompts: str | None = None
    mode: Mode = "text"

    @property
    def name(self) -> str:
        """Such as ``fill+v2+json``; the encoding alone where the rest is as built and in text."""
        return "+".join(
            (self.encoding, *([self.prompts] if self.prompts else ()), *([self.mode][self.mode == "text" :]))
        )

    def asked(self, question: Question) -> Question:
        """The question as this arm asks it."""
        return question if self.prompts is None else reworded(question, self.prompts)


def versions() -> tuple[str, ...]:
    """The versions of the final question."""
    return tuple(version for name, version in PromptAssetStore().prompts() if name == LAYOUT)


def arms(encodings: Sequence[str], question: Question, prompts: Sequence[str], modes: Sequence[Mode]) -> list[Arm]:
    """Every combination; a version that is that of ``question``, or that it cannot be put in, is left out."""
    others = [version for version in prompts if _differs(question, version)]
    return [Arm(encoding, version, mode) for mode in modes for version in (None, *others) for encoding in encodings]


def _differs(question: Question, version: str) -> bool:
    try:
        return reworded(question, version).prompt != question.prompt
    except DataError:
        return False


def reworded(question: Question, version: str) -> Question:
    """A pairwise question with the final question of another version.

    Raises
    ------
    DataError
        If the prompt ends with the final question of no version.
    """
    spans = spans_of(question)
    start, end = spans.final or (len(question.prompt), len(question.prompt))
    said = PromptSet(version).asset("layout").part(FINAL, {"question": _sentence(question.prompt[start:end])})
    prompt = question.prompt[:start] + said + question.prompt[end:]
    return replace(question, prompt=prompt, spans=replace(spans, final=(start, start + len(said))))


def _sentence(final: str) -> str:
    """The question in the words of its paraphrase, without what says how to answer."""
    for version in versions():
        before, after = PromptSet(version).asset("layout").around(FINAL, "question")
        if final.startswith(before) and final.endswith(after):
            return final[len(before) : len(final) - len(after)]
    raise DataError("the prompt must end with the final question of a known version")
