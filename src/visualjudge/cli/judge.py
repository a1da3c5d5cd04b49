"""``visualjudge judge``: ask a judge the questions of a dataset. The work is done in
``visualjudge.runs``.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.console import following, remark
from visualjudge.cli.options import (
    BudgetOptions,
    ModelOptions,
    settings,
    with_settings,
)
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.options import Choice, JudgeOptions

if TYPE_CHECKING:
    from visualjudge.dataset.folder import Dataset
    from visualjudge.judges.base import Judge
    from visualjudge.runs.budget import Budget
    from visualjudge.runs.judge_dataset import RunReport

# The backend whose --model names finished runs, which it combines by majority.
PANEL = "panel"


def judge(
    dataset: Annotated[Path, typer.Argument(hidden=True, metavar="DATASET")],
    out: Annotated[
        Path, typer.Option(help="Folder of the run.", metavar="RUN")
    ],
    choice: Choice,
    options: JudgeOptions,
    budget: BudgetOptions,
    model: ModelOptions,
    extractor_model: Annotated[
        str | None,
        typer.Option(help="Model to read unclear replies.", metavar="NAME"),
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Use batches, at half the price.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print cost; ask nothing.")
    ] = False,
) -> None:
    """Ask a judge the questions of DATASET. --resume continues a run.

    Example: visualjudge judge dataset --model gpt-4o --swap --out run
    """
    from visualjudge.apps.frontdoor.judge import judge as ask
    from visualjudge.clients.batch.batched_client import Settings
    from visualjudge.clients.registry import BATCH_REGISTRY
    from visualjudge.dataset.folder import META, load_dataset

    if out.is_file() or (out / META).is_file():
        raise UsageError(
            f"--out must be a folder of its own, got a file or dataset, {out}"
        )
    chosen = load_dataset(dataset).choose(choice)
    stated = settings(model.set)
    options = with_settings(options, stated)
    if options.resume and model.model is None:
        from visualjudge.runs.folder import RunFolder

        run = RunFolder(out).manifest()
        backend = run.get("backend") or model.backend
        model = replace(model, model=run.get("model"), backend=backend)
    spending = budget.budget(stated.pop("max_tokens_total", None))
    if dry_run:
        if batch:
            provider = BATCH_REGISTRY.find(model.backend)
            spending.prices = replace(spending.prices, share=provider.discount)
        _dry_run(chosen, out, spending, options)
        return
    if batch:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("visualjudge.batches").setLevel(logging.INFO)
        stated["batch"] = Settings(
            stated.pop("batch_size", None), not stated.pop("no_wait", False)
        )
    defaults = {"concurrency": options.concurrency}
    asked = (
        _panel(model.model)
        if model.backend == PANEL
        else model.client(stated, **defaults)
    )
    reader = {**stated, "model_name": extractor_model}
    done = ask(
        chosen,
        asked,
        out,
        options=options,
        extractor=model.client(reader, **defaults) if extractor_model else None,
        limits=spending.limits,
        prices=spending.prices,
    )
    assert done.report is not None
    remark(
        {
            "--swap has no effect: no pair was asked": options.swap
            and all(
                question.question_type != "pairwise"
                for question in chosen.questions
            )
        }
    )
    _finish(done.report, out, rubric=options.rubric is not None)


def _panel(runs: str | None) -> Judge:
    from visualjudge.judges.panel import PanelJudge
    from visualjudge.runs.folder import RunFolder

    if not runs or "," not in runs:
        raise UsageError(
            "--backend panel: --model must name finished runs, as RUN1,RUN2,RUN3"
        )
    folders = {name: RunFolder(Path(name)) for name in runs.split(",")}
    members = {name: folder.verdicts() for name, folder in folders.items()}
    simulated = any(
        folder.manifest().get("simulated") for folder in folders.values()
    )
    return PanelJudge(members, simulated)


def _dry_run(
    dataset: Dataset, out: Path, budget: Budget, options: JudgeOptions
) -> None:
    from visualjudge.prompts.rubric import rubric_of
    from visualjudge.runs import asks, cost_estimate
    from visualjudge.runs.budget import money

    asks.check_images(dataset, dataset.questions[: options.limit])
    reasons = options.mode == "auto" and not options.tools
    missing = asks.still_to_ask(out, dataset.questions, options)
    rubric = None if options.rubric is None else rubric_of(options.rubric)
    cost = cost_estimate.estimate(
        dataset, missing, budget.prices, reasons=reasons, rubric=rubric
    )
    more = " (one a question, without retries and calls of tools)"
    print(
        f"calls: {cost.calls}{more if options.tools or options.retries else ''}"
    )
    print(f"images: {cost.images} ({cost.different_images} different files)")
    reply = (
        "reasons and an answer" if reasons else "an answer without reasoning"
    )
    print(
        f"tokens, estimated: {cost.tokens_in} in, {cost.tokens_out} out ({reply})"
    )
    if budget.prices.are_stated:
        print(f"cost, estimated: {money(cost.cost)}")


def _finish(report: RunReport, out: Path, *, rubric: bool) -> None:
    """Report how the run ended; exit with status 1 if a call failed or verdicts are
    missing."""
    from visualjudge.core.records import FAILED
    from visualjudge.runs.folder import RunFolder
    from visualjudge.runs.progress_display import counted, spent_in_all

    total = report.statuses.total()
    causes = report.causes
    stopped = report.progress.stopped
    money = spent_in_all(report.progress, report.total)
    if report.from_cache:
        money = f"{money}; {report.from_cache} from the reply cache".lstrip(
            "; "
        )
    print(
        f"{out}: {pluralize(total, 'verdict')}: "
        f"{counted(report.statuses) or 'none'}{f' ({money})' if money else ''}"
    )
    errors = report.statuses["api_error"]
    excess = report.progress.budget.excess()
    served = " · ".join(f"{who} {n}" for who, n in report.served.most_common())
    server = report.server or ""
    reason = report.last_error or "no reason was given"
    unread = Counter(
        name
        for verdict in (RunFolder(out).verdicts().values() if rubric else ())
        for name, value in (verdict.criteria or {}).items()
        if value == FAILED
    )
    notes = {
        f"{out}: the last line was cut because the run was killed; its question was "
        "repeated": (report.torn_bytes),
        str(excess): excess and excess != stopped,
        **dict.fromkeys(report.diagnostics.adjustments, True),
        f"answered by {len(report.served)} models: {served}": len(report.served)
        > 1,
        "failed calls, including those that succeeded on retry: "
        f"{counted(report.diagnostics.failures)}": report.diagnostics.failures,
        f"verdicts without an answer, by cause: {counted(causes)}": causes,
        f"verdicts without a value of a criterion: {counted(unread)}": unread,
        f"{pluralize(errors, 'API error')} in {pluralize(total, 'verdict')}; --resume "
        "--set retry_errors=true asks again": errors,
        f"the last: {reason if server in reason else f'{server}: {reason}'}": errors,
        "no call was answered; --set attempts=25 waits about 5 minutes for a starting "
        "server": (causes["connection"] == total > 0),
        f"{stopped or 'stopped'}; "
        f"{pluralize(report.missing, 'verdict is', 'verdicts are')} missing; continue "
        "with --resume": report.missing,
    }
    if total > 0 and causes.total() == total and not errors:
        replies = (
            verdict.raw_response
            for verdict in RunFolder(out).verdicts().values()
        )
        first = next(
            filter(None, replies),
            "empty, as are all"
            if causes["content filter"]
            else "empty, as are all; a model that thinks may need --effort none, or "
            "more --max-tokens",
        )
        notes[f"no question was answered; the first reply: {first[:300]}"] = (
            True
        )
    remark(notes)
    if errors or report.missing:
        raise typer.Exit(1)
    following("report", out, "--out", "report.html")
