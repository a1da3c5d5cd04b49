"""Each bound at the door is met, without more memory or time than it allows."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from visualjudge.apps.mmbench.table import read_table as read_mmbench
from visualjudge.core import jsons, untrusted
from visualjudge.core.errors import DataError
from visualjudge.core.tables import csv_table
from visualjudge.core.untrusted import BOUNDS, check_file, open_file, read_file
from visualjudge.core.yamls import loads, read_yaml
from visualjudge.data.record_checks import read_records
from visualjudge.formats.tables import read_table
from visualjudge.vision.raster.images import read_depth

WHOLE = [kind for kind in BOUNDS if kind not in untrusted.ENDLESS]


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_larger_than_its_kind_may_be_is_not_opened(
    kind: untrusted.Kind, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(BOUNDS[kind].size + 1)
    for read in (check_file, open_file, read_file):
        with pytest.raises(
            DataError, match=r"file: must have at most \d+ MiB, got"
        ):
            read(path, kind)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="must be a regular file"):
        open_file(tmp_path / "pipe", "json")


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv"])
def test_no_reader_of_lines_takes_a_longer_one(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"table{suffix}"
    first = b"{}\n" if suffix == ".jsonl" else b"index\tquestion\n"
    path.write_bytes(first + b"x" * (BOUNDS["record"].size + 1) + b"\n")
    readers = [read_table, lambda place: [*jsons.lines(place)]]
    readers += [csv_table] if suffix == ".csv" else []
    readers += [read_mmbench] if suffix == ".tsv" else []
    readers += [read_records] if suffix == ".jsonl" else []
    for read in readers:
        with pytest.raises(DataError, match="line 2: must have at most 32 MiB"):
            read(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("59:59:59.5", "59:59:59.5"),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("007", "007"),
        ("yes", "yes"),
        ("2026-01-01", "2026-01-01"),
        ("-12", -12),
        ("1.5e-3", 0.0015),
        (".5", 0.5),
        ("true", True),
        ("~", None),
        ("[1, a, null, 2.0]", [1, "a", None, 2.0]),
        ("a:", {"a": None}),
        ("a: &x {b: 1}\nc: {<<: *x}", {"a": {"b": 1}, "c": {"b": 1}}),
    ],
)
def test_yaml_has_the_scalars_of_json(text: str, value: object) -> None:
    assert loads(text) == value
    assert type(loads(text)) is type(value)


@pytest.mark.parametrize(
    "tag",
    ["!!int 59:59", "!!float 1:2.5", "!!timestamp 2026-01-01", "!!binary aGk="],
)
def test_a_tag_brings_no_other_scalars_back(tag: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"a: {tag}\n")
    with pytest.raises(DataError, match=r"a\.yaml: must be YAML"):
        read_yaml(tmp_path / "a.yaml")


def test_numbers_of_base_60_take_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: " + "59:" * 200_000 + "59\n")
    began = time.process_time()
    assert isinstance(read_yaml(tmp_path / "a.yaml")["a"], str)
    assert time.process_time() - began < 2


def test_an_array_is_refused_by_its_header(tmp_path: Path) -> None:
    path = tmp_path / "depth.npy"
    np.lib.format.open_memmap(path, "w+", np.float64, (22_000, 22_000)).flush()
    with pytest.raises(DataError, match="must have at most 120000000 pixels"):
        read_depth(path)
