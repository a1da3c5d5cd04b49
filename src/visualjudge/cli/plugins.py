"""``visualjudge plugins``: the plug-ins that are installed, and what each registered."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Example:\n\nvisualjudge plugins --json")
def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the installed plug-ins with what each registered, or why it was skipped (exit status 1)."""
    from visualjudge.registry import GROUP
    from visualjudge.registry import plugins as installed

    found = installed()
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False))
    elif not found:
        print(f"no plug-in is installed (entry points of the group {GROUP})")
    else:
        for one in found:
            print(f"{one.name}  {one.distribution} {one.version}  {one.problem or ', '.join(one.registered)}")
    if any(one.problem for one in found):
        raise typer.Exit(1)
