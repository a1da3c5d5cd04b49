"""One limit of concurrency for all processes of a user that ask one server with one key.

Each process has a share of what is allowed, by how many calls it has to make, and keeps to it by
itself. Shares are settled in a small file in the user's cache folder, at most four times a second
and at once when the server pushes back. Where the file cannot be used, a process keeps to a limit
of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from visualjudge.clients.cache import default_cache_dir
from visualjudge.clients.cache_key import cache_secret, read_regular
from visualjudge.clients.limiter import AdaptiveLimit, reduced
from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import RunError

SETTLED_S = 0.25
"""How long a share holds before it is settled anew."""
FORGOTTEN_S = 900.0
"""After so long without a word a process counts as gone, even if its number is taken again."""
LEARNED_S = 3600.0
"""How long the next command starts from what a server allowed."""
WAIT_S = 0.5
LARGEST_FILE = 1 << 16


@dataclass
class _State:
    """What the processes share. Times are seconds since the epoch."""

    allowed: float = 0.0
    reduced_to: float = 0.0
    """What the last push-back left of it; 0 = there was none."""
    reduced_at: float = 0.0
    processes: dict[str, list[float]] = field(default_factory=dict)
    """By name: the most calls that it may make, how many it has to make, and when it was last heard
    of.
    """


class SharedLimit(AdaptiveLimit):
    """As :class:`AdaptiveLimit`, of which ``allowed`` is this process's share.

    Parameters
    ----------
    ceiling
        Most calls of this process that may be under way.
    place
        The file that the processes share.
    learned
        Whether what the server allowed also serves later commands.
    """

    def __init__(self, ceiling: int, place: Path, *, learned: bool = True) -> None:
        super().__init__(ceiling)
        self._place, self._learned = place, learned
        self._name = f"{os.getpid()}-{id(self)}"
        self._began: dict[int, float] = {}
        self._grown, self._settled = 0, 0.0

    async def enter(self) -> int:
        """Wait for a place; the number returned goes to :meth:`leave`."""
        if not self._settled:
            self._settle(None)
        number = await super().enter()
        self._began[number] = time.time()
        return number

    def leave(self, number: int, *, pushed_back: bool | None) -> None:
        """Give the place back. ``pushed_back`` None = says nothing about load (a wrong request)."""
        began = self._began.pop(number)
        self.in_flight -= 1
        self._grown += pushed_back is False
        if pushed_back or time.time() - self._settled > SETTLED_S:
            self._settle(began if pushed_back else None)
        self._wake()

    def close(self) -> None:
        """Leave the others this process's share."""
        if self._settled:
            self._exchange(None, gone=True)

    def _settle(self, pushed_back: float | None) -> None:
        """Tell the others, and take the share that follows; ``pushed_back``: when the call had
        begun.
        """
        self._settled = time.time()
        allowed = self._exchange(pushed_back)
        if allowed is None:
            allowed = self.allowed + self._grown / self.allowed
            if pushed_back:
                allowed = self._reduced_to = reduced(self.allowed, self._reduced_to)
        self.allowed = min(max(1.0, allowed), float(self.ceiling))
        self._grown = 0

    def _exchange(self, pushed_back: float | None, *, gone: bool = False) -> float | None:
        """The share of this process, written beside those of the others; None where the file cannot
        be used.
        """
        import filelock

        try:
            self._place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with filelock.FileLock(
                f"{self._place}.lock", timeout=WAIT_S, poll_interval=0.005, thread_local=False
            ):
                state = self._read()
                share = self._joined(state, pushed_back, gone=gone)
                write_bytes(self._place, orjson.dumps(state))
        except (OSError, RunError, filelock.Timeout):
            return None
        return share

    def _read(self) -> _State:
        """The state of the file; a new one where it holds anything else."""
        try:
            found: Any = orjson.loads(read_regular(self._place, LARGEST_FILE)[0])
            allowed, to, at = (
                float(found[name]) for name in ("allowed", "reduced_to", "reduced_at")
            )
            state = _State(allowed, to, at, dict(found["processes"]))
            rows = state.processes.items()
            state.processes = {
                name: [float(x) for x in row]
                for name, row in rows
                if len(row) == 3 and _alive(name)
            }
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return _State()
        return state

    def _joined(self, state: _State, pushed_back: float | None, *, gone: bool) -> float:
        """The share of this process, of which ``state`` then knows how it stands."""
        now = time.time()
        known = self._name in state.processes
        others = {name: row for name, row in state.processes.items() if now - row[2] < FORGOTTEN_S}
        others.pop(self._name, None)
        fresh = self._learned and 0 <= now - state.reduced_at < LEARNED_S
        if not (known or others or fresh):
            state.allowed = state.reduced_to = state.reduced_at = 0.0
        state.processes = others
        if gone:
            return self.allowed
        state.processes[self._name] = [
            self.ceiling,
            max(1, self.in_flight + len(self._waiting)),
            now,
        ]
        ceiling = sum(row[0] for row in state.processes.values())
        if pushed_back is not None and pushed_back > state.reduced_at:
            state.allowed = state.reduced_to = reduced(state.allowed or ceiling, state.reduced_to)
            state.reduced_at = now
        elif not state.reduced_to:
            state.allowed = ceiling
        else:
            state.allowed = min(ceiling, state.allowed + self._grown / max(state.allowed, 1.0))
        return self._share(state)

    def _share(self, state: _State) -> float:
        """Whole calls, by what each process has to make: the shares of all add up to what is
        allowed.
        """
        wanted = [(name, row[1]) for name, row in sorted(state.processes.items())]
        before = sum(calls for name, calls in wanted if name < self._name)
        up_to = before + state.processes[self._name][1]
        part = int(state.allowed) / sum(calls for _, calls in wanted)
        return float(round(part * up_to) - round(part * before))


def _alive(name: str) -> bool:
    """Whether the process of a row still runs; where that cannot be asked, it counts as running."""
    if os.name != "posix":
        return True
    try:
        os.kill(int(name.partition("-")[0]), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def shared_limit(ceiling: int, url: str, key: str) -> AdaptiveLimit:
    """The limit of all processes of this user that ask the server at ``url`` with ``key``.

    What a server on this machine allowed is not kept for later commands: another may answer there
    next.
    """
    home = default_cache_dir().parent
    try:
        secret = cache_secret(home)
    except OSError:
        return AdaptiveLimit(ceiling)
    parts = urlsplit(url)
    server = f"{parts.scheme}://{parts.netloc}\n{key}"
    name = hmac.new(secret, server.encode(), hashlib.blake2b).hexdigest()[:32]
    return SharedLimit(
        ceiling, home / "limits" / name, learned=not _on_this_machine(parts.hostname or "")
    )


def _on_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
