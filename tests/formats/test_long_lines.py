"""A line of a table is no longer than a record may be; the rest of it is never read."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from commanding import command
from frontdoor_example import write_data
from visualjudge.analysis.rating_table import read_ratings
from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import BOUNDS, MIB, Bound
from visualjudge.formats.tables import read_table

CORNERS = {"xmin": 5, "ymin": 5, "xmax": 25, "ymax": 25}


@pytest.mark.parametrize("read", [read_table, read_ratings])
def test_a_huge_file_is_refused_before_it_is_read(
    tmp_path: Path, read: object
) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.write(b'{"item": "a"}\n')
        file.truncate(4 << 30)  # a line of 4 GiB of NUL, of no room on the disk
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="at most 1024 MiB"):
        read(path)  # type: ignore[operator]
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 << 10
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_read_in_each_encoding(
    tmp_path: Path, encoding: str, end: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(end.join(['{"a": "ä"}', "", '{"a": 2}']).encode(encoding))
    assert read_table(path) == [{"a": "ä"}, {"a": 2}]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_line_is_no_longer_than_a_record(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BOUNDS, "table", Bound(MIB, line=20, items=9))
    (tmp_path / name).write_text('{"a": 1}\n' + " " * 20 + "\n")
    with pytest.raises(DataError, match="line 2: must have at most"):
        read_table(tmp_path / name)


def test_a_cell_may_hold_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for end in ("\n", "\r\n", "\r"):
        path.write_bytes(
            end.join(['a,"b"', '"x\ny","1\r\n2"', ""]).encode("utf-8-sig")
        )
        assert read_table(path) == [{"a": "x\ny", "b": "1\r\n2"}]


def test_a_byte_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": "\xff"}\n')
    with pytest.raises(
        DataError, match=r"got an invalid byte at 16; save it as UTF-8$"
    ):
        read_table(path)


def test_a_voc_file_that_is_too_large_leaves_out_its_image_alone(
    tmp_path: Path,
) -> None:
    write_data(tmp_path / "data", count=3)
    (tmp_path / "voc").mkdir()
    corners = "".join(f"<{side}>{v}</{side}>" for side, v in CORNERS.items())
    for k in range(3):
        (tmp_path / f"voc/photo{k}.xml").write_text(
            f"<annotation><filename>photo{k}.png</filename><object><name>dog</name>"
            f"<bndbox>{corners}</bndbox></object></annotation>"
        )
    os.truncate(tmp_path / "voc/photo1.xml", BOUNDS["xml"].size + 1)
    gt = tmp_path / "voc"
    images = tmp_path / "data/images"
    out = tmp_path / "out"
    files = ("--gt", gt, "--pred", gt, "--images", images)
    done = command("import", "voc", *files, "--source", "m", "--out", out)
    assert done.returncode == 1
    assert (
        "photo1.xml: annotation: xml: must have at most 16 MiB" in done.stderr
    )
    [notes] = (out / "annotations").glob("*.json")
    kept = {note["image_id"] for note in json.loads(notes.read_text())}
    assert kept == {"photo0", "photo2"}
