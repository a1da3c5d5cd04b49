"""``visualjudge judge``: ask a judge the questions of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from visualjudge.cli.options import (
    BudgetOptions,
    CacheOptions,
    ClientOptions,
    ExtractorOptions,
    QuestionOptions,
    RunOptions,
    with_groups,
)
from visualjudge.cli.output import following, interruptible, say
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.judges.judge_options import DEFAULTS, JudgeOptions

if TYPE_CHECKING:
    from visualjudge.clients.batch.batched_client import Settings
    from visualjudge.dataset.folder import Dataset
    from visualjudge.judges.base import Judge
    from visualjudge.runs.asks import RunSettings
    from visualjudge.runs.budget import Budget, Prices
    from visualjudge.runs.judge_dataset import RunReport

app = typer.Typer(add_completion=False)

EPILOG = """Examples:

visualjudge judge DATASET --backend api --model gpt-4o-mini --api-key-env OPENAI_API_KEY --out RUN

visualjudge judge DATASET --backend vllm --model MODEL --base-url http://gpu:8000/v1 --out RUN

visualjudge judge DATASET --backend anthropic --model claude-opus-4-1 --batch --out RUN

visualjudge judge DATASET --backend api --model gpt-4o --tools zoom,compare,measure --out RUN

visualjudge judge DATASET --backend baseline --model oracle:0.8 --sample 60 --out RUN

visualjudge judge DATASET --panel RUN1 --panel RUN2 --panel RUN3 --out MAJORITY
"""


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """Options for batches of a run."""

    heading: ClassVar[str] = "Batches"

    batch: Annotated[
        bool, typer.Option("--batch", help="Use the provider's batch interface, at half the price.")
    ] = False
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum requests per batch; default: the provider's limit."),
    ] = None
    batch_folder: Annotated[
        Path | None,
        typer.Option(help="Exchange OpenAI batch files in this folder, for vLLM's run-batch."),
    ] = None
    poll: Annotated[float, typer.Option(min=0.1, help="Polling interval, in seconds.")] = 120.0
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait",
            help="Exit when everything is submitted; fetch the results later with --resume.",
        ),
    ] = False

    @property
    def settings(self) -> Settings | None:
        """Return the settings of batches, or None without ``--batch``.

        Raises
        ------
        UsageError
            If there are options of batches without ``--batch``.
        """
        from visualjudge.clients.batch.batched_client import Settings

        if self.batch:
            return Settings(self.batch_size, self.poll, not self.no_wait, self.batch_folder)
        if self.batch_size or self.batch_folder or self.no_wait:
            raise UsageError("--batch-size, --batch-folder and --no-wait need --batch")
        return None

    def charged(self, prices: Prices, backend: str) -> Prices:
        """Return list prices, reduced for batches as the provider charges."""
        from visualjudge.clients.batch.registry import provider_kind

        if self.settings is None:
            return prices
        return replace(prices, share=provider_kind(backend, self.batch_folder).discount)


@app.command(epilog=EPILOG)
@with_groups
def judge(
    dataset: Annotated[
        Path, typer.Argument(help="Dataset from `visualjudge build`.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(help="Folder of the run.", show_default=False),
    ],
    client: ClientOptions,
    questions: QuestionOptions,
    run: RunOptions,
    budget: BudgetOptions,
    cache: CacheOptions,
    batches: BatchOptions,
    extractor: ExtractorOptions,
    asking: JudgeOptions,
    tools: Annotated[
        str | None,
        typer.Option(help="Tools for the model: zoom,compare,… or all."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost without asking.")
    ] = False,
    panel: Annotated[
        list[Path] | None,
        typer.Option(help="A finished run; repeat to combine several by majority, without calls."),
    ] = None,
) -> None:
    """Ask a judge the questions of a dataset.

    Each verdict is on disk before it is reported; --resume continues a run.
    """
    from visualjudge.apps.frontdoor.judge import judge_async, settings_of
    from visualjudge.dataset.folder import load_dataset
    from visualjudge.judges.question_judge import MORE_REQUESTS
    from visualjudge.runs.budget import Budget

    if out.exists() and not out.is_dir():
        raise UsageError(f"--out must be a folder, got the file {out}")
    chosen = load_dataset(dataset).choose(questions.choice)
    options: JudgeOptions = {**DEFAULTS, **asking, **asdict(run)}  # type: ignore[typeddict-item]
    options["tools"] = [name.strip() for name in tools.split(",")] if tools else None
    money = budget.budget
    if dry_run:
        prices = batches.charged(budget.prices, client.backend)
        if panel:
            raise UsageError("--dry-run: --panel combines finished runs and asks no model")
        beside = "one a question, without --retries" if options["retries"] else ""
        if options["tools"]:
            most = options["max_tool_calls"] + MORE_REQUESTS
            beside = f"one a question, without tool calls; with --tools up to {most}"
        reasons = options["mode"] == "auto" and not options["tools"]
        _dry_run(
            chosen, out, settings_of(options), Budget(money.limits, prices), beside, reasons=reasons
        )
        return
    _tell_batches()
    if batches.settings and panel:
        raise UsageError("--batch cannot be used together with --panel")
    asked = _panel(panel) if panel else client.asked(cache, run.concurrency, batches.settings)
    options["extractor"] = extractor.opened(cache, run.concurrency)
    options["limits"], options["prices"] = money.limits, money.prices
    calls = partial(judge_async, chosen, asked, out, **options)
    done = interruptible(
        "asking", calls, f"the verdicts so far are in {out}; continue with --resume"
    )
    assert done.report is not None
    _finish(done.report, out)


def _tell_batches() -> None:
    """Print on stderr what happens to each batch."""
    import logging

    log = logging.getLogger("visualjudge.batches")
    log.setLevel(logging.INFO)
    log.addHandler(logging.StreamHandler())


def _panel(folders: list[Path]) -> Judge:
    from visualjudge.judges.panel import PanelJudge
    from visualjudge.runs.folder import RunFolder

    members = {str(folder): RunFolder(folder).verdicts() for folder in folders}
    return PanelJudge(
        members, any(RunFolder(folder).manifest().get("simulated") for folder in folders)
    )


def _dry_run(
    dataset: Dataset, out: Path, options: RunSettings, budget: Budget, beside: str, *, reasons: bool
) -> None:
    from visualjudge.runs.asks import check_images, still_to_ask
    from visualjudge.runs.budget import money
    from visualjudge.runs.cost_estimate import estimate

    check_images(dataset, dataset.questions[: options.limit])
    prices, limits = budget.prices, budget.limits
    found = estimate(
        dataset, still_to_ask(out, dataset.questions, options), prices, reasons=reasons
    )
    told = (
        "reasons and an answer; --mode text asks for none"
        if reasons
        else "an answer without reasoning"
    )
    print(f"calls: {found.calls}" + (f" ({beside})" if beside else ""))
    print(f"images: {found.images} ({found.different_images} different files)")
    print(f"tokens, estimated: {found.tokens_in} in, {found.tokens_out} out ({told})")
    if prices.are_stated:
        print(f"cost, estimated: {money(found.cost)}")
    needed = {
        "--max-calls": (found.calls, limits.max_calls),
        "--max-cost": (found.cost, limits.max_cost),
        "--max-tokens-total": (found.tokens_in + found.tokens_out, limits.max_tokens),
    }
    for name, (whole, limit) in needed.items():
        if limit is not None and limit < whole:
            print(f"{name} {limit} stops the run after about {100 * limit / whole:.0f} % of it")


def _finish(report: RunReport, out: Path) -> None:
    """Report how the run ended; exit with status 1 if a call failed or verdicts are missing."""
    from visualjudge.runs.folder import RunFolder
    from visualjudge.runs.progress_display import counted, spent_in_all

    progress = report.progress
    if report.torn_bytes:
        say(
            f"{out}: the last line was incomplete because the run was killed; its question was "
            "asked again"
        )
    cached = f"{report.from_cache} from the reply cache"
    money = "; ".join(
        filter(
            None,
            (spent_in_all(progress, report.total), cached if report.from_cache else ""),
        )
    )
    verdicts = (
        f"{pluralize(report.statuses.total(), 'verdict')}: {counted(report.statuses) or 'none'}"
    )
    print(f"{out}: {verdicts} ({money})" if money else f"{out}: {verdicts}")
    if (excess := progress.budget.excess()) and excess != progress.stopped:
        say(excess)
    say(*report.diagnostics.adjustments)
    if failures := report.diagnostics.failures:
        say(f"failed calls, including those that succeeded on retry: {counted(failures)}")
    errors = report.statuses["api_error"]
    if report.causes:
        say(f"verdicts without an answer, by cause: {counted(report.causes)}")
        if report.causes["declined"] == report.statuses.total():
            replies = RunFolder(out).verdicts().values()
            reason = next((one.raw_response for one in replies if one.raw_response), "")
            say(f"every question was declined; the first reply: {reason}")
    if errors:
        failed = (
            f"{pluralize(errors, 'API error')} in {pluralize(report.statuses.total(), 'verdict')}"
        )
        say(f"{failed}; --resume --retry-errors asks again")
        say(*_last_error(report))
    if report.missing:
        missing = pluralize(report.missing, "verdict is", "verdicts are")
        say(f"{progress.stopped or 'stopped'}; {missing} missing; continue with --resume")
    if errors or report.missing:
        raise typer.Exit(1)
    following("report", out, "--out", "report.html")


def _last_error(report: RunReport) -> Iterator[str]:
    """Yield the server and its message, without naming the server twice, and what to do about a
    server that answered no call.
    """
    said = report.last_error or "no reason was given"
    server = report.server or ""
    yield f"the last: {said}" if server in said else f"the last: {server}: {said}"
    if report.statuses.total() == report.causes["connection"]:
        yield (
            "no call was answered; if the server is still starting, --attempts 25 waits about 5 "
            "minutes for it"
        )
