"""``visualjudge show``: what the product holds: encodings and plug-ins. Checks of a
data folder or dataset are in ``describe.py``.
"""

from dataclasses import asdict
from typing import Annotated

import typer

from visualjudge.cli.console import AsJson, print_json
from visualjudge.cli.main import command_of
from visualjudge.core.text_tables import Table


def encodings(
    task: Annotated[
        str | None, typer.Option(help="Only this task's.", metavar="TASK")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all encodings: 53 standard and 2 extended ones.

    Example: visualjudge show encodings --task keypoint --json
    """
    from visualjudge.vision.encode import encodings as rows

    fields = ("task", "stem", "kind", "is_base_ablation", "is_final")
    listed = rows(task)
    if as_json:
        print_json(
            {
                **{name: getattr(row, name) for name in fields},
                "style": asdict(row.style),
            }
            for row in listed
        )
        return
    cells = [
        (
            row.task,
            row.stem,
            row.kind,
            "" if row.is_final else "extended",
            ", ".join(f"{k}={v}" for k, v in asdict(row.style).items()),
        )
        for row in listed
    ]
    print(Table(("Task", "Encoding", "Kind", "", "Style"), tuple(cells)).text())


def plugins(as_json: AsJson = False) -> None:
    """List the installed plug-ins with what each registered, or why it was skipped
    (status 1).

    Example: visualjudge show plugins --json
    """
    from visualjudge.core.registry import GROUP, plugins as installed

    rows = installed()
    lines = [
        f"{row.name}  {row.distribution} {row.version}  "
        f"{row.problem or ', '.join(row.registered)}"
        for row in rows
    ] or [f"no plug-in is installed (entry points of the group {GROUP})"]
    if as_json:
        print_json(map(asdict, rows))
    else:
        print("\n".join(lines))
    if any(row.problem for row in rows):
        raise typer.Exit(1)


app = command_of(
    {"encodings": encodings, "plugins": plugins},
    help="Show the encodings or the plug-ins.",
    epilog="Example: visualjudge show encodings --task keypoint",
)
