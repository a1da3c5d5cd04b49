"""Connections fit into the limit of open files."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import logging, resource, sys
logging.basicConfig(format="%(message)s")
resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))
from visualjudge.clients.concurrency import within_limit
print(within_limit(200))
"""


def told(limit: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CODE.format(limit=limit)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_concurrency_is_lowered_with_a_warning() -> None:
    done = told(64)
    assert done.stdout.strip() == "24"
    assert "concurrency lowered to 24: only 64 open files" in done.stderr


def test_enough_descriptors_change_nothing() -> None:
    assert told(1024).stdout.strip() == "200"
