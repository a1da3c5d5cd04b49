"""Paths that a dataset states stay inside it, whatever they look like."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from visualjudge.confine import confined_path, confined_target
from visualjudge.errors import DataError


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
def test_links_out_loops_devices_and_pipes_are_refused(root: Path, tmp_path: Path, kind: str) -> None:
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
