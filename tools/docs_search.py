"""MkDocs hook: the search has a name for screen readers."""

from __future__ import annotations

from typing import Any


def on_post_page(output: str, **_: Any) -> str:
    """Name the search dialog, which the theme leaves without a name."""
    return output.replace(
        'data-md-component="search" role="dialog"',
        'data-md-component="search" aria-label="Search" role="dialog"',
    )


def on_post_template(output: str, **_: Any) -> str:
    """The same for the page of a missing address."""
    return on_post_page(output)
