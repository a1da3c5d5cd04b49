"""MkDocs hook: pages of a folder, and pages that mkdocs.yml does not name, get their place in the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDERS = {"Tutorials": "tutorials", "Tasks": "tasks", "Decisions": "decisions", "Prompts": "prompts"}


def on_config(config: Any) -> Any:
    """Fill the sections of ``FOLDERS``; what is left over comes last, under "More"."""
    root = Path(config.docs_dir)
    for title, folder in FOLDERS.items():
        config.nav.append({title: [str(path.relative_to(root)) for path in pages(root / folder)]})
    rest = sorted({str(path.relative_to(root)) for path in root.rglob("*.md")} - set(named(config.nav)))
    if rest:
        config.nav.append({"More": rest})
    return config


def pages(folder: Path) -> list[Path]:
    """The pages of a folder, its README first."""
    return sorted(folder.glob("*.md"), key=lambda path: (path.name != "README.md", path.name))


def named(entry: Any) -> list[str]:
    """The pages that a navigation names."""
    if isinstance(entry, str):
        return [entry]
    values = entry.values() if isinstance(entry, dict) else entry
    return [page for value in values for page in named(value)]
