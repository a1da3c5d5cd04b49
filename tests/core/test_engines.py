"""Engines: a map over worker processes gives what this process would, and says what went wrong."""

from __future__ import annotations

import os
from functools import partial

import pytest

from core.engine_jobs import ended, halved, refused
from visualjudge.core.engines import open_engine
from visualjudge.core.errors import DataError, RunError


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_jobs(workers: int) -> None:
    with open_engine("local", workers) as engine:
        assert list(engine.map(halved, range(0, 60, 2))) == list(range(30))
        assert list(engine.map(halved, [])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_job_comes_as_it_was_raised(workers: int) -> None:
    with open_engine("local", workers) as engine:
        results = engine.map(halved, [2, 4, 5, 6])
        assert [next(results), next(results)] == [1, 2]
        with pytest.raises(DataError, match="number: must be even, got 5"):
            next(results)


def test_an_error_that_no_other_process_can_read_is_told_in_its_words() -> None:
    with open_engine("local", 2) as engine, pytest.raises(RunError, match=r"^HTTP 429: number 1$"):
        list(engine.map(refused, [1]))


def test_a_map_whose_worker_dies_ends() -> None:
    with (
        open_engine("local", 2) as engine,
        pytest.raises(RunError, match=r"a worker process died .*; try fewer --workers"),
    ):
        list(engine.map(partial(ended, os.getpid()), range(10)))
