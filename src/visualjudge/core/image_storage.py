"""Locate the bytes of a dataset's images: files in ``media/``, or rows of
``dataset.parquet``. All readers use this module. Decoding images is in
``vision/raster/images.py``; writing them, in ``dataset/render.py``.

``dataset.parquet`` holds the whole dataset: a row for each question (``id``, ``task``,
``encoding``, ``question_type`` and the question as JSON), then a row for each file
(``file``, ``size``, ``bytes``): ``dataset.json`` and the images. Version 1.0 could also
store images in tar files, ``media/shard-*.tar``, which are still read.
"""

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal, NamedTuple

from visualjudge.core.errors import DataError
from visualjudge.core.parquet import is_remote, readable, scan
from visualjudge.core.untrusted import (
    confined_path,
    decoding,
    read_file,
    stated_path,
)

FOLDER = "media"
PACKED = "dataset.parquet"
_SHARDS = f"{FOLDER}/shard-*.tar"
_FIRST_SHARD = f"{FOLDER}/shard-00000.tar"


class PartStat(NamedTuple):
    st_size: int
    st_mtime_ns: int
    st_ctime: float


@dataclass(frozen=True, slots=True)
class Part:
    """An image inside another file, with the reading methods of a file."""

    home: Path
    relative: str
    # Its row in a Parquet file, or its first byte in a tar file.
    place: int
    size: int

    def __str__(self) -> str:
        return f"{self.home}: {self.relative}"

    @property
    def name(self) -> str:
        return PurePosixPath(self.relative).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.relative).suffix

    def stat(self) -> PartStat:
        if is_remote(self.home):
            return PartStat(self.size, 0, 0.0)
        stat = self.home.stat()
        return PartStat(self.size, stat.st_mtime_ns, stat.st_ctime)

    def read_bytes(self) -> bytes:
        """Return its bytes.

        Raises
        ------
        DataError
            If the file that holds it cannot be read.
        """
        if self.home.suffix == ".tar":
            return read_file(self.home, "zip", self.place, self.size)
        with readable(self.home):
            content = (
                scan(self.home)
                .select("bytes")
                .slice(self.place, 1)
                .collect()
                .item()
            )
            if not isinstance(content, bytes):
                raise ValueError(f"{self.relative}: bytes must be binary")
            return content

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        return io.BytesIO(self.read_bytes())


# A file, or a part of one; both have ``stat``, ``name`` and ``suffix``.
Place = Path | Part


def bytes_of(place: Place) -> bytes:
    """Return the bytes of an image of a dataset.

    Raises
    ------
    DataError
        If they cannot be read, or are more than an image may have.
    """
    return (
        place.read_bytes()
        if isinstance(place, Part)
        else read_file(place, "image")
    )


def image_at(root: Path, name: object) -> Place:
    """Locate the image ``name`` of the dataset at ``root``.

    Raises
    ------
    DataError
        If the name leads outside the dataset, directly or through a link, or there is
        no such image.
    """
    return image_finder(root)(name)


def image_finder(root: Path) -> Callable[[object], Place]:
    """Return a function like :func:`image_at` that checks only once whether the dataset
    changed, for many images of the dataset at ``root``.
    """
    parts = stored_files(root)

    def find(name: object) -> Place:
        part = parts.get(stated_path(name)) if parts else None
        if part is not None:
            return part
        if is_remote(root):
            raise DataError(f"there is no file {name!r} in the dataset")
        return confined_path(root, name)

    return find


def stored_files(root: Path) -> dict[str, Part]:
    """Return the files inside ``dataset.parquet`` or tar files, by name; empty if there
    are none.

    Raises
    ------
    DataError
        If such a file cannot be read.
    """
    homes: tuple[Path, ...] = (root / PACKED,)
    if not is_remote(root):
        homes = tuple(path for path in homes if path.is_file())
        if (root / _FIRST_SHARD).is_file():  # a glob would list every image
            homes = homes or tuple(sorted(root.glob(_SHARDS)))
    return _parts(
        homes,
        *(0 if is_remote(path) else path.stat().st_mtime_ns for path in homes),
    )


@lru_cache(maxsize=8)
def _parts(homes: tuple[Path, ...], *_changed: int) -> dict[str, Part]:
    return {
        part.relative: part
        for home in homes
        for part in (
            _in_tar(home) if home.suffix == ".tar" else _in_parquet(home)
        )
    }


def _in_parquet(home: Path) -> list[Part]:
    with readable(home):
        rows = (
            scan(home)
            .select("file", "size")
            .with_row_index()
            .drop_nulls()
            .collect()
        )
        return [
            Part(home, name, row, size) for row, name, size in rows.iter_rows()
        ]


def _in_tar(home: Path) -> list[Part]:
    try:
        with (
            decoding(home, "zip") as file,
            tarfile.open(fileobj=file, mode="r:") as tar,
        ):
            return [
                Part(home, m.name, m.offset_data, m.size)
                for m in tar
                if m.isreg()
            ]
    except (tarfile.TarError, OSError, ValueError) as error:
        raise DataError(f"{home}: must be a tar file: {error}") from None
