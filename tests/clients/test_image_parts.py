"""Images of every usual kind reach the server without loss."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from PIL import Image

from folding import each
from visualjudge.clients.base import ImagePart
from visualjudge.clients.image_parts import ImageStore, image_part
from visualjudge.core.errors import DataError

RGB = np.random.default_rng(3).integers(0, 256, (9, 13, 3), np.uint8)


def saved(array: NDArray[Any], kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, kind, **options)
    return buffer.getvalue()


def shown(part: ImagePart, mode: str = "RGB") -> NDArray[Any]:
    with Image.open(io.BytesIO(part.data)) as image:
        assert part.mime == f"image/{str(image.format).lower()}"
        return np.asarray(image.convert(mode))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_files_that_servers_read_go_byte_for_byte(
    kind: str, tmp_path: Path
) -> None:
    data = saved(RGB, kind)
    path = tmp_path / "a"
    path.write_bytes(data)
    url = f"data:image/{kind.lower()};base64,{base64.b64encode(data).decode()}"
    for source in (data, bytearray(data), path, str(path), path.as_uri(), url):
        part = image_part(source)
        assert part.data == data
        assert part.mime == f"image/{kind.lower()}"


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM"])
def test_other_files_become_png_with_the_same_pixels(kind: str) -> None:
    part = image_part(saved(RGB, kind))
    assert part.mime == "image/png"
    assert (shown(part) == RGB).all()


def test_a_turned_jpeg_is_sent_upright() -> None:
    image = Image.fromarray(RGB)
    exif = image.getexif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif, quality=95)
    assert shown(image_part(buffer.getvalue())).shape == (13, 9, 3)


def test_sixteen_bits_are_scaled_not_clipped() -> None:
    deep = np.full((3, 4), 257 * 100, np.uint16)
    assert (shown(image_part(saved(deep, "PNG"))) == 100).all()
    assert (shown(image_part(deep)) == 100).all()


@each(
    ("array", "due"),
    [
        (RGB, RGB),
        (RGB[:, ::-1], RGB[:, ::-1]),
        (RGB[:, :, 0], np.repeat(RGB[:, :, :1], 3, axis=2)),
        (RGB / 255.0, RGB),
        (
            RGB[:, :, 0] > 99,
            np.repeat(np.where(RGB[:, :, :1] > 99, 255, 0), 3, axis=2),
        ),
    ],
)
def test_arrays_keep_their_pixels(
    array: NDArray[Any], due: NDArray[Any]
) -> None:
    assert (shown(image_part(array)) == due).all()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_arrays_of_any_size_keep_their_pixels(
    height: int, width: int, seed: int
) -> None:
    pixels = np.random.default_rng(seed).integers(
        0, 256, (height, width, 3), np.uint8
    )
    assert (shown(image_part(pixels)) == pixels).all()


def test_transparency_is_kept() -> None:
    rgba = np.dstack([RGB, np.full(RGB.shape[:2], 128, np.uint8)])
    for source in (rgba, Image.fromarray(rgba), saved(rgba, "PNG")):
        assert (shown(image_part(source), "RGBA") == rgba).all()


def test_pil_images_of_other_modes_keep_what_they_show() -> None:
    for mode in ("L", "P", "1"):
        image = Image.fromarray(RGB).convert(mode)
        assert (
            shown(image_part(image)) == np.asarray(image.convert("RGB"))
        ).all()


@each(
    ("source", "named"),
    [
        ("/nowhere/a-7.png", "/nowhere/a-7.png"),
        ("http://127.0.0.1:9/x.png", "http://127.0.0.1:9/x.png"),
        (b"no image", "8 bytes"),
        ("file://[x/nowhere/a%207.png", "/nowhere/a 7.png"),
        ("data:image/png;base64,AAAA", "data:image/png"),
        (7, "int"),
        (None, "NoneType"),
        (np.zeros((0, 4, 3), np.uint8), "shape"),
        (np.zeros((4, 4, 7), np.uint8), "shape"),
    ],
)
def test_what_is_no_image_is_named(source: Any, named: str) -> None:
    with pytest.raises(DataError, match=named):
        image_part(source)


def test_a_image_cut_short_is_no_image() -> None:
    with pytest.raises(DataError):
        image_part(saved(RGB, "BMP")[:200])


def test_a_store_lets_the_least_used_go(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    for path in paths:
        path.write_bytes(saved(RGB, "PNG"))
    store = ImageStore(capacity_bytes=2 * len(paths[0].read_bytes()) * 7 // 3)
    first, second, _ = (store.get(path) for path in paths)
    assert store.get(paths[1]) is second
    assert store.get(paths[0]) is not first
