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

NOTHING = (
    "next: write a form that `visualjudge import --help` or `visualjudge adopt --help` "
    "lists; predictions of any form go in as arrays, by visualjudge.import_samples in "
    "Python"
)


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
    known = [sight for sight in sights if sight.command]
    if not known:
        print(NOTHING)
        return
    first = known[0].command
    following(*first)
    goal = "--out" in first and GOALS.get(str(first[0]))
    study = (
        ("describe", "data"),
        ("plan", "data", "--goal", goal, "--json", "plan.json"),
        ("build", "data", "--plan", "plan.json", "--out", "dataset"),
    )
    for words in (*known[0].then, *study[: 3 * bool(goal)]):
        following(*words, title="then")
    if goal:
        print(
            "then: the command that `build` prints, which asks what was planned"
        )
    for sight in known[1:]:
        following(*sight.command, title="or")


def _is_verdicts(header: list[str]) -> bool:
    from visualjudge.apps.adopt.roles import ANSWERS, ASKED, find_columns

    roles = find_columns(header, {}).keys()
    return not (roles.isdisjoint(ANSWERS) or roles.isdisjoint(ASKED))
