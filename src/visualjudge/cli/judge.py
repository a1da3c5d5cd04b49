"""``visualjudge judge``: put a dataset's questions to a judge."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualjudge.errors import RunError, UsageError

if TYPE_CHECKING:
    from visualjudge.dataset.folder import Dataset
    from visualjudge.judges.asks import Judge
    from visualjudge.runs.budget import Prices
    from visualjudge.runs.judging import Options, RunReport

app = typer.Typer(add_completion=False)

EPILOG = """Examples:

visualjudge judge DATASET --backend api --model gpt-4o-mini --api-key-env OPENAI_API_KEY --out RUN

visualjudge judge DATASET --backend vllm --model Qwen/Qwen2.5-VL-7B --base-url http://gpu:8000/v1 --swap --out RUN

visualjudge judge DATASET --backend baseline --model oracle:0.8 --out RUN

visualjudge judge DATASET --panel RUN1 --panel RUN2 --panel RUN3 --out MAJORITY
"""


class ModeName(StrEnum):
    """How an answer is asked for."""

    text = "text"
    json = "json"
    logprobs = "logprobs"


Backend = Annotated[str, typer.Option(help="api, google, vllm, anthropic, transformers or baseline.")]
Model = Annotated[
    str | None,
    typer.Option(help="As the server names it; a baseline: random, first, oracle:P[,bias=B][,slope=S], sharpness."),
]


@app.command(epilog=EPILOG)
def judge(
    dataset: Annotated[Path, typer.Argument(help="A folder that `visualjudge build` wrote.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the run: verdicts.jsonl and run.json.", show_default=False)],
    backend: Backend = "api",
    model: Model = None,
    base_url: Annotated[str | None, typer.Option(help="Server, with /v1 for api and vllm.")] = None,
    api_key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the API key.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Most calls under way at once.")] = 16,
    swap: Annotated[bool, typer.Option("--swap", help="Ask pairwise questions in both orders.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="Ask everything so often (self-consistency).")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Only questions of this task; may be repeated.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="With --resume: go on with other settings; run.json keeps both.")
    ] = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="With --resume: ask again what ended in an api_error.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print calls, images, tokens, cost; ask nothing.")] = False,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Stop after so many calls.")] = None,
    max_tokens_total: Annotated[int | None, typer.Option(min=1, help="Stop before more tokens are used.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop before more money is spent (give prices).")
    ] = None,
    price_in: Annotated[float, typer.Option(min=0, help="Price of a million prompt tokens.")] = 0.0,
    price_out: Annotated[float, typer.Option(min=0, help="Price of a million reply tokens.")] = 0.0,
    mode: Annotated[
        ModeName, typer.Option(help="text; json: ask for a schema; logprobs: weigh A against B.")
    ] = ModeName.text,
    temperature: Annotated[float | None, typer.Option(min=0)] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sent to the server; seeds the baselines.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds for one call.")] = None,
    attempts: Annotated[int | None, typer.Option(min=1, help="Calls in all where a server fails.")] = None,
    max_image_side: Annotated[int | None, typer.Option(min=16, help="Shrink larger pictures (recorded).")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Ask again so often where a reply cannot be read.")] = 0,
    cache_dir: Annotated[Path | None, typer.Option(help="Where replies are kept (default: user's cache).")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies, use none.")] = False,
    name: Annotated[str | None, typer.Option(help="The judge's name in reports (default: the model).")] = None,
    panel: Annotated[
        list[Path] | None, typer.Option(help="A finished run; give several: the majority's verdicts, no calls.")
    ] = None,
) -> None:
    """Put a dataset's questions to a judge. Each verdict is on disk before the next is reported; --resume goes on."""
    from visualjudge.runs.budget import Limits, Prices
    from visualjudge.runs.judging import Options

    if out.exists() and not out.is_dir():
        raise UsageError(f"--out: {out} is a file; name a folder")
    chosen = _dataset(dataset, task)
    options = Options(swap, repeats, limit, concurrency, resume or retry_errors, retry_errors, name, accept_changes)
    prices = Prices(price_in, price_out)
    if dry_run:
        _dry_run(chosen, out, options, prices)
        return
    fields = {
        "backend": backend,
        "model_name": model,
        "base_url": base_url,
        "api_key": _key(api_key_env),
        "temperature": temperature,
        "max_tokens": max_tokens,
        "timeout": timeout,
        "attempts": attempts,
        "max_image_side": max_image_side,
    }
    config = {field: value for field, value in fields.items() if value is not None}
    limits = Limits(max_calls, max_tokens_total, max_cost)
    if max_cost is not None and not (price_in or price_out):
        raise UsageError("--max-cost needs --price-in and --price-out")

    def make() -> Judge:
        if panel:
            return _panel(panel)
        if not model:
            raise UsageError("--model is missing")
        if backend == "baseline":
            from visualjudge.judges.baseline import baseline_judge

            return baseline_judge(model, chosen.root, seed=42 if seed is None else seed)
        return _question_judge(
            chosen.root, config, mode.value, retries, seed, None if no_cache else cache_dir, no_cache, concurrency
        )

    _finish(_ask(chosen, make, out, options, limits, prices), out)


def _dataset(path: Path, tasks: list[str] | None) -> Dataset:
    from visualjudge.dataset.folder import load_dataset, selected

    return selected(load_dataset(path), tasks)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise UsageError(f"--api-key-env: the environment variable {variable} is not set")
    return key


def _question_judge(
    root: Path,
    config: dict[str, Any],
    mode: Any,
    retries: int,
    seed: int | None,
    cache_dir: Path | None,
    no_cache: bool,
    concurrency: int,
) -> Judge:
    from visualjudge.clients.cache import default_cache_dir
    from visualjudge.clients.registry import open_client
    from visualjudge.judges.question import QuestionJudge

    place = None if no_cache else cache_dir or default_cache_dir()
    client = open_client(config, cache_dir=place, concurrency=concurrency)
    return QuestionJudge(client, root, mode, retries, seed)


def _panel(folders: list[Path]) -> Judge:
    from visualjudge.judges.panel import PanelJudge
    from visualjudge.runs.folder import RunFolder

    members = {str(folder): RunFolder(folder).verdicts() for folder in folders}
    simulated = any(RunFolder(folder).manifest().get("simulated") for folder in folders)
    return PanelJudge(members, bool(simulated))


def _dry_run(dataset: Dataset, out: Path, options: Options, prices: Prices) -> None:
    from visualjudge.runs.estimate import estimate
    from visualjudge.runs.judging import check_pictures, still_to_ask

    check_pictures(dataset, dataset.questions[: options.limit])
    found = estimate(dataset, still_to_ask(out, dataset.questions, options), prices)
    print(f"calls: {found.calls}")
    print(f"images: {found.images} ({found.different_images} different files)")
    print(f"tokens, estimated: {found.tokens_in} in, {found.tokens_out} out (an answer without reasoning)")
    if prices.per_million_in or prices.per_million_out:
        print(f"cost, estimated: {found.cost:.4f}")


def _ask(dataset: Dataset, make: Any, out: Path, options: Options, limits: Any, prices: Prices) -> RunReport:
    from visualjudge.runs.budget import Budget
    from visualjudge.runs.judging import check_pictures, run_judge
    from visualjudge.runs.progress import Display
    from visualjudge.runs.runner import Stop, run_until_stopped

    check_pictures(dataset, dataset.questions[: options.limit])

    async def main(stop: Stop) -> RunReport:
        with Display() as display:
            budget = Budget(limits, prices)
            return await run_judge(dataset, make(), out, options, budget=budget, on_event=display.update, stop=stop)

    try:
        return run_until_stopped(main)
    except KeyboardInterrupt:
        raise RunError(f"cancelled; the verdicts so far are in {out}, --resume goes on") from None


def _finish(report: RunReport, out: Path) -> None:
    """Say how it ended; exit status 1 where something failed or is missing."""
    from visualjudge.runs.progress import counted, spent

    progress = report.progress
    if report.torn_bytes:
        _say(f"{out}: the last line was cut short by a kill; its question was asked again")
    money = f" ({spent(progress)})" if spent(progress) else ""
    print(f"{out}: {report.statuses.total()} verdicts: {counted(report.statuses) or 'none'}{money}")
    for adjustment in report.adjustments:
        _say(adjustment)
    if report.failures:
        _say(f"failed calls, those included that a retry made good: {counted(report.failures)}")
    errors = report.statuses["api_error"]
    if errors:
        again = "--resume --retry-errors asks them again"
        _say(f"{errors} of {report.statuses.total()} questions got no reply: {counted(report.causes)}; {again}")
        _say(_last_error(report))
    if report.missing:
        _say(f"{progress.stopped or 'stopped'}; {report.missing} verdicts are missing; --resume goes on")
    if errors or report.missing:
        raise typer.Exit(1)


def _last_error(report: RunReport) -> str:
    """Which server, and why in its own words; a client's message may name the server already."""
    said = report.last_error or "no reason was given"
    server = report.server or ""
    return f"the last: {said}" if server in said else f"the last: {server}: {said}"


def _say(line: str) -> None:
    print(f"visualjudge: {line}", file=sys.stderr)
