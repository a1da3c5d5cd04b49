"""Read replies within a time limit, so that a degenerate reply of megabytes cannot block the event
loop or the run.

Short texts are read directly. Longer ones are read in a separate process, which is killed after the
time limit. Texts above the size limit are not read.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from visualjudge.core.errors import RunError

Result = TypeVar("Result")
TooMuch = Literal["too long", "too slow to read"]

READ_AT_ONCE = 16 * 1024
"""Maximum number of characters read on the event loop, which takes about 20 ms."""
LONGEST_READ = 1024 * 1024
"""Maximum length of a reply in characters; longer ones are not read."""
READ_WITHIN_S = 20.0
"""Maximum time for reading one reply in seconds."""


class NotRead(RunError):
    """A reply that was not read; ``cause`` is "too long" or "too slow to read"."""

    def __init__(self, cause: TooMuch) -> None:
        super().__init__(f"the reply was not read: {cause}")
        self.cause = cause


async def read_bounded(
    read: Callable[..., Result], text: str, /, *args: Any, **options: Any
) -> Result:
    """Return ``read(text, *args, **options)`` without blocking the event loop for more than a few
    milliseconds.

    Parameters
    ----------
    read
        Function that can be imported by name.

    Raises
    ------
    NotRead
        If ``text`` is longer than 1 MiB, or reading it takes longer than 20 s.
    """
    if len(text) > LONGEST_READ:
        raise NotRead("too long")
    if len(text) <= READ_AT_ONCE:
        return read(text, *args, **options)
    work = pickle.dumps((read, text, args, options))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        f"import sys; sys.path[:] = {sys.path!r}; from visualjudge.judges.bounded_reading import "
        "_work; _work()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        found, _ = await asyncio.wait_for(process.communicate(work), READ_WITHIN_S)
    except TimeoutError:
        raise NotRead("too slow to read") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise NotRead("too slow to read")
    result: Result = pickle.loads(found)
    return result


async def read_or_none(read: Callable[[str], Result | None], text: str) -> Result | None:
    """Return ``read(text)`` for a reader that takes linear time, or None for a text above the size
    limit.
    """
    if len(text) > LONGEST_READ:
        return None
    return read(text) if len(text) <= READ_AT_ONCE else await asyncio.to_thread(read, text)


def _work() -> None:
    """Run in the worker process: read the texts that the parent sends over the pipe, and send back
    the results.
    """
    read, text, args, options = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(read(text, *args, **options)))
