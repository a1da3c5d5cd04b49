"""What clients that wrap a client share: they stand for it, and close it."""

from __future__ import annotations

from visualjudge.clients.base import Client, Diagnostics, Identity


class Wrapping:
    """A client around ``inner``; subclasses define ``ask``."""

    def __init__(self, inner: Client) -> None:
        self.inner = inner

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def identity(self) -> Identity:
        return self.inner.identity

    @property
    def diagnostics(self) -> Diagnostics:
        return self.inner.diagnostics

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    async def aclose(self) -> None:
        await self.inner.aclose()
