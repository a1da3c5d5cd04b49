"""Arrow streams and files, read a record batch at a time, hold what PyArrow reads in them."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from visualjudge.core.arrow import arrow_metadata, arrow_parts, table_metadata, table_parts
from visualjudge.core.errors import DataError

ROW = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        (
            "objects",
            pa.list_(pa.struct([("bbox", pa.list_(pa.float32(), 4)), ("category", pa.int64())])),
        ),
        ("label", pa.dictionary(pa.int32(), pa.string())),
        ("score", pa.float64()),
    ],
    metadata={"huggingface": '{"info": {}}', "ü": "é"},
)


def row(number: int) -> dict[str, Any]:
    objects = [{"bbox": [0.0, 1.0, 2.0, number], "category": k} for k in range(number % 3)]
    image = {"bytes": bytes([number % 256] * 9), "path": None} if number % 4 else None
    return {
        "image": image,
        "objects": objects,
        "label": "ab"[number % 2],
        "score": None if number % 5 else 0.5,
    }


ROWS = [row(number) for number in range(250)]


def written(path: Path, form: str, rows: list[dict[str, Any]] = ROWS, **options: Any) -> Path:
    table = pa.Table.from_pylist(rows, schema=ROW)
    opened = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
    with (
        pa.OSFile(str(path), "wb") as file,
        opened(file, ROW, options=pa.ipc.IpcWriteOptions(**options)) as writer,
    ):
        writer.write_table(table, max_chunksize=100)
    return path


@pytest.mark.parametrize("form", ["stream", "file"])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_rows_and_metadata_are_those_that_were_written(
    tmp_path: Path, form: str, compression: str | None
) -> None:
    path = written(tmp_path / "x.arrow", form, compression=compression)
    parts = list(table_parts(path, 64))
    assert [row for part in parts for row in part.iter_rows(named=True)] == ROWS
    assert [part.height for part in parts] == [64, 36, 64, 36, 50]
    assert table_metadata(path) == {"huggingface": '{"info": {}}', "ü": "é"}


def test_a_stream_without_rows_or_metadata_is_empty(tmp_path: Path) -> None:
    assert list(arrow_parts(written(tmp_path / "x.arrow", "stream", []), 64)) == []
    with (
        pa.OSFile(str(tmp_path / "y.arrow"), "wb") as file,
        pa.ipc.new_stream(file, pa.schema([("a", pa.int8())])),
    ):
        pass
    assert arrow_metadata(tmp_path / "y.arrow") == {}


def test_one_record_batch_is_in_memory(tmp_path: Path) -> None:
    image = {"bytes": bytes(np.random.default_rng(0).bytes(50_000)), "path": None}
    path = written(tmp_path / "x.arrow", "stream", [{**ROWS[1], "image": image}] * 1000)
    tracemalloc.start()
    assert sum(part.height for part in arrow_parts(path, 10)) == 1000
    assert tracemalloc.get_traced_memory()[1] < path.stat().st_size // 2
    tracemalloc.stop()


def test_what_is_no_arrow_is_one_line(tmp_path: Path) -> None:
    whole = written(tmp_path / "x.arrow", "stream").read_bytes()
    broken = [
        b"",
        b"no arrow",
        whole[:100],
        whole[: len(whole) // 2],
        b"\xff" * 40,
        whole[:40] + b"\0" * 40,
    ]
    for content in broken:
        (tmp_path / "y.arrow").write_bytes(content)
        with pytest.raises(DataError, match=r"y\.arrow: must be an Arrow stream or file: .+"):
            arrow_metadata(tmp_path / "y.arrow")
            list(arrow_parts(tmp_path / "y.arrow", 64))


def test_mutated_bytes_are_rows_or_one_line(tmp_path: Path) -> None:
    whole, rng = (
        written(tmp_path / "x.arrow", "stream", ROWS[:20]).read_bytes(),
        np.random.default_rng(0),
    )
    for _ in range(300):
        content = bytearray(whole)
        for place in rng.integers(0, len(content), 3):
            content[place] = rng.integers(0, 256)
        (tmp_path / "y.arrow").write_bytes(content)
        try:
            arrow_metadata(tmp_path / "y.arrow")
            list(arrow_parts(tmp_path / "y.arrow", 64))
        except DataError as error:
            assert "\n" not in str(error)
