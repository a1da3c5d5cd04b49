"""A client that plays back a script, for tests of judges, runs and user code without a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visualjudge.clients.base import Diagnostics, Identity, Reply, Request

Line = str | Reply | Exception
Script = Sequence[Line] | Callable[[Request, int], Line]


class ScriptedClient:
    """Return the lines of a script in turn, repeating the last one. Exceptions in the script are
    raised.

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
        number = len(self.requests)
        self.requests.append(request)
        self.attempts.append(attempt)
        line = self._line(request, attempt, number)
        if isinstance(line, Exception):
            raise line
        return Reply(line) if isinstance(line, str) else line

    def _line(self, request: Request, attempt: int, number: int) -> Line:
        if callable(self._script):
            return self._script(request, attempt)
        return self._script[min(number, len(self._script) - 1)]

    async def aclose(self) -> None:
        self.closed = True
