"""A map over workers gives what this process would, and says what went wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Thread

import cv2
import pytest

from core.worker_chunks import Numbered, broken, ended, halved, place_after
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.workers import Workers


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order_and_errors_as_they_were_raised(
    workers: int,
) -> None:
    with Workers(workers) as pool:
        assert list(pool.map(halved, range(0, 60, 2))) == list(range(30))
        assert list(pool.map(halved, [])) == []
        results = pool.map(halved, [2, 4, 5, 6])
        assert [next(results), next(results)] == [1, 2]
        with pytest.raises(DataError, match="number: must be even, got 5"):
            next(results)
        with pytest.raises(
            RunError, match=r"^image 3: ZeroDivisionError: division by zero$"
        ):
            list(pool.map(broken, [Numbered(3)]))
    with pytest.raises(UsageError, match="`workers` must be at least 1"):
        Workers(0)


def test_processes_start_when_this_one_has_worked_for_so_long() -> None:
    with Workers(2, after=60) as pool:
        assert set(pool.map(place_after, [0.01] * 4)) == {os.getpid()}
    with Workers(2, after=0.1) as pool:
        places = [
            *pool.map(place_after, [0.06] * 3),
            *pool.map(place_after, [0]),
        ]
    assert places[:2] == [os.getpid()] * 2
    assert os.getpid() not in places[2:]


def test_a_map_whose_worker_dies_ends() -> None:
    died = r"a worker process died .*; try fewer `workers`"
    with pytest.raises(RunError, match=died), Workers(2) as pool:
        list(pool.map(partial(ended, os.getpid()), range(10)))


def test_ctrl_c_waits_for_no_chunk_that_hangs(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(2) as pool:
        results = pool.map(time.sleep, [0, 60])
        next(results)
        raise KeyboardInterrupt
    assert time.monotonic() - began < 30


def test_ctrl_c_ends_workers_that_are_sending_much() -> None:
    def interrupted() -> None:
        with suppress(KeyboardInterrupt), Workers(2) as pool:
            for _ in islice(pool.map(bytes, [4_000_000] * 99), 12):
                pass
            raise KeyboardInterrupt

    thread = Thread(target=interrupted, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_this_process_has_its_threads_of_opencv_back_after_the_work() -> None:
    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    try:
        with Workers() as pool:
            assert list(pool.map(lambda _: cv2.getNumThreads(), [0])) == [1]
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(before)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_workers_end_with_a_process_that_is_killed(tmp_path: Path) -> None:
    code = "from core.worker_chunks import map_forever; map_forever()"
    started = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=Path(__file__).parents[1],
    )
    deadline = time.monotonic() + 30
    while len(ids := [int(path.name) for path in tmp_path.iterdir()]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.wait()
    while any(_runs(number) for number in ids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(number: int) -> bool:
    stat = Path(f"/proc/{number}/stat")
    return (
        stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
    )
