"""Arrays in ``.npy``, ``.npz`` and ``.pfm`` files, without pickles and of bounded size.
Arrays in memory are in ``in_memory.py``.
"""

import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import archive, decoding
from visualjudge.vision.raster.limits import check_pixels

_LONGEST_HEADER = 10_000
_NUMBERS = "biuf"
# Version 3 is for names of fields in Unicode, which numbers do not have.
_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}
warnings.filterwarnings(
    "ignore",
    message="Reading `.npy` or `.npz` file required",
    category=UserWarning,
)


def read_npy(path: Path) -> NDArray[Any]:
    """Read the array of a ``.npy`` file.

    Raises
    ------
    DataError, OSError, ValueError
        If the file is truncated or too large, or does not contain plain numbers.
    """
    with decoding(path, "array") as file:
        return _array(file)


def read_npz(path: Path) -> NDArray[Any]:
    """Read the only array of a ``.npz`` archive, or the one called ``depth``.

    Raises
    ------
    DataError, OSError, ValueError
        As for :func:`read_npy`; also if the archive contains no array, or several.
    """
    with archive(path, "array") as arrays:
        names = [name for name in arrays.namelist() if name.endswith(".npy")]
        if len(names) != 1 and "depth.npy" not in names:
            held = (
                ", ".join(name.removesuffix(".npy") for name in names) or "none"
            )
            raise DataError(
                f"the archive must contain one array, or one called depth, got "
                f"{held:.80}"
            )
        with arrays.open("depth.npy" if len(names) > 1 else names[0]) as member:
            return _array(member)


def read_pfm(path: Path) -> NDArray[Any]:
    """Read a single-channel portable float map (Debevec's PFM): rows are stored bottom
    to top, and the sign of the scale is the byte order.

    Raises
    ------
    DataError, OSError, ValueError
        As for :func:`read_npy`.
    """
    with decoding(path, "array") as file:
        if file.readline(16).strip() != b"Pf":
            raise DataError(
                "must be a single-channel PFM that begins with 'Pf'"
            )
        width, height = (int(number) for number in file.readline(64).split())
        order = "<f4" if float(file.readline(64)) < 0 else ">f4"
        check_pixels(
            "a PFM", (height, width), 8
        )  # four in the file, eight as float64
        values = np.frombuffer(file.read(width * height * 4), dtype=order)
    with np.errstate(invalid="ignore"):  # signalling NaN
        return np.asarray(values.reshape(height, width)[::-1], dtype=np.float64)


def _array(file: IO[bytes]) -> NDArray[Any]:
    header = _HEADERS.get(npy.read_magic(file))
    if header is None:
        raise DataError("must be an array of version 1 or 2 of the npy format")
    shape, _, dtype = header(file, max_header_size=_LONGEST_HEADER)
    if dtype.kind not in _NUMBERS:
        raise DataError(
            f"must contain real numbers, got dtype {str(dtype)[:60]}"
        )
    check_pixels("an array", shape, dtype.itemsize)
    file.seek(0)
    return npy.read_array(
        file, allow_pickle=False, max_header_size=_LONGEST_HEADER
    )
