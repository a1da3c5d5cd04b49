"""Jobs that worker processes import."""

from __future__ import annotations

import os
import time

from visualjudge.core.errors import ApiError, DataError


def halved(number: int) -> int:
    time.sleep(0.05 if number == 0 else 0)
    if number % 2:
        raise DataError(f"number: must be even, got {number}")
    return number // 2


def refused(number: int) -> int:
    raise ApiError(429, f"number {number}")


def ended(here: int, number: int) -> int:
    if number == 3 and os.getpid() != here:
        os._exit(9)
    return number
