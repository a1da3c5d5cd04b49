"""``visualjudge plugins``: list the installed plug-ins."""

from __future__ import annotations

from dataclasses import asdict

import typer

from visualjudge.cli.output import AsJson, print_json

EPILOG = "Example: visualjudge plugins --json"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog=EPILOG)
def plugins(as_json: AsJson = False) -> None:
    """List the installed plug-ins with what each registered, or why it was skipped (exit status
    1).
    """
    from visualjudge.core.registry import GROUP, plugins as installed

    found = installed()
    if as_json:
        print_json(map(asdict, found))
    elif not found:
        print(f"no plug-in is installed (entry points of the group {GROUP})")
    else:
        for one in found:
            print(
                f"{one.name}  {one.distribution} {one.version}  "
                f"{one.problem or ', '.join(one.registered)}"
            )
    if any(one.problem for one in found):
        raise typer.Exit(1)
