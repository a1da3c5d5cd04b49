"""Memory that is given back to the system as soon as it is free, where the C library is glibc."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
_ARENAS = 2
"""Pools of free memory; glibc makes up to eight for each core, and each keeps what its threads have freed."""
_LARGE = 256 * 2**10
"""Bytes from which an array has pages of its own. Stated, since glibc raises it up to 32 MB by what it sees."""


def keep_small() -> None:
    """For a process that serves: few pools of free memory, and large arrays apart."""
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_ARENA_MAX, _ARENAS)
        libc.mallopt(_MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Return free memory to the system, as after an index was made."""
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library; None where it is another one."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
