"""A new project: folders, a commented configuration, and a script that reads it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from visualjudge.core.atomic import write_text
from visualjudge.core.errors import UsageError

FILES = {
    "README.md": "readme.md",
    "config.yaml": "config.yaml",
    "study.py": "study.txt",
    ".gitignore": "gitignore.txt",
    "data/README.md": "data.md",
}
OURS = ("dataset.json", "run.json", "annotations")
"""What a dataset, a run and a data folder have, which are no place for a project."""
FOLDERS = ("data/annotations", "data/images")


def write_project(folder: str | Path) -> list[Path]:
    """Write a project into ``folder``, which may exist; no file is replaced.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    UsageError
        If one of the files exists, or ``folder`` is a file, a dataset, a run or a data
        folder.
    """
    root = Path(folder)
    if root.exists() and not root.is_dir():
        raise UsageError(f"FOLDER must be a folder, got the file {root}")
    there = [name for name in (*FILES, *OURS) if (root / name).exists()]
    if there:
        raise UsageError(
            f"{root} already contains {', '.join(there)}; name another folder"
        )
    assets = files("visualjudge.apps.starting") / "assets"
    for name in FOLDERS:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, asset in FILES.items():
        write_text(root / name, (assets / asset).read_text("utf-8"))
    return [root / name for name in FILES]
