"""Judges over rows: one journalled line a row, and a note of what made the results, so that a run can go on."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from visualjudge import __version__, atomic, jsons
from visualjudge.clients.retry import cause_of
from visualjudge.errors import ClientError, DataError, UsageError, VisualJudgeError
from visualjudge.judges.pipe import ClientPipe, Judgement
from visualjudge.pipelines.images import with_images
from visualjudge.pipelines.rows import Row
from visualjudge.records import FAILED
from visualjudge.runs.budget import Budget
from visualjudge.runs.journal import Journal, read_records
from visualjudge.runs.runner import Listener, Outcome, Progress, Stop, run


@dataclass(frozen=True)
class PipelineReport:
    """How a run ended: every row of the results by status, the errors by row, and what is missing."""

    statuses: Counter[str]
    errors: Mapping[str, str]
    missing: int
    progress: Progress
    failures: Counter[str] = field(default_factory=Counter)


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
) -> PipelineReport:
    """Judge every row by every metric; each row's line is on disk before it is reported.

    Images behind URLs are fetched from public addresses only, unless ``private_urls`` is true. With ``resume``
    rows that have all their results are left alone; rows with an error are judged again.

    Raises
    ------
    UsageError
        If ``out`` holds results and ``resume`` is not asked for, or they come from another configuration.
    """
    path = Path(out)
    settings = _settings(pipes)
    if resume:
        _check_same(path, settings)
    journal = Journal.resume(path) if resume else Journal.create(path)
    try:
        with journal:
            _write_settings(path, settings)
            journal.drop(lambda line: bool(line.get("errors")))
            done = {str(line["key"]) for line in journal.records()}
            left = [row for row in rows if str(row.key) not in done]
            progress = await run(
                left,
                lambda row: _judged(pipes, row, private_urls),
                journal,
                concurrency=concurrency,
                total=len(left),
                budget=budget,
                on_event=on_event,
                stop=stop,
            )
    finally:
        await asyncio.gather(*(pipe.client.aclose() for pipe in pipes.values()))
    return _report(path, rows, progress)


async def _judged(pipes: Mapping[str, ClientPipe], row: Row, private_urls: bool) -> Outcome:
    """All metrics of one row; an error of one is a part of the row's line, and costs no other its result."""
    begun = time.perf_counter()
    found = await _found(pipes, row, private_urls)
    by_metric = dict(zip(pipes, found, strict=True))
    judged = {name: one for name, one in by_metric.items() if isinstance(one, Judgement)}
    errors = {name: one for name, one in by_metric.items() if not isinstance(one, Judgement)}
    usage: Counter[str] = Counter()
    for one in judged.values():
        usage.update(one.usage)
    record = {
        "key": row.key,
        "results": {name: one.result for name, one in judged.items()},
        "errors": {name: " ".join(str(error).split()) for name, error in errors.items()} or None,
        "details": {name: dict(one.details) for name, one in judged.items() if one.details} or None,
        "rules": sorted({pipe.rules for pipe in pipes.values()} - {"strict"}) or None,
        "notes": sorted({note for one in judged.values() for note in one.notes}) or None,
        "usage": dict(usage) or None,
        "latency_s": round(time.perf_counter() - begun, 4),
    }
    status, cause = _status(list(judged.values()), list(errors.values()))
    calls = sum(one.calls for one in judged.values()) + sum(isinstance(e, ClientError) for e in errors.values())
    line = {name: value for name, value in record.items() if value is not None}
    return Outcome(line, status, cause, dict(usage), calls)


async def _found(
    pipes: Mapping[str, ClientPipe], row: Row, private_urls: bool
) -> Sequence[Judgement | VisualJudgeError]:
    try:
        given = await with_images(row.as_input(), private_urls)
    except DataError as error:
        return [error] * len(pipes)
    return await asyncio.gather(*(_one(pipe, given) for pipe in pipes.values()))


async def _one(pipe: ClientPipe, given: Mapping[str, Any]) -> Judgement | VisualJudgeError:
    try:
        return await pipe.judge(given)
    except VisualJudgeError as error:
        return error


def _status(judged: Sequence[Judgement], errors: Sequence[VisualJudgeError]) -> tuple[str, str | None]:
    for error in errors:
        if isinstance(error, ClientError):
            return "api_error", cause_of(error)
    if errors:
        return "unreadable", None
    return ("failed" if any(one.result["value"] == FAILED for one in judged) else "ok"), None


def _status_of_line(line: Mapping[str, Any]) -> str:
    if line.get("errors"):
        return "error"
    return "failed" if any(result["value"] == FAILED for result in line["results"].values()) else "ok"


def _report(path: Path, rows: Sequence[Row], progress: Progress) -> PipelineReport:
    lines = {str(line["key"]): line for line in read_records(path)}
    errors = {
        key: "; ".join(f"{metric}: {said}" for metric, said in line["errors"].items())
        for key, line in lines.items()
        if line.get("errors")
    }
    missing = sum(str(row.key) not in lines for row in rows)
    return PipelineReport(Counter(_status_of_line(line) for line in lines.values()), errors, missing, progress)


# ---------------------------------------------------------------- what the results were made with


def settings_path(out: Path) -> Path:
    """``results.run.json`` beside ``results.jsonl``."""
    return out.with_suffix(".run.json")


def _settings(pipes: Mapping[str, ClientPipe]) -> dict[str, Any]:
    return {
        name: {
            "pipe": type(pipe).__name__,
            "prompt": pipe.prompt_template.name,
            "client": pipe.client.identity.as_dict(),
            "retries": pipe.retries,
        }
        | ({"rules": pipe.rules} if pipe.rules != "strict" else {})
        for name, pipe in pipes.items()
    }


def _check_same(out: Path, settings: Mapping[str, Any]) -> None:
    """Results of two configurations must not end in one file."""
    place = settings_path(out)
    if not place.is_file() or not out.is_file():
        return
    try:
        before = jsons.loads(place.read_bytes())["metrics"]
    except (ValueError, KeyError, TypeError):
        return
    now = orjson.loads(orjson.dumps(settings, default=str))
    for name in sorted(set(before) | set(now)):
        if before.get(name) != now.get(name):
            raise UsageError(f"{out} was made with other settings of metric {name!r}; choose another --out")


def _write_settings(out: Path, settings: Mapping[str, Any]) -> None:
    whole = {"visualjudge": __version__, "metrics": settings}
    atomic.write_bytes(settings_path(out), orjson.dumps(whole, default=str, option=orjson.OPT_INDENT_2) + b"\n")
