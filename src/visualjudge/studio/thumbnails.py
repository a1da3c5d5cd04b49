"""Images of a dataset for the page: the files themselves, and thumbnails made once at the size shown."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import cv2
import numpy as np

from visualjudge.atomic import write_bytes
from visualjudge.confine import confined_path
from visualjudge.errors import DataError
from visualjudge.raster.images import read_rgb

WIDTHS = (96, 160, 240, 320, 480, 640)
"""Thumbnails are made in these widths only, so that nobody can fill the disk by asking for others."""
TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif"}
LARGEST_CACHE = 512 * 2**20
_QUALITY = 82
_TIDY_EVERY = 500
_AT_ONCE = threading.BoundedSemaphore(3)


def confined(root: Path, name: str) -> Path | None:
    """The file ``name`` of the dataset at ``root``; None where it leaves the folder, is absent or is not an image."""
    if Path(name).suffix.lower() not in TYPES:
        return None
    try:
        return confined_path(root, name)
    except DataError:
        return None


class Thumbnails:
    """A cache of thumbnails on disk, at most ``largest`` bytes: the oldest go first."""

    def __init__(self, home: Path, largest: int = LARGEST_CACHE) -> None:
        self.home = home
        self.largest = largest
        self._written = 0
        self._lock = threading.Lock()

    def get(self, image: Path, width: int) -> Path:
        """The thumbnail of ``image``, ``width`` pixels wide (or the image's own width where that is less).

        Raises
        ------
        DataError
            If the image cannot be read.
        """
        stat = image.stat()
        key = f"{image}\0{stat.st_mtime_ns}\0{stat.st_size}\0{width}"
        name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        path = self.home / name[:2] / f"{name[2:34]}.jpg"
        if not path.is_file():
            with _AT_ONCE:
                write_bytes(path, _shrunk(image, width))
            self._count()
        return path

    def _count(self) -> None:
        with self._lock:
            self._written += 1
            due = self._written % _TIDY_EVERY == 1
        if due:
            self.tidy()

    def tidy(self) -> None:
        """Remove the oldest thumbnails until the cache is four fifths of its bound, where it is beyond it."""
        files = [(path, path.stat()) for path in self.home.glob("*/*.jpg")]
        size = sum(stat.st_size for _, stat in files)
        if size <= self.largest:
            return
        for path, stat in sorted(files, key=lambda pair: pair[1].st_mtime):
            path.unlink(missing_ok=True)
            size -= stat.st_size
            if size <= self.largest * 4 // 5:
                return


def _shrunk(image: Path, width: int) -> bytes:
    pixels = read_rgb(image)
    height, full = pixels.shape[:2]
    scale = min(1.0, width / full)
    if scale < 1:
        size = (width, max(1, round(height * scale)))
        pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    sharp = [cv2.IMWRITE_JPEG_QUALITY, _QUALITY, cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444]
    _, encoded = cv2.imencode(".jpg", pixels[:, :, ::-1], sharp)
    return bytes(encoded.tobytes())
