"""Images of a table: from base64 text to the bytes of an image file for a model. The
rest of the table is read in ``table.py``.
"""

import base64
import binascii
import io
import re
from collections.abc import Sequence

from visualjudge.apps.mmbench.table import Row, Table
from visualjudge.clients.base import ImagePart
from visualjudge.core.errors import DataError, InvalidRecord, Problem
from visualjudge.vision.raster.images import opened, png_bytes, rgb_of

SENT_AS_THEY_ARE = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
_DATA_URL = re.compile(r"data:[^,]{0,100};base64,")
_LISTED = re.compile(r"""\[\s*(?:(?:'[^']*'|"[^"]*")[\s,]*)+\]""")


def image_parts(table: Table, row: Row) -> list[ImagePart]:
    """Return the row's images in order, each with its actual type; formats that models
    do not accept are converted to PNG.

    Raises
    ------
    InvalidRecord
        If the cell is blank, points nowhere, or holds no image.
    """
    return [
        _part(table, row, data, kind) for data, kind in _decoded(table, row)
    ]


def _part(table: Table, row: Row, data: bytes, kind: str) -> ImagePart:
    if kind in SENT_AS_THEY_ARE:
        return ImagePart(data, SENT_AS_THEY_ARE[kind])
    try:
        with opened(io.BytesIO(data), "image") as image:
            return ImagePart(png_bytes(rgb_of(image)), "image/png")
    except DataError as error:
        raise table.invalid(row, "image", str(error)) from None


def image_problems(table: Table, rows: Sequence[Row]) -> dict[int, Problem]:
    """Return why the images of some rows cannot be sent, by index. Reads only headers,
    and each image once.

    Raises
    ------
    DataError
        If the table has no column for images.
    """
    if "image" not in table.columns:
        raise DataError(
            f"{table.path}: no column 'image' (columns: "
            f"{', '.join(table.columns)[:300]})"
        )
    collected: dict[int, Problem] = {}
    good: set[int] = set()
    for row in rows:
        try:
            owner = table.image_row(row)
            if owner.index not in good:
                _decoded(table, row)
                good.add(owner.index)
        except InvalidRecord as error:
            collected[row.index] = error.problem
    return collected


def _decoded(table: Table, row: Row) -> list[tuple[bytes, str]]:
    text = table.image_row(row).cells.get("image", "").strip()
    texts = [text]
    if text.startswith("["):  # as VLMEvalKit writes several images
        if not _LISTED.fullmatch(text):
            raise table.invalid(row, "image", "must be a list of base64 texts")
        texts = [
            item[1:-1] for item in re.findall(r"""'[^']*'|"[^"]*\"""", text)
        ]
    return [_image(table, row, item) for item in texts]


def _image(table: Table, row: Row, text: str) -> tuple[bytes, str]:
    cell = "".join(_DATA_URL.sub("", text, count=1).split())
    if not cell:
        raise table.invalid(row, "image", "blank")
    try:
        data = base64.b64decode(cell, validate=True)
    except (binascii.Error, ValueError) as error:
        raise table.invalid(
            row,
            "image",
            f"neither base64 nor the index of a row ({str(error).lower()}; begins "
            f"{cell[:16]!r})",
        ) from None
    try:
        with opened(io.BytesIO(data), "the decoded bytes") as image:
            return data, str(image.format)
    except DataError as error:
        raise table.invalid(row, "image", str(error)) from None
