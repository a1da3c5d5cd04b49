"""Pictures on their way to a server: paths, URLs, bytes, PIL pictures and arrays become file bytes, without loss.

A file that servers read (PNG, JPEG, WebP, GIF of 8 bits) goes as it is, byte for byte. Anything else is written as PNG.
"""

from __future__ import annotations

import base64
import io
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request as UrlRequest
from urllib.request import urlopen

import numpy as np
from PIL import Image, UnidentifiedImageError

from visualjudge.clients.base import ImagePart
from visualjudge.errors import DataError
from visualjudge.raster.images import png_bytes, rgb_of, rgb_of_array

_MIMES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
_PLAIN_MODES = frozenset({"1", "L", "P", "RGB", "LA", "PA", "RGBA"})
_ORIENTATION = 0x0112
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_PNG_END = b"IEND\xaeB`\x82"
_DOWNLOAD_TIMEOUT_S = 60.0
_LARGEST_DOWNLOAD = 64 * 2**20


def image_part(source: Any) -> ImagePart:
    """A picture given in any usual way.

    Parameters
    ----------
    source
        Path (str or Path), ``http(s)://``, ``file://`` or ``data:`` URL, bytes of a picture file, PIL picture, or array
        (H×W, H×W×3 or H×W×4; uint8, uint16, bool, or float in 0..1). A URL is fetched here, so that a reply's cache
        key tells the picture itself.

    Raises
    ------
    DataError
        If it is none of these, cannot be read, or is no picture; the message names it.
    """
    if isinstance(source, ImagePart):
        return source
    if isinstance(source, Image.Image):
        return _of_picture(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return _of_bytes(bytes(source), f"{len(source)} bytes")
    if isinstance(source, str | os.PathLike):
        return _of_place(os.fspath(source))
    if isinstance(source, np.ndarray) or hasattr(source, "__array__"):
        return _of_array(np.asarray(source))
    raise DataError(f"a picture is a path, a URL, bytes, a PIL picture or an array, not {type(source).__name__}")


def _of_place(place: str | bytes) -> ImagePart:
    text = os.fsdecode(place)
    scheme = text.partition(":")[0].lower()
    if scheme == "data":
        return _of_bytes(_data_url(text), f"{text[:32]}…")
    if scheme in ("http", "https"):
        return _of_bytes(_download(text), text)
    path = unquote(urlsplit(text).path) if scheme == "file" else text
    try:
        return _of_bytes(Path(path).read_bytes(), path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def _data_url(url: str) -> bytes:
    head, comma, data = url.partition(",")
    try:
        return base64.b64decode(data, validate=False) if head.endswith(";base64") else unquote(data).encode("latin-1")
    except ValueError:
        raise DataError(f"{head}{comma}…: not a valid data URL") from None


def _download(url: str) -> bytes:
    try:
        with urlopen(UrlRequest(url, headers={"User-Agent": "visualjudge"}), timeout=_DOWNLOAD_TIMEOUT_S) as answer:
            content: bytes = answer.read(_LARGEST_DOWNLOAD + 1)
    except (URLError, OSError, ValueError) as error:
        raise DataError(f"{url}: cannot be fetched: {error}") from None
    if len(content) > _LARGEST_DOWNLOAD:
        raise DataError(f"{url}: larger than {_LARGEST_DOWNLOAD >> 20} MiB")
    return content


def _of_bytes(data: bytes, name: str) -> ImagePart:
    """The bytes as they are if a server reads them rightly as they are, else what they show, as PNG."""
    if _plain_png(data):
        return ImagePart(data)
    try:
        with Image.open(io.BytesIO(data)) as picture:
            upright = picture.getexif().get(_ORIENTATION, 1) == 1
            if picture.format in _MIMES and picture.mode in _PLAIN_MODES and upright:
                return ImagePart(data, _MIMES[picture.format])
            return _of_picture(picture)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{name}: not a picture: {error}") from None


def _plain_png(data: bytes) -> bool:
    """Whether these are a whole PNG file of at most 8 bits without an orientation: told without decoding it."""
    whole = data.startswith(_PNG_HEAD) and data.endswith(_PNG_END)
    return whole and data[24] <= 8 and b"eXIf" not in data


def _of_picture(picture: Image.Image) -> ImagePart:
    if picture.mode in ("RGBA", "LA"):  # transparency is part of what is shown: kept
        return _png_by_pillow(picture)
    return ImagePart(png_bytes(rgb_of(picture)))


def _of_array(array: np.ndarray[Any, Any]) -> ImagePart:
    if array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 4:
        return _png_by_pillow(Image.fromarray(np.ascontiguousarray(array)))
    if array.size == 0 or array.dtype.kind not in "uibf":
        raise DataError(f"an array of shape {array.shape} and type {array.dtype} is no picture")
    return ImagePart(png_bytes(rgb_of_array(array)))


def _png_by_pillow(picture: Image.Image) -> ImagePart:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=1)
    return ImagePart(buffer.getvalue())


class ImageStore:
    """Picture files read and encoded once while they are in use; the least recently used leave when room is short.

    Parameters
    ----------
    capacity_bytes
        Of files and their base64 forms together.
    recheck
        Look at each asking whether the file has changed; off for folders that do not change while they are read.
    """

    def __init__(self, capacity_bytes: int = 256 * 2**20, *, recheck: bool = True) -> None:
        self._capacity = capacity_bytes
        self._recheck = recheck
        self._held = 0
        self._parts: OrderedDict[str, tuple[tuple[int, int], ImagePart]] = OrderedDict()

    def get(self, path: str | Path) -> ImagePart:
        """The picture at ``path``; read anew if the file has changed.

        Raises
        ------
        DataError
            As :func:`image_part`.
        """
        name = os.fspath(path)
        if not self._recheck and name in self._parts:
            self._parts.move_to_end(name)
            return self._parts[name][1]
        try:
            found = Path(name).stat()
        except OSError:
            raise DataError(f"{name}: no such file") from None
        stamp = found.st_mtime_ns, found.st_size
        known = self._parts.get(name)
        if known is not None and known[0] == stamp:
            self._parts.move_to_end(name)
            return known[1]
        return self._keep(name, stamp, image_part(name))

    def _keep(self, name: str, stamp: tuple[int, int], part: ImagePart) -> ImagePart:
        old = self._parts.pop(name, None)
        self._held += _weight(part) - (_weight(old[1]) if old else 0)
        self._parts[name] = stamp, part
        while self._held > self._capacity and len(self._parts) > 1:
            _, (_, gone) = self._parts.popitem(last=False)
            self._held -= _weight(gone)
        return part


def _weight(part: ImagePart) -> int:
    return len(part.data) * 7 // 3
