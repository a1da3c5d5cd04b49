"""``visualjudge adopt``: import verdicts from elsewhere."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from visualjudge.apps.adopting.columns import NAMES
from visualjudge.cli.output import following, warnings_told
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.core.registry import added

EPILOG = """Examples:

visualjudge adopt verdicts.csv --out study

visualjudge adopt votes.parquet --column truth=vote --answer 0=A --answer 1=B --out study

visualjudge adopt logs/*.eval --out study
"""
LOGS = ", ".join(
    [
        "inspect, lmms-eval, vlmevalkit, promptfoo, deepeval, langsmith, phoenix, pipeline",
        *added("log format"),
    ]
)


class Letters(StrEnum):
    """The meaning of letters in verdicts."""

    columns = "columns"
    shown = "shown"


class Use(StrEnum):
    """Which column counts if a table has both replies and values."""

    replies = "replies"
    verdicts = "verdicts"


class _Roles(TyperCommand):
    """Explains how to name a column if a role is written as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {name for option in self.params for name in option.opts}
        for word in args:
            option = word.partition("=")[0]
            role = option[2:].replace("-", "_")
            if option.startswith("--") and option not in own and role in NAMES:
                raise UsageError(f"no such option: {option}; use --column {role}=NAME")
        return super().parse_args(ctx, args)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog=EPILOG, cls=_Roles)
def adopt(
    table: Annotated[
        list[Path],
        typer.Argument(
            help="One verdict per row: CSV, TSV, JSON, JSONL, Parquet or Excel; or logs.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder to write: dataset, and runs.", show_default=False)
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="ROLE=NAME: the column of a role: item, group, task, model_a, model_b, "
            "verdict, truth, order, judge, reply, …"
        ),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            help="VALUE=A, B, tie, both_bad, Failed or a number: how to read a value of the table."
        ),
    ] = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest score; default: 0 10.", show_default=False),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Name of the judge, if no column states it.")
    ] = None,
    use: Annotated[
        Use,
        typer.Option(help="Column to use: replies (read again), or verdicts."),
    ] = Use.replies,
    letters: Annotated[
        Letters,
        typer.Option(help="Meaning of verdict A: model_a, or the option shown first."),
    ] = Letters.columns,
    format: Annotated[
        str | None,
        typer.Option(
            help=f"{LOGS}, or table; default: detected.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Number of processes that read replies.", show_default="all cores")
    ] = os.cpu_count() or 1,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier adoption.")] = False,
) -> None:
    """Convert a table of verdicts, or logs of an evaluation tool, into a dataset and runs.

    Roles: item, group (image or conversation: intervals are clustered by it), task, model_a,
    model_b, model, verdict, truth, score_a, score_b, order, judge, repeat, reply, finish_reason,
    input_tokens, output_tokens, request, text_a, text_b. Columns are guessed by their names and
    printed.
    """
    from visualjudge.apps.adopting.adopt import adopt as adopted

    with warnings_told():
        done = adopted(
            table,
            out,
            columns=_pairs(column, "--column"),
            answers=_pairs(answer, "--answer"),
            score_range=score_range,
            judge=judge,
            use=use.value,
            letters=letters.value,
            format=format,
            workers=workers,
            force=force,
        )
    print("columns: " + ", ".join(f"{role}={name}" for role, name in done.columns.items()))
    if done.unused:
        print(f"not used: {', '.join(done.unused)} (--column ROLE=NAME)")
    if "group" not in done.columns:
        print("group: no column; each item counts as an independent case (--column group=NAME)")
    print(f"{done.dataset}: {pluralize(done.questions, 'question')}")
    for run in done.runs:
        print(f"{run}")
    print(
        f"{pluralize(done.verdicts, 'verdict')}"
        + (f", {done.reread} of them read again from replies" if done.reread else "")
    )
    if done.left_out:
        print(f"{pluralize(done.left_out, 'row')} without a truth left out")
    if done.invented or done.differing:
        print(
            f"the table has a value for {pluralize(done.invented, 'reply', 'replies')} that "
            "cannot be read, "
            f"and another value for {done.differing}; --use verdicts counts the table's"
        )
    for note in done.notes:
        print(note)
    following("card", *done.runs)


def _pairs(stated: list[str] | None, option: str) -> dict[str, str]:
    """Parse ``NAME=VALUE`` options into a dictionary."""
    found = {}
    for one in stated or ():
        name, sign, value = one.rpartition("=") if option == "--answer" else one.partition("=")
        if not sign or not name or not value:
            raise UsageError(f"{option} must be NAME=VALUE, got {one!r}")
        found[name] = value
    return found
