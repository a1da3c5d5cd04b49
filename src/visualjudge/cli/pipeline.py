"""``visualjudge pipeline``: run judge modules over the rows of a JSONL file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from visualjudge.cli.options import BudgetOptions
from visualjudge.cli.output import following, interruptible, say
from visualjudge.core.errors import Problem, UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import Table
from visualjudge.options import CallOptions

if TYPE_CHECKING:
    from visualjudge.apps.pipelines import PipelineReport
    from visualjudge.apps.pipelines.results import MetricCounts

_MOST_LINES = 20
_LONGEST_REPLY = 100
# Column titles; A is not a model, as rows may ask for a pair in both orders.
WINNERS = {"Image A": "Image A (shown first)", "Image B": "Image B (second)", "Tie": "Tie"}


def pipeline(
    config: Annotated[Path, typer.Argument(help="YAML with metric_configs.", metavar="CONFIG")],
    rows: Annotated[Path, typer.Option("--input", help="Rows to judge, JSONL.", metavar="FILE")],
    out: Annotated[Path, typer.Option(help="Results, a line per row.", metavar="FILE")],
    run: CallOptions,
    budget: BudgetOptions,
    rules: Annotated[
        Literal["strict", "geditbench"] | None, typer.Option(help="How replies are read.")
    ] = None,
    prompts: Annotated[
        list[Path] | None, typer.Option(help="Folder of your prompts.", metavar="FOLDER")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Do not use the reply cache.")
    ] = False,
    allow_private_urls: Annotated[
        bool, typer.Option("--allow-private-urls", help="Also fetch from private addresses.")
    ] = False,
) -> None:
    """Judge edited images row by row. A row: {"key": "1", "instruction": "blue cup",
    "input_image": "in.png", "edited_images": ["a.png"]}. --resume also repeats rows with an
    error.

    Example: visualjudge pipeline judges.yaml --input rows.jsonl --out results.jsonl
    """
    from visualjudge.apps.pipelines import build_pipes, read_config, read_rows, run_pipeline
    from visualjudge.apps.pipelines.config import prompts_of
    from visualjudge.apps.pipelines.run import is_ours
    from visualjudge.clients.cache import default_cache_dir
    from visualjudge.prompts.store import PromptAssetStore

    if out.is_dir():
        raise UsageError(f"--out must be a file, got the folder {out}")
    metrics, theirs = read_config(config), prompts_of(config)
    store = PromptAssetStore(*(prompts or ()), *([theirs] if theirs else []))
    pipes = build_pipes(
        metrics,
        cache_dir=None if no_cache else default_cache_dir(),
        concurrency=run.concurrency,
        store=store,
        rules=rules,
    )
    for name, pipe in pipes.items():
        if pipe.rules != "strict":
            say(f"{name}: replies are read by the rules of {pipe.rules}")
        template = pipe.prompt_template
        file = store.path(template.prompt_id, template.version)
        said = (
            "visualjudge's text, not GEditBench's of that name (--prompts CLONE/src/prompts/assets)"
            if is_ours(template)
            else f"the text of {file}"
        )
        say(f"{name}: prompt {template.name} is {said}")
    good, problems = read_rows(rows)
    judging = partial(
        run_pipeline,
        pipes,
        good[: run.limit],
        out,
        resume=run.resume,
        concurrency=run.concurrency,
        budget=budget.budget(),
        private_urls=allow_private_urls,
        given=rows,
    )
    report = interruptible(
        "judging", judging, f"the results so far are in {out}; continue with --resume"
    )
    given = [("--rules", rules), ("--limit", run.limit), *(("--prompts", p) for p in prompts or ())]
    options = [word for option, value in given if value is not None for word in (option, value)]
    options += ["--allow-private-urls"] if allow_private_urls else []
    again = ("pipeline", config, "--input", rows, "--out", out, *options, "--resume")
    _finish(report, problems, out, again)


def _finish(
    report: PipelineReport, problems: list[Problem], out: Path, again: tuple[object, ...]
) -> None:
    """Report how it ended; exit with status 1 if a row has no result or no reply gave a value."""
    from visualjudge.runs.progress_display import counted, spent

    cached = f"{pluralize(report.cached, 'reply', 'replies')} from the cache"
    paid = ", ".join(filter(None, (spent(report.progress), cached if report.cached else "")))
    money = f" ({paid})" if paid else ""
    print(
        f"{out}: {pluralize(report.statuses.total(), 'row')}: "
        f"{counted(report.statuses) or 'none'}{money}"
    )
    if report.statuses:
        print(_by_metric(report.metrics))
    lines = [str(problem) for problem in problems]
    lines += [f"{out}: row {key}: {said}" for key, said in report.errors.items()]
    say(*lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        say(f"and {pluralize(len(lines) - _MOST_LINES, 'more row', 'more rows')} without a result")
    say(*_without_value(report.metrics))
    if report.missing:
        missing = pluralize(report.missing, "row is", "rows are")
        say(f"{report.progress.stopped or 'stopped'}; {missing} missing; continue with --resume")
    if report.missing or report.errors:
        following(*again)
    answered = any(counts.answered for counts in report.metrics.values())
    if lines or report.missing or (report.statuses and not answered):
        raise typer.Exit(1)
    if answered:
        following("adopt", out, "--out", "study")


def _without_value(metrics: Mapping[str, MetricCounts]) -> list[str]:
    """Say why results have no value."""
    from visualjudge.runs.progress_display import counted

    causes = sum((counts.causes for counts in metrics.values()), Counter[str]())
    lines = []
    if causes:
        reply = next(one.first_failed for one in metrics.values() if one.causes)
        shown = "" if reply is None else f"; the first reply: {shorten(reply, _LONGEST_REPLY)}"
        lines.append(f"failed results, by cause: {counted(causes)}{shown}")
        lines.append(
            "failed replies are in the cache too; --no-cache and another --out ask them again"
        )
    return lines


def _by_metric(metrics: Mapping[str, MetricCounts]) -> str:
    """Return a line for each metric: a summary of its results, without columns of zeros."""
    lines = {metric: _counted(counts) for metric, counts in metrics.items()}
    titles = list(next(iter(lines.values())))
    shown = [k for k in titles if k == "Answered" or any(line[k] != "0" for line in lines.values())]
    rows = [(metric, *(line[title] for title in shown)) for metric, line in lines.items()]
    return Table(("Metric", *shown), tuple(rows)).text()


def _counted(counts: MetricCounts) -> dict[str, str]:
    return {
        "Answered": str(counts.answered),
        **{title: str(counts.values[winner]) for winner, title in WINNERS.items()},
        "Scores": str(counts.scores),
        "Mean score": "0" if counts.mean_score is None else f"{counts.mean_score:.2f}",
        "Failed": str(counts.failed),
        "Errors": str(counts.errors),
    }
