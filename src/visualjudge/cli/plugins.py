"""``visualjudge plugins``: the plug-ins that are installed, and what each registered."""

from __future__ import annotations

from dataclasses import asdict

import typer

from visualjudge.cli.listing import AsJson, print_json

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Example:\n\nvisualjudge plugins --json")
def plugins(
    as_json: AsJson = False,
) -> None:
    """List the installed plug-ins with what each registered, or why it was skipped (exit status 1)."""
    from visualjudge.core.registry import GROUP
    from visualjudge.core.registry import plugins as installed

    found = installed()
    if as_json:
        print_json(map(asdict, found))
    elif not found:
        print(f"no plug-in is installed (entry points of the group {GROUP})")
    else:
        for one in found:
            print(f"{one.name}  {one.distribution} {one.version}  {one.problem or ', '.join(one.registered)}")
    if any(one.problem for one in found):
        raise typer.Exit(1)
