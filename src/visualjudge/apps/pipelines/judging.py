"""All metrics of one row; an error of one is a part of the row's line, and costs no other its result."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from visualjudge.apps.pipelines.metering import Allowance, BudgetSpent, Meter, Metered
from visualjudge.apps.pipelines.results import RowResult
from visualjudge.apps.pipelines.rows import Row, checksum
from visualjudge.clients.download import fetch_image
from visualjudge.clients.payload import image_of_bytes
from visualjudge.clients.retry import cause_of
from visualjudge.core.errors import ClientError, DataError, VisualJudgeError
from visualjudge.judges.pipe import ClientPipe, Judgement
from visualjudge.runs.runner import Outcome, Stop


async def with_images(given: Mapping[str, Any], private_urls: bool) -> dict[str, Any]:
    """A judge module's input with the images behind ``http(s)`` URLs in place of their URLs.

    Raises
    ------
    DataError
        If one cannot be fetched, is at an address that is not allowed, or is no image.
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
    """Judges a row by each metric that applies to it and has no result in ``kept``."""

    pipes: Mapping[str, ClientPipe]
    meter: Meter
    stop: Stop
    kept: Mapping[str, RowResult]
    private_urls: bool = False

    async def __call__(self, row: Row) -> Outcome | None:
        """The row's line; None where the budget is spent, which stops the run."""
        kept, due = self._kept(row), self._due(row)
        begun = time.perf_counter()
        try:
            async with self.meter.open(self.most_calls(row)) as paid:
                if self.stop.reason is not None:  # while this row waited
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
        """The most calls that the row may take."""
        return sum(pipe.most_calls(len(row.edited_images)) for pipe in self._due(row).values())

    def _kept(self, row: Row) -> RowResult:
        return self.kept.get(str(row.key)) or RowResult(row.key, {})

    def _due(self, row: Row) -> dict[str, ClientPipe]:
        done = self._kept(row).results
        return {name: pipe for name, pipe in self.pipes.items() if name not in done and _applies(pipe, row)}

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

    def _line(self, row: Row, kept: RowResult, found: Found, allowance: Allowance, seconds: float) -> RowResult:
        judged = {name: one for name, one in found.items() if isinstance(one, Judgement)}
        errors = {name: one for name, one in found.items() if not isinstance(one, Judgement)}
        results = {**kept.results, **{name: one.result for name, one in judged.items()}}
        details = {**kept.details, **{name: dict(one.details) for name, one in judged.items() if one.details}}
        return RowResult(
            row.key,
            {name: results[name] for name in self.pipes if name in results},
            errors={name: " ".join(str(error).split()) for name, error in errors.items()},
            does_not_apply={name: _too_few(pipe, row) for name, pipe in self.pipes.items() if not _applies(pipe, row)},
            details=details,
            rules=tuple(sorted({pipe.rules for pipe in self.pipes.values()} - {"strict"})),
            notes=tuple(sorted({*kept.notes, *(note for one in judged.values() for note in one.notes)})),
            usage=dict(Counter(kept.usage) + allowance.usage),
            latency_s=round(seconds, 4),
            input=checksum(row),
        )


def _applies(pipe: ClientPipe, row: Row) -> bool:
    return len(row.edited_images) >= pipe.fewest_edits


def _too_few(pipe: ClientPipe, row: Row) -> str:
    return f"needs {pipe.fewest_edits} edited images, got {len(row.edited_images)}"


async def _one(pipe: ClientPipe, given: Mapping[str, Any], allowance: Allowance) -> Judgement | VisualJudgeError:
    metered = copy(pipe)
    metered.client = Metered(pipe.client, allowance)
    try:
        return await metered.judge(given)
    except VisualJudgeError as error:
        return error


def _status(found: Found, line: RowResult) -> tuple[str, str | None]:
    """For the display and for giving up: a call that failed is an ``api_error``."""
    for error in found.values():
        if isinstance(error, ClientError):
            return "api_error", cause_of(error)
    return line.status, None
