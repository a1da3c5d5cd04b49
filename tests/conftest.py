"""The width of a table does not depend on who runs the tests, and no result on how
fast; one line at the end says what was not run, and why.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.reports import BaseReport
from _pytest.terminal import TerminalReporter
from hypothesis import settings

# pytest-xdist sets it in its workers
os.environ.pop("COLUMNS", None)
# As the command does: on a busy machine the further threads of NumPy's BLAS, which mostly
# wait for each other, cost up to 20 times the work. Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Without bytecode each process that a test starts compiles the package, and each run all
# tests: a third of the time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A folder in memory, where the system has one with room, halves what the tests spend in
# the system; they make half a million files.
with suppress(OSError):
    if shutil.disk_usage("/dev/shm").free > 4 << 30:
        os.environ.setdefault("TMPDIR", "/dev/shm")
        tempfile.tempdir = None
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
# What is collected lives until the end: half of the time of the collection went into
# looking through it for garbage.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among modules and tests."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def reading_here() -> Iterator[None]:
    """Files that are read apart are read in this process, but for tests that ask for
    :func:`reading_apart`; a process each takes as long as all else in most of them."""
    from visualjudge.core import untrusted

    with pytest.MonkeyPatch.context() as patch:
        here = SimpleNamespace(run=_answered_here)
        patch.setattr(untrusted, "subprocess", here)
        yield


@pytest.fixture
def reading_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of strangers are read in processes of their own, as users have it."""
    from visualjudge.core import untrusted

    monkeypatch.setattr(untrusted, "subprocess", subprocess)


def _answered_here(
    words: list[str], *, input: bytes, **_: Any
) -> subprocess.CompletedProcess[bytes]:
    """What is sent and what comes back is pickled, as for another process."""
    from visualjudge.core.errors import DataError

    *_, function, path = pickle.loads(input)
    try:
        result = function(path)
    except DataError as error:
        result = error
    return subprocess.CompletedProcess(words, 0, pickle.dumps(result), b"")


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the number of tests that were skipped, by the first folder of each and by
    reason."""
    skipped = Counter(
        map(_place_and_reason, terminalreporter.getreports("skipped"))
    )
    if skipped:
        rows = [
            f"{n} in {place} ({reason})"
            for (place, reason), n in sorted(skipped.items())
        ]
        terminalreporter.write_line(f"not run: {'; '.join(rows)}")


def _place_and_reason(report: BaseReport) -> tuple[str, str]:
    path, _, reason = (
        report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, "")
    )
    parts = report.nodeid.split("::")[0].split("/")
    place = parts[1] if len(parts) > 2 else parts[-1] or path
    reason = re.sub(
        r"could not import '(\w+).*", r"\1 is not installed", reason
    )
    return place, reason.removeprefix("Skipped: ").strip()
