"""Limit concurrent calls. The limit adapts to the server, is shared by all of a user's processes
that use the same server and key, and never exceeds the number of files that may be open.

A *place* permits one call at a time. Each refused call removes a place; answered calls slowly add
places. Each process holds some of the places and adapts their number to its own calls. A small file
in the user's cache folder records how many places each process holds and how many are free. At most
four times a second, a process returns the places beyond its share, which is proportional to its
pending calls, or takes free ones. If the file cannot be used, the process applies a limit of its
own.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson

from visualjudge.clients.base import Client, Reply, Request, Wrapping
from visualjudge.clients.cache import default_cache_dir
from visualjudge.clients.secret_files import cache_secret, read_regular
from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import ApiError, ClientError, RunError, TransportError, UsageError

Load = Literal["answered", "refused", "overloaded"]
"""How a call affected the server: ``refused`` = HTTP 429 (too many calls), ``overloaded`` = 408,
503, 529 or no reply in time.
"""
OVERLOADED = 0.5
"""Fraction of the places that remains after an overload."""
LEAST = 1 / 8
"""Minimum fraction of the places that remains after a group of concurrent calls was refused: a
server that refuses all of them limits calls per minute, not concurrent calls.
"""
CAREFULLY = 4
"""Rounds of answered calls needed to add a place, below the level of the last refusal."""
REST_S = 0.2
"""Seconds for which the last place stays taken after a refused call."""
_OVERLOADED = frozenset({408, 503, 529})


class AdaptiveLimit:
    """A limit on concurrent calls, between 1 and ``ceiling``.

    A refused call removes one place. A sign of overload removes half of them, once for all calls
    already in flight. Answered calls add one place per four rounds below the level of the last
    refusal, and one per round above it.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = max(1, ceiling)
        self.allowed = float(self.ceiling)
        self.in_flight = 0
        self._begun = 0
        self._deaf_until = 0
        self._least = 1.0
        self._met = 0.0
        """The number of places after the last refusal or overload; 0 = none yet."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> int:
        """Wait for a place. Pass the returned number to :meth:`leave`."""
        while self.in_flight >= int(self.allowed):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()  # a place was assigned to this call: pass it on
                raise
        self.in_flight += 1
        self._begun += 1
        return self._begun

    def leave(self, number: int, load: Load | None) -> None:
        """Return the place. ``load`` is None if the call says nothing about the server's load, such
        as a malformed request.
        """
        self.in_flight -= 1
        self._adapt(number, load)
        self._wake()

    def _adapt(self, number: int, load: Load | None) -> None:
        before, later = self.allowed, number > self._deaf_until
        if load == "answered":
            self.allowed = min(float(self.ceiling), before + self._step())
        elif load in ("refused", "overloaded"):
            if later:
                self._deaf_until, self._least = self._begun, max(1.0, before * LEAST)
            if load == "refused":
                self.allowed = min(before, max(self._least, before - 1))
            elif later:
                self.allowed = max(1.0, before * OVERLOADED)
            self._met = self._all()

    def _step(self) -> float:
        """Return the fraction of a place that an answered call adds."""
        places = max(2.0, self._all())
        return 1 / places if places >= self._met + 1 else 1 / (CAREFULLY * places)

    def _all(self) -> float:
        """The number of places of all processes that share the limit."""
        return self.allowed

    def close(self) -> None:
        """Do nothing: the limit belongs to this process only."""

    def _wake(self) -> None:
        free = int(self.allowed) - self.in_flight
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


class Limited(Wrapping):
    """A client that respects an :class:`AdaptiveLimit`. Belongs inside ``Retrying``, so that no
    place is held while waiting.
    """

    def __init__(self, inner: Client, limit: AdaptiveLimit | int) -> None:
        super().__init__(inner)
        self.limit = AdaptiveLimit(limit) if isinstance(limit, int) else limit

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Ask the inner client once a place is available."""
        number = await self.limit.enter()
        load: Load | None = None
        try:
            reply = await self.inner.ask(request, attempt=attempt)
            load = "answered"
            return reply
        except ClientError as error:
            load = _load(error)
            if load == "refused" and self.limit.allowed < 2:
                await asyncio.sleep(REST_S)
            raise
        finally:
            self.limit.leave(number, load)

    async def aclose(self) -> None:
        self.limit.close()
        await super().aclose()


def _load(error: ClientError) -> Load | None:
    if isinstance(error, ApiError):
        if error.status == 429:
            return "refused"
        return "overloaded" if error.status in _OVERLOADED else None
    return "overloaded" if isinstance(error, TransportError) and error.cause == "timeout" else None


SETTLED_S = 0.25
"""Seconds between two updates of a process's share."""
FORGOTTEN_S = 900.0
"""Seconds of silence after which a process counts as gone, even if its number is in use again."""
LEARNED_S = 3600.0
"""Seconds for which later commands start from the limit reached."""
WAIT_S = 0.5
ROUNDING = 1e-6
LARGEST_FILE = 1 << 16


@dataclass
class _State:
    """The state that the processes share. Times are in seconds since the epoch."""

    met: float = 0.0
    """The total number of places at the last refusal; 0 = none was refused."""
    met_at: float = 0.0
    free: float = 0.0
    """Places that no process holds."""
    processes: dict[str, list[float]] = field(default_factory=dict)
    """By name: the places held, the number of pending calls, and the time of the last update."""

    @property
    def places(self) -> float:
        """The number of held and free places."""
        return self.free + sum(row[0] for row in self.processes.values())


class SharedLimit(AdaptiveLimit):
    """An :class:`AdaptiveLimit` shared by several processes; ``allowed`` is this process's share.

    Parameters
    ----------
    ceiling
        Maximum number of concurrent calls of this process.
    place
        File that the processes share.
    learned
        Whether later commands start from the limit reached.
    """

    def __init__(self, ceiling: int, place: Path, *, learned: bool = True) -> None:
        super().__init__(ceiling)
        self._place, self._learned = place, learned
        self._name = f"{os.getpid()}-{id(self)}"
        self._settled, self._met_at = 0.0, 0.0
        self._others, self._changed = 0.0, 0.0
        self._next: asyncio.TimerHandle | None = None

    async def enter(self) -> int:
        """Wait for a place. Pass the returned number to :meth:`leave`."""
        if not self._settled:
            self.settle()
        if self.in_flight >= int(self.allowed):
            self._look_again()
        return await super().enter()

    def leave(self, number: int, load: Load | None) -> None:
        """Return the place. ``load`` is None if the call says nothing about the server's load, such
        as a malformed request.
        """
        self.in_flight -= 1
        before = self.allowed
        self._adapt(number, load)
        self._changed += self.allowed - before
        if load in ("refused", "overloaded"):
            self._met_at = time.time()
        if time.time() - self._settled > SETTLED_S:
            self.settle()
        self._wake()

    def close(self) -> None:
        """Release this process's places."""
        if self._next is not None:
            self._next.cancel()
        if self._settled:
            self._exchange(gone=True)

    def _look_again(self) -> None:
        """Schedule another exchange while calls wait, as other processes may have returned
        places.
        """
        loop = asyncio.get_running_loop()
        # A timer that is long overdue belonged to an event loop that has ended.
        if self._next is None or self._next.when() < loop.time() - 1:
            self._next = loop.call_later(SETTLED_S, self._looked)

    def _looked(self) -> None:
        self._next = None
        self.settle()
        self._wake()
        if self._waiting:
            self._look_again()

    def _all(self) -> float:
        return self.allowed + self._others

    def settle(self) -> None:
        """Update the shared file and this process's number of places."""
        self._settled = time.time()
        allowed = self._exchange()
        if allowed is not None:
            self.allowed, self._changed = allowed, 0.0

    def _exchange(self, *, gone: bool = False) -> float | None:
        """Update the shared file and return the number of places of this process, or None if the
        file cannot be used.
        """
        import filelock

        try:
            self._place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with filelock.FileLock(
                f"{self._place}.lock", timeout=WAIT_S, poll_interval=0.005, thread_local=False
            ):
                state = self._read()
                allowed = self._joined(state, gone=gone)
                write_bytes(self._place, orjson.dumps(state))
        except (OSError, RunError, filelock.Timeout):
            return None
        return allowed

    def _read(self) -> _State:
        """Read the state from the file; return a new one if the file is missing or invalid."""
        try:
            found: Any = orjson.loads(read_regular(self._place, LARGEST_FILE)[0])
            met, met_at, free = (float(found[name]) for name in ("met", "met_at", "free"))
            rows = dict(found["processes"]).items()
            state = _State(met, met_at, free)
            state.processes = {name: [float(x) for x in row] for name, row in rows if len(row) == 3}
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return _State()
        return state

    def _joined(self, state: _State, *, gone: bool) -> float:
        """Update ``state`` for this process and return its number of places."""
        now = time.time()
        mine = state.processes.pop(self._name, None)
        for name, row in list(state.processes.items()):
            if not (now - row[2] < FORGOTTEN_S and _alive(name)):
                held = state.processes.pop(name)[0]
                state.free += held if state.met else 0.0
        fresh = self._learned and 0 <= now - state.met_at < LEARNED_S
        if not (mine or state.processes or fresh):
            state.met = state.met_at = state.free = 0.0
        if self._met_at > state.met_at:
            state.met, state.met_at = self._met, self._met_at
        self._met = state.met
        own = max(0.0, mine[0] + self._changed) if mine else 0.0
        if gone:
            state.free += own if state.met else 0.0
            return self.allowed
        wanted = float(max(1, self.in_flight + len(self._waiting)))
        if not state.met:
            state.processes[self._name] = [self.ceiling, wanted, now]
            allowed, state.free = float(self.ceiling), 0.0
        else:
            pool = state.free + own
            state.processes[self._name] = [pool, wanted, now]
            allowed = min(self._part(state, state.places - state.free), pool, self.ceiling)
            allowed = max(1.0, allowed)
            held = max(allowed, min(float(self.in_flight), own))
            state.processes[self._name][0], state.free = held, max(0.0, pool - held)
        self._others = state.places - allowed
        return allowed

    def _part(self, state: _State, places: float) -> float:
        """Return this process's share, in whole places, by pending calls. The shares add up to
        ``places``.
        """
        if len(state.processes) == 1:
            return places
        wanted = [(name, row[1]) for name, row in sorted(state.processes.items())]
        before = sum(calls for name, calls in wanted if name < self._name)
        up_to = before + state.processes[self._name][1]
        part = int(places + ROUNDING) / sum(calls for _, calls in wanted)
        return float(round(part * up_to) - round(part * before))


def _alive(name: str) -> bool:
    """Return whether a row's process still runs; True if that cannot be determined."""
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
    """Return the limit shared by all of this user's processes that use the server ``url`` with
    ``key``.

    The limit reached for a server on this machine is not kept for later commands, because another
    server may use the same address.
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


RESERVED = 40
"""Descriptors reserved for other uses: the journal, the cache, images, the interpreter."""
_log = logging.getLogger("visualjudge.clients")


def within_limit(concurrency: int) -> int:
    """Return ``concurrency`` after raising the soft limit on open files, lowered with a warning if
    that is still too low.

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
