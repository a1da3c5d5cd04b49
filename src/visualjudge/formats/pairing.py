"""Files of images, ground truth and predictions that belong together by name. Samples
are made of them in ``depth_maps.py``, ``label_maps.py`` and ``image_pairs.py``.
"""

import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeVar

from visualjudge.core.errors import (
    DataError,
    Problem,
    UsageError,
    in_field,
)
from visualjudge.core.untrusted import confined_path
from visualjudge.vision.predictions import Prediction

T = TypeVar("T")
Side = TypeVar("Side", bound=Prediction)
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")
# What the stars of a pattern match.
STARS = {"*": "([^/]*)", "**": "(.*)", "**/": "(?:(.*)/)?"}


def folder_at(path: Path) -> Path:
    """Check that ``path`` is a folder and return it.

    Raises
    ------
    UsageError
        If there is no such folder, so that one message replaces an error for each file
        in it.
    """
    if "*" in str(path):
        raise UsageError(f"{path}: must be a folder, got a pattern")
    if not path.is_dir():
        raise UsageError(
            f"{path}: must be a folder, got a file"
            if path.is_file()
            else f"{path}: no such folder"
        )
    return path


def stated_file(root: Path, name: object, field: str) -> Path:
    """Return the file below ``root`` named by the annotation field ``field``; it must
    not be outside that folder.

    Raises
    ------
    DataError
        If there is no such file, or the path is absolute or leads outside ``root``
        (also through a link).
    """
    with in_field(field):
        return file_below(root, name)


def normal(name: str) -> str:
    """Return a name as it is compared where no file has it exactly: systems differ in
    the Unicode form of accents, in case, and in blanks at the end.
    """
    return unicodedata.normalize("NFC", name).casefold().strip()


def file_below(root: Path, name: object) -> Path:
    """Return the file ``root / name``, or the one whose :func:`normal` name is that.

    Raises
    ------
    DataError
        As :func:`~visualjudge.core.untrusted.confined_path` does.
    """
    if "\\" in str(name) and not os.path.exists(root / str(name)):  # noqa: PTH110
        name = str(name).replace("\\", "/")
    path = root / str(name)
    if not os.path.exists(path) and os.path.isdir(path.parent):  # noqa: PTH110, PTH112  both take any name
        other = _listed(path.parent, path.parent.stat().st_mtime_ns).find(
            path.name
        )
        if other is not None:
            name = str(Path(str(name)).with_name(other))
    try:
        return confined_path(root, name, of=str(root))
    except DataError as error:
        for place in [
            folder / ending
            for folder in (root, *_folders(root, root.stat().st_mtime_ns))
            for ending in (path.name, f"{path.parent.name}/{path.name}")
        ]:
            if path.name and os.path.exists(place):  # noqa: PTH110
                raise DataError(f"{error}; there is {place}") from None
        raise


class ByKey(dict[str, T]):
    """Files or records by the part of the name that an image and its labels share."""

    def find(self, key: str) -> T | None:
        """Return the one of this key, or else the only one of its :func:`normal`
        form."""
        if key in self:
            return self[key]
        alike = self._by_normal.get(normal(key), ())
        return self[alike[0]] if len(alike) == 1 else None

    @cached_property
    def _by_normal(self) -> dict[str, list[str]]:
        keys: dict[str, list[str]] = {}
        for key in self:
            keys.setdefault(normal(key), []).append(key)
        return keys


@lru_cache(maxsize=8)
def _listed(folder: Path, _changed: int) -> ByKey[str]:
    return ByKey({name: name for name in os.listdir(folder)})  # noqa: PTH208


@lru_cache(maxsize=8)
def _folders(folder: Path, _changed: int) -> list[Path]:
    """Return the folders in a folder, then those in them."""
    return [
        path
        for pattern in ("*/", "*/*/")
        for path in sorted(folder.glob(pattern))
    ]


def files_ending_in(folder: Path, suffix: str) -> list[Path]:
    """Return the files of a folder whose names end so, in order.

    Raises
    ------
    UsageError
        If there is none, or no such folder.
    """
    ordered = sorted(folder_at(folder).glob(f"*{suffix}"))
    if not ordered:
        raise UsageError(
            f"{folder}: contains no {suffix} file{hint_below(folder, [suffix])}"
        )
    return ordered


def hint_below(
    folder: Path, suffixes: Collection[str], names: ByKey[Path] | None = None
) -> str:
    """Return a hint that names a file of these suffixes, and of one of these names, in
    a folder, or else in one of its own, or in one of theirs; before them in the folder
    of labels that belongs to one of images."""
    labels = Path(
        *("labels" if part == "images" else part for part in folder.parts)
    )
    first = next(
        (
            path
            for home in (labels, folder)
            for pattern in ("*", "*/*", "*/*/*")
            for path in sorted(home.glob(pattern))
            if path.suffix.lower() in suffixes
            and (names is None or names.find(path.stem))
        ),
        None,
    )
    return "" if first is None else f"; there is {first}"


def files_by_key(where: str | Path) -> ByKey[Path]:
    """Return files by key: the part of the name that an image, its ground truth and its
    prediction share.

    Parameters
    ----------
    where
        A folder (key: file name without suffix), a pattern (key: the parts that its
        ``*`` match; one alone may span folders, as ``**`` does), or one file (key: its
        name without suffix).

    Raises
    ------
    UsageError
        If there is no such file or folder.
    DataError
        If two files have the same key.
    """
    text = str(where)
    if "*" in text:
        return _matching(text)
    path = Path(text)
    if path.is_file():
        return ByKey({path.stem: path})
    if not path.is_dir():
        raise UsageError(f"{text}: no such file or folder")
    return _by_stem(
        file
        for file in path.iterdir()
        if file.is_file() and not file.name.startswith(".")
    )


def images_by_key(folder: Path) -> ByKey[Path]:
    """Return the images of a folder by file name without suffix. Other files, such as
    labels beside their photographs, are passed over.

    Raises
    ------
    UsageError
        If it has none.
    """
    images = _by_stem(
        file
        for file in folder_at(folder).iterdir()
        if file.suffix.lower() in IMAGE_SUFFIXES
    )
    if not images:
        raise UsageError(
            f"images: must be a folder of images, got none in {folder}"
            f"{hint_below(folder, IMAGE_SUFFIXES)}"
        )
    return images


def _by_stem(files: Iterable[Path]) -> ByKey[Path]:
    return by_name(
        ((file.stem, str(file), file) for file in sorted(files)), "files"
    )


def aligned(
    images: str | Path, *others: str | Path | None
) -> Iterator[tuple[str, Path, list[Path | None]]]:
    """Yield each image's key and path, and the paths with the same key in ``others``
    (None if there is none).

    If all arguments are single files, they form one record even if their names differ.
    """
    sides = [
        ByKey() if where is None else files_by_key(where) for where in others
    ]
    singles = all(
        where is None or Path(str(where)).is_file()
        for where in (images, *others)
    )
    for key, image in sorted(files_by_key(images).items()):
        collected = [
            next(iter(side.values()), None) if singles else side.find(key)
            for side in sides
        ]
        yield key, image, collected


def paired(
    what: str,
    images: str,
    gt: str,
    pred: str | None,
    read: Callable[[Path, Path, bool], Side],
) -> Iterator[Problem | tuple[str, Path, Side, Side, Path]]:
    """Yield each image's name, the image, its prediction, its truth and the prediction's
    file: a ``what`` of the same name for each side. Without ``pred``, the truth is its
    own prediction. Where several stars match, images of one name are of several
    folders, and named by the whole key.

    ``read`` takes the file, the image, and whether the file is a prediction.
    """
    hints = {
        where: hint_below(Path(where), (*IMAGE_SUFFIXES, ".npy", ".pfm"))
        + f"; a pattern ('{where}/*_x.png') pairs others"
        for where in (gt, pred or gt)
        if "*" not in where
    }
    for key, image, files in aligned(
        images, *([gt] if pred is None else [gt, pred])
    ):
        sides: list[Side] = []
        try:
            for file, where in zip(files, (gt, pred), strict=False):
                if file is None:
                    raise DataError(
                        f"there is no {what} named {key!r} in {where}"
                        f"{hints.get(str(where), '')}"
                    )
                sides.append(read(file, image, bool(sides)))
        except DataError as error:
            yield Problem(
                image.name, key, "prediction" if sides else "truth", str(error)
            )
            continue
        yield (
            key if images.count("*") > 1 else image.stem,
            image,
            sides[-1],
            sides[0],
            files[-1] or image,
        )


def _matching(pattern: str) -> ByKey[Path]:
    folder, slash, _ = pattern.partition("*")[0].rpartition("/")
    base = Path(folder + slash) if slash else Path()
    if not base.is_dir():
        raise UsageError(f"{pattern}: there is no folder {base}")
    # a star alone spans folders, as two do; of several, each is within one
    form = re.compile(
        "".join(
            STARS.get(part, re.escape(part))
            if pattern.count("*") > 1 or part != "*"
            else STARS["**"]
            for part in re.split(r"(\*\*/?|\*)", pattern[len(folder + slash) :])
        ),
        re.DOTALL,
    )
    names = [
        (
            "_".join(filter(None, match.groups())).replace("/", "_"),
            str(file),
            file,
        )
        for file in sorted(base.rglob("*"))
        if (match := form.fullmatch(file.relative_to(base).as_posix()))
        and file.is_file()
    ]
    if not names:
        raise UsageError(f"{pattern}: no file matches")
    return by_name(names, "files")


def by_name(rows: Iterable[tuple[str, str, T]], what: str) -> ByKey[T]:
    """Return the third item of each row by its first, such as an image's name. The
    second says where the row stands, because of two rows of one name the last would
    win.
    """
    collected: dict[str, tuple[str, T]] = {}
    for name, where, value in rows:
        if name in collected:
            raise DataError(
                f"{collected[name][0]} and {where}: two {what} of the name {name!r}; "
                "rename one, or choose with a pattern such as 'dir/*.png'"
            )
        collected[name] = where, value
    return ByKey({name: value for name, (_, value) in collected.items()})
