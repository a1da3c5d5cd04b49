"""``visualjudge bench``: published benchmarks as datasets, published replies as runs."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.output import AsJson, following, print_json
from visualjudge.core.plurals import pluralize

EXAMPLES = """Examples:

visualjudge bench list

visualjudge bench import genai-bench --from GenAI-Bench/results --out genai --replies gpt4o

visualjudge report gpt4o llava --out report.html --json metrics.json
"""

SHOWN = 5


class PromptName(StrEnum):
    """The source of the prompts."""

    ours = "ours"
    own = "own"


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=EXAMPLES,
    help="Convert published benchmarks of judges into datasets, and published replies into runs.",
)


@app.command("list", epilog="Example:\n\nvisualjudge bench list --json")
def list_(as_json: AsJson = False) -> None:
    """List the benchmarks: name, licence, permitted use, and required files."""
    from visualjudge.apps.published.benchmarks import BENCHMARKS

    rows = list(BENCHMARKS.values())
    if as_json:
        names = ("name", "title", "licence", "use", "source", "layout", "own")
        print_json({name: getattr(row, name) for name in names} for row in rows)
        return
    for row in rows:
        print(
            f"{row.name}  {row.title}\n    {row.licence}, {row.use}; {row.source}\n    --from: "
            f"{row.layout}"
        )
        if row.own:
            print(f"    --prompt own: also {row.own}")


@app.command("import", epilog=EXAMPLES.split("\n\n")[2])
def import_(
    name: Annotated[
        str, typer.Argument(help="A name from `visualjudge bench list`.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Dataset to write.", show_default=False)],
    folder: Annotated[
        Path | None, typer.Option("--from", help="Local copy; nothing is downloaded.")
    ] = None,
    hub: Annotated[
        bool, typer.Option("--hub", help="Download it with the datasets library instead.")
    ] = False,
    replies: Annotated[
        list[str] | None,
        typer.Option(
            help="A judge whose published replies are written as a run folder next to --out; may "
            "be repeated."
        ),
    ] = None,
    prompt: Annotated[
        PromptName,
        typer.Option(help="Prompts and reply format: visualjudge's, or the benchmark's own."),
    ] = PromptName.ours,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier import.")] = False,
) -> None:
    """Convert a local copy of a benchmark into a dataset, and published replies into runs."""
    from visualjudge.apps.published.importing import import_benchmark

    done = import_benchmark(
        name, folder, out, replies=replies or (), prompt=prompt.value, hub=hub, force=force
    )
    kind = " (labels only: no judge can be asked)" if done.labels_only else ""
    print(f"{out}: {pluralize(done.questions, 'question')}{kind}")
    for line in done.left_out[:SHOWN]:
        print(f"left out: {line}", file=sys.stderr)
    if len(done.left_out) > SHOWN:
        print(f"left out: {len(done.left_out) - SHOWN} more", file=sys.stderr)
    for path, count in done.runs:
        print(f"{path}: {pluralize(count, 'verdict')}")
    if done.runs:
        following("report", *(path for path, _ in done.runs))
    elif done.labels_only:
        following("audit", out)
    else:
        following("judge", out, "--out", "RUN")
