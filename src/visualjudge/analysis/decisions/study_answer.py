"""The answer of a study that compares no named models, by its shape."""

import re
from collections.abc import Sequence

from visualjudge.analysis.decisions.consistency import consistency
from visualjudge.analysis.decisions.model_answer import (
    ModelAnswer,
    Reason,
    Reasons,
    disproven,
    qualified,
)
from visualjudge.analysis.decisions.pair_answer import pair_answer
from visualjudge.analysis.decisions.score_answer import score_answer
from visualjudge.analysis.pairwise_figures import Pairwise
from visualjudge.analysis.separation import NO_PAIRS, AnswerState
from visualjudge.analysis.shape import Shape
from visualjudge.analysis.study_table import Study

NAMED: tuple[Shape, ...] = ("named_pairs", "controlled_errors")
"""Shapes that compare sources."""


def study_answer(
    study: Study,
    run: int,
    shape: Shape,
    pairwise: Pairwise,
    qualifiers: Sequence[str] = (),
) -> ModelAnswer:
    """Return the answer of one run of such a ``shape``; ``qualifiers`` are what else is
    proven."""
    state: AnswerState = "too_few"
    reasons: Reasons
    if shape == "scores":
        scores = score_answer(study, run, study.bar)
        state = scores.state
        sentence = scores.sentence
        reasons = scores.reasons
    elif shape == "unnamed_pairs":
        pairs = pair_answer(study, run, study.bar)
        state = pairs.state
        sentence = pairs.sentence
        reasons = pairs.reasons
    else:
        sentence = consistency(study, run, pairwise)
        word, _, rest = sentence.partition(": ")
        reasons = (Reason("?", rest or word),)
    return ModelAnswer(
        **vars(NO_PAIRS),
        state=state,
        sentence=qualified(state, sentence, qualifiers),
        shape=shape,
        verdict=re.split("[:,]", sentence, maxsplit=1)[0],
        reasons=(*reasons, *disproven(qualifiers)),
    )
