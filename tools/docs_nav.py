"""MkDocs hooks: the navigation lists whole folders, and the search has a name for screen readers."""

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


def on_post_page(output: str, **_: Any) -> str:
    """Name the search dialog, which the theme leaves without a name."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" aria-label="Search" role="dialog"'
    )


def on_post_template(output: str, **_: Any) -> str:
    """The same for the page of a missing address."""
    return on_post_page(output)


def pages(folder: Path) -> list[Path]:
    """The pages of a folder, its README first."""
    return sorted(folder.glob("*.md"), key=lambda path: (path.name != "README.md", path.name))


def named(entry: Any) -> list[str]:
    """The pages that a navigation names."""
    if isinstance(entry, str):
        return [entry]
    values = entry.values() if isinstance(entry, dict) else entry
    return [page for value in values for page in named(value)]
