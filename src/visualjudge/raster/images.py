"""Pictures and depth maps: reading with everything applied that a viewer applies, and fast PNG writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from visualjudge.atomic import write_bytes
from visualjudge.errors import DataError
from visualjudge.records import FloatArray, Pixels, Size

try:
    import fpng
except ImportError:  # no wheel for this platform: OpenCV writes PNG too, some ten times slower
    fpng = None

_ORIENTED: ContextVar[bool] = ContextVar("oriented", default=True)
_MAY_TELL_ORIENTATION = {b"eXIf", b"iTXt", b"tEXt", b"zTXt"}
_SIXTEEN_BIT_MODES = ("I;16", "I;16B", "I;16L", "I;16N", "I")


def read_rgb(path: str | Path) -> Pixels:
    """A picture as H×W×3 uint8 RGB: EXIF orientation applied, alpha laid over white, 16 bits scaled to 8.

    Raises
    ------
    DataError
        If the file is missing, is no picture, or is cut short.
    """
    with opened(path) as picture:
        try:
            return rgb_of(picture)
        except (OSError, ValueError, SyntaxError) as error:
            raise DataError(f"{path}: picture cannot be decoded: {error}") from None


def rgb_of(picture: Image.Image) -> Pixels:
    """A PIL picture as H×W×3 uint8 RGB, by the same rules as :func:`read_rgb`."""
    upright = ImageOps.exif_transpose(picture) if _ORIENTED.get() else picture
    if upright.mode in _SIXTEEN_BIT_MODES:
        deep = np.asarray(upright, dtype=np.float64)
        gray = np.clip(np.rint(deep / 257.0), 0, 255).astype(np.uint8)
        return np.repeat(gray[:, :, None], 3, axis=2)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        rgba = upright.convert("RGBA")
        white = Image.new("RGBA", rgba.size, (255, 255, 255, 255))
        upright = Image.alpha_composite(white, rgba)
    return np.array(upright.convert("RGB"), dtype=np.uint8)


def rgb_of_array(array: NDArray[Any]) -> Pixels:
    """An H×W, H×W×3 or H×W×4 array of uint8, uint16 or float (0..1) as H×W×3 uint8 RGB."""
    if array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 3:
        return array
    if array.dtype == np.uint16:
        array = np.rint(array / 257.0)
    elif np.issubdtype(array.dtype, np.floating):
        array = np.rint(np.clip(array, 0, 1) * 255)
    elif array.dtype == np.bool_:
        array = array * 255
    eight_bit = array.astype(np.uint8)
    if eight_bit.ndim not in (2, 3) or (eight_bit.ndim == 3 and eight_bit.shape[2] not in (1, 3, 4)):
        raise DataError(f"a picture is H×W, H×W×3 or H×W×4, not of shape {array.shape}")
    return rgb_of(Image.fromarray(eight_bit.squeeze()))


def read_gray(path: str | Path) -> NDArray[Any]:
    """A single-channel file as it is stored, H×W of uint8, uint16 or int32 (palette indices, not colours).

    A picture of several channels gives its largest channel, so that a mask saved as RGB still reads.
    """
    with opened(path) as picture:
        try:
            values = np.asarray(picture)
        except (OSError, ValueError, SyntaxError) as error:
            raise DataError(f"{path}: picture cannot be decoded: {error}") from None
    if values.ndim == 3:
        channels = values[:, :, :3] if values.shape[2] >= 3 else values[:, :, :1]
        return np.asarray(channels.max(axis=2))
    return values


def picture_size(path: str | Path) -> Size:
    """(height, width) as shown, EXIF orientation applied; reads the header only."""
    with opened(path) as picture:
        width, height = picture.size
        plain = picture.format == "PNG" and not _png_chunks(path) & _MAY_TELL_ORIENTATION
        turned = not plain and picture.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return (width, height) if turned and _ORIENTED.get() else (height, width)


def orientation(path: str | Path) -> int:
    """The EXIF orientation that a file states, 1 to 8; 1 where it states none."""
    with opened(path) as picture:
        stated = picture.getexif().get(0x0112, 1)
    return stated if isinstance(stated, int) and 1 <= stated <= 8 else 1


@contextmanager
def stored_frames() -> Iterator[None]:
    """Within the block images are read as stored: their EXIF orientation is ignored."""
    token = _ORIENTED.set(False)
    try:
        yield
    finally:
        _ORIENTED.reset(token)


def oriented() -> bool:
    """Whether EXIF orientations are applied."""
    return _ORIENTED.get()


def check_picture(path: str | Path) -> None:
    """Decode the whole file once, at the lowest resolution that its format offers.

    Raises
    ------
    DataError
        If it is not an image, is cut short or is damaged.
    """
    with opened(path) as picture:
        try:
            picture.draft("L", (1, 1))
            picture.load()
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise DataError(f"{path}: image cannot be decoded: {error}") from None


def read_depth(path: str | Path) -> FloatArray:
    """A depth or disparity map as stored, H×W float64: ``.npy``, ``.npz``, ``.pfm``, or a single-channel picture."""
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    try:
        if file.suffix.lower() in (".npy", ".npz"):
            stored = np.load(file, allow_pickle=False)
            values = stored[stored.files[0]] if file.suffix.lower() == ".npz" else stored
        elif file.suffix.lower() == ".pfm":
            values = read_pfm(file)
        else:
            _check_one_channel(file)
            values = read_gray(file)
    except (OSError, ValueError, EOFError, IndexError) as error:
        raise DataError(f"{file}: depth map cannot be read: {error}") from None
    if values.ndim == 3 and 1 in (values.shape[0], values.shape[2]):
        values = values[0] if values.shape[0] == 1 else values[:, :, 0]
    if values.ndim != 2:
        raise DataError(f"{file}: a depth map is H×W, not of shape {values.shape}")
    return np.asarray(values, dtype=np.float64)


def _check_one_channel(file: Path) -> None:
    """A colour map cannot be turned back into depth: its largest channel would be taken for it."""
    with opened(file) as picture:
        if picture.mode in ("P", "PA"):
            picture = picture.convert("RGB")
        bands = len(picture.getbands())
        if bands < 3:
            return
        colours = np.asarray(picture)[:, :, :3].astype(np.int16)
    differ = float((np.ptp(colours, axis=2) > 0).mean())
    if differ > 0:
        raise DataError(
            f"{file}: must have one channel, got {bands} that differ in {differ:.0%} of the pixels; a colour-mapped "
            "depth map cannot be read back: give the values (npy, 16-bit PNG, PFM)"
        )


def read_pfm(path: str | Path) -> FloatArray:
    """A portable float map (Debevec's PFM): one channel, rows stored bottom to top, sign of scale = byte order."""
    with Path(path).open("rb") as file:
        if file.readline().strip() != b"Pf":
            raise ValueError("not a single-channel PFM")
        width, height = (int(v) for v in file.readline().split())
        order = "<f4" if float(file.readline()) < 0 else ">f4"
        values = np.frombuffer(file.read(width * height * 4), dtype=order)
    rows: FloatArray = values.reshape(height, width)[::-1].astype(np.float64)
    return rows


def png_bytes(pixels: Pixels) -> bytes:
    """An H×W×3 uint8 RGB array as PNG, lossless; by fpng where it is installed, else OpenCV at level 1."""
    array = np.ascontiguousarray(pixels)
    if fpng is not None:
        return bytes(fpng.from_ndarray(array))
    done, buffer = cv2.imencode(".png", array[:, :, ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise DataError("OpenCV could not encode the picture")
    return bytes(buffer.tobytes())


def write_png(path: str | Path, pixels: Pixels) -> None:
    """Write an H×W×3 uint8 RGB array as PNG, atomically."""
    write_bytes(path, png_bytes(pixels))


def _png_chunks(path: str | Path) -> set[bytes]:
    """Types of a PNG's chunks, found by seeking: Pillow decodes the whole picture to see those behind the pixels."""
    found = set()
    with Path(path).open("rb") as file:
        file.seek(8)
        while len(header := file.read(8)) == 8:
            found.add(header[4:])
            file.seek(int.from_bytes(header[:4], "big") + 4, 1)
    return found


def opened(path: str | Path) -> Image.Image:
    """An image file, its header read.

    Raises
    ------
    DataError
        If the file is missing or is not an image.
    """
    try:
        return Image.open(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: not a picture: {error}") from None
