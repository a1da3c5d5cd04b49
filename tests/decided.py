"""A simulated leaderboard: sources of known quality on images, and a judge of known
skill and bias.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judged_records import pair, scoring
from visualjudge.core.records import Question, Verdict


@dataclass(frozen=True)
class World:
    """``truth`` (images, sources) 0..10; ``names`` of the sources, best first."""

    truth: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, images: int, sources: int, seed: int = 0, gap: float = 0.4
    ) -> World:
        rng = np.random.default_rng(seed)
        quality = 6 - gap * (np.arange(sources) - (sources - 1) / 2)
        truth = (
            quality
            + rng.normal(0, 0.7, (images, 1))
            + rng.normal(0, 0.8, (images, sources))
        )
        return cls(
            np.clip(truth, 0, 10).round(3),
            tuple(f"model {i}" for i in range(sources)),
        )

    def scoring_questions(self) -> list[Question]:
        """One question an image and source."""
        rows = itertools.product(
            range(self.truth.shape[0]), range(self.truth.shape[1])
        )
        return [
            scoring(
                i,
                float(self.truth[g, s]),
                image_id=f"image{g:04d}",
                annotation_ids=(f"a{g}-{s}",),
                sources=(self.names[s],),
                id=f"s{g}-{s}",
            )
            for i, (g, s) in enumerate(rows)
        ]

    def pair_questions(self) -> list[Question]:
        """Every pair of sources on every image; the option shown first alternates."""
        out = []
        for g in range(self.truth.shape[0]):
            for n, (a, b) in enumerate(
                itertools.combinations(range(len(self.names)), 2)
            ):
                a, b = (a, b) if (g + n) % 2 else (b, a)
                scores = (float(self.truth[g, a]), float(self.truth[g, b]))
                changes = {
                    "id": f"p{g}-{a}-{b}",
                    "image_id": f"image{g:04d}",
                    "annotation_ids": (f"a{g}-{a}", f"a{g}-{b}"),
                }
                out.append(
                    pair(
                        0,
                        scores,
                        sources=(self.names[a], self.names[b]),
                        **changes,
                    )
                )
        return out


def scores_of(
    questions: Sequence[Question],
    noise: float,
    seed: int = 0,
    bias: Mapping[str, float] | None = None,
) -> list[Verdict]:
    """A judge that scores with noise, and favours sources by ``bias``."""
    rng = np.random.default_rng(seed)
    out = []
    for question in questions:
        lean = (bias or {}).get(str(question.sources[0]), 0.0)
        value = float(
            np.clip(float(question.answer) + lean + rng.normal(0, noise), 0, 10)
        )
        out.append(
            Verdict(question.id, "AB", round(value, 2), "ok", str(value))
        )
    return out


def choices_of(
    questions: Sequence[Question],
    right: float,
    seed: int = 0,
    *,
    favoured: str | None = None,
    swap: bool = False,
) -> list[Verdict]:
    """A judge that is right with probability ``right``; half of the time, a
    ``favoured`` source wins in any case.
    """
    rng = np.random.default_rng(seed)
    out = []
    for question in questions:
        for order in ("AB", "BA") if swap else ("AB",):
            answer = str(question.answer)
            if favoured in question.sources and rng.random() < 0.5:
                answer = "AB"[question.sources.index(favoured)]
            elif rng.random() > right:
                answer = "B" if answer == "A" else "A"
            out.append(Verdict(question.id, order, answer, "ok", answer))  # type: ignore[arg-type]
    return out


def of_task(questions: Sequence[Question], task: str) -> list[Question]:
    """The same questions on other images, of another task."""
    return [
        replace(
            q, id=f"{task}/{q.id}", task=task, image_id=f"{task}/{q.image_id}"
        )
        for q in questions
    ]
