"""The parts of a prediction type: the rows that built-in types and plug-ins register.
The built-in rows are in ``vision/<type>/type.py``; registering one's own, in
``visualjudge/plugins.py``.
"""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Any, Literal

from visualjudge.core.records import Fault, FloatArray, Pixels, Size
from visualjudge.vision.base import (
    Payload,
    Prediction,
    ReadContext,
    WriteContext,
)
from visualjudge.vision.drawing.encoded import Draw, Encoded, Scene
from visualjudge.vision.drawing.styles import ComboStyle, Style
from visualjudge.vision.errors.levels import ErrorScene, Perturbation
from visualjudge.vision.tools import Tool
from visualjudge.vision.view import Features, Given

# (asset ``questions/context``, common part of the options, ``prompt`` of each option) →
# sentences.
Context = Callable[[Any, Any, Sequence[str | None]], list[str]]


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its name on disk, its name in prose, and the type of its predictions."""

    name: str
    prose: str
    type: str
    """Name of the prediction type, a row of
    :data:`visualjudge.vision.predictions.TYPES`."""
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
    """A question shows the image of the image index, if there is one."""
    extension: bool = False
    """The document of the judge dataset (see docs/documents.md) does not have this
    task; the catalogue lists the document's tasks."""

    @property
    def article(self) -> str:
        """The indefinite article of the prose name."""
        return "an" if self.prose[0] in "aeiou" else "a"


Kind = Literal["pixel", "text", "combo"]


@dataclass(frozen=True, slots=True)
class Encoding:
    """An encoding of predictions of ``type``, named ``stem``.

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
        Task for which the row was looked up; empty in the table.
    title
        Title on pages and in reports; by default the stem.
    numbered
        Whether it shows the number of each item, from 1 in the order of the prediction.
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
    numbered: bool = False


def drawn(
    type: str, kind: Kind, draw: Draw, *rows: tuple[str, str, Style]
) -> tuple[Encoding, ...]:
    """Return the encodings of a type that one function draws, from (stem, title, style)
    each."""
    return tuple(
        Encoding(type, stem, kind, draw, style, title=title)
        for stem, title, style in rows
    )


@dataclass(frozen=True, slots=True)
class Both:
    """Drawing function of a combo: the text of one encoding with the image and legend
    of another.
    """

    text: Encoding
    pixel: Encoding

    def __call__(self, scene: Scene, _style: ComboStyle) -> Encoded:
        drawn, written = (
            scene.once(row.draw, row.style) for row in (self.pixel, self.text)
        )
        return Encoded(drawn.image, written.text, drawn.legend, drawn.colors)


def combo(
    stem: str, rows: Sequence[Encoding], text: str, pixel: str, title: str = ""
) -> Encoding:
    """Return the combo of two encodings of a type, given by their stems."""
    by_stem = {row.stem: row for row in rows}
    both = Both(by_stem[text], by_stem[pixel])
    return Encoding(
        both.text.type,
        stem,
        "combo",
        both,
        ComboStyle(text, pixel),
        title=title,
        numbered=both.text.numbered or both.pixel.numbered,
    )


Note = Callable[[Sequence[tuple[Any, Any]], Mapping[str, Any]], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a prediction type.

    Attributes
    ----------
    type
        Name of the prediction type.
    name
        Value of the option ``metric`` of :func:`visualjudge.score`.
    measure
        (prediction, truth, **options) → 0..1, higher is better. Raises DataError if
        they cannot be compared.
    options
        Names of the options that ``measure`` takes. If ``class_of_interest`` is not
        among them, ``measure`` receives only the items of that class.
    by_class
        (prediction, truth, labels, **options) → the results of ``measure`` with each
        label as the class of interest. By default ``measure`` is called for each label.
    how
        How the score is made, with each default that changes it; where that depends on
        the images, ``note`` says it.
    note
        ((prediction, truth) of some images, options) → how the score is made, and a
        sentence about each thing in these images that a default hides.
    defaults
        Values that change the score and are no option, by name; they are written into
        each record, as the options are.
    """

    type: str
    name: str
    measure: Callable[..., float]
    options: frozenset[str] = frozenset()
    by_class: Callable[..., Sequence[float]] | None = None
    how: str = ""
    note: Note = lambda _pairs, _options: ()
    defaults: Mapping[str, Any] = field(default_factory=dict)


Applies = Callable[[Any, ErrorScene], bool]
Clean = Callable[[Any], Prediction]


@dataclass(frozen=True)
class ErrorType:
    """An error type of a prediction type: the function that makes the error, and when
    it applies.

    ``perturb`` takes (truth, severity in (0, 1], scene, generator) and returns a
    prediction; ``applies`` takes (truth, scene) and returns whether the error can be
    made; ``clean`` takes the truth and returns it in the form that ``perturb`` writes,
    so that the order of its parts does not distinguish it from a prediction with an
    error. ``matched`` is like ``perturb``, for predictions that look alike at all
    severities (see :mod:`visualjudge.vision.errors.matched`); None if this error has no
    such form.
    """

    type: str
    name: str
    perturb: Perturbation
    applies: Applies | None = None
    clean: Clean | None = None
    matched: Perturbation | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """How COCO's average precision sees a type whose items have a confidence,
    ``score``, and ``iscrowd``.

    Attributes
    ----------
    kind
        How items are compared: "bbox", "obb" (oriented boxes) or "segm" by IoU,
        "keypoints" by OKS.
    annotation
        Item → COCO's fields for that: ``bbox`` ([x, y, width, height]), ``obb``
        ([centre x, y, width, height, radians]), ``segmentation`` (RLE), or
        ``keypoints``, ``num_keypoints``, ``bbox`` and ``area``.
    most
        Maximum number of items per image and label that count, the most confident
        first.
    """

    kind: Literal["bbox", "obb", "segm", "keypoints"]
    annotation: Callable[[Any], dict[str, Any]]
    most: int


@dataclass(frozen=True, slots=True)
class Misreading:
    """A common mistake in predictions of a type, tried when an import scores low.

    Attributes
    ----------
    told
        The mistake as a clause: "the boxes are [y, x, height, width]".
    mended
        (prediction, truth) → the corrected prediction. Raises DataError if the mistake
        cannot apply.
    fitted
        ``mended`` fits the truth, and can make right what is only bad: more images must
        agree.
    least
        Mean score that corrected predictions must have.
    """

    told: str
    mended: Callable[[Any, Any], Prediction]
    fitted: bool = False
    least: float = 1.0


# (corners, (n, 4), (width, height, width, height) of the image or of each) → corners.
Change = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Misplacement:
    """A common mistake in where predictions are, tried when an import scores low.

    Attributes
    ----------
    told
        The mistake as a clause: "coordinates are y before x".
    placed
        (corners, size) → the corrected corners; NaN where the size is.
    """

    told: str
    placed: Change


@dataclass(frozen=True, slots=True)
class Faults:
    """How predictions of a type are wrong.

    Attributes
    ----------
    kinds
        Kind → a clause that describes it to a judge.
    measure
        (prediction, truth, labels of the class of interest or None, input of a
        restoration or None) → faults, with boxes in pixels. The truth has all labels.
    by_class
        (prediction, truth, labels) → each label with what ``measure`` gives for it as
        the class of interest. By default ``measure`` is called for each.
    """

    kinds: Mapping[str, str]
    measure: Callable[
        [Any, Any, Collection[str] | None, Pixels | None], Iterable[Fault]
    ]
    by_class: (
        Callable[
            [Any, Any, Collection[str]], Iterable[tuple[str, Iterable[Fault]]]
        ]
        | None
    ) = None


@dataclass(frozen=True, slots=True)
class PredictionType:
    """A prediction type: its record, functions to read and write it, and everything
    that belongs to it.

    Everything in a row is registered with the type; ``register_encoding`` and similar
    functions extend a known type.

    Attributes
    ----------
    name
        Name of the type, as :class:`~visualjudge.vision.tasks.Task` and the other
        tables refer to it.
    record
        Class of the typed prediction.
    read
        Payload → record. Raises DataError, whose message begins with the field.
    arrays
        Array, or mapping that holds arrays → payload with them, or the same object if
        it has none. Raises DataError, whose message begins with the field.
    check
        Faster function that raises the errors of ``read``, or None. It may miss data
        crafted to deceive it, so ``read`` can still fail.
    write
        Record → payload.
    files
        Payload → (field, path) of each file that it names, to check that they are in
        the data folder.
    told_size
        Payload → (height, width) that it contains, or None.
    file_field
        Field of the payload if the prediction is a single file, which importers copy
        unchanged.
    is_image
        Whether the prediction is itself an image: it can be judged without the
        original, and may differ from it in size.
    tasks, encodings, metrics, errors
        Rows of the tables of the same names; the first metric is the default.
    ranked
        How items are compared for average precision and for the threshold of the best
        F1, if they have a confidence.
    context
        (asset ``questions/context``, scene, ``prompt`` of each option) → sentences of a
        prompt about the task. By default the part named after the type.
    look
        (record, :class:`~visualjudge.vision.view.Given`) → features for the local
        judge, which declines types without this function.
    look_drawn
        (image of an option, stem, :class:`~visualjudge.vision.view.Given`) → features,
        for types whose predictions are files: they are decoded from the dataset's
        images.
    places
        Record → n×4 corners of its items in pixels, to measure what predictions reveal
        without the photograph.
    misreadings
        Mistakes to try if an import scores low; wrong pairs of files are tried for
        every type.
    misplacements
        Mistakes to try on the corners that ``places`` returns, in addition to those of
        order, scale and origin that all types share.
    faults
        How predictions differ from their ground truth; None if that is not measured.
    tools
        Tools that a judge may call before it answers, in addition to those of all
        types.
    example
        Returns a photograph, a prediction for it and an expression or None, for
        ``check_type``.
    """

    name: str
    record: type[Prediction]
    read: Callable[[Payload, ReadContext], Any]
    write: Callable[[Any, WriteContext], dict[str, Any]]
    files: Callable[[Payload], Iterator[tuple[str, str]]] = lambda _payload: (
        iter(())
    )
    told_size: Callable[[Payload], Size | None] = lambda _payload: None
    arrays: Callable[[Any], Any] = lambda value: value
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
    misreadings: tuple[Misreading, ...] = ()
    misplacements: tuple[Misplacement, ...] = ()
    tools: tuple[Tool, ...] = ()
    faults: Faults | None = None
    example: Callable[[], tuple[Pixels, Any, str | None]] | None = None
