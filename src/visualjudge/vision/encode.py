"""ENCODE: show a prediction as an image or text in one of 53 encodings, each of which
can be decoded. The drawing code is in ``vision/<type>/draw.py`` and ``vision/masks/texts.py``. The
table of encodings is in ``encodings.py``.

One row of :mod:`~visualjudge.vision.encodings` defines an encoding: task, stem, drawing
function and a frozen style. Encoders take arrays and records and return an
:class:`Encoded`; they read only files named by a prediction, and use random numbers
only with a fixed seed.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from visualjudge.core.errors import in_field
from visualjudge.vision.drawing.context import context_image
from visualjudge.vision.drawing.encoded import Encoded, Scene
from visualjudge.vision.encodings import encoding_named, encodings, order_of
from visualjudge.vision.predictions import read_prediction
from visualjudge.vision.raster.images import pixels_of
from visualjudge.vision.rows import Encoding

__all__ = [
    "Encoded",
    "Encoding",
    "context_image",
    "encode",
    "encode_each",
    "encodings",
]


def encode(
    task: str,
    stem: str,
    prediction: Any,
    image: Any,
    *,
    classes: Iterable[str] | None = None,
    expression: str | None = None,
) -> Encoded:
    """Return one prediction in one encoding.

    Parameters
    ----------
    task, stem
        A row of :func:`encodings`.
    prediction
        A payload as in a data folder with absolute paths, arrays in the forms listed in
        docs/python.md, or the typed prediction returned by
        :func:`visualjudge.vision.predictions.read_prediction`.
    image
        The photograph: H×W×3 uint8 RGB, or a PIL image. It is not modified.
    classes
        Labels in the order in which they get colours; by default the prediction's
        labels, sorted. Pass the same labels for all options of a question.
    expression
        The referring expression, for referring segmentation.

    Raises
    ------
    UsageError
        If there is no such task or stem.
    DataError
        If the prediction or the image cannot be used; the message names the field.

    Examples
    --------
    >>> import numpy as np
    >>> import visualjudge as vj
    >>> photo = np.zeros((48, 64, 3), dtype=np.uint8)
    >>> boxes = {"detections": [{"label": "dog", "bbox": [4, 5, 30, 40]}]}
    >>> vj.encode("object_detection", "pixel_s1_m0", boxes, photo).image.shape
    (48, 64, 3)
    >>> print(vj.encode("object_detection", "text_xyxy", boxes, photo).text)
    [
    {"label":"dog","bbox":[4,5,30,40]}
    ]
    """
    ((_, encoded),) = encode_each(
        task, [stem], prediction, image, classes=classes, expression=expression
    )
    return encoded


def encode_each(
    task: str,
    stems: Iterable[str],
    prediction: Any,
    image: Any,
    *,
    classes: Iterable[str] | None = None,
    expression: str | None = None,
) -> Iterator[tuple[str, Encoded]]:
    """Yield the stem and result of several encodings of one prediction; shared steps
    are computed once.

    Parameters and errors are those of :func:`encode`. A combo comes directly before the
    encoding with the same image, and both return the same array.
    """
    asked = sorted((encoding_named(task, stem) for stem in stems), key=order_of)
    with in_field("image"):
        pixels = pixels_of(image)
    size = pixels.shape[0], pixels.shape[1]
    typed = read_prediction(task, prediction, size=size, expression=expression)
    if isinstance(classes, str):
        classes = (classes,)
    scene = Scene(
        typed, pixels, None if classes is None else tuple(classes), expression
    )
    for row in asked:
        yield row.stem, scene.drawn(row.draw, row.style)
