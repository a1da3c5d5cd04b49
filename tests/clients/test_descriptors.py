"""Connections fit into the limit of open files."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from visualjudge.clients.concurrency import allow_files

NOFILE = resource.RLIMIT_NOFILE


@pytest.fixture(autouse=True)
def soft() -> Iterator[int]:
    """A soft limit of 100 files, as a system may set it."""
    before = resource.getrlimit(NOFILE)
    resource.setrlimit(NOFILE, (100, before[1]))
    yield 100
    resource.setrlimit(NOFILE, before)


@pytest.mark.parametrize(("calls", "files"), [(20, 100), (200, 240)])
def test_the_limit_is_raised_as_far_as_the_calls_need(calls: int, files: int) -> None:
    allow_files(calls)
    assert resource.getrlimit(NOFILE)[0] == files


def test_no_call_needs_more_than_the_system_allows() -> None:
    hard = resource.getrlimit(NOFILE)[1]
    allow_files(hard)
    assert resource.getrlimit(NOFILE) == (hard, hard)
