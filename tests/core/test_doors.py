"""Each bound at the door is met, without more memory or time than it allows."""

from __future__ import annotations

import asyncio
import io
import os
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from clients.loopback import serving
from folding import each
from visualjudge.analysis.stored_tables import read_verdicts
from visualjudge.apps.mmbench.table import read_table as read_mmbench
from visualjudge.clients.http import Wire
from visualjudge.clients.masked_secrets import Redactor
from visualjudge.core import jsons, untrusted
from visualjudge.core.errors import (
    DataError,
    TransportError,
    VisualJudgeError,
    one_of,
)
from visualjudge.core.parquet import check_table, scan, tsv_writer
from visualjudge.core.untrusted import BOUNDS, Bound, read_file
from visualjudge.core.workbooks import workbook_rows
from visualjudge.core.yamls import loads, read_yaml
from visualjudge.data.folder import read_records
from visualjudge.dataset.folder import read_meta
from visualjudge.dataset.json_form import read_questions
from visualjudge.dataset.question_filter import read_ids
from visualjudge.formats.tables import class_table, read_table
from visualjudge.formats.voc import _root
from visualjudge.judges.local.judge import load as load_model
from visualjudge.replies.reply_to_value import read_reply
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.journal import read_lines
from visualjudge.vision.raster.arrays import read_npy, read_npz
from visualjudge.vision.raster.images import read_depth, read_rgb


def _sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def _zipped(path: Path, size: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(size))
    return path


def _answer(size: int, values: int = 0) -> None:
    """Ask a server whose body has ``size`` bytes."""
    body = b"[" * values + b" " * (size - values)

    async def ask() -> None:
        async with serving((200, body, {})) as server:
            wire = Wire("server", Redactor(), 9)
            try:
                await wire.send("GET", server.url, {})
            finally:
                await wire.aclose()

    asyncio.run(ask())


def _many_cells(path: Path) -> Path:
    rows = BOUNDS["parquet"].items + 1
    pl.select(a=pl.repeat(None, rows, dtype=pl.Null)).write_parquet(path)
    return path


def _many_pixels(path: Path) -> Path:
    Image.new("1", (12_000, BOUNDS["image"].items // 12_000 + 1)).save(path)
    return path


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _reply(text: str) -> None:
    if (reading := read_reply(text, "pairwise")).value != "A":
        raise DataError(str(reading.cause))


def _unpack(path: Path, kind: untrusted.Kind) -> None:
    with untrusted.archive(path, kind):
        pass


Meets = Callable[[Path, Bound], object]
MEETS: dict[tuple[str, str], Meets] = {
    ("json", "size"): lambda p, b: read_questions(_sparse(p, b.size + 1)),
    ("json", "line"): lambda p, b: jsons.read(_sparse(p, b.line + 1), "json"),
    ("json", "depth"): lambda p, b: jsons.read(
        _written(p, "[" * (b.depth + 1) + "1" + "]" * (b.depth + 1)), "json"
    ),
    ("json", "items"): lambda p, b: jsons.read(
        _written(p, "[" + "[]," * b.items + "1]"), "json"
    ),
    ("record", "line"): lambda p, b: [*read_lines(_sparse(p, b.line + 1))],
    ("description", "size"): lambda p, b: read_meta(
        _sparse(p.with_name("dataset.json"), b.size + 1).parent
    ),
    ("manifest", "size"): lambda p, b: RunFolder(
        _sparse(p.with_name("run.json"), b.size + 1).parent
    ).manifest(),
    ("yaml", "size"): lambda p, b: read_yaml(_sparse(p, b.size + 1)),
    ("yaml", "depth"): lambda p, b: read_yaml(
        _written(p, "[" * (b.depth + 1) + "]" * (b.depth + 1))
    ),
    ("yaml", "items"): lambda p, b: read_yaml(
        _written(p, "- a\n" * (b.items + 1))
    ),
    ("xml", "size"): lambda p, b: _root(_sparse(p, b.size + 1)),
    ("table", "size"): lambda p, b: read_table(
        _sparse(p.with_suffix(".csv"), b.size + 1)
    ),
    ("table", "line"): lambda p, b: read_table(
        _written(p.with_suffix(".csv"), "a\n" + "x" * (b.line + 1))
    ),
    ("table", "items"): lambda p, b: read_table(
        _written(p.with_suffix(".csv"), "a\n" + "1\n" * (b.items + 1))
    ),
    ("workbook", "size"): lambda p, b: workbook_rows(_sparse(p, b.size + 1)),
    ("workbook", "unpacked"): lambda p, b: _unpack(
        _zipped(p, b.unpacked + 1), "workbook"
    ),
    ("zip", "size"): lambda p, b: _unpack(_sparse(p, b.size + 1), "zip"),
    ("zip", "unpacked"): lambda p, b: _unpack(
        _zipped(p, b.unpacked + 1), "zip"
    ),
    ("parquet", "size"): lambda p, b: scan(_sparse(p, b.size + 1)),
    ("parquet", "items"): lambda p, b: check_table(
        _many_cells(p.with_suffix(".parquet"))
    ),
    ("image", "size"): lambda p, b: read_rgb(_sparse(p, b.size + 1)),
    ("image", "items"): lambda p, b: read_rgb(
        _many_pixels(p.with_suffix(".png"))
    ),
    ("array", "size"): lambda p, b: read_npy(_sparse(p, b.size + 1)),
    ("array", "unpacked"): lambda p, b: read_npz(_zipped(p, b.unpacked + 1)),
    ("model", "size"): lambda p, b: load_model(_sparse(p, b.size + 1)),
    ("reply", "size"): lambda p, b: _reply("A" + " " * b.size),
    ("body", "size"): lambda p, b: _answer(b.size + 1),
    ("body", "items"): lambda p, b: _answer(b.items + 1, b.items + 1),
}
"""For each bound of the table, a reader with an input just beyond it."""
CELLS = [
    (kind, field.name)
    for kind, bound in BOUNDS.items()
    for field in fields(bound)
    if getattr(bound, field.name)
]
SMALLER = {
    **{(kind, "unpacked"): 8 for kind in ("workbook", "zip", "array")},
    ("table", "items"): 999,
}
"""Bounds that take too long to be met as they are."""


@pytest.mark.parametrize(("kind", "cell"), CELLS)
def test_each_bound_of_the_table_is_met(
    kind: untrusted.Kind,
    cell: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if smaller := SMALLER.get((kind, cell)):
        monkeypatch.setitem(
            BOUNDS, kind, replace(BOUNDS[kind], **{cell: smaller})
        )
    with pytest.raises(
        (DataError, TransportError),
        match=r"must (have|be|hold) at most|larger than|too long|recursion limit",
    ):
        MEETS[kind, cell](tmp_path / "file", BOUNDS[kind])


def test_every_input_beyond_a_bound_belongs_to_a_bound() -> None:
    assert [*MEETS] == CELLS


def test_an_archive_of_endless_members_is_not_listed(tmp_path: Path) -> None:
    size = 17 << 20
    end = struct.pack("<4s4HIIH", b"PK\5\6", 0, 0, 9, 9, size, 0, 0)
    (tmp_path / "a.npz").write_bytes(bytes(size) + end)
    with pytest.raises(DataError, match="list its files in at most 16 MiB"):
        read_npz(tmp_path / "a.npz")


def test_a_damaged_member_of_any_compression_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    for kind in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", kind) as file:
            file.writestr("depth.npy", bytes(range(256)) * 40)
        content = bytearray(path.read_bytes())
        content[60:90] = bytes(30)
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be unpacked"):
            read_npz(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="must be a regular file"):
        read_file(tmp_path / "pipe", "json")


def test_no_line_of_a_run_fills_the_memory(tmp_path: Path) -> None:
    """Each object takes far more memory than its bytes."""
    many = BOUNDS["json"].items + 1
    (tmp_path / "verdicts.jsonl").write_bytes(
        b'{"x":[' + b"[]," * many + b'1]}\n{"x":1}\n'
    )
    records = [line.record for line in read_lines(tmp_path / "verdicts.jsonl")]
    assert records == [None, {"x": 1}]


def test_a_file_of_other_lines_is_no_run_of_verdicts(tmp_path: Path) -> None:
    (tmp_path / "verdicts.jsonl").write_bytes(b"1,2\n" * 100_001)
    with pytest.raises(DataError, match="over 100,000 lines that are none"):
        read_verdicts(tmp_path)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv"])
def test_no_reader_of_lines_takes_a_longer_one(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"table{suffix}"
    first = b"{}\n" if suffix == ".jsonl" else b"index\tquestion\n"
    path.write_bytes(first + b"x" * (BOUNDS["record"].line + 1) + b"\n")
    readers = [read_table, lambda place: [*jsons.lines(place)]]
    readers += [read_mmbench] if suffix == ".tsv" else []
    readers += [read_records] if suffix == ".jsonl" else []
    for read in readers:
        with pytest.raises(DataError, match="line 2: must have at most 32 MiB"):
            read(path)


@pytest.mark.parametrize("name", ["ids.txt", "t.csv", "t.jsonl", "c.names"])
def test_no_file_has_lines_without_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gigabyte of line ends would take minutes, and each line has its own bytes."""
    few = replace(BOUNDS["json"], items=2_000)
    monkeypatch.setitem(BOUNDS, "json", few)
    path = tmp_path / name
    first = b"{}\n" if name == "t.jsonl" else b"a\n"
    path.write_bytes(first + b"\n" * few.items)
    readers = {"ids.txt": read_ids, "c.names": class_table}
    with pytest.raises(VisualJudgeError, match="and follow 2,000 lines"):
        readers.get(name, read_table)(path)


def test_what_is_like_a_long_name_is_looked_for_in_little_memory() -> None:
    name = "a" * 1_000_000
    tracemalloc.start()
    assert "one of ab, b" in one_of(name, ["ab", "b"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@each(
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
        ("1234567890123456789", "1234567890123456789"),  # may be too large
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


@pytest.mark.parametrize(
    "name", ["5346e45847966450", "1234567890123e12", "53e46845847966450123"]
)
def test_names_of_questions_are_no_numbers(name: str) -> None:
    assert loads(f"a: {name}\nb: 1e-3") == {"a": name, "b": 0.001}


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


def test_a_carriage_return_in_a_cell_begins_no_row() -> None:
    file = io.StringIO(newline="")
    rows = [["a\rb", "c\nd", 'e"f'], ["x", "", "z"]]
    tsv_writer(file).writerows(rows)
    assert file.getvalue() == '"a\rb"\t"c\nd"\t"e""f"\nx\t\tz\n'


@pytest.mark.parametrize(
    "number", ["1e999", "-1E+400", "9" * 400 + ".0", "NaN"]
)
def test_numbers_beyond_a_float_are_no_json(
    tmp_path: Path, number: str
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(f'{{"a": {number}, "b": "1e999"}}')
    with pytest.raises(DataError, match=r"plan\.json.*is not JSON"):
        jsons.read(file, "json")
    file.write_text('{"a": 1e300, "b": "1e999"}')
    assert jsons.read(file, "json")["a"] == 1e300
