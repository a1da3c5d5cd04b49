"""The answer to "may I rank my models with this judge?" in one sentence, from the pairs
of models. Studies without named models are answered in ``pair_answer.py``,
``score_answer.py`` and ``consistency.py``.

*No* only for what is proven: a pair in the wrong order, or an accuracy that does not
exceed chance. Everything else that the checks find qualifies the answer.
"""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from visualjudge.analysis.decisions.checks import LEAST_IMAGES
from visualjudge.analysis.estimate import too_few
from visualjudge.analysis.figure_text import (
    NONE,
    group_name,
    listed,
    lower_first,
    many,
    number,
    percent,
)
from visualjudge.analysis.separation import (
    NO_PAIRS,
    AnswerState,
    Ends,
    PairOfModels,
    PairsOfModels,
    PairState,
)
from visualjudge.analysis.statistics.score_bar import Level
from visualjudge.analysis.study_shape import QUESTIONS, Shape
from visualjudge.analysis.table_layout import (
    Column,
    Layout,
    as_named,
    blocks,
    grid,
    named,
    of_row,
)
from visualjudge.core.text_tables import Table

MOST_ROWS = 15
STATE_WORDS: dict[PairState, str] = {
    "right": "right",
    "wrong": "wrong",
    "undecided": "judge can’t",
    "close": "neither can",
    "unknown": "no truth",
}
TRUTH_OPEN = "truth can’t"
MORE = (
    "More images: the number for an even chance to separate the two, and for 80 %; no "
    "number: even 20 times as many images may not do; no help: the judge does not prefer "
    "the better one."
)


def state_words(pair: PairOfModels) -> str:
    """Return the state of a pair in words."""
    if pair.state == "close" and pair.truth_ci95 is None:
        return "too few images"
    if pair.state == "undecided" and not pair.truth_order:
        return TRUTH_OPEN
    if pair.state == "unknown" and pair.judge_order:
        return "yes, no truth"
    return STATE_WORDS[pair.state]


def _share(value: float | None, ends: Ends | None) -> str:
    if ends is None:
        return f"{percent(value, 0)} ({NONE})"
    low, high = (f"{100 * end:.0f}" for end in ends)
    return f"{percent(value, 0)} ({low} to {high})"


def _more(pair: PairOfModels) -> str:
    if pair.needs_images is None:
        unknown = "no help" if _against(pair) else "no number"
        return unknown if pair.state == "undecided" else ""
    low, high = pair.needs_images
    return number(low) if low == high else f"{number(low)} to {number(high)}"


PAIR = Layout[PairOfModels](
    named("a", "First"),
    named("b", "Second"),
    Column(None, state_words, "Separated"),
    *as_named(
        "judge", "judge_ci95", "truth", "truth_ci95", "state", "needs_images"
    ),
    *as_named("images", "group", "mean_difference", "conflict"),
    *as_named("judge_order", "truth_order"),
    Column("difference", "mean_difference"),
    of_row(
        "By the judge",
        lambda pair: _share(pair.judge, pair.judge_ci95),
    ),
    of_row(
        "By truth",
        lambda pair: _share(pair.truth, pair.truth_ci95),
    ),
    *as_named("by", "truth_by"),
    of_row("More images", _more),
)


def separated(models: PairsOfModels) -> str:
    """Return how many pairs are separated, rightly where truth is known, as "5 of 6"."""
    counted = [
        pair.state == "right"
        or (pair.state == "unknown" and pair.judge_order != 0)
        for pair in models.pairs
    ]
    return f"{sum(counted)} of {len(counted)}" if counted else NONE


def resolution(models: PairsOfModels) -> str:
    """Return the resolution as a win rate."""
    return NONE if models.resolution is None else percent(models.resolution, 0)


def pairs_table(models: PairsOfModels) -> Table:
    """Return each pair of models by judge and by truth."""
    pairs = models.pairs
    total = many(len(pairs), "pair")
    notes = {
        "By the judge, by truth: share of images on which the first is better (95 %). "
        f"Separated: by a test adjusted (Holm) for {total}; intervals are not "
        "adjusted.": bool(pairs),
        MORE: any(pair.state == "undecided" for pair in pairs),
        _resolved(models): models.resolution is not None,
        f"{number(MOST_ROWS)} of {total} are listed.": len(pairs) > MOST_ROWS,
    }
    return grid(
        PAIR,
        pairs[:MOST_ROWS],
        notes=[note for note, holds in notes.items() if holds],
        keys=2,
    )


def _resolved(models: PairsOfModels) -> str:
    more = (
        ""
        if models.resolution_twice is None
        else f" ({percent(models.resolution_twice, 0)} with twice the images)"
    )
    return (
        "Resolution: with a power of 80 %, these images separate two models of which one "
        f"truly wins {_least(models.resolution)}{more}."
    )


def _least(share: float | None) -> str:
    every = share is not None and share >= 0.995
    return "all images" if every else f"{percent(share, 0)} of images"


ANOTHER = "Ask another judge."
NOT_THESE = "Not with these images"
UNKNOWN = "Not known"
NAMED = 2
"""Maximum number of pairs of a kind that the sentence names."""
RULE = (
    "Yes: every pair of models that the truth separates is separated, rightly, and these "
    "are half of all pairs or more. In part: some are. No: a pair is separated wrongly, or "
    "the judge is no better than chance. Checks change none of these."
)
"""What the answers mean."""
CAUTION = (
    "The separated pairs stand, but with ✗ the judge may rank other models or images "
    "wrongly."
)
"""What a requirement means that is not met."""


@dataclass(frozen=True)
class Reason:
    """A part of an answer: what is proven, disproven, or open; "–" is what the truth
    leaves open."""

    sign: Literal["✓", "✗", "?", "–"]
    text: str


Reasons = tuple[Reason, ...]
SIGN_OF: Mapping[Level, Literal["✓", "✗", "?"]] = {
    "met": "✓",
    "missed": "✗",
    "open": "?",
}
"""What it means for a reason that a requirement is met, missed or open."""


@dataclass(frozen=True)
class ModelAnswer(PairsOfModels):
    """The pairs and the resolution, the answer, its sentence without the judge's name,
    its ``verdict`` in a line, and the reasons.
    """

    state: AnswerState
    sentence: str
    shape: Shape = "named_pairs"
    verdict: str = ""
    reasons: Reasons = ()

    def __str__(self) -> str:
        return self.sentence

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Until 1.1 a card's answer was a text."""
            if name.startswith("_") or not hasattr(str, name):
                raise AttributeError(name)
            warnings.warn(
                f"answer.{name}: an answer is no text; use answer.sentence",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(self.sentence, name)

        def __contains__(self, words: str) -> bool:
            return bool(self.count(words))

    @property
    def question(self) -> str:
        """What is answered."""
        return QUESTIONS[self.shape]

    @property
    def caution(self) -> str:
        """What its ✗ mean, if it is not *no*."""
        disproven = any(reason.sign == "✗" for reason in self.reasons)
        return CAUTION if disproven and self.state in ("yes", "in_part") else ""

    @property
    def word(self) -> str:
        """The answer in a word or two: the begin of its sentence."""
        return re.split("[:,]", self.sentence, maxsplit=1)[0]

    @property
    def estimand(self) -> str:
        """What two models are compared by, or what is measured where none are."""
        if self.pairs:
            return "win_rate"
        return "mean_score" if self.shape == "scores" else "agreement"

    @property
    def needs_images(self) -> tuple[int, int] | None:
        """The range of further images that would settle every undecided pair; None if
        no pair is undecided, or no number would.
        """
        needed = [
            pair.needs_images
            for pair in self.pairs
            if pair.state == "undecided"
        ]
        ends = [images for images in needed if images]
        if not ends or len(ends) < len(needed):
            return None
        return max(low for low, _ in ends), max(high for _, high in ends)


def model_answer(
    models: PairsOfModels | None,
    images: int,
    accuracy: str | None,
    *,
    why: str | None = None,
    unskilled: str | None = None,
    qualifiers: Sequence[str] = (),
) -> ModelAnswer:
    """Return the answer of a judge that was asked about so many ``images``, with its
    accuracy in words. ``why`` no models are compared, ``unskilled`` why it is proven
    not to judge; ``qualifiers`` are statements of the checks that fail.
    """
    if unskilled:
        reasons: Reasons = (Reason("✗", unskilled),)
        result = _Draft(
            "no", "No", "No: it is no better than chance", reasons, ANOTHER
        )
    elif models is None:
        result = _unknown(images, accuracy, why)
    else:
        result = _stated(models, accuracy)
    return ModelAnswer(
        **vars(models or NO_PAIRS),
        state=result.state,
        sentence=qualified(result.state, result.sentence, qualifiers),
        verdict=with_failed(result.state, result.verdict, qualifiers),
        reasons=(*result.reasons, *disproven(qualifiers)),
    )


def with_failed(
    state: AnswerState, verdict: str, qualifiers: Sequence[str]
) -> str:
    """Return the verdict; in place of what limits it, the number of requirements that
    are not met, if there are any. A *no* needs no more.
    """
    failed = f"{many(len(qualifiers), 'requirement')} not met"
    return (
        verdict
        if state == "no" or not qualifiers
        else f"{re.split('[:,]', verdict, maxsplit=1)[0]}; {failed}"
    )


def disproven(qualifiers: Sequence[str]) -> Reasons:
    """Return what else is proven against a judge."""
    return tuple(Reason("✗", text) for text in qualifiers)


@dataclass(frozen=True)
class _Draft:
    """An answer in parts; ``head`` begins the sentence, ``advice`` ends it."""

    state: AnswerState
    head: str
    verdict: str
    reasons: Reasons
    advice: str = ""

    @property
    def sentence(self) -> str:
        reasons = "; ".join(reason.text for reason in self.reasons)
        glue = "; " if ":" in self.head else ": "
        stated = glue.join(filter(None, (self.head, reasons)))
        return f"{stated}. {self.advice}".strip()


def qualified(
    state: AnswerState, sentence: str, qualifiers: Sequence[str]
) -> str:
    """Return the sentence with what else is proven; a *no* needs no more."""
    if not qualifiers or state == "no":
        return sentence
    begun = f"{sentence} But" if state == "too_few" else f"{sentence[:-1]}, but"
    return f"{begun} {listed(qualifiers)}."


ANSWER = Layout[ModelAnswer](
    *as_named("shape", "state", "sentence"),
    *as_named("estimand"),
    *as_named("resolution", "resolution_twice", "resolution_points"),
    blocks("pairs", PAIR),
)
"""The answer in files."""


def _stated(models: PairsOfModels, accuracy: str | None) -> _Draft:
    pairs = sorted(models.pairs, key=lambda pair: -pair.images)
    right, wrong, undecided, close, unknown = (
        [pair for pair in pairs if pair.state == state]
        for state in ("right", "wrong", "undecided", "close", "unknown")
    )
    groups = len({pair.group for pair in pairs}) > 1
    total = many(len(pairs), "pair")
    if wrong:
        return _wrong(wrong, len(right), groups)
    if models.images < LEAST_IMAGES:
        return _Draft(
            "too_few",
            NOT_THESE,
            f"{NOT_THESE}: models are compared on only "
            f"{many(models.images, 'image')}",
            (Reason("?", f"at least {LEAST_IMAGES} images are needed"),),
            _so_far(pairs, accuracy),
        )
    if len(unknown) == len(pairs):
        return _without_truth(pairs, total)
    rest = list(_too_close(close, groups))
    rest += (
        [f"of {many(len(unknown), 'pair')} no truth is known"]
        if unknown
        else []
    )
    rest += _conflicts(pairs, groups)
    others = (
        *(Reason("?", text) for text in _open(undecided, groups)),
        *(Reason("–", text) for text in rest),
    )
    if not right:
        helps = not undecided or not all(map(_against, undecided))
        none = f"none of {total} is separated"
        verdict = f"{NOT_THESE}: {none}"
        head = f"{verdict} on {many(models.images, 'image')}"
        return _Draft(
            "too_few",
            head,
            verdict,
            others,
            _next(accuracy, "" if helps else ANOTHER),
        )
    rightly = (
        "are separated, all rightly"
        if len(right) > 1
        else "is separated, rightly"
    )
    separated = f"{len(right)} of {total} {rightly}"
    if not undecided and len(right) >= len(close) + len(unknown):
        share = models.resolution
        won = (
            f", reliably where one model truly wins {_least(share)}"
            if share
            else ""
        )
        return _Draft(
            "yes", f"Yes{won}", f"Yes{won}", (Reason("✓", separated), *others)
        )
    return _Draft(
        "in_part",
        "In part",
        f"In part: for {len(right)} of {total}",
        (Reason("✓", separated), *others),
    )


def _wrong(wrong: Sequence[PairOfModels], right: int, groups: bool) -> _Draft:
    pair = wrong[0]
    above, below = (
        (pair.a, pair.b) if pair.judge_order > 0 else (pair.b, pair.a)
    )
    puts = f"it puts {above} above {below}"
    against = (
        f"{puts}{_task(pair, groups)}, wrongly (it prefers {pair.a} in "
        f"{percent(pair.judge, 0)}, the truth in {percent(pair.truth, 0)})"
    )
    reasons: Reasons = (Reason("✗", against),)
    if right:
        rightly = Reason("✓", f"{many(right, 'pair')} separated rightly")
        reasons = (*reasons, rightly)
    return _Draft("no", "No", f"No: {puts}, wrongly", reasons, ANOTHER)


def _conflicts(pairs: Sequence[PairOfModels], groups: bool) -> Iterator[str]:
    """Say where the order of the mean scores is proven to be the opposite."""
    collected = [pair for pair in pairs if pair.conflict]
    if len(collected) > NAMED:
        yield (
            f"in {len(collected)} pairs the model that wins fewer images has the "
            "higher mean score"
        )
    else:
        for pair in collected:
            yield (
                f"{pair.a} wins more images{_task(pair, groups)}, {pair.b} has the "
                "higher mean score"
            )


def _named(
    pairs: Sequence[PairOfModels], groups: bool, word: str = "from"
) -> str:
    """Return the pairs by name, or how many they are."""
    if len(pairs) > NAMED:
        return f"{len(pairs)} pairs"
    glue = ", and " if word == "and" else " and "
    return glue.join(
        f"{pair.a} {word} {pair.b}{_task(pair, groups)}" for pair in pairs
    )


def _too_close(close: Sequence[PairOfModels], groups: bool) -> Iterator[str]:
    """Say which pairs neither side separates, and how many are on too few images to
    tell."""
    measured = [pair for pair in close if pair.truth_ci95]
    if measured:
        yield (
            "neither judge nor truth separates "
            f"{_named(measured, groups, 'and')} here"
        )
    if few := len(close) - len(measured):
        yield f"{many(few, 'pair')} {'is' if few == 1 else 'are'} on {too_few()}"


def _task(pair: PairOfModels, groups: bool) -> str:
    return f" ({group_name(pair.group)})" if groups else ""


def _open(undecided: Sequence[PairOfModels], groups: bool) -> Iterator[str]:
    """Say which pairs the judge can't separate yet, and of which the truth can't."""
    by_judge = [pair for pair in undecided if pair.truth_order]
    by_truth = [pair for pair in undecided if not pair.truth_order]
    for part in _not_yet(by_judge, groups):
        yield f"it can’t separate {part}"
    for part in _not_yet(by_truth, groups):
        yield f"the truth can’t separate {part}"


def _against(pair: PairOfModels) -> bool:
    """Return whether the judge does not prefer the better model of an undecided pair: more
    images will not help.
    """
    return bool(pair.truth_order) and pair.judge <= 0.5


def _not_yet(undecided: Sequence[PairOfModels], groups: bool) -> Iterator[str]:
    """Name undecided pairs, and the images that the last of them may need."""
    soon = [pair for pair in undecided if pair.needs_images]
    rest = [pair for pair in undecided if not pair.needs_images]
    against = [pair for pair in rest if _against(pair)]
    unclear = [pair for pair in rest if pair not in against]
    if soon:
        yield (
            f"{_named(soon, groups)} yet: up to "
            f"{max(max(pair.needs_images or ()) for pair in soon):,} more images are "
            "needed"
        )
    if against:
        yield (
            f"{_named(against, groups)}, and more images will not help: it does not "
            "prefer the better one"
        )
    if unclear:
        yield (
            f"{_named(unclear, groups)}, and more images may not help: the preference is "
            "small, or due to chance"
        )


def _so_far(pairs: Sequence[PairOfModels], accuracy: str | None) -> str:
    best = max(pairs, key=lambda pair: abs(pair.judge - 0.5))
    order = f"puts {_above(best)}" if best.judge != 0.5 else "prefers no model"
    return f"So far it {order}; {lower_first(_next(accuracy))}"


def _above(pair: PairOfModels) -> str:
    """Return which model the judge prefers, in words."""
    a, b = pair.a, pair.b
    return f"{a} above {b}" if pair.judge > 0.5 else f"{b} above {a}"


def _without_truth(pairs: Sequence[PairOfModels], total: str) -> _Draft:
    names = [_above(pair) for pair in pairs if pair.judge_order]
    orders = (
        f"it puts {listed(names, NAMED)}"
        if names
        else f"it separates none of {total}"
    )
    why = f"{orders}, but without ground truth nobody knows whether rightly"
    return _Draft(
        "too_few",
        UNKNOWN,
        "Not known: no ground truth",
        (Reason("?", why),),
        "Label some.",
    )


def _unknown(images: int, accuracy: str | None, why: str | None) -> _Draft:
    known = (
        f"it is right in {accuracy}"
        if accuracy
        else f"it was asked about {many(images, 'image')}"
    )
    advice = "Import or perturb predictions of two models."
    if why == NO_ANSWER:
        advice = "`visualjudge report` says why its replies could not be used."
    return _Draft(
        "too_few",
        UNKNOWN,
        f"{UNKNOWN}: no two models are compared",
        (Reason("?", str(why)), Reason("?", known)),
        advice,
    )


def more_images(images: int, needed: int | None) -> str:
    """Return how many more images would probably decide an open answer."""
    if needed and needed > images:
        return f"About {many(needed - images, 'more image')} would probably decide."
    if images < LEAST_IMAGES:
        return f"At least {LEAST_IMAGES} images are needed."
    return "Even 20 times as many images may not decide."


NO_ANSWER = "it answered no question on the models"


def _next(accuracy: str | None, advice: str = "") -> str:
    """Say how accurate the judge is, and what to do."""
    todo = (
        advice
        or "More images are needed: `visualjudge plan` says how many, if any number will do."
    )
    return (
        f"It is right in {accuracy}; {lower_first(todo)}" if accuracy else todo
    )


ORDER: tuple[AnswerState, ...] = ("yes", "in_part", "too_few", "no")
"""The order of answers on pages."""
