from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.runs.journal import Journal, read_records


def test_what_is_written_is_read_back_in_order(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        for number in range(3):
            journal.write({"id": number, "text": "zwei\nZeilen ✓"})
    assert [record["id"] for record in read_records(tmp_path / "j")] == [
        0,
        1,
        2,
    ]
    assert (tmp_path / "j").read_bytes().count(b"\n") == 3


def test_a_journal_with_records_is_not_begun_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        journal.write({"id": 1})
    with pytest.raises(UsageError, match="`resume`"):
        Journal(tmp_path / "j")


def test_partial_lines_in_the_middle_are_removed_on_resume(
    tmp_path: Path,
) -> None:
    """A full disk took half a line, and a writer of version 0.1 appended the next to
    it."""
    path = tmp_path / "j"
    path.write_bytes(b'{"id":1}\n{"id":2,"te{"id":3}\n{"id":4}\n{"id":5')
    with Journal(path, resume=True) as journal:
        assert [record["id"] for record in read_records(journal.path)] == [1, 4]
        assert journal.torn_bytes == len(b'{"id":2,"te{"id":3}\n{"id":5')
        journal.write({"id": 6})
    assert path.read_bytes() == b'{"id":1}\n{"id":4}\n{"id":6}\n'


def test_a_record_that_a_full_disk_took_in_part_is_removed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "j", os.write
    with Journal(path) as journal:
        journal.write({"id": 1})
        monkeypatch.setattr(
            os, "write", lambda handle, data: real(handle, data[:5])
        )
        with pytest.raises(RunError, match="No space left"):
            journal.write({"id": 2})
        monkeypatch.undo()
        journal.write({"id": 3})
    assert path.read_bytes() == b'{"id":1}\n{"id":3}\n'


def test_create_locks_before_it_looks(tmp_path: Path) -> None:
    """A second writer is told of the first one, not of the records that the first one
    has written by then.
    """
    with Journal(tmp_path / "j") as journal:
        journal.write({"id": 1})
        with pytest.raises(RunError, match="another process"):
            Journal(tmp_path / "j")


@pytest.mark.parametrize(
    "tail",
    [b'{"id":2,"val', b'{"id":2', b"\0\0\0", b'"text"', b'{"id":2,"val\n'],
)
def test_a_torn_last_line_is_cut_off_on_resume(
    tmp_path: Path, tail: bytes
) -> None:
    path = tmp_path / "j"
    path.write_bytes(b'{"id":1}\n' + tail)
    with Journal(path, resume=True) as journal:
        assert journal.torn_bytes == len(tail)
        assert [record["id"] for record in read_records(journal.path)] == [1]
        journal.write({"id": 3})
    assert path.read_bytes() == b'{"id":1}\n{"id":3}\n'


def test_a_whole_last_line_without_line_feed_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b'{"id":1}\n{"id":2}')
    with Journal(path, resume=True) as journal:
        journal.write({"id": 3})
    assert [record["id"] for record in read_records(path)] == [1, 2, 3]


def test_a_byte_order_mark_costs_no_record(tmp_path: Path) -> None:
    """As an editor of Windows saves the file, or two of them are joined."""
    path = tmp_path / "j"
    path.write_bytes(b'\xef\xbb\xbf{"id":1}\r\n\xef\xbb\xbf{"id":2}\r\n')
    with Journal(path, resume=True) as journal:
        assert journal.torn_bytes == 0
        journal.write({"id": 3})
    assert [record["id"] for record in read_records(path)] == [1, 2, 3]


def test_a_bad_line_in_the_middle_is_an_error_that_names_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "j").write_bytes(b'{"id":1}\n{"id":\n{"id":3}\n')
    with pytest.raises(DataError, match="line 2"):
        list(read_records(tmp_path / "j"))


def test_a_second_writer_is_kept_out_until_the_first_is_done(
    tmp_path: Path,
) -> None:
    with (
        Journal(tmp_path / "j"),
        pytest.raises(RunError, match="another process"),
    ):
        Journal(tmp_path / "j", resume=True)
    Journal(tmp_path / "j", resume=True).close()


def test_dropped_records_are_gone_and_later_ones_follow_the_kept(
    tmp_path: Path,
) -> None:
    with Journal(tmp_path / "j") as journal:
        for number in range(4):
            journal.write({"id": number})
        assert journal.drop(lambda record: record["id"] % 2) == 2
        journal.write({"id": 9})
    assert [record["id"] for record in read_records(tmp_path / "j")] == [
        0,
        2,
        9,
    ]


def test_synced_waits_for_all_that_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, on_disk = tmp_path / "j", 0
    real = os.fdatasync

    def slow(handle: int) -> None:
        nonlocal on_disk
        lines = path.read_bytes().count(b"\n")
        time.sleep(0.01)
        real(handle)
        on_disk = max(on_disk, lines)

    monkeypatch.setattr(os, "fdatasync", slow)

    async def many() -> None:
        with Journal(path) as journal:

            async def one(number: int) -> None:
                await asyncio.sleep(number * 0.002)
                journal.write({"id": number})
                written = path.read_bytes().count(b"\n")
                await journal.synced()
                assert on_disk >= written

            await asyncio.gather(*(one(number) for number in range(30)))

    asyncio.run(many())


def test_a_full_disk_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path / "j") as journal:

        def full(handle: int, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(RunError, match="No space left"):
            journal.write({"id": 1})


WRITER = """
import sys
from visualjudge.runs.journal import Journal, read_records
with Journal(sys.argv[1], resume=True) as journal:
    number = sum(1 for _ in read_records(journal.path))
    while True:
        journal.write({"id": number, "text": "x" * 3000})
        print(number, flush=True)
        number += 1
"""


def test_no_record_that_was_told_of_is_lost_by_kill_9(tmp_path: Path) -> None:
    path, told = tmp_path / "j", -1
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for _ in range(40):
            told = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.wait()
        told = max([told, *(int(word) for word in rest[:-1])])
        numbers = [record["id"] for record in read_records(path)]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) > told
    assert all(json.loads(line) for line in path.read_bytes().splitlines()[:-1])


def test_a_journal_that_was_saved_as_utf_16_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "j").write_text('{"id": 1}\n' * 9, "utf-16")
    with pytest.raises(DataError, match=r"j: must be UTF-8, got UTF-16$"):
        [*read_records(tmp_path / "j")]
