"""``visualjudge pipeline``: run judge modules over the rows of a JSONL file. The work
is done in ``apps/pipelines``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from visualjudge.cli.console import following, interruptible, remark, say, tell
from visualjudge.cli.options import BudgetOptions, output
from visualjudge.core.errors import Problem
from visualjudge.core.output_files import OutputFile
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import Table
from visualjudge.options import CallOptions

if TYPE_CHECKING:
    from visualjudge.apps.pipelines import PipelineReport
    from visualjudge.apps.pipelines.results import MetricCounts

_LONGEST_REPLY = 100
# Column titles; A is not a model, as rows may ask for a pair in both orders.
WINNERS = {
    "Image A": "Image A (shown first)",
    "Image B": "Image B (second)",
    "Tie": "Tie",
}


def pipeline(
    config: Annotated[
        Path, typer.Argument(help="YAML with metric_configs.", metavar="CONFIG")
    ],
    rows: Annotated[
        Path,
        typer.Option("--input", help="Rows to judge, JSONL.", metavar="FILE"),
    ],
    out: Annotated[
        OutputFile, output("Results, a line per row.", journal=True)
    ],
    run: CallOptions,
    budget: BudgetOptions,
    rules: Annotated[
        Literal["strict", "geditbench"] | None,
        typer.Option(help="How replies are read."),
    ] = None,
    prompts: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of your prompts.", metavar="FOLDER"),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Do not use the reply cache.")
    ] = False,
    allow_private_urls: Annotated[
        bool,
        typer.Option(
            "--allow-private-urls", help="Also fetch from private addresses."
        ),
    ] = False,
) -> None:
    """Judge edited images row by row. A row: {"key": "1", "instruction": "blue cup",
    "input_image": "in.png", "edited_images": ["a.png"]}. --resume also repeats rows
    with an error.

    Example: visualjudge pipeline judges.yaml --input rows.jsonl --out results.jsonl
    """
    from visualjudge.apps.pipelines import (
        build_pipes,
        read_config,
        read_rows,
        run_pipeline,
    )
    from visualjudge.apps.pipelines.config import prompts_of
    from visualjudge.apps.pipelines.run import is_ours
    from visualjudge.core.output_files import default_cache_dir
    from visualjudge.prompts.store import PromptAssetStore

    if not run.resume:
        out.beside(".run.json").check()
    metrics = read_config(config)
    named = prompts_of(config)
    store = PromptAssetStore(*(prompts or ()), *([named] if named else []))
    pipes = build_pipes(
        metrics,
        cache_dir=None if no_cache else default_cache_dir(),
        concurrency=run.concurrency,
        store=store,
        rules=rules,
        home=config.parent,
    )
    for name, pipe in pipes.items():
        template = pipe.prompt_template
        ours = (
            "visualjudge's, not GEditBench's of that name (--prompts "
            "CLONE/src/prompts/assets)"
        )
        theirs = (
            f"the text of {store.path(template.prompt_id, template.version)}"
        )
        say(
            f"{name}: prompt {template.name} is "
            f"{ours if is_ours(template) else theirs}; replies are read by the rules "
            f"of {pipe.rules}"
        )
    good, problems = read_rows(rows)
    judging = partial(
        run_pipeline,
        pipes,
        good[: run.limit],
        out.path,
        resume=run.resume,
        concurrency=run.concurrency,
        budget=budget.budget(),
        private_urls=allow_private_urls,
        stated=rows,
    )
    _finish(interruptible("judging", judging), problems, out.path)


def _finish(report: PipelineReport, problems: list[Problem], out: Path) -> None:
    """Report how it ended; exit with status 1 if a row has no result or no reply gave a
    value."""
    from visualjudge.runs.progress_display import counted, spent

    cached = f"{pluralize(report.cached, 'reply', 'replies')} from the cache"
    paid = ", ".join(
        filter(None, (spent(report.progress), cached if report.cached else ""))
    )
    judged = (
        f"{pluralize(report.statuses.total(), 'row')}: "
        f"{counted(report.statuses) or 'none'}"
    )
    print(f"{out}: {judged} ({paid})" if paid else f"{out}: {judged}")
    every = report.metrics.values()
    if every:
        print(_by_metric(report.metrics))
    rows = (
        (f"row {key}", *error.partition(": ")[::2])
        for key, error in report.errors.items()
    )
    tell([*problems, *(Problem(str(out), *row) for row in rows)])
    causes = sum((counts.causes for counts in every), Counter[str]())
    reply = (
        next((counts.first_failed for counts in every if counts.causes), None)
        or "none"
    )
    missing = pluralize(report.missing, "row is", "rows are")
    remark(
        {
            f"failed results, by cause: {counted(causes)}; the first reply: "
            f"{shorten(reply, _LONGEST_REPLY)}; --no-cache and another --out ask again": causes,
            f"{report.progress.stopped or 'stopped'}; {missing} missing": report.missing,
            "repeat the command with --resume to continue": report.missing
            or report.errors,
        }
    )
    answered = any(counts.answered for counts in every)
    if problems or report.errors or report.missing or (every and not answered):
        raise typer.Exit(1)
    following("adopt", out, "--out", "study")


def _by_metric(metrics: Mapping[str, MetricCounts]) -> str:
    lines = {
        name: {
            "Answered": counts.answered,
            **{
                title: counts.values[winner]
                for winner, title in WINNERS.items()
            },
            "Scores": counts.scores,
            "Other values": counts.others,
            "Mean score": round(counts.mean_score or 0, 2),
            "Failed": counts.failed,
            "Errors": counts.errors,
        }
        for name, counts in metrics.items()
    }
    titles = [
        title
        for title in next(iter(lines.values()))
        if title == "Answered" or any(line[title] for line in lines.values())
    ]
    rows = [
        (name, *(str(line[title]) for title in titles))
        for name, line in lines.items()
    ]
    return Table(("Metric", *titles), tuple(rows)).text()
