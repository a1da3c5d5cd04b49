"""Images for servers: from paths, URLs, bytes, PIL images and arrays, without loss. The
fields of a request that hold them are in ``prompts/provider_payloads.py``; images of a
*dataset* on disk are found in ``core/image_storage.py``; those of a URL are downloaded
in ``image_download.py``.

An 8-bit PNG, JPEG, WebP or GIF file, which servers can read, is sent unchanged.
Anything else is converted to PNG. Images are never resized here.
"""

import base64
import io
import os
import re
from collections import OrderedDict
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from PIL import Image

from visualjudge.clients.base import ImagePart
from visualjudge.clients.image_download import fetch_image
from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.sync_calls import run_sync
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import bytes_of, image_at
from visualjudge.vision.raster.images import (
    opened,
    pixels_of,
    png_bytes,
    rgb_of,
)

_MIMES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "WEBP": "image/webp",
    "GIF": "image/gif",
}
_PLAIN_MODES = frozenset({"1", "L", "P", "RGB", "LA", "PA", "RGBA"})
_ORIENTATION = 0x0112
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_PNG_END = b"IEND\xaeB`\x82"


def image_part(source: Any) -> ImagePart:
    """Return an image given in any common form.

    Parameters
    ----------
    source
        Path (str or Path), ``http(s)://``, ``file://`` or ``data:`` URL, bytes of an
        image file, PIL image, or array (H×W, H×W×3 or H×W×4; uint8, uint16, bool, or
        float in 0..1). A URL is downloaded here, so that a reply's cache key depends on
        the image itself.

    Raises
    ------
    DataError
        If it is not one of these, cannot be read, or is not an image; the message names
        it.
    """
    if isinstance(source, ImagePart):
        return source
    if isinstance(source, Image.Image):
        return _of_image(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return image_of_bytes(bytes(source), f"{len(source)} bytes")
    if isinstance(source, str | os.PathLike):
        return _of_place(os.fspath(source))
    if hasattr(source, "__array__"):
        return _of_array(np.asarray(source))
    raise DataError(
        "an image must be a path, a URL, bytes, a PIL image or an array, got "
        f"{type(source).__name__}"
    )


def _of_place(place: str | bytes) -> ImagePart:
    text = os.fsdecode(place)
    scheme = text.partition(":")[0].lower()
    if scheme == "data":
        return image_of_bytes(_data_url(text), f"{text[:32]}…")
    if scheme in ("http", "https"):
        content = run_sync(fetch_image(text, allow_private=True))
        return image_of_bytes(content, public_url(text))
    # urlsplit raises an error of its own for some texts
    path = Path(
        unquote(re.sub("^//[^/]*", "", text.partition(":")[2]))
        if scheme == "file"
        else text
    )
    return image_of_bytes(bytes_of(path), str(path))


def _data_url(url: str) -> bytes:
    head, comma, data = url.partition(",")
    try:
        return (
            base64.b64decode(data)
            if head.endswith(";base64")
            else unquote(data).encode("latin-1")
        )
    except ValueError:
        raise DataError(f"{head}{comma}…: must be a valid data URL") from None


def image_of_bytes(data: bytes, name: str) -> ImagePart:
    """Return the bytes of an image file, converted to PNG unless servers read them
    correctly as they are.
    """
    if _plain_png(data):
        return ImagePart(data)
    with opened(io.BytesIO(data), name) as image:
        upright = image.getexif().get(_ORIENTATION, 1) == 1
        if image.format in _MIMES and image.mode in _PLAIN_MODES and upright:
            return ImagePart(data, _MIMES[image.format])
        return _of_image(image)


def _plain_png(data: bytes) -> bool:
    # Return whether the bytes are a complete PNG file with at most 8 bits and no
    # orientation, without decoding it.
    return (
        data.startswith(_PNG_HEAD)
        and data.endswith(_PNG_END)
        and data[24] <= 8
        and b"eXIf" not in data
    )


def _of_image(image: Image.Image) -> ImagePart:
    if image.mode in (
        "RGBA",
        "LA",
    ):  # transparency affects how the image looks: keep it
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=1)
        return ImagePart(buffer.getvalue())
    return ImagePart(png_bytes(rgb_of(image)))


def _of_array(array: np.ndarray[Any, Any]) -> ImagePart:
    if array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 4:
        return _of_image(Image.fromarray(np.ascontiguousarray(array)))
    return ImagePart(png_bytes(pixels_of(array)))


class ImageStore:
    """A least-recently-used cache of read and encoded image files, for folders that do
    not change.

    Parameters
    ----------
    capacity_bytes
        Total size of the files and their base64 forms.
    """

    def __init__(self, capacity_bytes: int = 256 * 2**20) -> None:
        self._capacity = capacity_bytes
        self._held = 0
        self._parts: OrderedDict[tuple[Path | None, str], ImagePart] = (
            OrderedDict()
        )

    def get(self, path: str | Path, *, root: Path | None = None) -> ImagePart:
        """Return the image at ``path``.

        Parameters
        ----------
        root
            Folder that ``path`` is relative to and must stay within, such as a
            dataset's.

        Raises
        ------
        DataError
            If it cannot be read, or leaves ``root``.
        """
        key = root, os.fspath(path)
        if key not in self._parts:
            place = (
                Path(path) if root is None else image_at(root, os.fspath(path))
            )
            self._parts[key] = image_of_bytes(bytes_of(place), str(place))
            self._held += _weight(self._parts[key])
        self._parts.move_to_end(key)
        while self._held > self._capacity and len(self._parts) > 1:
            self._held -= _weight(self._parts.popitem(last=False)[1])
        return self._parts[key]


def _weight(part: ImagePart) -> int:
    return len(part.data) * 7 // 3
