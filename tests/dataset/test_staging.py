"""A folder takes its name when it is whole; what a killed process left is put right by
the next."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from making import make_folder
from visualjudge.core.errors import RunError
from visualjudge.core.locks import locked
from visualjudge.dataset.write_dataset import staged


def write(target: Path, text: str) -> None:
    with staged(target) as stage:
        (stage / "a").write_text(text)


def test_an_older_folder_is_replaced_and_nothing_is_left(
    tmp_path: Path,
) -> None:
    for text in ("old", "new"):
        write(tmp_path / "out", text)
    assert (tmp_path / "out/a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_kill_between_the_renames_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / ".out.replaced").mkdir()
    (tmp_path / ".out.replaced/a").write_text("old")
    (tmp_path / ".out.partial").mkdir()
    with pytest.raises(ZeroDivisionError), staged(tmp_path / "out"):
        assert (tmp_path / "out/a").read_text() == "old"
        1 / 0  # noqa: B018
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_another_process_writes_is_left_alone(
    tmp_path: Path,
) -> None:
    at_work = tmp_path / ".out.partial"
    at_work.mkdir()
    lock = locked(at_work)
    with (
        mock.patch("time.sleep", side_effect=AssertionError("must not wait")),
        pytest.raises(RunError, match="being written by another process"),
    ):
        write(tmp_path / "out", "mine")
    assert at_work.exists() and not (tmp_path / "out").exists()
    lock.release()
    write(tmp_path / "out", "again")
    assert not at_work.exists()


def test_a_full_disk_names_the_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(
            RunError, match=r"out: cannot be written: No space left on device$"
        ),
        staged(tmp_path / "out"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert [*tmp_path.iterdir()] == []


def test_a_full_disk_names_the_image_that_has_no_room(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", tasks=["object_detection"])
    write = (
        "import resource, sys, visualjudge\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "visualjudge.build(sys.argv[1], sys.argv[2], workers=1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", write, tmp_path / "data", tmp_path / "out"],
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert last.endswith(".png: cannot be written: File too large"), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
