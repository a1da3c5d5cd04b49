"""A client that plays back a script, for tests of judges and runs without a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visualjudge.clients.base import Diagnostics, Identity, Reply, Request

Line = str | Reply | Exception
Script = Sequence[Line] | Callable[[Request, int], Line]


class ScriptedClient:
    """Return the lines of a script in turn, repeating the last one. Exceptions in the
    script are raised.

    Parameters
    ----------
    script
        Lines, or a function of the request and the attempt.

    Attributes
    ----------
    requests, attempts
        Requests and attempts received, in order.
    """

    backend = "scripted"

    def __init__(self, script: Script, *, model_name: str = "scripted") -> None:
        self.model = model_name
        self.requests: list[Request] = []
        self.attempts: list[int] = []
        self.closed = False
        self._script = script

    @property
    def identity(self) -> Identity:
        return Identity(self.backend, None, self.model)

    @property
    def diagnostics(self) -> Diagnostics:
        return Diagnostics()

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        number = min(
            len(self.requests),
            0 if callable(self._script) else len(self._script) - 1,
        )
        self.requests.append(request)
        self.attempts.append(attempt)
        script = self._script
        line = script(request, attempt) if callable(script) else script[number]
        if isinstance(line, Exception):
            raise line
        return Reply(line) if isinstance(line, str) else line

    async def aclose(self) -> None:
        self.closed = True
