"""The parts of a prediction type: the rows that built-in types and plug-ins register."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from visualjudge.core.records import FloatArray, Pixels, Size
from visualjudge.vision.base import Payload, Prediction, ReadContext, WriteContext
from visualjudge.vision.drawing.encoded import Draw, Encoded, Scene
from visualjudge.vision.drawing.styles import ComboStyle, Style
from visualjudge.vision.errors.levels import ErrorScene, Perturbation
from visualjudge.vision.tools.base import Tool
from visualjudge.vision.view import Features, Given

Context = Callable[[Any, Any, Sequence[str | None]], list[str]]
"""(asset ``questions/context``, what the options share, each option's ``prompt``) → sentences."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its name on disk, its name in prose, and what its predictions are made of."""

    name: str
    prose: str
    type: str
    """Name of the prediction type, a row of :data:`visualjudge.vision.predictions.TYPES`."""
    classed: bool = False
    """Predictions are shown and scored for a class of interest."""
    expression: bool = False
    """The annotation's ``prompt`` is a referring expression."""
    instructed: bool = False
    """The annotation's ``prompt`` is an edit instruction."""
    restored: bool = False
    """The given image is the degraded one that the prediction restores."""
    edits: bool = False
    """Predictions are made from the image: they cannot be judged without it."""
    sourced: bool = True
    """A question shows the image of the image index, where it has one."""

    @property
    def article(self) -> str:
        """The indefinite article of the prose name."""
        return "an" if self.prose[0] in "aeiou" else "a"


Kind = Literal["pixel", "text", "combo"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """One row: what a prediction of ``type`` is shown as under ``stem``.

    Attributes
    ----------
    type
        Name of the prediction type.
    stem
        Name of the encoding, unique within the type.
    kind
        "pixel", "text" or "combo" (a text and an image of one option).
    draw
        Function of (scene, style) that returns an
        :class:`~visualjudge.vision.drawing.encoded.Encoded`.
    style
        Frozen dataclass with the parameters of ``draw``.
    is_final, is_base_ablation
        Whether the subsets judge_analysis and encoding_analysis use it.
    task
        The task it was looked up for; empty in the table.
    title
        What people call it, on pages and in reports; by default the stem.
    """

    type: str
    stem: str
    kind: Kind
    draw: Draw
    style: Style
    is_final: bool = True
    is_base_ablation: bool = True
    task: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Both:
    """Draws a combo: one encoding's text with another's image and legend."""

    text: Encoding
    pixel: Encoding

    def __call__(self, scene: Scene, _style: ComboStyle) -> Encoded:
        drawn, said = (scene.once(row.draw, row.style) for row in (self.pixel, self.text))
        return Encoded(drawn.image, said.text, drawn.legend, drawn.colors)


def combo(stem: str, rows: Sequence[Encoding], text: str, pixel: str, title: str = "") -> Encoding:
    """The combo of two of a type's encodings, by their stems."""
    by_stem = {row.stem: row for row in rows}
    both = Both(by_stem[text], by_stem[pixel])
    return Encoding(both.text.type, stem, "combo", both, ComboStyle(text, pixel), title=title)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of one prediction type.

    Attributes
    ----------
    type
        Name of the prediction type.
    name
        What the option ``metric`` of :func:`visualjudge.score` calls it.
    measure
        (prediction, truth, **options) → 0..1, higher is better. Raises DataError where they cannot
        be compared.
    options
        Names of the options that ``measure`` takes. Without ``class_of_interest`` among them, it is
        called for the items of that class alone.
    by_class
        (prediction, truth, labels, **options) → what ``measure`` gives for each label as the class
        of interest. Without it ``measure`` is called for each.
    """

    type: str
    name: str
    measure: Callable[..., float]
    options: frozenset[str] = frozenset()
    by_class: Callable[..., Sequence[float]] | None = None


Applies = Callable[[Any, ErrorScene], bool]
Clean = Callable[[Any], Prediction]


def always(_truth: Any, _scene: ErrorScene) -> bool:
    """Applies to every truth."""
    return True


def unchanged(truth: Any) -> Prediction:
    """The truth itself."""
    found: Prediction = truth
    return found


@dataclass(frozen=True)
class ErrorType:
    """One type of error of one prediction type: the function that makes it, and when it can be
    made.

    ``perturb`` takes (truth, severity in (0, 1], scene, generator) and returns a prediction;
    ``applies`` takes (truth, scene); ``clean`` takes the truth and returns it written as
    ``perturb`` writes, so that the order of its parts does not tell it from a prediction with an
    error. ``matched`` is as ``perturb``, for predictions that look alike at all severities (see
    :mod:`visualjudge.vision.errors.matched`); None where the type has no such form of this error.
    """

    type: str
    name: str
    perturb: Perturbation
    applies: Applies = always
    clean: Clean = unchanged
    matched: Perturbation | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """What average precision needs of a type whose items have a confidence, ``score``.

    Attributes
    ----------
    similarity
        (found items, true items) of one label → array of that shape, 0..1.
    most
        How many items of an image and label count, the most confident first.
    ignored
        Whether a true item need not be found; it bears ``iscrowd``.
    """

    similarity: Callable[[list[Any], list[Any]], FloatArray]
    most: int
    ignored: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Misreading:
    """A common mistake in predictions of a type, tried when an import scores low.

    Attributes
    ----------
    told
        What is wrong, as a clause: "the boxes are [y, x, height, width]".
    mended
        (prediction, truth) → the prediction as it was meant. Raises DataError where it cannot be
        meant so.
    """

    told: str
    mended: Callable[[Any, Any], Prediction]


@dataclass(frozen=True, slots=True)
class PredictionType:
    """One type of prediction: its record, how it is read and written, and all that belongs to it.

    What a row holds beside the record is registered with it; ``register_encoding`` and others add
    to a known type.

    Attributes
    ----------
    name
        Name of the type, as :class:`~visualjudge.vision.tasks.Task` and the other tables refer to
        it.
    record
        Class of the typed prediction.
    read
        Payload → record. Raises DataError, whose message begins with the field.
    check
        Raises what ``read`` would raise, in less time; None where there is no faster way. It may
        miss data that are made to deceive it, so ``read`` can still fail.
    write
        Record → payload.
    files
        (field, path) of each file that a payload names, for the check that they lie in the data
        folder.
    told_size
        (height, width) that a payload tells by itself, or None.
    file_field
        The payload's field for a prediction that is one file, which importers copy as it is.
    is_image
        The prediction is an image of its own: it can be judged without the original, and need not
        have its size.
    tasks, encodings, metrics, errors
        Rows of the tables of the same name; the first metric is the default.
    ranked
        How items are compared for average precision and for the threshold of best F1, where they
        bear a confidence.
    context
        What a prompt says of the task: (asset ``questions/context``, scene, each option's
        ``prompt``) → sentences. By default the part that bears the type's name.
    look
        (record, :class:`~visualjudge.vision.view.Given`) → features for the local judge, which
        declines a type without.
    look_drawn
        (image of an option, stem, :class:`~visualjudge.vision.view.Given`) → features, for a type
        whose prediction is a file: it is read back from the dataset's images.
    places
        record → n×4 corners of its items in pixels, for what predictions give away without the
        photograph.
    overlap
        (predicted items, true items), whatever their labels → IoU, an array of that shape.
    misreadings
        Mistakes of an import that scores low; wrong pairs of files and renamed labels are tried for
        every type.
    tools
        What a judge may call before it answers, beside the tools of all types.
    example
        A photograph, a prediction for it and an expression or None, for the gallery of encodings.
    """

    name: str
    record: type[Prediction]
    read: Callable[[Payload, ReadContext], Any]
    write: Callable[[Any, WriteContext], dict[str, Any]]
    files: Callable[[Payload], Iterator[tuple[str, str]]] = lambda _payload: iter(())
    told_size: Callable[[Payload], Size | None] = lambda _payload: None
    check: Callable[[Payload, ReadContext], None] | None = None
    file_field: str | None = None
    is_image: bool = False
    tasks: tuple[Task, ...] = ()
    encodings: tuple[Encoding, ...] = ()
    metrics: tuple[Metric, ...] = ()
    errors: tuple[ErrorType, ...] = ()
    ranked: Ranked | None = None
    context: Context | None = None
    look: Callable[[Any, Given], Features] | None = None
    look_drawn: Callable[[Pixels, str, Given], Features] | None = None
    places: Callable[[Any], FloatArray] | None = None
    overlap: Callable[[list[Any], list[Any]], FloatArray] | None = None
    misreadings: tuple[Misreading, ...] = ()
    tools: tuple[Tool, ...] = ()
    example: Callable[[], tuple[Pixels, Any, str | None]] | None = None
