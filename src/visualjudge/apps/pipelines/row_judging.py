"""Judge one row by all metrics. An error of one metric is recorded in the row's line
and does not affect the other metrics.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from visualjudge.apps.pipelines.results import RowResult
from visualjudge.apps.pipelines.rows import Row, checksum
from visualjudge.clients.base import Client, Reply, Request, Wrapping
from visualjudge.clients.image_parts import fetch_image, image_of_bytes
from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.retry import cause_of
from visualjudge.core.errors import ClientError, DataError, VisualJudgeError
from visualjudge.judges.judge_module import ClientPipe, Judgement
from visualjudge.runs.job_runner import Outcome

Found = Mapping[str, Judgement | VisualJudgeError]


class Counted(Wrapping):
    """A client that counts what was paid for one row: calls and tokens, and replies
    from the cache.
    """

    def __init__(self, inner: Client, paid: Paid) -> None:
        super().__init__(inner)
        self.paid = paid

    async def ask(self, request: Request, *, attempt: int = 0) -> Reply:
        """Ask the inner client."""
        try:
            reply = await self.inner.ask(request, attempt=attempt)
        except ClientError as error:
            self.paid.calls += 1
            self.paid.usage.update(error.usage or {})
            raise
        self.paid.cached += reply.cached
        if not reply.cached:
            self.paid.calls += 1
            self.paid.usage.update(reply.usage or {})
        return reply


class Paid:
    """What one row took."""

    def __init__(self) -> None:
        self.calls = self.cached = 0
        self.usage: Counter[str] = Counter()


async def with_images(
    data: Mapping[str, Any], private_urls: bool
) -> dict[str, Any]:
    """Return a judge module's input with images behind ``http(s)`` URLs downloaded.

    Raises
    ------
    DataError
        If one cannot be downloaded, has a forbidden address, or is not an image.
    """
    images = [data["input_image"], *data["edited_images"]]
    first, *rest = [await _image(image, private_urls) for image in images]
    return {**data, "input_image": first, "edited_images": rest}


async def _image(source: Any, private_urls: bool) -> Any:
    if not isinstance(source, str) or not source.lower().startswith(
        ("http://", "https://")
    ):
        return source
    content = await fetch_image(source, allow_private=private_urls)
    return await asyncio.to_thread(image_of_bytes, content, public_url(source))


@dataclass
class RowJudge:
    """Judge of rows by each metric; ``cached`` counts replies from the cache."""

    pipes: Mapping[str, ClientPipe]
    private_urls: bool = False
    cached: int = 0

    async def __call__(self, row: Row) -> Outcome:
        """Return the row's line."""
        begun = time.perf_counter()
        paid = Paid()
        result = await self._found(row, paid)
        self.cached += paid.cached
        seconds = time.perf_counter() - begun
        line = await asyncio.to_thread(self._line, row, result, paid, seconds)
        failed = [
            error for error in result.values() if isinstance(error, ClientError)
        ]
        status, cause = (
            ("api_error", cause_of(failed[0]))
            if failed
            else (line.status, None)
        )
        return Outcome(
            line.record(), status, cause, dict(paid.usage), paid.calls
        )

    def most_calls(self, row: Row) -> int:
        """Return the maximum number of calls for the row."""
        return sum(
            pipe.most_calls(len(row.edited_images))
            for pipe in self.pipes.values()
        )

    async def _found(self, row: Row, paid: Paid) -> Found:
        try:
            stated = await with_images(row.as_input(), self.private_urls)
        except DataError as error:
            return dict.fromkeys(self.pipes, error)
        result = await asyncio.gather(
            *(_judged(pipe, stated, paid) for pipe in self.pipes.values())
        )
        return dict(zip(self.pipes, result, strict=True))

    def _line(
        self, row: Row, result: Found, paid: Paid, seconds: float
    ) -> RowResult:
        judged = {
            name: item
            for name, item in result.items()
            if isinstance(item, Judgement)
        }
        errors = {
            name: item
            for name, item in result.items()
            if not isinstance(item, Judgement)
        }
        return RowResult(
            row.key,
            {name: item.result for name, item in judged.items()},
            errors={
                name: " ".join(str(error).split())
                for name, error in errors.items()
            },
            details={
                name: dict(item.details)
                for name, item in judged.items()
                if item.details
            },
            rules=tuple(
                sorted(
                    {pipe.rules for pipe in self.pipes.values()} - {"strict"}
                )
            ),
            notes=tuple(
                sorted(
                    {note for item in judged.values() for note in item.notes}
                )
            ),
            usage=dict(paid.usage),
            latency_s=round(seconds, 4),
            input=checksum(row),
        )


async def _judged(
    pipe: ClientPipe, data: Mapping[str, Any], paid: Paid
) -> Judgement | VisualJudgeError:
    counted = copy(pipe)
    counted.client = Counted(pipe.client, paid)
    try:
        return await counted.judge(data)
    except VisualJudgeError as error:
        return error
