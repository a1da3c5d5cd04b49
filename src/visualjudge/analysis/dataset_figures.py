"""What is known of a dataset itself, no judge involved, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from visualjudge.analysis.value_and_interval import Share


@dataclass(frozen=True)
class Leak:
    """How often one shallow rule is right on the dataset itself."""

    scope: str
    rule: str
    share: Share
    p: float | None
    p_holm: float | None = None
    flagged: bool = False


@dataclass(frozen=True)
class DatasetFacts:
    """What was asked."""

    path: str | None
    questions_sha256: str | None
    version: str | None
    seed: int | None
    questions: int
    images: int
    by_question_type: Mapping[str, int]
    prompts: tuple[str, ...] = ()
    asked: int = 0
    """Different questions that any judge was asked."""
    images_asked: int = 0
    probed: int = 0
    """Of the questions asked, those that a probe has changed: only figures of probes count them."""
    where: tuple[str, ...] = ()
    """The questions that all figures are of, as ``FIELD=VALUE``; empty: all."""

    @property
    def extent(self) -> str:
        """300 of 1,514 questions, on 13 of 40 images: what was asked of what is there."""
        asked = (
            f"{_of(self.asked, self.questions)} questions on "
            f"{_of(self.images_asked, self.images)} images"
        )
        asked += f", {self.probed:,} of them for probes" if self.probed else ""
        return asked + (f"; only those with {' and '.join(self.where)}" if self.where else "")


def _of(part: int, whole: int) -> str:
    return f"{whole:,}" if part == whole else f"{part:,} of {whole:,}"
