"""Images and depth maps: read as viewers show them, and written quickly as PNG. Where a
dataset's images are is in ``core/image_storage.py``; images for servers are in
``clients/image_parts.py``.
"""

import os
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any, BinaryIO

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import Part, Place
from visualjudge.core.records import FloatArray, Pixels, Size
from visualjudge.core.untrusted import decoding
from visualjudge.vision.raster.arrays import read_npy, read_npz, read_pfm
from visualjudge.vision.raster.in_memory import array_of
from visualjudge.vision.raster.limits import check_pixels

try:
    import fpng
except ImportError:  # no wheel for this platform
    fpng = None
try:
    from isal.isal_zlib import compress
except ImportError:
    from zlib import compress

# Supported formats. Pillow's other formats run programs (PostScript) or do not occur as
# images of data sets.
FORMATS = (
    "PNG",
    "JPEG",
    "WEBP",
    "GIF",
    "BMP",
    "DIB",
    "TIFF",
    "PPM",
    "JPEG2000",
    "ICO",
)
_ORIENTED: ContextVar[bool] = ContextVar("oriented", default=True)
# check_pixels limits sizes, and Pillow's warnings about damaged metadata are not useful
# with thousands of files.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
_TELLS_ORIENTATION = {
    "exif",
    "Raw profile type exif",
    "XML:com.adobe.xmp",
    "xmp",
}
# Restored images exceed 0 to 1 a little; an image from 0 to 255 exceeds 2, and one from
# -1 to 1 is below -0.5 where it is dark.
_DARKEST = -0.5
_BRIGHTEST = 2.0
_DEPTH_BYTES = np.dtype(np.float64).itemsize
_ENDS = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82"}
# A PNG's numbers of the filter by the row above and of 8-bit RGB.
_UP = 2
_RGB = 2
# The byte of a PNG that holds its bits per sample.
_PNG_DEPTH = 24
_SIXTEEN_BIT_MODES = ("I;16", "I;16B", "I;16L", "I;16N", "I")


def read_rgb(path: str | Place) -> Pixels:
    """Read an image as H×W×3 uint8 RGB, with EXIF orientation applied, alpha blended
    over white and 16 bits scaled to 8.

    Raises
    ------
    DataError
        If the file is missing, not an image, or truncated.
    """
    with opened(path) as image:
        return rgb_of(image)


def rgb_of(image: Image.Image) -> Pixels:
    """Convert a PIL image to H×W×3 uint8 RGB by the rules of :func:`read_rgb`."""
    check_pixels("an image", image.size[::-1])
    if image.mode == "F":
        raise DataError(
            "an image must have integer samples, got floating point; convert it to 8 "
            "or 16 bits"
        )
    upright = _upright(image) if _ORIENTED.get() else image
    if upright.mode in _SIXTEEN_BIT_MODES:
        deep = np.clip(np.asarray(upright), 0, 65535).astype(np.uint32)
        # rounded to nearest: 257 is odd, so there are no ties
        gray = ((deep + 128) // 257).astype(np.uint8)
        return np.repeat(gray[:, :, None], 3, axis=2)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        return _over_white(upright)
    return np.array(
        upright if upright.mode == "RGB" else upright.convert("RGB"),
        dtype=np.uint8,
    )


def _over_white(image: Image.Image) -> Pixels:
    """Blend transparency over white, in bands, because each step would need memory for
    the whole image."""
    width, height = image.size
    out = np.empty((height, width, 3), dtype=np.uint8)
    for rows in bands((height, width)):
        band = image.crop((0, rows.start, width, rows.stop)).convert("RGBA")
        white = Image.new("RGBA", band.size, (255, 255, 255, 255))
        out[rows] = np.asarray(Image.alpha_composite(white, band))[:, :, :3]
    return out


def bands(size: Size, pixels: int = 1 << 19) -> Iterator[slice]:
    """Yield slices of rows that divide an image of (height, width) ``size`` into bands
    of about so many ``pixels``, for steps that need several bytes for each."""
    rows = max(1, pixels // max(size[1], 1))
    for top in range(0, size[0], rows):
        yield slice(top, min(top + rows, size[0]))


def _upright(image: Image.Image) -> Image.Image:
    """Return the image rotated by its EXIF orientation, or the same object if it is
    upright (Pillow would copy it)."""
    turn = _turn(image)
    image.load()
    return image if turn == 1 else ImageOps.exif_transpose(image)


def pixels_of(image: Any) -> Pixels:
    """Return an image in memory as H×W×3 uint8 RGB: a PIL image, or an H×W, H×W×3 or
    H×W×4 array of uint8, uint16 or float (0..1).

    Raises
    ------
    DataError
        If it is something else, or has floating-point values far below 0 or above 1.
    """
    if isinstance(image, Image.Image):
        return rgb_of(image)
    array = array_of(image)
    if array is None:
        raise DataError(
            f"an image must be an array or a PIL image, got {type(image).__name__}"
        )
    if (
        not array.size
        or array.ndim not in (2, 3)
        or (*array.shape, 1)[2] not in (1, 3, 4)
    ):
        raise DataError(
            f"an image array must be H×W, H×W×3 or H×W×4, got shape {array.shape}"
        )
    if array.dtype == np.uint8 and array.shape[2:] == (3,):
        return np.ascontiguousarray(array)
    if np.issubdtype(array.dtype, np.floating):
        low = array.min()
        high = array.max()
        if not (low > _DARKEST and high < _BRIGHTEST):  # false for NaN
            raise DataError(
                f"an image of {array.dtype} must be from 0 to 1, got {low:g} to "
                f"{high:g}"
            )
        array = np.rint(np.clip(array, 0, 1) * 255)
    elif array.dtype == np.uint16:
        array = np.rint(array / 257.0)
    elif array.dtype == np.bool_:
        array = array * 255
    elif array.dtype != np.uint8:
        raise DataError(
            f"an image array must be uint8, uint16 or float, got {array.dtype}"
        )
    channels = array[:, :, 0] if array.shape[2:] == (1,) else array
    return rgb_of(Image.fromarray(channels.astype(np.uint8)))


def read_samples(
    path: str | Path, size: Size | None = None
) -> tuple[NDArray[Any], str]:
    """Read the samples of a file as stored, H×W or H×W×C, and the name of their mode in
    Pillow.

    Raises
    ------
    DataError
        As for :func:`opened`; also if the (height, width) in the header differs from
        ``size``.
    """
    with opened(path) as image:
        width, height = image.size
        if size is not None and size != (height, width):
            raise DataError(
                f"must match the image size {size[0]}×{size[1]} (height×width), got "
                f"{height}×{width}"
            )
        return stored_samples(image), image.mode


def stored_samples(image: Image.Image) -> NDArray[Any]:
    """Return the samples of an opened file as stored. Pillow drops the low byte of
    16-bit colour, so OpenCV decodes it.
    """
    file = getattr(image, "fp", None)
    if (
        file is None
        or image.format != "PNG"
        or image.mode not in ("RGB", "RGBA", "LA")
    ):
        return np.asarray(image)
    place = file.tell()
    file.seek(0)
    content = file.read(_PNG_DEPTH + 1)
    if content[_PNG_DEPTH] == 16:
        values = cv2.imdecode(
            np.frombuffer(content + file.read(), np.uint8), cv2.IMREAD_UNCHANGED
        )
        if values is None:
            raise DataError("cannot be decoded")
        return np.asarray(values[:, :, [2, 1, 0, *range(3, values.shape[2])]])
    file.seek(place)
    return np.asarray(image)


def largest_channel(values: NDArray[Any]) -> NDArray[Any]:
    """Return the largest of the first three channels of H×W×C, the first channel if
    there are two, or an H×W array unchanged.
    """
    if values.ndim == 3:
        channels = [
            values[:, :, k] for k in range(3 if values.shape[2] >= 3 else 1)
        ]
        return reduce(
            np.maximum, channels
        )  # several times faster than along the last axis
    return values


def image_size(path: str | Place | BinaryIO) -> Size:
    """Return (height, width) as shown, with EXIF orientation applied, from the header
    only."""
    if isinstance(path, str | Path):
        (width, height), turn, _ = _header(str(path), _stamp(path))
    else:
        with opened(path) as image:
            turn = _turn(image)
            (width, height) = image.size
    return (
        (width, height)
        if turn in (5, 6, 7, 8) and _ORIENTED.get()
        else (height, width)
    )


def orientation(path: str | Path) -> int:
    """Return the EXIF orientation of a file, 1 to 8; 1 if it has none."""
    return _header(str(path), _stamp(path))[1]


@lru_cache(maxsize=1 << 14)
def _header(
    path: str, _stamp: tuple[int, int]
) -> tuple[tuple[int, int], int, bool]:
    """Return the (width, height) as stored, the orientation, and whether the file ends
    as complete ones do; an import asks several times."""
    with opened(path) as image:
        return image.size, _turn(image), _ends(image)


def _stamp(path: str | Path) -> tuple[int, int]:
    """Return what changes when a file is written again; zeros if there is none."""
    try:
        stated = os.stat(path)  # noqa: PTH116  making a Path takes longer than the call
    except (OSError, ValueError):
        return 0, 0
    return stated.st_mtime_ns, stated.st_size


def _turn(image: Image.Image) -> int:
    """Return the EXIF orientation, 1 to 8. A PNG's counts only before the pixels, as
    for viewers; Pillow would decode the image to find others."""
    if image.format == "PNG" and image.info.keys().isdisjoint(
        _TELLS_ORIENTATION
    ):
        return 1
    stated = image.getexif().get(0x0112, 1)
    return stated if isinstance(stated, int) and 1 <= stated <= 8 else 1


@contextmanager
def stored_frames() -> Iterator[None]:
    """Ignore EXIF orientations within the block, so that images are read as stored."""
    token = _ORIENTED.set(False)
    try:
        yield
    finally:
        _ORIENTED.reset(token)


def oriented() -> bool:
    """Return whether EXIF orientations are applied."""
    return _ORIENTED.get()


def check_image(path: str | Path | BinaryIO, name: str = "") -> None:
    """Verify the checksums of a PNG; decode another file once, at the lowest resolution
    that its format supports.

    Raises
    ------
    DataError
        If the file is not an image, is truncated or damaged, or cannot be converted to
        RGB.
    """
    if checksums_agree(path, name):
        return
    with opened(path, name) as image:
        image.draft("L", (1, 1))
        image.load()
        rgb_of(image.crop((0, 0, 1, 1)))


def check_whole(path: str | Path) -> None:
    """Check that an image file is complete. A JPEG or PNG with its end is not decoded:
    damage to its pixels is found when they are read.

    Raises
    ------
    DataError
        As for :func:`check_image`.
    """
    if not _header(str(path), _stamp(path))[2]:
        check_image(path)


def _ends(image: Image.Image) -> bool:
    end = _ENDS.get(image.format or "")
    file = getattr(image, "fp", None)
    if end is None or file is None:
        return False
    file.seek(-len(end), os.SEEK_END)
    return bool(file.read() == end)


def checksums_agree(path: str | Path | BinaryIO, name: str = "") -> bool:
    """Return whether a file is a PNG, whose checksums are verified; other formats have
    none.

    Raises
    ------
    DataError
        As for :func:`opened`; also if a checksum is wrong or the file is cut short.
    """
    with opened(path, name) as image:
        png = image.format == "PNG"
        if png:
            image.verify()
    return png


def read_depth(path: str | Path) -> FloatArray:
    """Read a depth or disparity map as stored, H×W float64, from ``.npy``, ``.npz``,
    ``.pfm`` or a single-channel image.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    try:
        values = _ARRAYS.get(file.suffix.lower(), _one_channel)(file)
    except DataError as error:
        raise (
            error
            if str(error).startswith(str(file))
            else DataError(f"{file}: {error}")
        ) from None
    except Exception as error:  # NumPy and Python parse the untrusted header
        raise DataError(
            f"{file}: depth map cannot be read: {_reason(error)}"
        ) from None
    if values.ndim == 3 and 1 in (values.shape[0], values.shape[2]):
        values = values[0] if values.shape[0] == 1 else values[:, :, 0]
    if values.ndim != 2:
        raise DataError(
            f"{file}: a depth map must be H×W, got shape {values.shape}"
        )
    check_pixels("a depth map", values.shape, _DEPTH_BYTES)
    return np.asarray(values, dtype=np.float64)


def _one_channel(file: Path) -> NDArray[Any]:
    with opened(file) as image:
        check_pixels(
            "a depth map", image.size[::-1], _DEPTH_BYTES
        )  # before decoding
        values = stored_samples(
            image.convert("RGB") if image.mode in ("P", "PA") else image
        )
    hint = (
        "a colour-mapped depth map cannot be read back: give the values (npy, "
        "16-bit PNG, PFM)"
    )
    return single_channel(values, hint)


def single_channel(values: NDArray[Any], hint: str) -> NDArray[Any]:
    """Return the values of H×W, or of H×W×C without alpha; colours, an error with
    ``hint``, are none.
    """
    if values.ndim == 2 or values.shape[2] < 3:
        return largest_channel(values)
    differ = (values[:, :, 1:3] != values[:, :, :1]).any(axis=2).mean()
    if differ > 0:
        raise DataError(
            f"must have one channel, got {values.shape[2]} that differ in "
            f"{100 * differ:.0f} % of the pixels; {hint}"
        )
    return values[:, :, 0]


_ARRAYS: dict[str, Callable[[Path], NDArray[Any]]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".pfm": read_pfm,
}


def png_bytes(pixels: Pixels) -> bytes:
    """Encode an H×W×3 uint8 RGB array as lossless PNG: by fpng, or where it is not
    installed as differences from the row above, compressed by ISA-L.
    """
    array = np.ascontiguousarray(pixels)
    if fpng is not None:
        return bytes(fpng.from_ndarray(array))
    height, width = array.shape[:2]
    rows = np.zeros((height + 1, 3 * width), dtype=np.uint8)
    rows[1:] = array.reshape(height, -1)
    filtered = np.full((height, 1 + 3 * width), _UP, dtype=np.uint8)
    np.subtract(rows[1:], rows[:-1], out=filtered[:, 1:])
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _RGB, 0, 0, 0)),
        (b"IDAT", compress(filtered, 1)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def through_jpeg(pixels: Pixels, quality: int) -> Pixels:
    """Return an H×W×3 uint8 RGB array after JPEG compression with ``quality``,
    0..100."""
    _, stored = cv2.imencode(
        ".jpg", pixels[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality]
    )
    return np.ascontiguousarray(
        np.asarray(cv2.imdecode(stored, cv2.IMREAD_COLOR), np.uint8)[:, :, ::-1]
    )


def to_uint8(values: FloatArray) -> Pixels:
    """Round values to uint8 and clip them to 0..255."""
    return np.asarray(np.rint(np.clip(values, 0, 255)), np.uint8)


def fitted_size(size: Size, max_side: int | None) -> Size:
    """Return (height, width) scaled so that the longer side is at most ``max_side``;
    ``size`` if it fits.
    """
    longest = max(size)
    return (
        size
        if max_side is None or longest <= max_side
        else (
            max(1, round(size[0] * max_side / longest)),
            max(1, round(size[1] * max_side / longest)),
        )
    )


def resized_rgb(pixels: Pixels, size: Size) -> Pixels:
    """Resize H×W×3 uint8 to another (height, width) by area averaging. If the size is
    the same, the array is returned unchanged.
    """
    return (
        pixels
        if pixels.shape[:2] == size
        else np.asarray(
            cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_AREA),
            dtype=np.uint8,
        )
    )


def write_png(path: str | Path, pixels: Pixels) -> None:
    """Write an H×W×3 uint8 RGB array as PNG, atomically."""
    write_bytes(path, png_bytes(pixels))


@contextmanager
def opened(
    path: str | Place | BinaryIO, name: str | None = None
) -> Iterator[Image.Image]:
    """Open an image file after checking its header and size; pixels are decoded on
    demand.

    All image decoding goes through this function. Any exception that a decoder raises,
    here or in the block, becomes a DataError that names the file, or ``name`` if given.

    Raises
    ------
    DataError
        If the file is missing, too large, truncated or damaged, or its format is not
        supported.
    """
    name = name or (
        str(path) if isinstance(path, str | Path | Part) else "the bytes"
    )
    try:
        with (
            _source(path) as source,
            Image.open(source, formats=FORMATS) as image,
        ):
            check_pixels("an image", image.size[::-1], _bytes_per_pixel(image))
            yield image
    except FileNotFoundError:
        raise DataError(f"{name}: no such file") from None
    except UnidentifiedImageError:
        raise DataError(
            f"{name}: not an image in a supported format ({', '.join(FORMATS)})"
        ) from None
    except DataError as error:
        raise (
            error
            if str(error).startswith(name)
            else DataError(f"{name}: {error}")
        ) from None
    except Exception as error:
        raise DataError(
            f"{name}: image cannot be decoded: {_reason(error)}"
        ) from None


def _source(path: str | Place | BinaryIO) -> AbstractContextManager[BinaryIO]:
    if isinstance(path, str | Path):
        return decoding(Path(path), "image")
    return path.open() if isinstance(path, Part) else nullcontext(path)


def _bytes_per_pixel(image: Image.Image) -> int:
    """Return the bytes per pixel of the samples as stored. A decoder may convert 16
    bits to 8, but reads all of them."""
    if image.mode in ("I", "F"):
        return 4
    deep = image.mode.startswith("I;16") or any(
        ";16" in str(tile[3]) for tile in getattr(image, "tile", ())
    )
    return len(image.getbands()) * (2 if deep else 1)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
