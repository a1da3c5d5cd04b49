"""Images in tar shards: found where the index says, read like files, and never outside the
dataset.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from visualjudge.clients.image_parts import ImageStore
from visualjudge.core import image_storage
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import (
    INDEX,
    Part,
    ShardWriter,
    image_at,
    media_form,
    packed_images,
    shard_files,
)
from visualjudge.vision.raster.images import image_size, png_bytes, read_rgb

NAMES = st.text(
    st.characters(blacklist_categories=("C", "Z"), blacklist_characters="/\\:"),
    min_size=1,
    max_size=150,
)


def _packed(root: Path, images: dict[str, bytes]) -> Path:
    root.mkdir(exist_ok=True)
    writer = ShardWriter(root)
    for name, content in images.items():
        writer.add(f"media/{name}", content)
    writer.close()
    return root


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    images=st.dictionaries(
        NAMES.filter(lambda n: n not in (".", "..")), st.binary(max_size=3000), max_size=12
    )
)
def test_every_image_is_where_the_index_says(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    images: dict[str, bytes],
) -> None:
    monkeypatch.setattr(image_storage, "SHARD_BYTES", 4000)
    root = _packed(tmp_path_factory.mktemp("media") / "dataset", images)
    assert media_form(root) == "shards"
    for name, content in images.items():
        place = image_at(root, f"media/{name}")
        assert isinstance(place, Part)
        assert (place.read_bytes(), place.stat().st_size, place.name) == (
            content,
            len(content),
            name,
        )
        with place.open() as file:
            assert file.read() == content
    assert [(part.relative, part.read_bytes()) for part in packed_images(root)] == [
        (f"media/{name}", content) for name, content in images.items()
    ]
    assert sorted(shard_files(root)) == sorted(
        p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()
    )
    for shard in root.glob("media/*.tar"):
        with tarfile.open(shard) as tar:
            tar.extractall(root / "unpacked", filter="data")
    assert all(
        (root / "unpacked/media" / name).read_bytes() == content for name, content in images.items()
    )


def test_shards_are_of_a_bounded_size_and_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_storage, "SHARD_BYTES", 4000)
    images = {f"{k}.png": bytes([k]) * 700 for k in range(9)} | {"large.png": bytes(9000)}
    one, two = (_packed(tmp_path / name, images) for name in ("one", "two"))
    sizes = [(one / name).stat().st_size for name in shard_files(one)[1:]]
    assert (len(sizes), max(sizes[:-1])) == (6, 2 * (512 + 1024) + 1024)
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in shard_files(one))


def test_readers_of_images_read_parts(tmp_path: Path) -> None:
    pixels = np.arange(20 * 30 * 3, dtype=np.uint8).reshape(20, 30, 3)
    root = _packed(tmp_path / "dataset", {"a.png": png_bytes(pixels), "b.png": b"no image"})
    place = image_at(root, "media/a.png")
    assert np.array_equal(read_rgb(place), pixels)
    assert image_size(place) == (20, 30)
    store = ImageStore(recheck=False)
    assert store.get("media/a.png", root=root).data == png_bytes(pixels)
    assert store.get("media/a.png", root=root) is store.get("media/a.png", root=root)
    with pytest.raises(DataError, match=r"dataset/media/b\.png: not an image"):
        read_rgb(image_at(root, "media/b.png"))


@pytest.mark.parametrize(
    "name", ["../a.png", "/etc/passwd", "media/../../a", "media/none.png", 7, ""]
)
def test_a_name_leads_nowhere_else(tmp_path: Path, name: object) -> None:
    root = _packed(tmp_path / "dataset", {"a.png": b"x"})
    with pytest.raises(DataError, match=r"leads out|there is no file|must be a relative path"):
        image_at(root, name)


def test_a_file_beside_the_shards_is_found_too(tmp_path: Path) -> None:
    root = _packed(tmp_path / "dataset", {"a.png": b"x"})
    (root / "media/b.png").write_bytes(b"y")
    assert image_at(root, "media/b.png") == root / "media/b.png"


def _index(root: Path, change: object) -> None:
    rows = np.load(root / INDEX)
    np.save(root / INDEX, change(rows))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda rows: rows[:3], "four rows"),
        (lambda rows: rows.astype(float), "four rows"),
        (lambda rows: np.zeros(5, dtype=np.uint64), "four rows"),
        (lambda rows: rows + np.array([[0], [0], [10**6], [0]], dtype=np.uint64), "ends before"),
        (lambda rows: rows + np.array([[0], [0], [0], [7 << 32]], dtype=np.uint64), "more shards"),
    ],
)
def test_an_index_that_lies_is_refused(tmp_path: Path, change: object, reason: str) -> None:
    root = _packed(tmp_path / "dataset", {"a.png": b"x", "b.png": b"y"})
    _index(root, change)
    with pytest.raises(DataError, match=reason):
        image_at(root, "media/a.png").read_bytes()
    with pytest.raises(DataError):
        list(packed_images(root))


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"\x93NUMPY\1\0\xff\xff" + b"x" * 99])
def test_an_index_that_is_none_is_one_line(tmp_path: Path, content: bytes) -> None:
    root = _packed(tmp_path / "dataset", {"a.png": b"x"})
    (root / INDEX).write_bytes(content)
    with pytest.raises(DataError, match="must be the index of a dataset's images"):
        image_at(root, "media/a.png")


@pytest.mark.parametrize("name", ["media/c.png", "dataset.json", "../outside", "/etc/x"])
def test_a_member_that_the_index_does_not_state_is_refused(tmp_path: Path, name: str) -> None:
    root = _packed(tmp_path / "dataset", {"a.png": b"x"})
    with tarfile.open(root / "media/shard-00000.tar", "a") as tar:
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(DataError, match=r"is not at its position|leads out"):
        list(packed_images(root))


def test_a_linked_shard_is_refused(tmp_path: Path) -> None:
    root = _packed(tmp_path / "dataset", {"a.png": b"x"})
    shard = root / "media/shard-00000.tar"
    shard.rename(tmp_path / "elsewhere")
    shard.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="through a link"):
        image_at(root, "media/a.png")
