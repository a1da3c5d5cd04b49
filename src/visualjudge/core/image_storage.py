"""Locate the bytes of a dataset's images, stored as single files or as parts of tar files. All
readers use this module.

``media/shard-*.tar`` are plain tar files of ``media/*.png``; unpacking them in the dataset's folder
yields single files. ``media/index.npy`` states where each image begins: an array of four rows of
64-bit integers with one column per image, sorted by the hash of its name (two rows), then the
offset of its first byte, then shard · 2³² + size.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

from visualjudge.core.confined_paths import confined_path, stated_path
from visualjudge.core.errors import DataError
from visualjudge.core.object_stores import RemotePath, far, located

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "media"
INDEX = f"{FOLDER}/index.npy"
SHARD_BYTES = 256 << 20
"""Maximum size of a shard in bytes, unless a single image is larger."""
LARGEST_IMAGE = 256 << 20
"""Maximum size of an image in a shard, in bytes."""
LARGEST_INDEX = 512 << 20
"""Maximum size of the index of all shards in bytes, at 32 bytes per image."""
_TOGETHER, _BYTES_TOGETHER = 64, 32 << 20
"""Maximum number of images, and of bytes, fetched from an object store at once."""
_BLOCK = 512
_SIZE_BITS = 32
Form = Literal["files", "shards"]


class PartStat(NamedTuple):
    """The size of an image inside a shard, and the times of the shard."""

    st_size: int
    st_mtime_ns: int
    st_ctime: float


@dataclass(frozen=True, slots=True)
class Part:
    """An image inside a shard, with the reading methods of a file."""

    shard: Path
    start: int
    size: int
    relative: str

    def __str__(self) -> str:
        return f"{self.shard.parent.parent}/{self.relative}"

    @property
    def name(self) -> str:
        """The file name without its folder."""
        return PurePosixPath(self.relative).name

    @property
    def suffix(self) -> str:
        """The file's suffix, such as ``.png``."""
        return PurePosixPath(self.relative).suffix

    def stat(self) -> PartStat:
        """Return its size and times."""
        found = self.shard.stat()
        return PartStat(self.size, found.st_mtime_ns, found.st_ctime)

    def read_bytes(self) -> bytes:
        """Return its bytes.

        Raises
        ------
        DataError
            If the shard is truncated.
        """
        content = _read(self.shard, self.start, self.size)
        if len(content) < self.size:
            raise DataError(f"{self.shard}: ends before {self.relative}, which is in its index")
        return content

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """Open its bytes as a file."""
        return io.BytesIO(self.read_bytes())


def _read(path: Path, start: int, size: int) -> bytes:
    if (remote := far(path)) is not None:
        return remote.read_part(start, size)
    with path.open("rb") as file:
        file.seek(start)
        return file.read(size)


Place = Path | Part
"""A single file, or a part of a shard; both have ``stat``, ``read_bytes``, ``open``, ``name`` and
``suffix``.
"""


def image_at(root: Path, name: object) -> Place:
    """Locate the image ``name`` of the dataset at ``root``.

    Raises
    ------
    DataError
        If the name leads outside the dataset, directly or through a link, or there is no such
        image.
    """
    return image_finder(root)(name)


def image_finder(root: Path) -> Callable[[object], Place]:
    """Return a function like :func:`image_at` that checks only once whether the index changed, for
    many images of the dataset at ``root``.
    """
    place = located(root)
    shards = _shards(place)

    def find(name: object) -> Place:
        part = None if shards is None else shards.find(stated_path(name))
        return confined_path(place, name) if part is None else part

    return find


def contents(root: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes | DataError]]:
    """Yield each image of ``names`` with its bytes, or the reason why it cannot be read. Several
    images are fetched at a time from an object store.

    The order is that of ``names``, except that missing images come earlier.
    """
    batch: dict[str, Place] = {}
    size, find = 0, image_finder(root)
    for name in names:
        try:
            batch[name] = find(name)
            size += batch[name].stat().st_size
        except DataError as error:
            yield name, error
        if len(batch) == _TOGETHER or size >= _BYTES_TOGETHER:
            yield from zip(batch, _read_all(batch.values()), strict=True)
            batch, size = {}, 0
    yield from zip(batch, _read_all(batch.values()), strict=True)


def _read_all(places: Collection[Place]) -> Iterable[bytes | DataError]:
    remote = [
        (file, start, size)
        for place in places
        for path, start, size in [_extent(place)]
        if (file := far(path))
    ]
    return RemotePath.read_parts(remote) if remote else map(_read_one, places)


def _extent(place: Place) -> tuple[Path, int, int | None]:
    return (place.shard, place.start, place.size) if isinstance(place, Part) else (place, 0, None)


def _read_one(place: Place) -> bytes | DataError:
    try:
        return place.read_bytes()
    except DataError as error:
        return error
    except OSError as error:
        return DataError(f"{place}: cannot be read: {error.strerror}")


def media_form(root: Path) -> Form:
    """Return how the dataset at ``root`` stores its images."""
    return "shards" if (root / INDEX).is_file() else "files"


def packed_images(root: Path) -> Iterator[Part]:
    """Yield the images in the shards of the dataset at ``root``, in order; nothing if images are
    single files.

    Raises
    ------
    DataError
        If a shard is not a tar file, or contradicts the index.
    """
    shards = _shards(root)
    for number in range(0 if shards is None else shards.count):
        yield from _members(root, number, shards)  # type: ignore[arg-type]


def shard_files(root: Path) -> list[str]:
    """Return the names of the shards and their index, relative to ``root``."""
    shards = _shards(root)
    return [] if shards is None else [INDEX, *map(_shard_name, range(shards.count))]


def _members(root: Path, number: int, shards: _Shards) -> Iterator[Part]:
    path = shards.path(number)
    if path.stat().st_size > SHARD_BYTES + LARGEST_IMAGE:
        raise DataError(f"{path}: must have at most {(SHARD_BYTES + LARGEST_IMAGE) >> 20} MiB")
    try:
        with path.open("rb") as file, tarfile.open(fileobj=file, mode="r:") as tar:
            for member in tar:
                part = Part(path, member.offset_data, member.size, stated_path(member.name))
                inside = part.relative.startswith(f"{FOLDER}/") and member.isreg()
                if not inside or shards.find(part.relative) != part:
                    raise DataError(f"{path}: {member.name}: is not at its position in {INDEX}")
                yield part
    except (tarfile.TarError, OSError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(f"{path}: must be a tar file: {error}") from None


def _shard_name(number: int) -> str:
    return f"{FOLDER}/shard-{number:05d}.tar"


def _key(name: str) -> tuple[int, int]:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def _shards(root: Path) -> _Shards | None:
    try:
        found = (root / INDEX).stat()
    except OSError:
        return None
    return _opened(root, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _opened(root: Path, changed: int, size: int) -> _Shards:
    return _Shards(root)


class _Shards:
    """The index of a dataset's shards, memory-mapped."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: dict[int, tuple[Path, int]] = {}
        self._rows = _read_index(confined_path(root, INDEX))
        self._high = self._rows[0]
        self.count = int(self._rows[3].max() >> _SIZE_BITS) + 1 if self._rows.size else 0

    def path(self, number: int) -> Path:
        """Return the path of a shard."""
        return self._path_and_size(number)[0]

    def _path_and_size(self, number: int) -> tuple[Path, int]:
        if number not in self._paths:
            path = confined_path(self._root, _shard_name(number))
            self._paths[number] = path, path.stat().st_size
        return self._paths[number]

    def _part(self, name: str, start: int, packed: int) -> Part:
        """Return the image at the position in the index, which must be within its shard."""
        path, end = self._path_and_size(packed >> _SIZE_BITS)
        size = packed & ((1 << _SIZE_BITS) - 1)
        if size > LARGEST_IMAGE:
            raise DataError(
                f"{path}: {name}: must have at most {LARGEST_IMAGE >> 20} MiB, got {size >> 20} "
                f"according to {INDEX}"
            )
        if start + size > end:
            raise DataError(f"{path}: ends before {name}, which is in its index")
        return Part(path, start, size, name)

    def find(self, name: str) -> Part | None:
        """Locate an image, or return None if no shard holds it."""
        import numpy as np

        key = _key(name)
        for place in range(int(self._high.searchsorted(np.uint64(key[0]))), len(self._high)):
            high, low, start, packed = self._rows[:, place].tolist()
            if (high, low) == key:
                return self._part(name, start, packed)
            if high != key[0]:
                break
        return None


def _read_index(path: Path) -> NDArray[np.uint64]:
    import numpy as np

    try:
        if path.stat().st_size > LARGEST_INDEX:
            raise ValueError(f"it must have at most {LARGEST_INDEX >> 20} MiB")
        rows: NDArray[Any] = (
            np.lib.format.read_array(io.BytesIO(path.read_bytes()), allow_pickle=False)
            if far(path)
            else np.lib.format.open_memmap(path, mode="r")
        )
        if rows.dtype != np.dtype("<u8") or rows.ndim != 2 or rows.shape[0] != 4:
            raise ValueError("it must have four rows of 64-bit numbers")
        if rows.size and rows[3].max() >> _SIZE_BITS >= rows.shape[1]:
            raise ValueError("it has more shards than images")
    except (OSError, ValueError, EOFError, OverflowError, TypeError, MemoryError) as error:
        raise DataError(
            f"{path}: must be the index of a dataset's images: {' '.join(str(error).split())}"
        ) from None
    return rows


class ShardWriter:
    """Write images into shards, one after another. The bytes depend only on the images and their
    order.

    ``done`` is called with each complete shard.
    """

    def __init__(self, root: Path, done: Callable[[Path], None] = lambda path: None) -> None:
        (root / FOLDER).mkdir(exist_ok=True)
        self._root = root
        self._done = done
        self._file: BinaryIO | None = None
        self._number = -1
        self._rows = array("Q")

    def add(self, name: str, content: bytes) -> None:
        """Add an image; ``name`` is its path in the dataset."""
        info = tarfile.TarInfo(name)
        info.size = len(content)
        head = info.tobuf(tarfile.PAX_FORMAT)
        if self._file is None or self._file.tell() + len(head) + len(content) > SHARD_BYTES:
            self._next()
        assert self._file is not None
        self._file.write(head)
        self._rows.extend(
            (*_key(name), self._file.tell(), self._number << _SIZE_BITS | len(content))
        )
        self._file.write(content + bytes(-len(content) % _BLOCK))

    def _next(self) -> None:
        self._end()
        self._number += 1
        self._file = (self._root / _shard_name(self._number)).open("wb")

    def _end(self) -> None:
        if self._file is not None:
            self._file.write(bytes(2 * _BLOCK))
            self._file.close()
            self._done(self._root / _shard_name(self._number))

    def close(self) -> None:
        """Close the last shard and write the index."""
        import numpy as np

        self._end()
        rows = np.array(self._rows, dtype="<u8").reshape(-1, 4).T
        np.save(self._root / INDEX, np.ascontiguousarray(rows[:, np.lexsort((rows[1], rows[0]))]))
