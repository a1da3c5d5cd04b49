"""``visualjudge mmbench``: multiple-choice evaluation of a model itself. The work is
done in ``apps/mmbench``; judges are run by ``judge.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from visualjudge.cli.console import (
    following,
    interruptible,
    remark,
    say,
    tell,
    write,
)
from visualjudge.cli.main import command_of
from visualjudge.cli.options import (
    BudgetOptions,
    JsonFile,
    ModelOptions,
    PageFile,
    SkipInvalid,
    output,
)
from visualjudge.core.errors import DataError, Problem, RunError, UsageError
from visualjudge.core.output_files import OutputFile
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import folded
from visualjudge.options import CallOptions

if TYPE_CHECKING:
    from visualjudge.apps.mmbench.ask_model import InferReport
    from visualjudge.apps.mmbench.table import Table
    from visualjudge.clients.base import Client

SHOWN = 5
RulesName = Literal["strict", "vlmevalkit"]
Data = Annotated[
    Path, typer.Argument(help="Table of questions, .tsv.", metavar="DATA")
]


def infer(
    data: Data,
    out: Annotated[
        OutputFile, output("Results, with .jsonl beside.", metavar="FILE.xlsx")
    ],
    run: CallOptions,
    budget: BudgetOptions,
    model: ModelOptions,
    template: Annotated[
        str,
        typer.Option(
            help="reference, vlmevalkit, or a YAML file.", metavar="NAME"
        ),
    ] = "reference",
    skip_invalid: SkipInvalid = False,
) -> None:
    """Ask a model every question; write pred.jsonl (the record) and pred.xlsx (for
    MMBench's server).

    Example: visualjudge mmbench infer DATA.tsv --model gpt-4o --out pred.xlsx
    """
    from visualjudge.apps.mmbench import (
        ask_model,
        doubts,
        question_prompt,
        table_images,
    )

    if not run.resume:
        for suffix in (".jsonl", ".run.json"):
            out.beside(suffix).check()
    table = _table(data, skip_invalid)
    rows = table.rows[: run.limit]
    problems = table_images.image_problems(table, rows)
    _left_out(
        problems.values(),
        f"{data}: {pluralize(len(problems), 'image')}",
        skip_invalid,
    )
    say(
        *doubts.of_one_image({row.group: table.image_text(row) for row in rows})
    )
    asking = partial(
        ask_model.infer,
        table,
        [row for row in rows if row.index not in problems],
        # the most probable reply, unless --set temperature=null leaves it to the server
        _model(model, temperature=0.0, concurrency=run.concurrency),
        question_prompt.choice_template(template),
        out.path,
        resume=run.resume,
        concurrency=run.concurrency,
        budget=budget.budget(),
    )
    _finish(interruptible("asking", asking), out.path)
    following("mmbench", "eval", out, "--data", data)


def evaluate(
    predictions: Annotated[
        list[Path],
        typer.Argument(help="Results, one file per model.", metavar="FILE..."),
    ],
    data: Annotated[
        Path,
        typer.Option(
            "--data", help="The table that was asked.", metavar="DATA"
        ),
    ],
    matcher: ModelOptions,
    json: JsonFile = None,
    out: PageFile = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name of a model, one per file.", metavar="NAME"),
    ] = None,
    rules: Annotated[
        RulesName, typer.Option(help="How replies are read.")
    ] = "strict",
    wrong: Annotated[
        int,
        typer.Option(min=0, help="Wrong answers shown per model.", metavar="N"),
    ] = 100,
    skip_invalid: SkipInvalid = False,
) -> None:
    """Score replies: vanilla and circular accuracy, by category, and the share of
    readable replies. With --model, that model matches replies that the rules cannot
    read.

    Example: visualjudge mmbench eval pred.xlsx --data DATA.tsv --out report.html
    """
    from visualjudge.apps.mmbench import ask_model, llm_matcher, reply_files
    from visualjudge.apps.mmbench.evaluate import evaluate as score
    from visualjudge.apps.mmbench.report_page import page
    from visualjudge.apps.mmbench.scores import (
        Model,
        as_json,
        scores,
        sentence,
        tables,
    )

    names = name or ask_model.models_of(predictions)
    if len(names) != len(predictions) or len(set(names)) != len(names):
        raise UsageError(
            "--name must be given a name of its own for each result file, got "
            f"{', '.join(names)}"
        )
    table = _table(data, skip_invalid)
    models = []
    asked = _model(matcher, concurrency=16) if matcher.model else None
    for label, path in zip(names, predictions, strict=True):
        replies, notes = reply_files.read_predictions(path, table)
        say(*notes)
        result = score(table, replies, rules)
        if asked is not None:
            matched = asyncio.run(
                llm_matcher.match(llm_matcher.unread(result), asked, rules)
            )
            result = score(table, replies, rules, matched=matched)
        models.append(Model(label, result))
    numbers = [scores(model.evaluation) for model in models]
    write(json, as_json(models) if len(models) > 1 else numbers[0])
    write(out, page(table, models, most=wrong) if out else None)
    print(
        *(folded(sentence(model)) for model in models),
        *(f"\n{table.text()}" for table in tables(models)),
        sep="\n",
    )
    for number in numbers:
        remark(
            dict.fromkeys(number["doubts"], True)
            | {
                f"{what}, {len(rows)}: {', '.join(map(str, rows[:SHOWN]))}": rows
                for what, rows in (
                    (
                        "left out of circular for want of a reply",
                        number["invalid_groups"],
                    ),
                    (
                        "replies to rows that the table lacks (rotations, from "
                        "1000000 on: give the table that `mmbench circular` wrote)",
                        number["unknown"],
                    ),
                    (
                        "read differently by the strict rules (see differs)",
                        [row["index"] for row in number.get("differs", ())],
                    ),
                )
            }
        )
    following(
        "mmbench", "infer", data, "--model", "ANOTHER", "--out", "another.xlsx"
    )


def circular(
    data: Data,
    out: Annotated[
        OutputFile, output("The table of rotations.", metavar="FILE.tsv")
    ],
    skip_invalid: SkipInvalid = False,
) -> None:
    """Write every rotation of every question: options and answer are rotated, and
    rotation k adds k·1000000 to the index.

    Example: visualjudge mmbench circular DATA.tsv --out ROTATIONS.tsv
    """
    from visualjudge.apps.mmbench.circular import without_image, write_rotations

    table = _table(data, skip_invalid)
    lost = without_image(table)
    _left_out(
        lost.values(),
        f"{data}: the images of {pluralize(len(lost), 'record')}",
        skip_invalid,
    )
    rows = write_rotations(table, out.path, skip=lost)
    print(
        f"{out}: {pluralize(rows, 'row')} of "
        f"{pluralize(len(table.rows) - len(lost), 'question')}"
    )
    following("mmbench", "infer", out, "--model", "MODEL", "--out", "pred.xlsx")


app = command_of(
    {"infer": infer, "eval": evaluate, "circular": circular},
    help="Multiple choice in MMBench's format: rotate, ask, score.",
    epilog="Example: visualjudge mmbench infer DATA.tsv --model gpt-4o --out pred.xlsx",
)


# ---------------------------------------------------------------- steps


def _model(options: ModelOptions, **defaults: Any) -> Client:
    from visualjudge.judges.registry import QUESTION_JUDGES

    if options.backend in QUESTION_JUDGES:
        raise UsageError(
            f"--backend must be one that asks a model, got {options.backend!r}, "
            "which judges a dataset's questions"
        )
    return options.client(**defaults)  # type: ignore[no-any-return]


def _table(path: Path, skip_invalid: bool) -> Table:
    from visualjudge.apps.mmbench.table import read_table

    table = read_table(path)
    _left_out(
        table.problems,
        f"{path}: {pluralize(len(table.problems), 'record')}",
        skip_invalid,
    )
    return table


def _left_out(
    problems: Collection[Problem], what: str, skip_invalid: bool
) -> None:
    tell(problems)
    if problems and not skip_invalid:
        raise DataError(
            f"{what} cannot be used (listed above); fix them, or leave them out with "
            "--skip-invalid"
        )


def _finish(result: InferReport, workbook: Path) -> None:
    from visualjudge.runs.progress_display import counted, spent_in_all

    journal = workbook.with_suffix(".jsonl")
    progress = result.progress
    statuses = f": {counted(result.statuses)}" if result.statuses else ""
    print(
        f"{workbook}: {pluralize(result.replied, 'reply')}{statuses} "
        f"({journal.name} is the record)"
    )
    if money := spent_in_all(progress, result.total):
        print(f"spent: {money}")
    truncated = result.statuses["truncated"]
    lost = progress.causes.total()
    causes = f"{counted(progress.causes)}; the last: {progress.error}"
    remark(
        {
            f"{pluralize(truncated, 'reply was', 'replies were')} cut by --max-tokens": truncated,
            f"{workbook}: {pluralize(result.cut, 'cell was', 'cells were')} cut to 32,767 "
            f"characters; {journal} has the full text": result.cut,
            f"{pluralize(lost, 'row')} got no reply: {causes}": result.missing
            and lost,
            str(progress.stopped): result.missing and progress.stopped,
        }
    )
    if result.missing:
        raise RunError(
            f"{pluralize(result.missing, 'row is', 'rows are')} without a reply and not "
            f"in {workbook}; --resume asks again"
        )
