"""Functions that worker processes import."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from visualjudge.core.errors import DataError
from visualjudge.core.workers import Workers


@dataclass(frozen=True)
class Numbered:
    number: int

    @property
    def record(self) -> str:
        return f"image {self.number}"


def halved(number: int) -> int:
    time.sleep(0.05 if number == 0 else 0)
    if number % 2:
        raise DataError(f"number: must be even, got {number}")
    return number // 2


def broken(chunk: Numbered) -> float:
    return chunk.number / 0


def ended(here: int, number: int) -> int:
    if number == 3 and os.getpid() != here:
        os._exit(9)
    return number


def wait(number: int) -> None:
    (Path(sys.argv[1]) / str(os.getpid())).touch()
    time.sleep(60)


def map_forever() -> None:
    with Workers(2) as pool:
        list(pool.map(wait, range(8)))


def grown(path: Path) -> int:
    return len(bytearray(8 << 30))


def late(path: Path) -> int:
    began = time.process_time()
    while time.process_time() - began < 60:
        pass
    return 0


def size_of(path: Path) -> int:
    if path.name == "b.png":
        raise DataError(f"{path.name}: must be a")
    return path.stat().st_size


def place_after(seconds: float) -> int:
    """The process that worked for so long."""
    time.sleep(seconds)
    return os.getpid()
