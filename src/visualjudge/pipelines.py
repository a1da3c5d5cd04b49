"""YAML into judges, and judges over rows of a JSONL file. The only user of OmegaConf.

A configuration names metrics; each is a judge module with a prompt and a client::

    metric_configs:
      pair-judge:
        pipe_name: pairwise-judge
        default_config: ${pipes_default.pairwise-judge}
        init_config:
          backend: api
          model_name: gpt-4o
          api_key: ${oc.env:OPENAI_API_KEY}
          prompt_info:
            prompt_id: vlm/assessment/visual_consistency/pairwise
            version: v1

``init_config`` wins over ``default_config``. Keys stay out of everything that is written.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError
from yaml import YAMLError

from visualjudge import __version__, atomic
from visualjudge.clients.parameters import identity_of
from visualjudge.clients.registry import open_client
from visualjudge.clients.retry import cause_of
from visualjudge.errors import ClientError, DataError, Problem, UsageError, VisualJudgeError
from visualjudge.judges.pipe import ClientPipe, Judgement
from visualjudge.judges.registry import PIPE_REGISTRY
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.records import FAILED
from visualjudge.runs.budget import Budget
from visualjudge.runs.journal import Journal, read_records
from visualjudge.runs.runner import Listener, Outcome, Progress, Stop, run

# ---------------------------------------------------------------- configuration


class PromptInfo(BaseModel):
    """Which prompt asset."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    prompt_id: str
    version: str = "v1"


class MetricConfig(BaseModel):
    """One metric of the file."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    pipe_name: str
    default_config: dict[str, Any] | None = None
    init_config: dict[str, Any] = Field(default_factory=dict)

    @property
    def merged(self) -> dict[str, Any]:
        """``init_config`` over ``default_config``, level by level."""
        return _over(self.default_config or {}, self.init_config)


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = {key: _over(below[key], value) for key, value in above.items() if _nested(below.get(key), value)}
    return {**below, **above, **both}


def _nested(*values: Any) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def read_config(path: str | Path) -> dict[str, MetricConfig]:
    """The metrics of a pipeline file, interpolations and environment variables filled in.

    Raises
    ------
    DataError
        If the file is missing or is no YAML.
    UsageError
        If it holds no metrics, a variable is not set, or a metric has a wrong or unknown field.
    """
    file = Path(path)
    try:
        loaded = OmegaConf.load(file)
        metrics = OmegaConf.select(loaded, "metric_configs")
        plain = OmegaConf.to_container(metrics, resolve=True) if OmegaConf.is_config(metrics) else None
    except FileNotFoundError:
        raise DataError(f"{file}: no such file") from None
    except (YAMLError, UnicodeDecodeError, OSError) as error:
        raise DataError(f"{file}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    except OmegaConfBaseException as error:
        raise UsageError(f"{file}: {_first_line(error)}") from None
    if not isinstance(plain, dict) or not plain:
        raise UsageError(f"{file}: metric_configs: names no metric")
    return {str(name): _metric(file, str(name), config) for name, config in plain.items()}


def _first_line(error: Exception) -> str:
    said = str(error).strip().splitlines()
    where = getattr(error, "full_key", None)
    return f"{where}: {said[0]}" if where else said[0] if said else type(error).__name__


def _metric(file: Path, name: str, config: Any) -> MetricConfig:
    try:
        return MetricConfig.model_validate(config)
    except ValidationError as error:
        raise UsageError(f"{file}: metric_configs.{name}{_first_problem(error)}") from None


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    return "".join(f".{part}" for part in first["loc"]) + f": {first['msg']}"


def build_pipes(
    metrics: Mapping[str, MetricConfig],
    *,
    cache_dir: str | Path | None = None,
    concurrency: int | None = None,
    store: PromptAssetStore | None = None,
) -> dict[str, ClientPipe]:
    """The judges, by metric.

    Raises
    ------
    UsageError
        If a pipe or backend is unknown, or a field does not fit.
    PromptError
        If a prompt is unknown.
    """
    prompts = store or PromptAssetStore()
    return {name: _pipe(name, metric, prompts, cache_dir, concurrency) for name, metric in metrics.items()}


def _pipe(
    name: str, metric: MetricConfig, prompts: PromptAssetStore, cache_dir: str | Path | None, concurrency: int | None
) -> ClientPipe:
    make = PIPE_REGISTRY.find(metric.pipe_name)
    config = metric.merged
    try:
        info = PromptInfo.model_validate(config.get("prompt_info") or {})
    except ValidationError as error:
        raise UsageError(f"metric_configs.{name}.init_config.prompt_info{_first_problem(error)}") from None
    template = prompts.get_prompt(info.prompt_id, info.version)
    client = open_client(config, cache_dir=cache_dir, concurrency=concurrency)
    pipe: ClientPipe = make(template, config, client=client)
    return pipe


# ---------------------------------------------------------------- rows


class RowFile(BaseModel):
    """One line of the input: what a judge needs, and the key its result is filed under."""

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    key: StrictStr | int
    instruction: StrictStr
    input_image: StrictStr = Field(min_length=1)
    edited_images: list[StrictStr] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Row:
    """A row, its pictures as absolute paths or URLs."""

    key: str | int
    instruction: str
    input_image: str
    edited_images: tuple[str, ...]

    def as_input(self) -> dict[str, Any]:
        """As a judge module takes it."""
        return {
            "instruction": self.instruction,
            "input_image": self.input_image,
            "edited_images": list(self.edited_images),
        }


def read_rows(path: str | Path) -> tuple[list[Row], list[Problem]]:
    """The rows of a JSONL file that can be used, and what is wrong with the others.

    Relative paths of pictures are relative to the file's folder.

    Raises
    ------
    DataError
        If there is no such file, or it holds no row at all.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: no such file")
    rows: dict[str, Row] = {}
    problems: list[Problem] = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        row = _row(line, file, number)
        if isinstance(row, Row) and str(row.key) in rows:
            row = Problem(str(file), f"line {number}", "key", f"{row.key!r} stands in an earlier line too")
        if isinstance(row, Row):
            rows[str(row.key)] = row
        else:
            problems.append(row)
    if not rows and not problems:
        raise DataError(f"{file}: holds no rows")
    return list(rows.values()), problems


def _row(line: bytes, file: Path, number: int) -> Row | Problem:
    where = f"line {number}"
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return Problem(str(file), where, "row", f"is not JSON: {error}")
    if isinstance(value, dict) and "key" in value:
        where += f" ({value['key']})"
    try:
        row = RowFile.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        return Problem(str(file), where, ".".join(map(str, first["loc"][:2])) or "row", first["msg"])
    images = [_place(image, file.parent) for image in (row.input_image, *row.edited_images)]
    return Row(row.key, row.instruction, images[0], tuple(images[1:]))


def _place(image: str, folder: Path) -> str:
    is_url = image.partition(":")[0].lower() in ("http", "https", "data", "file")
    return image if is_url else str(folder / image)


# ---------------------------------------------------------------- a run over rows


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
) -> PipelineReport:
    """Judge every row by every metric; each row's line is on disk before it is reported.

    With ``resume`` rows that have all their results are left alone; rows with an error are judged again.

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
                lambda row: _judged(pipes, row),
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


async def _judged(pipes: Mapping[str, ClientPipe], row: Row) -> Outcome:
    """All metrics of one row; an error of one is a part of the row's line, and costs no other its result."""
    begun = time.perf_counter()
    given = row.as_input()
    found = await asyncio.gather(*(_one(pipe, given) for pipe in pipes.values()))
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
        "notes": sorted({note for one in judged.values() for note in one.notes}) or None,
        "usage": dict(usage) or None,
        "latency_s": round(time.perf_counter() - begun, 4),
    }
    status, cause = _status(list(judged.values()), list(errors.values()))
    calls = sum(one.calls for one in judged.values()) + sum(isinstance(e, ClientError) for e in errors.values())
    line = {name: value for name, value in record.items() if value is not None}
    return Outcome(line, status, cause, dict(usage), calls)


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
            "client": identity_of(pipe.client).as_dict(),
            "retries": pipe.retries,
        }
        for name, pipe in pipes.items()
    }


def _check_same(out: Path, settings: Mapping[str, Any]) -> None:
    """Results of two configurations must not end in one file."""
    place = settings_path(out)
    if not place.is_file() or not out.is_file():
        return
    try:
        before = orjson.loads(place.read_bytes())["metrics"]
    except (ValueError, KeyError, TypeError):
        return
    now = orjson.loads(orjson.dumps(settings, default=str))
    for name in sorted(set(before) | set(now)):
        if before.get(name) != now.get(name):
            raise UsageError(f"{out} was made with other settings of metric {name!r}; choose another --out")


def _write_settings(out: Path, settings: Mapping[str, Any]) -> None:
    whole = {"visualjudge": __version__, "metrics": settings}
    atomic.write_bytes(settings_path(out), orjson.dumps(whole, default=str, option=orjson.OPT_INDENT_2) + b"\n")
