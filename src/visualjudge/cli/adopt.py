"""``visualjudge adopt``: import verdicts, benchmarks and question sets of others. The
work is done in ``apps/adopt``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from visualjudge.cli.console import as_options, end_with, following, say, stages
from visualjudge.cli.options import pairs_of
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import pluralize

if TYPE_CHECKING:
    from visualjudge.apps.adopt.adopt import Adopted

SHOWN = 5
RUNS = 20


def adopt(
    source: Annotated[
        list[Path],
        typer.Argument(
            help="Tables, logs or folders.",
            metavar="SOURCE...",
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder to write.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Column of a role; repeatable.", metavar="ROLE=NAME"),
    ] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            help="What a value means: C=tie, 0=A.", metavar="VALUE=MEANING"
        ),
    ] = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            help="Range of scores; default: 0 10.", metavar="LOW HIGH"
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Name of the judge.")
    ] = None,
    use: Annotated[
        Literal["replies", "verdicts"],
        typer.Option(
            help="Read replies, or take the verdicts.", show_default=False
        ),
    ] = "replies",
    format: Annotated[
        str | None,
        typer.Option(
            help="Kind of log; else detected.",
        ),
    ] = None,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Leave out repeated rows.")
    ] = False,
    benchmark: Annotated[
        str | None, typer.Option(help="Name of the benchmark.")
    ] = None,
    replies: Annotated[
        list[str] | None,
        typer.Option(help="Judge of it to write as a run."),
    ] = None,
    media: Annotated[
        Path | None, typer.Option(help="Images of questions.json.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download images.")
    ] = False,
    allow_private_urls: Annotated[
        bool,
        typer.Option("--allow-private-urls", help="Permit local addresses."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is there.")
    ] = False,
) -> None:
    """Convert verdicts, benchmarks and question sets of others into a dataset and runs.

    Roles: item, group, task, model_a, model_b, model, verdict, truth, score_a, score_b,
    order, judge, repeat, reply, finish_reason, input_tokens, output_tokens, request,
    text_a, text_b.

    Example: visualjudge adopt votes.csv --column truth=vote --answer C=tie --out study
    """
    from visualjudge.apps.adopt.adopt import adopt as adopted
    from visualjudge.apps.adopt.question_sets import is_question_set

    one_only = (
        out is None or benchmark or media or fetch or is_question_set(source[0])
    )
    if one_only and len(source) > 1:
        raise UsageError(
            f"SOURCE must be one file or folder here, got {len(source)}"
        )
    if out is None:
        if not fetch:
            raise UsageError("--out must name the folder to write")
        _fetched(source[0], allow_private_urls)
    elif benchmark is not None:
        _benchmark(benchmark, source[0], out, replies or [], force)
    elif one_only:
        _questions(source[0], out, media, fetch, allow_private_urls, force)
    else:
        _print(
            adopted(
                source,
                out,
                columns=pairs_of(column, "--column"),
                answers=pairs_of(answer, "--answer", "0=A"),
                score_range=score_range,
                judge=judge,
                use=use,
                format=format,
                drop_duplicates=drop_duplicates,
                force=force,
            )
        )


def _print(done: Adopted) -> None:
    reread = (
        f", {done.reread} of them read again from replies"
        if done.reread
        else ""
    )
    lines = {
        "columns: "
        + ", ".join(
            f"{role}={name}" for role, name in done.columns.items()
        ): True,
        f"not used: {', '.join(done.unused)[:300]} (--column ROLE=NAME)": done.unused,
        "group: no column; each item counts as an independent case (--column "
        "group=NAME)": ("group" not in done.columns),
        f"{done.dataset}: {pluralize(done.questions, 'question')}": True,
        **dict.fromkeys(map(str, done.runs[:RUNS]), True),
        f"and {len(done.runs) - RUNS} more judges (`judge` NAME: all rows are of "
        "one)": len(done.runs) > RUNS,
        f"{pluralize(done.verdicts, 'verdict')}{reread}": True,
        f"{pluralize(done.left_out, 'row')} without a truth left out": done.left_out,
        "the table has a value for "
        f"{pluralize(done.invented, 'reply', 'replies')} that cannot be read, and "
        f"another value for {done.differing}; --use verdicts counts the table's": done.invented
        or done.differing,
        **dict.fromkeys(done.notes, True),
    }
    print(as_options("\n".join(line for line, holds in lines.items() if holds)))
    following("card", *done.runs[:RUNS])


def _benchmark(
    name: str, folder: Path, out: Path, replies: list[str], force: bool
) -> None:
    from visualjudge.apps.adopt.benchmarks import adopt_benchmark

    done = adopt_benchmark(name, folder, out, replies=replies, force=force)
    kind = " (labels only: no judge can be asked)" if done.labels_only else ""
    print(f"{out / 'dataset'}: {pluralize(done.questions, 'question')}{kind}")
    more = (
        [f"{len(done.left_out) - SHOWN} more"]
        if len(done.left_out) > SHOWN
        else []
    )
    say(*(f"left out: {line}" for line in (*done.left_out[:SHOWN], *more)))
    for path, count in done.runs:
        print(f"{path}: {pluralize(count, 'verdict')}")
    if done.runs:
        following("report", *(path for path, _ in done.runs))
    elif not done.labels_only:
        following(
            *("judge", out / "dataset"), *("--model", "MODEL", "--out", "RUN")
        )


def _questions(
    questions: Path,
    out: Path,
    media: Path | None,
    fetch: bool,
    private: bool,
    force: bool,
) -> None:
    from visualjudge.apps.adopt.question_sets import adopt_questions

    with stages() as progress:
        count = adopt_questions(
            questions,
            out,
            media=media,
            fetched=fetch,
            allow_private=private,
            force=force,
            tick=partial(progress, "fetching"),
        )
    print(f"{out / 'dataset'}: {pluralize(count, 'question')}")
    following(
        *("judge", out / "dataset"), *("--model", "MODEL", "--out", "RUN")
    )


def _fetched(data: Path, private: bool) -> None:
    from visualjudge.apps.adopt.fetch import fetch

    with stages() as progress:
        done = fetch(
            data, allow_private=private, tick=partial(progress, "fetching")
        )
    print(
        f"{pluralize(done.downloaded, 'file')} fetched ({done.bytes / 1e6:.1f} MB), "
        f"{done.kept} there already"
    )
    if not done.paths and not done.failed:
        print(f"{data}: names no https:// or hf:// address")
    end_with(done.failed)
    following("build", data)
