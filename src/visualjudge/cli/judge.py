"""``visualjudge judge``: ask a judge the questions of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualjudge.cli.options import (
    BudgetOptions,
    ModelOptions,
    open_asked,
    settings,
    with_settings,
)
from visualjudge.cli.output import following, interruptible, say
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.options import Choice, JudgeOptions

if TYPE_CHECKING:
    from visualjudge.clients.batch.batched_client import Settings
    from visualjudge.dataset.folder import Dataset
    from visualjudge.judges.base import Judge
    from visualjudge.runs.budget import Budget
    from visualjudge.runs.judge_dataset import RunReport

# The backend whose --model names finished runs, which it combines by majority.
PANEL = "panel"


def judge(
    dataset: Annotated[Path, typer.Argument(hidden=True, metavar="DATASET", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the run.", metavar="RUN")],
    choice: Choice,
    options: JudgeOptions,
    budget: BudgetOptions,
    model: ModelOptions,
    extractor_model: Annotated[
        str | None, typer.Option(help="Reads unclear replies.", metavar="NAME")
    ] = None,
    batch: Annotated[bool, typer.Option("--batch", help="Use batches, at half the price.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print cost; ask nothing.")] = False,
) -> None:
    """Ask a judge the questions of DATASET. --resume continues a run.

    Example: visualjudge judge dataset --model gpt-4o --swap --out run
    """
    from visualjudge.apps.frontdoor.judge import judge_async
    from visualjudge.dataset.folder import META, load_dataset
    from visualjudge.runs.budget import Budget

    if out.is_file() or (out / META).is_file():
        kind = "file" if out.is_file() else "dataset"
        raise UsageError(f"--out must be a folder of its own, got the {kind} {out}")
    chosen = load_dataset(dataset).choose(choice)
    stated = settings(model.set)
    options = with_settings(options, stated)
    spending = budget.budget(stated.pop("max_tokens_total", None))
    prices = spending.prices
    batches = _batches(stated) if batch else None
    if dry_run:
        if batch:
            from visualjudge.clients.registry import BATCH_REGISTRY

            prices = replace(prices, share=BATCH_REGISTRY.find(model.backend).discount)
        _dry_run(chosen, out, Budget(spending.limits, prices), options)
        return
    config = {} if model.backend == PANEL else model.config(stated)
    extractor = None
    if extractor_model is not None:
        extractor = open_asked(config | {"model_name": extractor_model}, options.concurrency)
    asked: Any = (
        model.asked(config, options.concurrency, batches) if config else _panel(model.model)
    )
    done = interruptible(
        "asking",
        partial(
            judge_async,
            chosen,
            asked,
            out,
            options=options,
            extractor=extractor,
            limits=spending.limits,
            prices=prices,
        ),
        f"the verdicts so far are in {out}; continue with --resume",
    )
    assert done.report is not None
    _finish(done.report, out)


def _batches(own: dict[str, Any]) -> Settings:
    """Take the settings of batches from ``own``; what happens to each is printed on stderr."""
    import logging

    from visualjudge.clients.batch.batched_client import Settings

    log = logging.getLogger("visualjudge.batches")
    log.setLevel(logging.INFO)
    log.addHandler(logging.StreamHandler())
    return Settings(own.pop("batch_size", None), wait=not own.pop("no_wait", False))


def _panel(runs: str | None) -> Judge:
    from visualjudge.judges.panel import PanelJudge
    from visualjudge.runs.folder import RunFolder

    if not runs:
        raise UsageError("--backend panel: --model must name finished runs, as RUN1,RUN2,RUN3")
    folders = {name: RunFolder(Path(name)) for name in runs.split(",")}
    members = {name: folder.verdicts() for name, folder in folders.items()}
    simulated = any(folder.manifest().get("simulated") for folder in folders.values())
    return PanelJudge(members, simulated)


def _dry_run(dataset: Dataset, out: Path, budget: Budget, options: JudgeOptions) -> None:
    from visualjudge.judges.question_judge import MORE_REQUESTS
    from visualjudge.runs.asks import check_images, estimate, still_to_ask
    from visualjudge.runs.budget import money

    check_images(dataset, dataset.questions[: options.limit])
    prices, limits = budget.prices, budget.limits
    reasons = options.mode == "auto" and not options.tools
    missing = still_to_ask(out, dataset.questions, options)
    cost = estimate(dataset, missing, prices, reasons=reasons)
    beside = ""
    if options.tools:
        most = options.max_tool_calls + MORE_REQUESTS
        beside = f" (one a question, without tool calls; with --tools up to {most})"
    elif options.retries:
        beside = " (one a question, without retries)"
    reply = "reasons and an answer" if reasons else "an answer without reasoning"
    print(f"calls: {cost.calls}{beside}")
    print(f"images: {cost.images} ({cost.different_images} different files)")
    print(f"tokens, estimated: {cost.tokens_in} in, {cost.tokens_out} out ({reply})")
    if prices.are_stated:
        print(f"cost, estimated: {money(cost.cost)}")
    needed = {
        "--max-calls": (cost.calls, limits.max_calls),
        "--max-cost": (cost.cost, limits.max_cost),
        "max_tokens_total": (cost.tokens_in + cost.tokens_out, limits.max_tokens),
    }
    for name, (whole, limit) in needed.items():
        if limit is not None and limit < whole:
            print(f"{name} {limit} stops the run after about {100 * limit / whole:.0f} % of it")


def _finish(report: RunReport, out: Path) -> None:
    """Report how the run ended; exit with status 1 if a call failed or verdicts are missing."""
    from visualjudge.runs.progress_display import counted, spent_in_all

    spent = spent_in_all(report.progress, report.total)
    cached = f"{report.from_cache} from the reply cache" if report.from_cache else ""
    money = "; ".join(filter(None, (spent, cached)))
    verdicts = pluralize(report.statuses.total(), "verdict")
    ending = f" ({money})" if money else ""
    print(f"{out}: {verdicts}: {counted(report.statuses) or 'none'}{ending}")
    say(*_notes(report, out))
    if report.statuses["api_error"] or report.missing:
        raise typer.Exit(1)
    following("report", out, "--out", "report.html")


def _notes(report: RunReport, out: Path) -> Iterator[str]:
    """Yield what a user should know about a run that has ended."""
    from visualjudge.runs.folder import RunFolder
    from visualjudge.runs.progress_display import counted

    total, stopped = report.statuses.total(), report.progress.stopped
    if report.torn_bytes:
        yield f"{out}: the last line was cut because the run was killed; its question was repeated"
    if (excess := report.progress.budget.excess()) and excess != stopped:
        yield excess
    yield from report.diagnostics.adjustments
    if len(report.served) > 1:
        counts = (f"{who} {n}" for who, n in report.served.most_common())
        yield f"answered by {len(report.served)} models: {' · '.join(counts)}"
    if failures := report.diagnostics.failures:
        yield f"failed calls, including those that succeeded on retry: {counted(failures)}"
    if report.causes:
        yield f"verdicts without an answer, by cause: {counted(report.causes)}"
    if report.causes["declined"] == total > 0:
        replies = (verdict.raw_response for verdict in RunFolder(out).verdicts().values())
        yield f"every question was declined; the first reply: {next(filter(None, replies), '')}"
    if errors := report.statuses["api_error"]:
        failed = f"{pluralize(errors, 'API error')} in {pluralize(total, 'verdict')}"
        yield f"{failed}; --resume --set retry_errors=true asks again"
        error, server = report.last_error or "no reason was given", report.server or ""
        yield f"the last: {error}" if server in error else f"the last: {server}: {error}"
    if report.causes["connection"] == total > 0:
        yield "no call was answered; --set attempts=25 waits about 5 minutes for a starting server"
    if report.missing:
        missing = pluralize(report.missing, "verdict is", "verdicts are")
        yield f"{stopped or 'stopped'}; {missing} missing; continue with --resume"
