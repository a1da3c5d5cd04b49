"""Baselines: chance, the first option, an oracle, and sharpness
(``judges/image_metric.py``). The local judge is in ``judges/local``. Simulated studies
are in ``apps/planning/judge_simulation.py``.

``random``, ``first`` and ``oracle:P`` are simulated: their figures serve to test the
statistics, and every report marks them as simulated. ``sharpness`` is a real baseline
for restoration that a useful judge must beat.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import permutations
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np

from visualjudge.core.errors import UsageError
from visualjudge.core.records import (
    LETTERS,
    Question,
    QuestionType,
    Size,
    Verdict,
)
from visualjudge.core.seeding import uniforms_for
from visualjudge.dataset.fault_truth import (
    Deciding,
    better_in,
    deciding,
    shown_sizes,
)
from visualjudge.judges.base import (
    Ask,
    Judge,
    OfflineJudge,
    in_stored_letters,
)
from visualjudge.prompts.rubric import (
    FAULTS,
    LARGEST_PLACE,
    NONE,
    TIE,
    Choice,
    Criterion,
    Rubric,
    Scale,
)
from visualjudge.vision.tasks import TASKS

# Side of the place that a judge without skill names, in thousandths.
SIDE = 150


def right_values(
    criterion: Criterion, question: Question, facts: Deciding | None
) -> list[Any]:
    """Return the right values of a criterion, as in verdicts: several where errors
    weigh the same; empty if the truth is not known.
    """
    if criterion.answer == "option" and criterion.faults:
        better = better_in(question, criterion.faults)
        return [] if better is None else [better]
    if facts is None:
        return []
    if criterion.answer == "place":
        if facts.places is None:
            return []
        return [[round(v) for v in box] for box in facts.places[:1]] or [NONE]
    of_faults = (
        isinstance(criterion.answer, Choice)
        and criterion.answer.choice == FAULTS
    )
    return list(facts.kinds) if of_faults else []


def possible_values(
    criterion: Criterion, task: str, draws: Sequence[float]
) -> list[Any]:
    """Return the values that a criterion may have; of places and numbers one, by two
    uniform ``draws``.
    """
    form = criterion.answer
    if isinstance(form, Scale):
        low, high = form.scale
        return [round(low + draws[0] * (high - low), 1)]
    if form == "place":
        x, y = (round(draw * (LARGEST_PLACE - SIDE)) for draw in draws[:2])
        return [[x, y, x + SIDE, y + SIDE]]
    if form == "yes_no":
        return ["yes", "no"]
    return ["A", "B", TIE] if form == "option" else list(criterion.words(task))


MIDDLE = 5.0
FORM = "oracle:P[,bias=B][,slope=S][,unseen=P][,reason=P][,TASK=P]"
MODELS = f"random, first, {FORM}, sharpness"


def baseline_judge(model: str, root: Path, *, seed: int = 42) -> Judge:
    """Return the baseline of this name.

    Raises
    ------
    UsageError
        If there is no such baseline, or its numbers are out of range.
    """
    if model == "sharpness":
        # Imported here: the demo's simulated judges load no image code.
        from visualjudge.judges.image_metric import sharpness_judge

        return sharpness_judge(root)
    if model in ("random", "first"):
        return SimulatedJudge(model, seed, root=root)
    if model.startswith("oracle:"):
        return SimulatedJudge(model, seed, _oracle(model), root)
    raise UsageError(f"unknown baseline {model!r}; must be one of {MODELS}")


@dataclass(frozen=True, slots=True)
class Oracle:
    """A judge that is right with a known probability.

    Parameters
    ----------
    right
        Probability of the right answer for widely different scores.
    bias
        Share of pairwise questions answered by position alone: A if positive, B if
        negative.
    slope
        None = accuracy does not depend on the difference. Otherwise the probability of
        the right answer grows from chance with the difference m of the scores (0..10)
        as ``chance + (right - chance) · (1 - exp(-slope · m))``.
    unseen
        Probability of the right answer if a probe replaces the photograph; None =
        unchanged.
    reason
        Probability of a right answer to a criterion of a rubric; None = as ``right``.
    tasks
        Probability of the right answer by task; ``right`` for other tasks.
    """

    right: float
    bias: float = 0.0
    slope: float | None = None
    unseen: float | None = None
    reason: float | None = None
    tasks: Mapping[str, float] = field(default_factory=dict)

    def chance_of_right(self, question: Question) -> float:
        """Return the probability of a right answer to this question, which is chance if
        a probe removes the information.
        """
        if question.probe is not None and question.probe.expected == "any":
            return 1 / factorial(len(question.final_scores))
        right = self.tasks.get(question.task, self.right)
        if question.probe is not None and question.probe.design == "photograph":
            right = right if self.unseen is None else self.unseen
        if self.slope is None or question.question_type == "scoring":
            return right
        scores = sorted(question.final_scores)
        margin = float(np.diff(scores).min())
        chance = 1 / factorial(len(scores))
        return chance + (right - chance) * (
            1 - float(np.exp(-self.slope * margin))
        )


def _oracle(model: str) -> Oracle:
    """Parse a specification such as
    ``oracle:0.8,bias=0.1,slope=2,unseen=0.5,depth_estimation=0.6``."""
    first, *options = model.removeprefix("oracle:").split(",")
    try:
        numbers = {
            name.strip(): float(value)
            for name, value in (option.split("=") for option in options)
        }
        tasks = {
            name: numbers.pop(name) for name in [*numbers] if name in TASKS
        }
        oracle = Oracle(float(first), **numbers, tasks=tasks)
    except (ValueError, TypeError):
        raise UsageError(
            f"baseline must be {FORM}, such as oracle:0.8,bias=0.1, got {model!r}"
        ) from None
    shares = [
        oracle.right,
        *tasks.values(),
        oracle.unseen or 0,
        oracle.reason or 0,
    ]
    if not (
        all(0 <= share <= 1 for share in shares)
        and -1 <= oracle.bias <= 1
        and (oracle.slope is None or oracle.slope >= 0)
    ):
        raise UsageError(
            f"baseline {model!r}: P must be from 0 to 1, bias from -1 to 1, slope at "
            "least 0"
        )
    return oracle


@dataclass
class SimulatedJudge(OfflineJudge):
    """A judge with random replies. The same seed, question, order and repeat give the
    same reply.
    """

    model: str
    seed: int = 42
    oracle: Oracle | None = None
    root: Path = Path()
    simulated: bool = True
    rubric: Rubric | None = None

    async def __call__(self, ask: Ask) -> Verdict:
        """Draw a reply."""
        text = self._reply(ask)
        question = ask.question
        value = float(text) if question.question_type == "scoring" else text
        verdict = Verdict(
            question.id,
            ask.order,
            value,
            "ok",
            text,
            latency_s=0.0,
            repeat=ask.repeat,
            calls=0,
        )
        verdict = in_stored_letters(ask, verdict)
        if self.rubric is not None and self.rubric.of(question):
            verdict = replace(
                verdict, criteria=self._criteria(ask, self.rubric)
            )
        return verdict

    @cached_property
    def _sizes(self) -> Callable[[Question], Size | None]:
        return shown_sizes(self.root)

    def _criteria(self, ask: Ask, rubric: Rubric) -> dict[str, Any]:
        skill = 0.0
        if self.oracle is not None:
            stated = self.oracle.reason
            skill = self.oracle.right if stated is None else stated
        facts = deciding(ask.question, self._sizes(ask.question))
        values = {}
        for item in rubric.of(ask.question):
            key = ask.question.id, ask.order, ask.repeat, item.id
            luck, *more = uniforms_for(self.seed, self.model, *key)
            right = right_values(item, ask.question, facts)
            wrong = [
                v
                for v in possible_values(item, ask.question.task, more)
                if v not in right
            ]
            chosen = right if right and luck < skill else wrong or right
            values[item.id] = chosen[int(more[0] * len(chosen))]
        return values

    def _reply(self, ask: Ask) -> str:
        kind = ask.question.question_type
        n = len(ask.question.annotation_ids)
        if self.model == "first":
            return {"scoring": str(MIDDLE), "pairwise": "A"}.get(
                kind, LETTERS[:n]
            )
        draws = uniforms_for(
            self.seed, self.model, ask.question.id, ask.order, ask.repeat
        )
        if self.oracle is None:
            return _random(ask.question, draws[0])
        return _oracle_reply(ask, self.oracle, draws)

    def describe(self) -> Mapping[str, Any]:
        """Backend, model and seed."""
        return {
            "backend": "baseline",
            "base_url": None,
            "model": self.model,
            "parameters": {
                "seed": self.seed,
                **(
                    {}
                    if self.rubric is None
                    else {"rubric": self.rubric.json()}
                ),
            },
        }


def _oracle_reply(ask: Ask, oracle: Oracle, draws: Sequence[float]) -> str:
    question = ask.question
    by_position, luck, which, _ = draws
    if question.question_type == "pairwise" and by_position < abs(oracle.bias):
        return "A" if oracle.bias > 0 else "B"
    right = str(ask.stored(question.answer))
    return (
        right
        if luck < oracle.chance_of_right(question)
        else _random(question, which, but=right)
    )


def _random(question: Question, draw: float, *, but: str | None = None) -> str:
    """Return a uniformly drawn reply other than ``but``, if possible."""
    replies = _replies(question.question_type, len(question.annotation_ids))
    if but in replies:
        replies = [reply for reply in replies if reply != but] or replies
    return replies[int(draw * len(replies))]


@cache
def _replies(kind: QuestionType, n: int) -> Sequence[str]:
    """Return the possible replies; scores are in tenths."""
    if kind == "scoring":
        return [str(tenth / 10) for tenth in range(101)]
    return [
        "".join(letters)
        for letters in permutations(LETTERS[:n], 1 if kind == "pairwise" else n)
    ]
