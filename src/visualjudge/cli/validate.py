"""``visualjudge validate``: recompute every checksum and rule of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.output import following_judge, say, tell
from visualjudge.core.plurals import pluralize

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.command(epilog="Example:\n\nvisualjudge validate dataset")
def validate(
    dataset: Annotated[Path, typer.Argument(help="Dataset from visualjudge build.")],
) -> None:
    """Verify every checksum of a dataset, and check its records against all rules.

    Each violation is reported in one line on stderr: file, record, field, reason; more than three
    of a kind are only counted. Exit status 1 if there are any.
    """
    from visualjudge.dataset.validate import validate as check

    read, problems = check(dataset)
    tell(problems)
    if problems:
        say(f"{pluralize(len(problems), 'rule does', 'rules do')} not hold in {read.root}")
        raise typer.Exit(1)
    print(
        f"{read.root}: {pluralize(len(read.questions), 'question')}, all checksums and rules hold"
    )
    following_judge(read, read.root, "--swap", "--out", "RUN")
