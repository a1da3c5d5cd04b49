"""Criteria that the local judge can answer: how the option that it calls worse differs
from the other, measured as if the other was the ground truth. The verdict itself is in
``judge.py``.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from visualjudge.core.records import FAILED, Fault, Question, Size
from visualjudge.dataset.fault_truth import in_thousandths
from visualjudge.prompts.rubric import (
    FAULTS,
    NONE,
    TIE,
    Choice,
    Criterion,
    Rubric,
)


def criteria_of(
    rubric: Rubric,
    question: Question,
    better: str,
    faults: Sequence[Fault],
    size: Size,
) -> dict[str, Any]:
    """Return the values of a pair's criteria, in the letters of the stored question;
    "Failed" of those that do not ask for differences. ``faults`` are those of the worse
    option beside the ``better`` one, in pixels of an image of ``size``.
    """
    total: Counter[str] = Counter()
    for fault in faults:
        total[fault.kind] += round(1e6 * fault.weight)
    kind = total.most_common(1)[0][0] if total else NONE
    heaviest = max(
        (fault for fault in faults if fault.kind == kind),
        key=lambda fault: fault.weight,
        default=None,
    )
    place: Any = NONE
    if heaviest is not None:
        place = [round(side) for side in in_thousandths(heaviest.box, size)]
    values = {}
    for criterion in rubric.of(question):
        values[criterion.id] = _value(criterion, kind, place, better, total)
    return values


def _value(
    criterion: Criterion,
    kind: str,
    place: Any,
    better: str,
    total: Counter[str],
) -> Any:
    form = criterion.answer
    if form == "place":
        return place
    if isinstance(form, Choice) and form.choice == FAULTS:
        return kind
    if form == "option" and criterion.faults:
        worse = any(total[name] for name in criterion.faults)
        return better if worse else TIE
    return FAILED
