"""Images of a dataset for the page: the original files, and cached thumbnails at the size shown."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import cv2
import numpy as np
from starlette.responses import FileResponse, Response

from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import Part, Place, image_at
from visualjudge.core.records import Pixels
from visualjudge.vision.raster.images import opened, rgb_of

WIDTHS = (96, 160, 240, 320, 480, 640)
"""Allowed widths of thumbnails, so that requests for other widths cannot fill the disk."""
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
LARGEST_CACHE = 512 * 2**20
_QUALITY = 82
# Makes thumbnails in request order, so that none waits long.
_MAKING = ThreadPoolExecutor(2, "studio-thumbnails")
# Writes them after the responses.
_KEEPING = ThreadPoolExecutor(1, "studio-keeping")
# Images with at least this many pixels are decoded one at a time, to limit memory use.
_LARGE = 4 * 10**6
_LARGE_ONE = threading.Lock()


def confined(root: Path, name: str) -> Place | None:
    """Return the file ``name`` of the dataset at ``root``, or None if it is outside the folder,
    missing or not an image.
    """
    if Path(name).suffix.lower() not in TYPES:
        return None
    try:
        return image_at(root, name)
    except DataError:
        return None


def image_response(place: Place) -> Response:
    """Return the image as stored in the dataset."""
    kind, headers = TYPES[place.suffix.lower()], {"cache-control": "private, max-age=600"}
    if isinstance(place, Part):
        return Response(place.read_bytes(), media_type=kind, headers=headers)
    return FileResponse(place, media_type=kind, headers=headers)


class Thumbnails:
    """A disk cache of thumbnails of at most ``largest`` bytes; the oldest are removed first."""

    def __init__(self, home: Path, largest: int = LARGEST_CACHE) -> None:
        self.home = home
        self.largest = largest
        self._room = 0
        """Number of bytes that can be written before the cache is measured again."""
        self._tidying = False
        self._lock = threading.Lock()

    def get(self, image: Place, width: int) -> bytes:
        """Return the thumbnail of ``image`` as JPEG, ``width`` pixels wide (or the image's own
        width if smaller).

        Raises
        ------
        DataError
            If the image cannot be read.
        """
        stat = image.stat()
        key = f"{image}\0{stat.st_mtime_ns}\0{stat.st_size}\0{width}"
        name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        path = self.home / name[:2] / f"{name[2:34]}.jpg"
        try:
            return path.read_bytes()
        except OSError:  # not made yet, or removed by another studio
            made = _MAKING.submit(_shrunk, image, width).result()
            _KEEPING.submit(self._keep, path, made)
            return made

    def settle(self) -> None:
        """Wait until pending thumbnails are on disk."""
        _KEEPING.submit(int).result()

    def _keep(self, path: Path, made: bytes) -> None:
        write_bytes(path, made)
        with self._lock:
            self._room -= len(made)
            due = self._room < 0 and not self._tidying
            self._tidying |= due
        if due:
            threading.Thread(target=self.tidy, daemon=True).start()

    def tidy(self) -> None:
        """Reduce an oversized cache to four fifths of its limit, oldest thumbnails first."""
        files = [
            (path, stat) for path in self.home.glob("*/*.jpg") if (stat := _stat(path)) is not None
        ]
        size = sum(stat.st_size for _, stat in files)
        for path, stat in (
            sorted(files, key=lambda pair: pair[1].st_mtime) if size > self.largest else ()
        ):
            path.unlink(missing_ok=True)
            size -= stat.st_size
            if size <= self.largest * 4 // 5:
                break
        with self._lock:
            self._room, self._tidying = self.largest - size, False


def _stat(path: Path) -> os.stat_result | None:
    """Return the file's status, or None if another studio has removed it."""
    try:
        return path.stat()
    except OSError:
        return None


def _shrunk(image: Place, width: int) -> bytes:
    with opened(image) as file:
        file.draft("RGB", (2 * width, 2 * width))  # a large JPEG is decoded at a half to an eighth
        with _LARGE_ONE if file.width * file.height > _LARGE else nullcontext():
            pixels = rgb_of(file)
            return _jpeg(pixels, width)


def _jpeg(pixels: Pixels, width: int) -> bytes:
    height, full = pixels.shape[:2]
    scale = min(1.0, width / full)
    if scale < 1:
        size = (width, max(1, round(height * scale)))
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    sharp = [
        cv2.IMWRITE_JPEG_QUALITY,
        _QUALITY,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
    ]
    _, encoded = cv2.imencode(".jpg", pixels[:, :, ::-1], sharp)
    return bytes(encoded.tobytes())
