"""Frozen records that modules exchange, in the order of the data flow. Predictions are
in ``vision/<type>/record.py``; the plug-in tables, in ``registry.py``.

Conventions: image arrays are H×W×3 uint8 RGB, masks H×W bool, sizes ``(height,
width)``, boxes ``xyxy`` in pixels with the origin at the top-left corner of the
top-left pixel.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Size = tuple[int, int]
Xyxy = tuple[float, float, float, float]
RGB = tuple[int, int, int]
Pixels = NDArray[np.uint8]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Annotation:
    """One prediction for one image, with its score (0 to 10). ``prediction`` is the
    payload as stored in the file.
    """

    annotation_id: str
    image_id: str
    task: str
    prediction: Mapping[str, Any]
    final_score: float
    class_of_interest: tuple[str, ...] | None = None
    error_type: str | None = None
    prompt: str | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    file: str = field(default="", compare=False)
    """Name of its file."""
    labels: tuple[str, ...] = ()
    """Determine the colours of its prediction: those of all predictions for the same
    image and class of interest, so that all options of a question agree, and one image
    of the prediction serves every question about it. Empty until it was checked."""


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """One image of a data folder. Paths are relative to the folder."""

    image_id: str
    file: str | None = None
    url: str | None = None
    width: int | None = None
    height: int | None = None
    mask: str | None = None
    control: str | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Mask:
    """A binary mask, stored as the packed bits of the crop to its bounding box: a few
    bytes of a file can be a mask of a hundred million pixels.

    ``size`` is the whole image's (height, width); the crop has (height, width) ``shape``
    and its top-left pixel at (``top``, ``left``); an empty mask has a 0×0 crop.
    """

    size: Size
    top: int
    left: int
    shape: Size
    area: int
    packed: bytes
    """The crop's pixels, by :func:`numpy.packbits` and :func:`zlib.compress`."""

    @property
    def crop(self) -> BoolArray:
        """The pixels within the bounding box, height×width bool; a new array."""
        flat = np.unpackbits(
            np.frombuffer(zlib.decompress(self.packed), dtype=np.uint8),
            count=self.shape[0] * self.shape[1],
        )
        return flat.view(np.bool_).reshape(self.shape)

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns of the bounding box, to index an image with."""
        height, width = self.shape
        return slice(self.top, self.top + height), slice(
            self.left, self.left + width
        )

    @property
    def xyxy(self) -> tuple[int, int, int, int]:
        """Bounding box; right and bottom are one past the last pixel."""
        height, width = self.shape
        return self.left, self.top, self.left + width, self.top + height

    @property
    def box(self) -> Xyxy:
        left, top, right, bottom = map(float, self.xyxy)
        return left, top, right, bottom

    def dense(self) -> BoolArray:
        """The mask at full size, H×W bool."""
        full = np.zeros(self.size, dtype=np.bool_)
        full[self.window] = self.crop
        return full


# ---------------------------------------------------------------- questions and
# verdicts

QuestionType = Literal["pairwise", "ranking", "scoring"]
Answer = str | float
# The answer of a question whose truth nobody has stated.
UNKNOWN = "unknown"
# The source of predictions without an error, beside those of `perturb`.
TRUTH = "truth"
Order = Literal["AB", "BA"]
Status = Literal[
    "ok",
    "unparseable",
    "refusal",
    "truncated",
    "api_error",
    "cannot_tell",
    "ok_extracted",
]
STATUSES: tuple[Status, ...] = get_args(Status)
FAILED = "Failed"
# Answers that a pairwise question may allow besides A and B.
TIES = ("tie", "both_bad")
# Letters of a question's options, in order; a ranking has at most five.
LETTERS = "ABCDE"
# The letter of each option of a pair when the order is reversed.
TURNED = {"A": "B", "B": "A"}
# Marks the place of an image in a prompt.
IMAGE_MARK = "<image>"


@dataclass(frozen=True, slots=True)
class OptionFeatures:
    """Features of one option that a superficial judge could use: lengths and counts,
    but never the score. ``area`` is the share of the image that boxes or masks cover
    (0..1).
    """

    severity: float | None = None
    text_chars: int | None = None
    png_bytes: int | None = None
    count: int | None = None
    area: float | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A place where a prediction differs from the ground truth, measured.

    ``kind`` is a word of the prediction type, ``box`` the place in pixels of the image,
    ``weight`` (0..1) how much is wrong there, and ``item`` the number of the predicted
    item, from 1; None if it is none of them, as of a missed object.
    """

    kind: str
    box: Xyxy
    weight: float
    item: int | None = None


# Start and end (exclusive) of a part of a prompt, in characters.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Spans:
    """Positions of the parts of a question in its prompt.

    ``original`` covers the marks of the original image and its control image,
    ``options`` the content of each option in order (without its letter; the prediction
    of a scoring question), ``final`` the closing question.
    """

    options: tuple[Span, ...]
    original: Span | None = None
    final: Span | None = None


ProbeDesign = Literal[
    "control", "cue", "change", "same", "withheld", "staircase", "photograph"
]


UNCHANGED: ProbeDesign = "control"
"""The design of a probe's question that it did not change."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Describes a probe's question: what was changed, what the answer must be, and
    which questions belong together.

    ``design`` states how the questions of a ``group`` are compared:

    - ``control``: nothing was changed; the other questions of its group are compared
      with it.
    - ``cue``: a cue is placed with option ``cue``, and in another question of the group
      with the other option.
    - ``change``: all options were changed in the same way, so the answer must be that
      of the control.
    - ``same``: both options are identical, so neither position may be preferred.
    - ``withheld``: the information needed for the answer is missing.
    - ``staircase``: one step of a group whose scores must follow the quality.
    - ``photograph``: something else is shown instead of the photograph; the loss of
      accuracy against the control measures how much the judge needs it.

    ``expected`` is ``answer`` (the question's answer is right), ``any`` (nothing
    distinguishes the options) or ``order`` (the scores of the group must be in the
    order of its answers). ``level`` is the strength of the cue, such as the confidence
    that a tool claims (0..1).
    """

    name: str
    design: ProbeDesign
    group: str
    changed: str
    expected: Literal["answer", "any", "order"]
    cue: str | None = None
    level: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The content of one judge call. ``final_scores``, ``sources``, ``features`` and
    ``faults`` are in the order of the options.

    ``spans`` is None in datasets of version 0.1, for which
    :func:`visualjudge.prompts.spans.spans_of` finds the options. ``ties`` are the
    answers among "tie" and "both_bad" that a pairwise question allows; None = neither.
    Only datasets of ``visualjudge probe`` have a ``probe``. ``faults`` are in pixels of
    the images shown; None if the data folder does not state them for each option.
    ``criteria`` are the right values of criteria by id, where others state them;
    ``votes`` are the answers of several people, in the letters of the question or from
    0 to 10.
    """

    id: str
    task: str
    encoding: str
    question_type: QuestionType
    subset: tuple[str, ...]
    image_id: str
    class_of_interest: tuple[str, ...] | None
    error_type: str | None
    annotation_ids: tuple[str, ...]
    final_scores: tuple[float, ...]
    sources: tuple[str | None, ...]
    prompt: str
    images: tuple[str, ...]
    answer: Answer
    features: tuple[OptionFeatures, ...] | None = None
    spans: Spans | None = None
    ties: tuple[str, ...] | None = None
    probe: Probe | None = None
    faults: tuple[tuple[Fault, ...], ...] | None = None
    criteria: Mapping[str, Any] | None = None
    votes: tuple[Answer, ...] | None = None

    @property
    def changed(self) -> bool:
        """Whether a probe changed it: reports count it with the probe's other
        questions only."""
        return self.probe is not None and self.probe.design != UNCHANGED

    @property
    def has_answer(self) -> bool:
        """Return whether one answer is right and known: not so in some questions of
        probes, and where nobody stated the truth.
        """
        expected = "answer" if self.probe is None else self.probe.expected
        return self.answer != UNKNOWN and expected == "answer"


@dataclass(frozen=True, slots=True)
class Served:
    """Who answered, as the server states it: the model, its fingerprint or snapshot,
    and the provider behind a router.
    """

    model: str | None = None
    fingerprint: str | None = None
    provider: str | None = None

    def __str__(self) -> str:
        name = self.model or "an unnamed model"
        return f"{name} ({self.fingerprint})" if self.fingerprint else name


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's parsed reply to one question in one order.

    ``value`` is a letter, a string of letters, or a number 0..10, for the question as
    stored (the letters of a "BA" reply are already swapped back). It is ``"Failed"`` if
    nothing could be read; ``status`` says why.

    ``probability_a`` is the probability that the judge gave to option A, if the backend
    reports it (logprob mode). ``cause`` is, for api_error, "HTTP 500", "timeout",
    "connection", "not JSON" …; otherwise why no value could be read: "tie", "hedge", …
    ``served`` says who answered; None if no server did. ``calls`` is the number of
    calls that it took, 0 if all replies were cached; it is not stored. ``paid`` are the
    tokens of all replies that were paid for, repeated attempts included; None if they
    are the ``usage``. ``criteria`` are the values of
    a rubric's criteria by id, or "Failed"; None without a rubric.
    """

    id: str
    order: Order
    value: Answer
    status: Status
    raw_response: str | None
    usage: Mapping[str, int] | None = None
    latency_s: float | None = None
    repeat: int = 0
    probability_a: float | None = None
    expected_score: float | None = None
    cause: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    served: Served | None = None
    criteria: Mapping[str, Any] | None = None
    paid: Mapping[str, int] | None = field(default=None, compare=False)
    calls: int = field(default=1, compare=False)

    @property
    def tokens_paid(self) -> Mapping[str, int]:
        return (self.usage or {}) if self.paid is None else self.paid

    @property
    def error(self) -> str | None:
        """The error message of the server or socket if there is no reply."""
        return self.extra.get("error")
