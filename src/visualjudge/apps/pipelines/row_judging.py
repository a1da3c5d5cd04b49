"""Judge one row by all metrics within a budget. An error of one metric is recorded in the row's
line and does not affect the other metrics.

A row takes several calls, and a judge repeats some of them. The maximum number of calls is booked
before a row starts, so that every started row is finished. A row that does not fit waits while
other calls are in progress, because these may cost less than was booked. If none is in progress, it
is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from visualjudge.apps.pipelines.results import RowResult
from visualjudge.apps.pipelines.rows import Row, checksum
from visualjudge.clients.base import Client, Reply, Request, Wrapping
from visualjudge.clients.image_parts import fetch_image, image_of_bytes
from visualjudge.clients.retry import cause_of
from visualjudge.core.errors import ClientError, DataError, RunError, VisualJudgeError
from visualjudge.judges.judge_module import ClientPipe, Judgement
from visualjudge.runs.budget import Budget, Usage
from visualjudge.runs.job_runner import Outcome, Stop


class BudgetSpent(RunError):
    """The budget does not allow another call; the message states the amount spent."""


class Meter:
    """Budget account of a run."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.cached = 0
        """Replies that came out of a cache."""
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def open(self, calls: int) -> AsyncIterator[Allowance]:
        """Open an allowance of ``calls`` for one row, once there is room for it; the unused part is
        returned.

        Raises
        ------
        BudgetSpent
            If there is no room, and no call in progress that could free some.
        """
        await self.book(calls)
        allowance = Allowance(self, calls)
        try:
            yield allowance
        finally:
            allowance.close()

    async def book(self, calls: int) -> None:
        """Wait until there is room for ``calls`` more, and book them.

        Raises
        ------
        BudgetSpent
            See :meth:`open`.
        """
        while refusal := self.budget.refusal(calls):
            if not self.budget.in_flight:
                raise BudgetSpent(refusal)
            await self._changed.wait()
        for _ in range(calls):
            self.budget.begin()

    def release(self, calls: int) -> None:
        """Release booked calls that are not made."""
        for _ in range(calls):
            self.budget.abandon()
        self._tell()

    def settle(self, usage: Usage | None, calls: int) -> None:
        """Record the end of a booked call; ``calls`` is 0 if its reply came from a cache."""
        self.budget.settle(usage, calls=calls)
        self.cached += not calls
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Allowance:
    """Calls of one row; ``calls`` and ``usage`` count what was paid for."""

    def __init__(self, meter: Meter, booked: int) -> None:
        self._meter = meter
        self._booked = booked
        self.calls = 0
        self.usage: Counter[str] = Counter()

    def close(self) -> None:
        """Release unused calls."""
        self._meter.release(self._booked)
        self._booked = 0

    async def ask(self, client: Client, request: Request, attempt: int) -> Reply:
        """Make one call within the allowance."""
        if self._booked:
            self._booked -= 1
        else:  # a judge that makes more calls than it stated
            await self._meter.book(1)
        try:
            reply = await client.ask(request, attempt=attempt)
        except ClientError as error:
            self._settle(error.usage or None, 1)
            raise
        except BaseException:
            self._meter.release(1)
            raise
        self._settle(reply.usage, 0 if reply.cached else 1)
        return reply

    def _settle(self, usage: Usage | None, calls: int) -> None:
        self._meter.settle(usage, calls)
        self.calls += calls
        if calls:
            self.usage.update(usage or {})


class Metered(Wrapping):
    """A client whose calls count towards a row's allowance."""

    def __init__(self, inner: Client, allowance: Allowance) -> None:
        super().__init__(inner)
        self.allowance = allowance

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Ask the inner client.

        Raises
        ------
        BudgetSpent
            If there is no room for the call.
        """
        return await self.allowance.ask(self.inner, request, attempt)


async def with_images(given: Mapping[str, Any], private_urls: bool) -> dict[str, Any]:
    """Return a judge module's input with images behind ``http(s)`` URLs downloaded.

    Raises
    ------
    DataError
        If one cannot be downloaded, has a forbidden address, or is not an image.
    """
    images = [given["input_image"], *given["edited_images"]]
    first, *rest = [await _image(image, private_urls) for image in images]
    return {**given, "input_image": first, "edited_images": rest}


async def _image(source: Any, private_urls: bool) -> Any:
    if not isinstance(source, str) or not source.lower().startswith(("http://", "https://")):
        return source
    content = await fetch_image(source, allow_private=private_urls)
    return await asyncio.to_thread(image_of_bytes, content, source)


Found = Mapping[str, Judgement | VisualJudgeError]


@dataclass(frozen=True)
class RowJudge:
    """Judge of rows by each metric that applies and has no result in ``kept``."""

    pipes: Mapping[str, ClientPipe]
    meter: Meter
    stop: Stop
    kept: Mapping[str, RowResult]
    private_urls: bool = False

    async def __call__(self, row: Row) -> Outcome | None:
        """Return the row's line; None if the budget is spent, which stops the run."""
        kept, due = self._kept(row), self._due(row)
        begun = time.perf_counter()
        try:
            async with self.meter.open(self.most_calls(row)) as paid:
                if self.stop.reason is not None:  # the run stopped while this row waited
                    return None
                found = await self._found(due, row, paid)
        except BudgetSpent as spent:
            self.stop.request(str(spent))
            return None
        seconds = time.perf_counter() - begun
        line = await asyncio.to_thread(self._line, row, kept, found, paid, seconds)
        status, cause = _status(found, line)
        return Outcome(line.record(), status, cause, dict(paid.usage), paid.calls)

    def most_calls(self, row: Row) -> int:
        """Return the maximum number of calls for the row."""
        return sum(pipe.most_calls(len(row.edited_images)) for pipe in self._due(row).values())

    def _kept(self, row: Row) -> RowResult:
        return self.kept.get(str(row.key)) or RowResult(row.key, {})

    def _due(self, row: Row) -> dict[str, ClientPipe]:
        done = self._kept(row).results
        return {
            name: pipe
            for name, pipe in self.pipes.items()
            if name not in done and _applies(pipe, row)
        }

    async def _found(self, due: Mapping[str, ClientPipe], row: Row, allowance: Allowance) -> Found:
        try:
            given = await with_images(row.as_input(), self.private_urls)
        except DataError as error:
            return dict.fromkeys(due, error)
        found = await asyncio.gather(*(_one(pipe, given, allowance) for pipe in due.values()))
        for one in found:
            if isinstance(one, BudgetSpent):
                raise one
        return dict(zip(due, found, strict=True))

    def _line(
        self, row: Row, kept: RowResult, found: Found, allowance: Allowance, seconds: float
    ) -> RowResult:
        judged = {name: one for name, one in found.items() if isinstance(one, Judgement)}
        errors = {name: one for name, one in found.items() if not isinstance(one, Judgement)}
        results = {**kept.results, **{name: one.result for name, one in judged.items()}}
        details = {
            **kept.details,
            **{name: dict(one.details) for name, one in judged.items() if one.details},
        }
        return RowResult(
            row.key,
            {name: results[name] for name in self.pipes if name in results},
            errors={name: " ".join(str(error).split()) for name, error in errors.items()},
            does_not_apply={
                name: f"needs {pipe.fewest_edits} edited images, got {len(row.edited_images)}"
                for name, pipe in self.pipes.items()
                if not _applies(pipe, row)
            },
            details=details,
            rules=tuple(sorted({pipe.rules for pipe in self.pipes.values()} - {"strict"})),
            notes=tuple(
                sorted({*kept.notes, *(note for one in judged.values() for note in one.notes)})
            ),
            usage=dict(Counter(kept.usage) + allowance.usage),
            latency_s=round(seconds, 4),
            input=checksum(row),
        )


def _applies(pipe: ClientPipe, row: Row) -> bool:
    return len(row.edited_images) >= pipe.fewest_edits


async def _one(
    pipe: ClientPipe, given: Mapping[str, Any], allowance: Allowance
) -> Judgement | VisualJudgeError:
    metered = copy(pipe)
    metered.client = Metered(pipe.client, allowance)
    try:
        return await metered.judge(given)
    except VisualJudgeError as error:
        return error


def _status(found: Found, line: RowResult) -> tuple[str, str | None]:
    """Return the status for the display and the stopping rule; a failed call is an
    ``api_error``.
    """
    for error in found.values():
        if isinstance(error, ClientError):
            return "api_error", cause_of(error)
    return line.status, None
