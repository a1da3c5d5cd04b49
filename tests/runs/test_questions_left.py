"""What a run that goes on knows of its journal: the same, whether lines are parsed one by one or
many at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings, strategies as st

from visualjudge.runs import journal as journal_module, questions_left as answered_module
from visualjudge.runs.journal import Journal
from visualjudge.runs.questions_left import Answered, answered

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RECORDS = st.fixed_dictionaries(
    {
        "id": TEXTS,
        "order": st.sampled_from(["AB", "BA"]),
        "value": st.one_of(st.sampled_from("AB"), st.floats(0, 10)),
        "status": st.sampled_from(["ok", "unparseable", "api_error"]),
        "raw_response": st.one_of(st.none(), st.sampled_from(['{"id":"x"}\n', "é", '"id":'])),
        "usage": st.one_of(st.none(), st.just({"prompt_tokens": 3})),
    },
    optional={"repeat": st.integers(1, 3), "cause": TEXTS, "error": TEXTS, "notes": st.just(["a"])},
)


def both(monkeypatch: pytest.MonkeyPatch, path: Path, **options: Any) -> tuple[Answered, Answered]:
    """As small journals are read, and as large ones are."""
    line_by_line = answered(path, **options)
    monkeypatch.setattr(answered_module, "SMALL", 0)
    found = answered(path, **options)
    monkeypatch.undo()
    return line_by_line, found


def told(known: Answered) -> tuple[Any, ...]:
    return known.hashes.tolist(), known.statuses, known.causes, known.error


@settings(max_examples=60, deadline=None)
@given(st.lists(RECORDS, max_size=12), st.sampled_from([None, "api_error"]))
def test_a_journal_is_known_by_its_keys(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], without: str | None
) -> None:
    path = tmp_path_factory.mktemp("j") / "verdicts.jsonl"
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    with pytest.MonkeyPatch.context() as patch:
        slow, quick = both(patch, path, without=without)
    assert told(slow) == told(quick)
    kept = [record for record in records if record["status"] != without]
    assert slow.statuses.total() == len(kept)
    there = {(record["id"], record["order"], record.get("repeat", 0)) for record in kept}
    assert len(slow) == len(there)
    asked = [(order, k) for order in ("AB", "BA") for k in range(4)]
    ids = ["nowhere", *(record["id"] for record in records)]
    if len(slow):
        held = slow.holds(ids, asked)  # type: ignore[arg-type]
        assert [[(name, *key) in there for key in asked] for name in ids] == held.tolist()


def test_a_line_of_another_tool_is_read_as_reports_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(b'{"value":"A","status":"ok","id":"q1"}\n{"id":"q2"}\n{"status":"ok"}\n')
    for known in both(monkeypatch, path):
        assert known.holds(["q1", "q2"], [("AB", 0), ("BA", 0)]).tolist() == [
            [True, False],
            [False, False],
        ]
        assert known.statuses == {"ok": 1}


WHOLE = b'{"id":"a","order":"AB","status":"ok"}\n'


@pytest.mark.parametrize(
    ("tail", "mended", "torn"),
    [
        (b"", b"", 0),
        (b'{"id":"b","ord', b"", 14),
        (WHOLE[:-1], WHOLE, 0),
        (b'{"id":"b","or{"id":"c","order":"AB","status":"ok"}\n' + WHOLE, WHOLE, 51),
        (b"\xff\xfe" * 9, b"", 18),
    ],
)
@pytest.mark.parametrize("small", [0, 10**9])
def test_a_journal_is_mended_alike_whether_small_or_large(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    small: int,
    tail: bytes,
    mended: bytes,
    torn: int,
) -> None:
    monkeypatch.setattr(journal_module, "SMALL", small)
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(3 * WHOLE + tail)
    with Journal.resume(path) as journal:
        assert journal.torn_bytes == torn
        journal.write({"id": "z"})
    assert path.read_bytes() == 3 * WHOLE + mended + b'{"id":"z"}\n'
