"""Limit concurrency by the number of files that may be open (POSIX only)."""

from __future__ import annotations

import logging
import sys

from visualjudge.core.errors import UsageError

RESERVED = 40
"""Descriptors for everything but connections: the journal, the cache, images, the interpreter."""
_log = logging.getLogger("visualjudge.clients")


def within_limit(concurrency: int) -> int:
    """Return ``concurrency``, lowered with a warning if too few files may be open, after raising
    the soft limit.

    Raises
    ------
    UsageError
        If not even one connection is possible.
    """
    if sys.platform == "win32":
        return concurrency
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = concurrency + RESERVED
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = _raised(soft, hard, wanted)
    room = concurrency if soft == resource.RLIM_INFINITY else soft - RESERVED
    if room < 1:
        raise UsageError(
            f"too few open files are allowed: at least {RESERVED + 1} are needed, got {soft} "
            "(ulimit -n)"
        )
    if room < concurrency:
        _log.warning(
            "concurrency lowered from %d to %d: only %d open files are allowed",
            concurrency,
            room,
            soft,
        )
    return min(concurrency, room)


def _raised(soft: int, hard: int, wanted: int) -> int:
    import resource

    aim = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (aim, hard))
    except (OSError, ValueError):
        return soft
    return aim
