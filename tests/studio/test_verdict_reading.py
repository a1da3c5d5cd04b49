"""The verdicts of a compacted run are those of its journal, whatever its lines hold."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings, strategies as st

from visualjudge.core.records import Verdict
from visualjudge.runs.compacting import compact
from visualjudge.runs.verdict_lines import verdict_line
from visualjudge.studio import verdict_reading
from visualjudge.studio.verdict_reading import ReadPart, end_of, ranges, read_part

VERDICTS = st.lists(
    st.builds(
        Verdict,
        id=st.sampled_from(["q0", "q1", "é"]),
        order=st.sampled_from(["AB", "BA"]),
        value=st.one_of(
            st.sampled_from(["A", "B", "tie", "both_bad", "CAB", "Failed"]),
            st.sampled_from([0.0, 7.5, 10]),
        ),
        status=st.sampled_from(["ok", "unparseable", "api_error", "cannot_tell", "ok_extracted"]),
        raw_response=st.one_of(st.none(), st.text(max_size=20), st.just("long word " * 60)),
        usage=st.one_of(
            st.none(),
            st.just({"prompt_tokens": 900, "completion_tokens": 4}),
            st.just({"input_tokens": 3, "other": -1}),
        ),
        latency_s=st.one_of(st.none(), st.sampled_from([0.5, 2, 1e31])),
        repeat=st.integers(0, 3),
        probability_a=st.one_of(st.none(), st.floats(0, 1)),
        cause=st.one_of(st.none(), st.just("HTTP 500"), st.just("x" * 200)),
        extra=st.one_of(
            st.just({}),
            st.just({"rule": "letter"}),
            st.just({"purpose": "repeat"}),
            st.just({"paid": {"prompt_tokens": 70}}),
        ),
    ),
    max_size=12,
)


def _read(path: Path) -> list[ReadPart]:
    return [read_part((path, *part)) for part in ranges(path, 0, end_of(path))]


def _told(parts: list[ReadPart]) -> dict[str, Any]:
    rows = np.concatenate([part.rows for part in parts])
    return {
        **{name: rows[name].tolist() for name in rows.dtype.names if name not in ("start", "stop")},
        "ids": [name for part in parts for name in part.ids],
        "texts": [text for part in parts for text in part.texts],
        "causes": sum((part.causes for part in parts), parts[0].causes.__class__()),
    }


@settings(max_examples=60, deadline=None)
@given(VERDICTS.filter(bool))
def test_a_compacted_run_is_read_as_its_journal(verdicts: list[Verdict]) -> None:
    with TemporaryDirectory() as folder:
        journal, compacted = Path(folder) / "verdicts.jsonl", Path(folder) / "verdicts.parquet"
        lines = [orjson.dumps(verdict_line(verdict)) + b"\n" for verdict in verdicts]
        journal.write_bytes(b"".join(lines))
        compact(journal, compacted)
        from_lines, from_columns = _told(_read(journal)), _told(_read(compacted))
        assert repr(from_columns) == repr(from_lines)
        rows = np.concatenate([part.rows for part in _read(compacted)])
        again = [
            raw
            for row in rows
            for _, raw in verdict_reading.lines_of(compacted, row["start"], row["stop"])
        ]
        assert again == lines


def test_columns_are_read_without_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "verdicts.jsonl"
    line = verdict_line(Verdict("q0", "AB", "A", "ok", "A.", extra={"rule": "letter"}))
    journal.write_bytes(orjson.dumps(line) + b"\n")
    compact(journal, tmp_path / "verdicts.parquet")
    monkeypatch.setattr(verdict_reading, "lines_of", None)
    (part,) = _read(tmp_path / "verdicts.parquet")
    assert part.ids == ["q0"]
