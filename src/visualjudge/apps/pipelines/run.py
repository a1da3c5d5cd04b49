"""Apply judges to rows, with one journalled line per row, and a record of the settings
so that a run can be resumed. An error of one metric is recorded in the row's line and
does not affect the other metrics. Rows are read in ``rows.py``, lines in
``results.py``; questions of a dataset are asked in ``runs/judge_dataset.py``.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from visualjudge import __version__
from visualjudge.apps.pipelines.results import (
    MetricCounts,
    RowResult,
    count,
    read_results,
)
from visualjudge.apps.pipelines.rows import Row, checksum
from visualjudge.clients import image_download, image_parts
from visualjudge.clients.base import Client, Reply, Request, Wrapping
from visualjudge.clients.masked_secrets import public_url
from visualjudge.clients.retry import cause_of
from visualjudge.core import jsons
from visualjudge.core.errors import (
    ClientError,
    DataError,
    UnknownPrompt,
    UsageError,
    VisualJudgeError,
)
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.output_files import OutputFile
from visualjudge.judges.judge_module import ClientPipe, Judgement
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate
from visualjudge.runs.budget import Budget
from visualjudge.runs.job_runner import (
    Listener,
    Progress,
    Runner,
    Stop,
)
from visualjudge.runs.journal import Journal

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
    content = await image_download.fetch_image(
        source, allow_private=private_urls
    )
    return await asyncio.to_thread(
        image_parts.image_of_bytes, content, public_url(source)
    )


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A row's line, and what the runner counts of it."""

    line: RowResult
    status: str
    cause: str | None
    calls: int
    error: str | None = None

    @property
    def tokens_paid(self) -> Mapping[str, int]:
        return self.line.usage


def record_of(judged: JudgedRow) -> Json:
    return judged.line.record()


@dataclass
class RowJudge:
    """Judge of rows by each metric; ``cached`` counts replies from the cache."""

    pipes: Mapping[str, ClientPipe]
    private_urls: bool = False
    cached: int = 0

    async def __call__(self, row: Row) -> JudgedRow:
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
        return JudgedRow(line, status, cause, paid.calls)

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


_MOST_KEYS = 5


def settings_path(out: Path) -> Path:
    """Return the path ``results.run.json`` for ``results.jsonl``."""
    return out.with_suffix(".run.json")


def is_ours(template: PromptTemplate) -> bool:
    """Return whether a prompt's text is that of the package's asset of its id and
    version."""
    with suppress(UnknownPrompt):
        known = PromptAssetStore().get_prompt(
            template.prompt_id, template.version
        )
        return (known.system, known.user) == (template.system, template.user)
    return False


def settings_of(pipes: Mapping[str, ClientPipe]) -> Json:
    """Return all settings that affect results, by metric, without secrets. A prompt
    that is not ours has the checksum of its text.
    """
    return {
        name: {
            "pipe": type(pipe).__name__,
            "prompt": pipe.prompt_template.name,
            "client": asdict(pipe.client.identity),
            "retries": pipe.retries,
        }
        | ({"rules": pipe.rules} if pipe.rules != "strict" else {})
        | ({"rubric": pipe.rubric.json()} if pipe.rubric else {})
        | (
            {}
            if is_ours(pipe.prompt_template)
            else {"prompt_sha256": _digest(pipe.prompt_template)}
        )
        for name, pipe in pipes.items()
    }


def _digest(template: PromptTemplate) -> str:
    return hashlib.sha256(
        f"{template.system or ''}\n{template.user}".encode()
    ).hexdigest()


def check_same(out: Path, settings: Fields) -> None:
    """Check that results of two configurations do not end up in one file.

    Raises
    ------
    UsageError
        If ``out`` was made with different or unknown settings.
    """
    if not out.is_file() or not out.stat().st_size:
        return
    before = _stated(settings_path(out))
    if before is None:
        raise UsageError(
            f"{settings_path(out)} is missing or cannot be read: it records the "
            f"settings of {out}; restore it, or choose another `out` (calls in the "
            "reply cache are free)"
        )
    now = orjson.loads(orjson.dumps(settings, default=str))
    for name in sorted(set(before) | set(now)):
        if before.get(name) != now.get(name):
            raise UsageError(
                f"{out} was made with other settings of metric {name!r}; choose "
                "another `out`"
            )


def _stated(place: Path) -> Json | None:
    try:
        result = jsons.read(place, "manifest")["metrics"]
    except (OSError, DataError, ValueError, KeyError, TypeError):
        return None
    return result if isinstance(result, dict) else None


def write_settings(
    out: Path,
    pipes: Mapping[str, ClientPipe],
    settings: Fields,
    stated: Path | None,
) -> None:
    """Write the settings next to ``out``, with the prompts' texts and the path of the
    rows."""
    templates = [pipe.prompt_template for pipe in pipes.values()]
    prompts = {
        template.name: {"system": template.system, "user": template.user}
        for template in templates
    }
    whole: Json = {
        "visualjudge": __version__,
        "metrics": settings,
        "prompts": prompts,
    }
    if stated is not None:
        whole["rows"] = Path(
            os.path.relpath(stated.resolve(), out.resolve().parent)
        ).as_posix()
    OutputFile(settings_path(out)).write_now(
        orjson.dumps(whole, default=str, option=orjson.OPT_INDENT_2) + b"\n",
    )


@dataclass(frozen=True)
class PipelineReport:
    """Result of a run: all rows by status, each metric, the errors by row, and the
    missing rows."""

    statuses: Counter[str]
    errors: Mapping[str, str]
    missing: int
    progress: Progress
    metrics: Mapping[str, MetricCounts] = field(default_factory=dict)
    cached: int = 0
    """Replies of this invocation that came from the cache."""


async def run_pipeline(
    pipes: Mapping[str, ClientPipe],
    rows: Sequence[Row],
    out: str | Path,
    *,
    resume: bool = False,
    concurrency: int = 16,
    budget: Budget | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
    private_urls: bool = False,
    stated: Path | None = None,
) -> PipelineReport:
    """Judge every row by every metric; each line is on disk before it is reported.

    Images behind URLs are downloaded from public addresses only, unless
    ``private_urls`` is true. With ``resume``, rows without an error are skipped, and
    those with one are judged again; their replies are in the cache. A row that the
    budget may not allow to finish is not begun. ``stated`` is the file of the rows,
    which is noted for ``adopt``.

    Raises
    ------
    UsageError
        If ``out`` has results and ``resume`` is false, or the results come from another
        configuration or from other rows with the same keys; or if a row may take more
        calls than the budget allows.
    DataError
        If ``out`` is a file of another kind.
    """
    # the user may have linked it; a journal follows no links
    path = Path(out).resolve() if Path(out).is_symlink() else Path(out)
    settings = settings_of(pipes)
    done = await asyncio.to_thread(_done, path, rows if resume else ())
    if resume:
        check_same(path, settings)
    judge = RowJudge(pipes, private_urls)
    left = [row for row in rows if str(row.key) not in done]
    progress = Progress(total=len(left), budget=budget or Budget())
    progress.budget.expect(max(map(judge.most_calls, left), default=0))
    journal = Journal(path, resume=resume)
    try:
        with journal:
            write_settings(path, pipes, settings, stated)
            journal.drop(lambda line: bool(line.get("errors")))
            await Runner(
                journal,
                record_of,
                progress,
                concurrency,
                on_event,
                stop or Stop(),
            ).run(left, judge)
    finally:
        await asyncio.gather(*(pipe.client.aclose() for pipe in pipes.values()))
    return _report(path, rows, pipes, progress, judge.cached)


def _done(path: Path, rows: Sequence[Row]) -> set[str]:
    by_key = {str(row.key): row for row in rows}
    done = set()
    changed = []
    for line in read_results(path) if path.is_file() else ():
        key = str(line.key)
        if line.errors:
            continue
        done.add(key)
        if key in by_key and line.input not in (None, checksum(by_key[key])):
            changed.append(key)
    if changed:
        more = (
            f" and {len(changed) - _MOST_KEYS} more"
            if len(changed) > _MOST_KEYS
            else ""
        )
        raise UsageError(
            f"{path}: instruction or images are not those that were judged, for key "
            f"{', '.join(changed[:_MOST_KEYS])}{more}; choose another `out`, or give "
            "changed rows other keys"
        )
    return done


def _report(
    path: Path,
    rows: Sequence[Row],
    names: Iterable[str],
    progress: Progress,
    cached: int,
) -> PipelineReport:
    statuses: Counter[str] = Counter()
    metrics = {name: MetricCounts() for name in names}
    errors = {}
    keys = set()
    for line in read_results(path):
        statuses[line.status] += 1
        count(line, metrics)
        keys.add(str(line.key))
        if line.errors:
            errors[str(line.key)] = "; ".join(
                f"{metric}: {error}" for metric, error in line.errors.items()
            )
    missing = sum(str(row.key) not in keys for row in rows)
    return PipelineReport(statuses, errors, missing, progress, metrics, cached)
