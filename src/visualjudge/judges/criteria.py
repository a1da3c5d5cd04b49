"""Right and possible values of a rubric's criteria, for judges that know the ground
truth."""

from collections.abc import Sequence
from typing import Any

from visualjudge.core.records import Question
from visualjudge.dataset.fault_truth import Deciding, better_in
from visualjudge.prompts.rubric import (
    FAULTS,
    LARGEST_PLACE,
    NONE,
    TIE,
    Choice,
    Criterion,
    Scale,
)

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
