"""Images read as a viewer shows them; PNG is lossless."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra import numpy as hnp
from PIL import Image

from visualjudge.core.errors import DataError
from visualjudge.vision.raster import images
from visualjudge.vision.raster.images import (
    bands,
    check_whole,
    checksums_agree,
    image_size,
    png_bytes,
    read_depth,
    read_rgb,
    read_samples,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    hnp.arrays(
        np.uint8,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=24).map(
            lambda s: (*s, 3)
        ),
    )
)
@pytest.mark.parametrize("writer", [images.fpng, None])
def test_png_gives_the_same_pixels_back(
    writer: Any, pixels: np.ndarray
) -> None:
    with mock.patch.object(images, "fpng", writer):
        content = png_bytes(pixels)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), pixels)


def test_alpha_is_laid_over_white(tmp_path: Path) -> None:
    rgba = np.zeros((1, 2, 4), dtype=np.uint8)
    rgba[0, 1] = 10, 20, 30, 255
    Image.fromarray(rgba).save(tmp_path / "a.png")
    assert read_rgb(tmp_path / "a.png").tolist() == [
        [[255, 255, 255], [10, 20, 30]]
    ]


def test_transparency_in_bands_is_that_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rgba = np.random.default_rng(5).integers(
        0, 256, (23, 17, 4), dtype=np.uint8
    )
    Image.fromarray(rgba).save(tmp_path / "a.png")
    monkeypatch.setattr(images, "bands", partial(bands, pixels=17 * 5))
    white = Image.new("RGBA", (17, 23), (255, 255, 255, 255))
    whole = Image.alpha_composite(white, Image.fromarray(rgba)).convert("RGB")
    assert np.array_equal(read_rgb(tmp_path / "a.png"), np.asarray(whole))


@pytest.mark.parametrize(
    ("mode", "most"),
    [("L", 1200), ("RGB", 1200), ("RGBA", 900), ("I;16", 1200)],
)
def test_bound_counts_bytes_of_all_channels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, most: int
) -> None:
    monkeypatch.setenv("VISUALJUDGE_MAX_PIXELS", "1200")
    Image.new(mode, (30, most // 30)).save(tmp_path / "a.png")
    assert read_rgb(tmp_path / "a.png").shape == (most // 30, 30, 3)
    Image.new(mode, (30, most // 30 + 1)).save(tmp_path / "a.png")
    for read in (read_rgb, read_samples, image_size):
        with pytest.raises(
            DataError, match="VISUALJUDGE_MAX_PIXELS sets the bound"
        ):
            read(tmp_path / "a.png")


def test_bound_counts_sixteen_bits_of_a_colour_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((40, 30, 4), dtype=np.uint16))
    monkeypatch.setenv("VISUALJUDGE_MAX_PIXELS", "3200")
    assert read_rgb(tmp_path / "a.png").shape == (40, 30, 3)
    monkeypatch.setenv("VISUALJUDGE_MAX_PIXELS", "3199")
    with pytest.raises(DataError, match="3 bytes for each of 3199 pixels"):
        read_rgb(tmp_path / "a.png")


@pytest.mark.parametrize("name", ["d.npy", "d.png", "d.tif"])
def test_depth_is_bounded_as_the_float64_it_becomes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    values = np.zeros((40, 30), dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / "d.png")
    Image.new("RGB", (30, 40)).save(tmp_path / "d.tif")
    np.save(tmp_path / "d.npy", values)
    monkeypatch.setenv("VISUALJUDGE_MAX_PIXELS", "3200")
    assert read_depth(tmp_path / name).shape == (40, 30)
    monkeypatch.setenv("VISUALJUDGE_MAX_PIXELS", "3199")
    monkeypatch.setattr(
        Image.Image, "load", lambda _image: pytest.fail("decoded")
    )
    monkeypatch.setattr(
        Image.Image, "tobytes", lambda *_image: pytest.fail("decoded")
    )
    with pytest.raises(DataError, match="a depth map must decode to at most"):
        read_depth(tmp_path / name)


def test_sixteen_bits_are_scaled_to_eight(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 257 * 100, 65535]], dtype=np.uint16)).save(
        tmp_path / "a.png"
    )
    assert read_rgb(tmp_path / "a.png")[0, :, 0].tolist() == [0, 100, 255]
    levels = [0, 128, 129, 257 * 100 - 128, 257 * 100 + 129, 65535]
    as_array = images.pixels_of(np.array([levels], dtype=np.uint16))
    assert as_array[0, :, 2].tolist() == [0, 0, 1, 100, 101, 255]


@pytest.mark.parametrize("turn", range(1, 9))
def test_exif_orientation_turns_image_and_size(
    tmp_path: Path, turn: int
) -> None:
    exif = Image.Exif()
    exif[0x0112] = turn
    pixels = np.arange(4 * 8 * 3, dtype=np.uint8).reshape(4, 8, 3)
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    expected = {
        1: pixels,
        2: pixels[:, ::-1],
        3: pixels[::-1, ::-1],
        4: pixels[::-1],
        5: pixels.transpose(1, 0, 2),
        6: pixels[::-1].transpose(1, 0, 2),
        7: pixels[::-1, ::-1].transpose(1, 0, 2),
        8: pixels[:, ::-1].transpose(1, 0, 2),
    }[turn]
    assert np.array_equal(read_rgb(tmp_path / "a.png"), expected)
    assert image_size(tmp_path / "a.png") == expected.shape[:2]


def test_size_of_a_plain_png_is_read_without_decoding_it(
    tmp_path: Path,
) -> None:
    content = png_bytes(np.zeros((30, 40, 3), dtype=np.uint8))
    (tmp_path / "a.png").write_bytes(content)
    assert image_size(tmp_path / "a.png") == (30, 40)
    start = content.index(b"IDAT") + 4
    (tmp_path / "b.png").write_bytes(
        content[:start] + bytes(len(content) - start - 12) + content[-12:]
    )
    assert image_size(tmp_path / "b.png") == (30, 40)


@pytest.mark.parametrize(("name", "content", "reason"), [
    ("none.png", None, "no such file"),
    ("text.png", b"hello", "not an image"),
    ("cut.png", b"cut", "cannot be decoded"),
])  # fmt: skip
def test_unreadable_image_is_named(
    tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    if content == b"cut":
        pixels = np.random.default_rng(0).integers(
            0, 255, (50, 50, 3), dtype=np.uint8
        )
        content = png_bytes(pixels)[:2000]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=reason):
        read_rgb(tmp_path / name)


def test_pfm_rows_run_bottom_to_top(tmp_path: Path) -> None:
    rows = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype="<f4")
    (tmp_path / "d.pfm").write_bytes(b"Pf\n3 2\n-1.0\n" + rows.tobytes())
    assert read_depth(tmp_path / "d.pfm").tolist() == [[4, 5, 6], [1, 2, 3]]


@pytest.mark.parametrize("name", ["d.npy", "d.png"])
def test_depth_comes_as_it_is_stored(tmp_path: Path, name: str) -> None:
    values = np.array([[0, 1000, 65535]], dtype=np.uint16)
    if name.endswith("npy"):
        np.save(tmp_path / name, values)
    else:
        Image.fromarray(values).save(tmp_path / name)
    assert read_depth(tmp_path / name).tolist() == [[0.0, 1000.0, 65535.0]]


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(
        tmp_path / "d.npy",
        np.array([[{"a": 1}]], dtype=object),
        allow_pickle=True,
    )
    with pytest.raises(DataError, match="must contain real numbers"):
        read_depth(tmp_path / "d.npy")


def test_samples_of_another_size_are_refused_before_they_are_decoded(
    tmp_path: Path,
) -> None:
    whole = io.BytesIO()
    Image.new("L", (40, 30)).save(whole, "PNG")
    (tmp_path / "a.png").write_bytes(whole.getvalue()[:60])  # no pixels
    with pytest.raises(
        DataError,
        match=r"must match the image size 30×41 \(height×width\), got 30×40",
    ):
        read_samples(tmp_path / "a.png", (30, 41))


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp"])
def test_a_file_that_is_cut_short_is_found_damaged(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(
        np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    ).save(path)
    check_whole(path)
    for share in (0.5, 0.9):
        (tmp_path / f"cut.{suffix}").write_bytes(
            path.read_bytes()[: int(path.stat().st_size * share)]
        )
        with pytest.raises(DataError, match="cannot be decoded"):
            check_whole(tmp_path / f"cut.{suffix}")


@pytest.mark.parametrize("suffix", ["jpg", "png"])
def test_size_and_pixels_agree_on_the_orientation(
    tmp_path: Path, suffix: str
) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 40)).save(tmp_path / f"a.{suffix}", exif=exif)
    assert image_size(tmp_path / f"a.{suffix}") == (60, 40)
    assert read_rgb(tmp_path / f"a.{suffix}").shape == (60, 40, 3)


def test_checksums_of_a_png_agree_until_a_byte_is_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "image.png"
    Image.fromarray(np.arange(3072, dtype=np.uint8).reshape(32, 32, 3)).save(
        path
    )
    content = path.read_bytes()
    assert checksums_agree(path)
    for place in (60, len(content) // 2):
        path.write_bytes(
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        )
        with pytest.raises(DataError, match="cannot be decoded"):
            checksums_agree(path)
    path.write_bytes(content[:-12])
    with pytest.raises(DataError, match="cannot be decoded"):
        checksums_agree(path)
    other = tmp_path / "image.jpg"
    Image.new("RGB", (8, 8)).save(other)
    assert not checksums_agree(other)
