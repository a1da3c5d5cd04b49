"""``visualjudge plugins``: list the installed plug-ins, check one, or create one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.output import AsJson, following, print_json

EXAMPLES = """Examples:

visualjudge plugins --json

visualjudge plugins new counting --out visualjudge-counting

visualjudge plugins check counting
"""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, epilog=EXAMPLES)


@app.callback(invoke_without_command=True)
def plugins(
    context: typer.Context,
    as_json: AsJson = False,
) -> None:
    """List the installed plug-ins with what each registered, or why it was skipped (exit status
    1).
    """
    from visualjudge.core.registry import GROUP, plugins as installed

    if context.invoked_subcommand is not None:
        return
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


@app.command(epilog="Example:\n\nvisualjudge plugins check counting")
def check(
    name: Annotated[str, typer.Argument(help="Name of the plug-in, or of its distribution.")],
    as_json: AsJson = False,
) -> None:
    """Try all that a plug-in registered on the examples of its types; exit with status 1 if
    something fails.
    """
    from visualjudge.apps.starting.plugin_check import check_plugin

    trials = []
    for trial in check_plugin(name):
        trials.append(trial)
        if not as_json:
            print(trial.line, flush=True)
    if as_json:
        print_json(
            {"what": one.what, "ok": one.problem is None, "problem": one.problem} for one in trials
        )
    if any(one.problem is not None for one in trials):
        raise typer.Exit(1)


@app.command(epilog="Example:\n\nvisualjudge plugins new counting --out visualjudge-counting")
def new(
    name: Annotated[str, typer.Argument(help="Name of the plug-in: small letters, digits and _.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write.", show_default="visualjudge-NAME")
    ] = None,
) -> None:
    """Write a small working plug-in to start from: a type with two encodings, a metric, an
    error, an importer.
    """
    from visualjudge.apps.starting.plugin_new import write_plugin

    folder = write_plugin(name, out or Path(f"visualjudge-{name.replace('_', '-')}"))
    print(f"wrote {folder}; install it with: pip install -e {folder}")
    following("plugins", "check", name)
