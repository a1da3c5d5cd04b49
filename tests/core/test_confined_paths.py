"""Paths that a dataset states stay inside it, whatever they look like."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import confined_path, confined_target, importing


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "dataset"
    (folder / "media").mkdir(parents=True)
    (folder / "media/a.png").write_bytes(b"a")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "dataset-2").mkdir()
    (tmp_path / "dataset-2/b.png").write_bytes(b"b")
    return folder


def test_a_file_inside_is_found_also_over_a_link_that_stays_inside(root: Path) -> None:
    (root / "media/link.png").symlink_to("a.png")
    assert confined_path(root, "media/a.png") == root / "media/a.png"
    assert confined_path(root, "media/link.png").read_bytes() == b"a"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.png",
        "media/../../secret.png",
        "media/../media/a.png",
        "/etc/passwd",
        "C:\\Windows\\win.ini",
        "C:a.png",
        "\\\\host\\share\\a.png",
        "//host/share/a.png",
        "..\\secret.png",
        "../dataset-2/b.png",
        "a\0.png",
        "media/a.png\n",
        "",
        "x" * 5000,
        "\ud800.png",
        "http://127.0.0.1/a.png",
        "file:///etc/passwd",
        "media",
        "nowhere.png",
        None,
        5,
        ["media/a.png"],
    ],
)
def test_any_other_name_is_refused(root: Path, name: object) -> None:
    with pytest.raises(DataError):
        confined_path(root, name)


@pytest.mark.parametrize("kind", ["file", "folder", "loop", "device", "fifo"])
def test_links_out_loops_devices_and_pipes_are_refused(
    root: Path, tmp_path: Path, kind: str
) -> None:
    name = "media/x.png"
    if kind == "file":
        (root / name).symlink_to(tmp_path / "secret.png")
    elif kind == "folder":
        (root / "out").symlink_to(tmp_path)
        name = "out/secret.png"
    elif kind == "loop":
        (root / name).symlink_to("x.png")
    elif kind == "device":
        (root / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(root / name)
    with pytest.raises(DataError):
        confined_path(root, name)


def test_nothing_is_written_over_a_link(root: Path, tmp_path: Path) -> None:
    (root / "out").symlink_to(tmp_path)
    (root / "media/target.png").symlink_to(tmp_path / "secret.png")
    for name in ("out/new.png", "media/target.png", "../new.png"):
        with pytest.raises(DataError):
            confined_target(root, name)
    assert confined_target(root, "media/new.png") == root / "media/new.png"


def test_the_blobs_of_a_hub_snapshot_are_at_home(tmp_path: Path) -> None:
    repo = tmp_path / "datasets--me--data"
    snapshot = repo / "snapshots/abc123"
    (repo / "blobs").mkdir(parents=True)
    (snapshot / "images").mkdir(parents=True)
    (repo / "blobs/0f3a").write_bytes(b"x")
    (tmp_path / "secret.png").write_bytes(b"x")
    (snapshot / "images/a.png").symlink_to("../../../blobs/0f3a")
    (snapshot / "images/b.png").symlink_to(tmp_path / "secret.png")
    (snapshot / "c.png").symlink_to("../../blobs/../../secret.png")
    assert confined_path(snapshot, "images/a.png").read_bytes() == b"x"
    assert confined_path(snapshot / "images", "a.png").read_bytes() == b"x"
    for name in ("images/b.png", "c.png"):
        with pytest.raises(DataError, match="through a link"):
            confined_path(snapshot, name)


def test_an_import_that_is_told_so_reads_files_anywhere_but_no_devices(
    root: Path, tmp_path: Path
) -> None:
    (root / "media/x.png").symlink_to(tmp_path / "secret.png")
    names = (str(tmp_path / "secret.png"), "../secret.png", "media/x.png")
    with importing(outside=True):
        assert [confined_path(root, name).read_bytes() for name in names] == [b"secret"] * 3
        for name in ("/dev/zero", "a\0b", "", "/nowhere"):
            with pytest.raises(DataError):
                confined_path(root, name)
    with importing(outside=False):
        for name in names:
            with pytest.raises(DataError, match="--allow-outside permits it"):
                confined_path(root, name)
    with pytest.raises(DataError) as caught:
        confined_path(root, names[0])
    assert "--allow-outside" not in str(caught.value)
