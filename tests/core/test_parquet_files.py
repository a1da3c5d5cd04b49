"""Parquet in parts: what is written is the same however it comes, and what cannot be read is one
line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from visualjudge.core.errors import DataError
from visualjudge.core.parquet_files import (
    parquet_height,
    parquet_parts,
    parquet_rows,
    parquet_schema,
    write_parquet,
)

OPTION = pl.Struct({"bytes": pl.Binary(), "path": pl.String()})
TABLE = pl.DataFrame(
    {
        "id": [f"q{k}" for k in range(100)],
        "scores": [[k / 3] * (k % 4) if k % 7 else None for k in range(100)],
        "images": [[{"bytes": bytes([k]), "path": None}] for k in range(100)],
    },
    schema={"id": pl.String(), "scores": pl.List(pl.Float64()), "images": pl.List(OPTION)},
)


def _written(path: Path, cut: int, **more: object) -> bytes:
    write_parquet(path, TABLE.iter_slices(cut), TABLE.schema, rows_a_group=16, **more)  # type: ignore[arg-type]
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    path = tmp_path_factory.mktemp("columnar") / "whole[1]*.parquet"
    return path, _written(path, 100)


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(1, 100), rows=st.integers(1, 120), start=st.integers(0, 99))
def test_cuts_change_neither_the_bytes_nor_what_is_read(
    whole: tuple[Path, bytes], cut: int, rows: int, start: int
) -> None:
    path, content = whole
    assert _written(path.with_name("cut.parquet"), cut) == content
    parts = list(parquet_parts(path, rows))
    assert pl.concat(parts).equals(TABLE)
    assert max(part.height for part in parts) <= rows
    assert pl.concat(parquet_parts(path, rows, ["scores"])).equals(TABLE.select("scores"))
    assert parquet_rows(path, start, rows).equals(TABLE.slice(start, rows))


def test_row_groups_are_as_asked_and_pyarrow_finds_types_with_32_bits(
    whole: tuple[Path, bytes],
) -> None:
    path, _ = whole
    assert (parquet_height(path), parquet_schema(path)) == (100, TABLE.schema)
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)] == [16] * 6 + [
        4
    ]
    option = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    names = pa.schema(
        [("id", pa.string()), ("scores", pa.list_(pa.float64())), ("images", pa.list_(option))]
    )
    assert file.schema_arrow == names
    assert file.read().to_pylist() == TABLE.to_dicts()


def test_a_footer_has_the_texts_that_were_given(tmp_path: Path) -> None:
    _written(tmp_path / "a.parquet", 10, metadata={"huggingface": "{}"})
    assert pq.read_schema(tmp_path / "a.parquet").metadata[b"huggingface"] == b"{}"


def test_a_failure_of_the_rows_comes_through(tmp_path: Path) -> None:
    def frames() -> Iterator[pl.DataFrame]:
        yield TABLE
        raise DataError("an image is missing")

    with pytest.raises(DataError, match=r"^an image is missing$"):
        write_parquet(tmp_path / "a.parquet", frames(), TABLE.schema, rows_a_group=16)


@pytest.mark.parametrize("content", [None, b"", b"PAR1", b"PAR1" + bytes(40) + b"PAR1", b"{}" * 99])
def test_what_is_no_parquet_is_said_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.parquet"
    if content is not None:
        path.write_bytes(content)
    for read in (
        parquet_height,
        parquet_schema,
        lambda p: list(parquet_parts(p, 5)),
        lambda p: parquet_rows(p, 0, 5),
    ):
        with pytest.raises(DataError, match=r"a\.parquet: must be a Parquet file: \S") as caught:
            read(path)
        assert "\n" not in str(caught.value)


def test_a_damaged_row_group_is_said_in_one_line(whole: tuple[Path, bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(whole[1][:60] + bytes(80) + whole[1][140:])
    with pytest.raises(DataError, match="must be a Parquet file"):
        list(parquet_parts(path, 10))


def test_nothing_comes_back_after_a_frame_that_could_not_be_made(tmp_path: Path) -> None:
    def frames() -> Iterator[pl.DataFrame]:
        raise DataError("no image")
        yield TABLE

    for k in range(200):  # the race was lost in one of fifty
        path = tmp_path / f"{k}.parquet"
        with pytest.raises(DataError, match="no image"):
            write_parquet(path, frames(), TABLE.schema, rows_a_group=16)
        path.unlink()
    assert not list(tmp_path.iterdir())
