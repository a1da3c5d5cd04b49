"""Apply judges to rows, with one journalled line per row, and a record of the settings
so that a run can be resumed.
"""

import asyncio
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from visualjudge import __version__
from visualjudge.apps.pipelines.results import MetricCounts, count, read_results
from visualjudge.apps.pipelines.row_judging import RowJudge
from visualjudge.apps.pipelines.rows import Row, checksum
from visualjudge.core import jsons
from visualjudge.core.errors import DataError, UnknownPrompt, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.outputs import OutputFile
from visualjudge.judges.judge_module import ClientPipe
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate
from visualjudge.runs.budget import Budget
from visualjudge.runs.job_runner import Listener, Progress, Runner, Stop
from visualjudge.runs.journal import Journal

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
            else {"prompt_sha256": _digest(pipe)}
        )
        for name, pipe in pipes.items()
    }


def _digest(pipe: ClientPipe) -> str:
    text = f"{pipe.prompt_template.system or ''}\n{pipe.prompt_template.user}"
    return hashlib.sha256(text.encode()).hexdigest()


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
    path = Path(out)
    path = (
        path.resolve() if path.is_symlink() else path
    )  # the user may have linked it; a journal follows no links
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
                journal, progress, concurrency, on_event, stop or Stop()
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
