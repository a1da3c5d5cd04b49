"""``visualjudge pipeline``: judge modules over the rows of a JSONL file."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.listing import following
from visualjudge.cli.option_groups import with_groups
from visualjudge.cli.options import BudgetOptions, CacheOptions, RunOptions
from visualjudge.errors import RunError, UsageError

if TYPE_CHECKING:
    from visualjudge.errors import Problem
    from visualjudge.judges.pipe import ClientPipe
    from visualjudge.pipelines import PipelineReport, Row
    from visualjudge.runs.budget import Budget

app = typer.Typer(add_completion=False)

EPILOG = """Example:

visualjudge pipeline judges.yaml --input rows.jsonl --out results.jsonl

A row: {"key": "cup-1", "instruction": "make the cup blue", "input_image": "in.png", "edited_images": ["a.png"]}
"""
_MOST_LINES = 20


class RulesName(StrEnum):
    """How replies are read."""

    strict = "strict"
    geditbench = "geditbench"


@app.command(epilog=EPILOG)
@with_groups
def pipeline(
    config: Annotated[Path, typer.Argument(help="YAML file with metric_configs.", show_default=False)],
    rows: Annotated[
        Path,
        typer.Option(
            "--input", help="JSONL file with key, instruction, input_image, edited_images.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="JSONL file to write, one line per row.", show_default=False)],
    run: RunOptions,
    budget: BudgetOptions,
    cache: CacheOptions,
    rules: Annotated[
        RulesName | None, typer.Option(help="How replies are read: strict, or geditbench (like GEditBench).")
    ] = None,
    prompts: Annotated[list[Path] | None, typer.Option(help="Folder with your own prompt assets.")] = None,
    allow_private_urls: Annotated[
        bool, typer.Option("--allow-private-urls", help="Also fetch images from loopback and private addresses.")
    ] = False,
) -> None:
    """Judge edited images row by row. Each result is on disk before it is reported; --resume continues.

    Resuming also repeats rows with an error. --concurrency limits the rows, and the calls of each metric.
    """
    from visualjudge.pipelines import build_pipes, read_config, read_rows
    from visualjudge.prompts.store import PromptAssetStore

    if out.is_dir():
        raise UsageError(f"--out must be a file, got the folder {out}")
    metrics = read_config(config)
    store = PromptAssetStore(*(prompts or ()))
    pipes = build_pipes(metrics, cache_dir=cache.folder, concurrency=run.concurrency, store=store, rules=rules)
    for name, pipe in pipes.items():
        if pipe.rules != "strict":
            _say(f"{name}: replies are read by the rules of {pipe.rules}")
    good, problems = read_rows(rows)
    report = _judge(pipes, good[: run.limit], out, run, budget.budget, allow_private_urls)
    _finish(report, problems, out, f"pipeline {config} --input {rows} --out {out} --resume")


def _judge(
    pipes: dict[str, ClientPipe],
    rows: list[Row],
    out: Path,
    options: RunOptions,
    budget: Budget,
    private_urls: bool,
) -> PipelineReport:
    from visualjudge.pipelines import run_pipeline
    from visualjudge.runs.progress import Display
    from visualjudge.runs.runner import Stop, run_until_stopped

    async def main(stop: Stop) -> PipelineReport:
        with Display("judging") as display:
            return await run_pipeline(
                pipes,
                rows,
                out,
                resume=options.resume,
                concurrency=options.concurrency,
                budget=budget,
                on_event=display.update,
                stop=stop,
                private_urls=private_urls,
            )

    try:
        return run_until_stopped(main)
    except KeyboardInterrupt:
        raise RunError(f"cancelled; the results so far are in {out}; continue with --resume") from None


def _finish(report: PipelineReport, problems: list[Problem], out: Path, resume: str) -> None:
    """Say how it ended; exit status 1 where a row has no result."""
    from visualjudge.runs.progress import counted, spent

    money = f" ({spent(report.progress)})" if spent(report.progress) else ""
    print(f"{out}: {report.statuses.total()} rows: {counted(report.statuses) or 'none'}{money}")
    lines = [str(problem) for problem in problems]
    lines += [f"{out}: row {key}: {said}" for key, said in report.errors.items()]
    for line in lines[:_MOST_LINES]:
        _say(line)
    if len(lines) > _MOST_LINES:
        _say(f"and {len(lines) - _MOST_LINES} more rows without a result")
    if report.missing:
        _say(f"{report.progress.stopped or 'stopped'}; {report.missing} rows are missing; continue with --resume")
    following(resume if report.missing or report.errors else "agreement RATINGS --judge JUDGE")
    if lines or report.missing:
        raise typer.Exit(1)


def _say(line: str) -> None:
    print(f"visualjudge: {line}", file=sys.stderr)
