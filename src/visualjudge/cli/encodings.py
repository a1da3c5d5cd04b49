"""``visualjudge encodings``: print the catalogue as a table or JSON."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

import typer

from visualjudge.cli.output import AsJson, print_json

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class ListFormat(StrEnum):
    """Output formats of the catalogue."""

    table = "table"
    json = "json"


@app.command(epilog="Example:\n\nvisualjudge encodings --task keypoint --json")
def encodings(
    task: Annotated[str | None, typer.Option(help="Only this task's encodings.")] = None,
    format: Annotated[ListFormat, typer.Option(help="Output format.")] = ListFormat.table,
    as_json: AsJson = False,
) -> None:
    """List all encodings: 53 standard and 2 extended ones."""
    from visualjudge.vision.encode import encodings as rows

    listed = [_fields(row) for row in rows(task)]
    if as_json or format is ListFormat.json:
        print_json(listed)
        return
    for row in listed:
        style = ", ".join(f"{name}={value}" for name, value in row["style"].items())
        mark = " " if row["is_final"] else "extended"
        print(f"{row['task']:<34}{row['stem']:<27}{row['kind']:<7}{mark:<10}{style}".rstrip())


def _fields(row: Any) -> dict[str, Any]:
    names = ("task", "stem", "kind", "is_base_ablation", "is_final")
    return {**{name: getattr(row, name) for name in names}, "style": asdict(row.style)}
