"""``visualjudge init``: what a folder has and the commands of its study. It is found in
``apps/starting/folder_contents.py``.
"""

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.console import following
from visualjudge.core.errors import UsageError

MOST_LINES = 12
"""Things of a folder that are listed."""
GOALS = {"import": "rank", "perturb": "right"}
"""What a study of models' predictions, or of controlled errors, is planned for."""


def init(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder or file of data; default: this folder."),
    ] = Path(),
) -> None:
    """Say what a folder has and print the commands of its study; nothing is written.

    Example: visualjudge init my-data
    """
    from visualjudge.apps.starting.folder_contents import look

    if not folder.exists():
        raise UsageError(f"FOLDER: there is no {folder}")
    sights = look(folder, _is_verdicts)
    for sight in sights[:MOST_LINES]:
        print(f"{sight.path}: {sight.text}")
    if len(sights) > MOST_LINES:
        print(f"and {len(sights) - MOST_LINES} more")
    if not sights:
        print(f"{folder}: nothing that visualjudge knows")
    commands = [sight.command for sight in sights if sight.command]
    first, *others = commands or [("import", "--help")]
    following(*first)
    for words in others:
        following(*words, title="or")
    if "--out" in first and first[0] in GOALS:
        for words in (
            ("describe", "data"),
            ("plan", "data", "--goal", GOALS[first[0]], "--json", "plan.json"),
            ("build", "data", "--plan", "plan.json", "--out", "dataset"),
        ):
            following(*words, title="then")
        print(
            "then: the command that `build` prints, which asks what was planned"
        )


def _is_verdicts(header: list[str]) -> bool:
    from visualjudge.apps.adopt.roles import ANSWERS, ASKED, find_columns

    roles = find_columns(header, {}).keys()
    return not (roles.isdisjoint(ANSWERS) or roles.isdisjoint(ASKED))
