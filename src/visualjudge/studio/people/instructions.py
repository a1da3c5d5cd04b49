"""Instructions for raters, from Markdown: HTML in the text is shown as text, and images come from
its own folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from visualjudge.core.errors import UsageError
from visualjudge.studio.thumbnails import confined

LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Instructions:
    """``html`` for the page; ``images`` by their place in it, files inside the folder of the
    Markdown file.
    """

    html: str
    images: tuple[Path, ...]


def read_instructions(path: Path, address: Callable[[int], str]) -> Instructions:
    """The instructions in a Markdown file.

    Parameters
    ----------
    address
        From an image's place to the address that serves it.

    Raises
    ------
    UsageError
        If the file cannot be read, or shows an image that is not a file in its folder.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--instructions: {path}: must be a Markdown file: {error}") from None
    if len(text) > LONGEST:
        raise UsageError(
            f"--instructions: {path}: must have at most {LONGEST} characters, got {len(text)}"
        )
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens, images = markdown.parse(text), list[Path]()
    for token in (child for block in tokens for child in block.children or ()):
        if token.type == "image":
            name = str(token.attrGet("src"))
            file = None if urlsplit(name).scheme else confined(path.parent, unquote(name))
            if not isinstance(file, Path):
                raise UsageError(
                    f"--instructions: {path}: image {name!r} must be a file in its folder"
                )
            token.attrSet("src", address(len(images)))
            images.append(file)
    return Instructions(markdown.renderer.render(tokens, markdown.options, {}), tuple(images))
