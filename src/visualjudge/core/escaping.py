"""What makes a text of others harmless where it is shown: one function for each place.
Names of models and tasks, answers, replies and what servers say may hold anything. Keys
are removed in ``clients/masked_secrets.py``; reading strangers' files is in
``untrusted.py``.
"""

from __future__ import annotations

import html
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a pair of UTF-16, which a text in UTF-8 cannot hold."""
# Lone surrogates, U+FFFE and U+FFFF cannot stand in XML 1.0 or UTF-8 at all.
_HIDDEN = re.compile(
    "\\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"
    # changes of direction
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufffe\uffff]"
)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~&$@])|(?<=:)(?=//)|^(?=[-+=])")
_NUMBERED = re.compile(r"^(\d+)(?=[.)](\s|$))")
# GitHub's runner obeys "::" where a line begins, and "##[" anywhere.
_COMMAND = re.compile(r"^(\s*:)(?=:)|(#)(?=#\[)", re.MULTILINE)
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "{}$&#_%"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\u2212": "$-$",
        "×": r"$\times$",
        "±": r"$\pm$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "∞": r"$\infty$",
        "α": r"$\alpha$",
        "ε": r"$\varepsilon$",
        "κ": r"$\kappa$",
        "ρ": r"$\rho$",
        "τ": r"$\tau$",
        "ω": r"$\omega$",
    }
)
_EVALUATED = re.compile(
    r"(?![+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z)[=+\-@\t\r]", re.ASCII
)
"""The first character of a text that a spreadsheet would evaluate, unless the text is
a number."""


def visible(value: Any) -> Any:
    r"""Return ``value``. In a text, each control character and change of direction is
    written as ``\u001b``, as in JSON, but for tab and line feed. Templates apply it to
    all that they show.
    """
    if not isinstance(value, str) or not _HIDDEN.search(value):
        return value
    return type(value)(
        _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", value)
    )


def for_html(text: str) -> str:
    """Return ``text`` for an element or an attribute in quotes, also of XML and SVG.
    Templates escape by themselves.
    """
    return html.escape(visible(text))


def for_markdown(text: str) -> str:
    """Return ``text`` as one line without any markup, for a paragraph, an item or a
    cell."""
    line = visible(" ".join(text.split()))
    return _NUMBERED.sub(
        r"\1\\", _MARKDOWN.sub(lambda match: f"\\{match[1] or ''}", line)
    )


def for_latex(text: str) -> str:
    """Return ``text`` as one line without any command, with the signs of our tables in
    math mode. Other letters beyond ASCII are left as they are: they need an input
    encoding of UTF-8.
    """
    return str(visible(" ".join(text.split()))).translate(_LATEX)


def for_terminal(text: str) -> str:
    """Return ``text`` for a terminal. Where GitHub reads the output, none of it is a
    command."""
    displayed: str = visible(text)
    return (
        _COMMAND.sub(lambda match: f"{match[0]} ", displayed)
        if os.environ.get("GITHUB_ACTIONS")
        else displayed
    )


def for_cell(text: str) -> str:
    """Return ``text`` with an apostrophe before what a spreadsheet would evaluate; a
    plain number is unchanged.
    """
    displayed: str = visible(text)
    return f"'{displayed}" if _EVALUATED.match(displayed) else displayed


def for_csv(table: pl.DataFrame) -> pl.DataFrame:
    """Return ``table`` with its texts as :func:`for_cell` has them."""
    import polars as pl
    import polars.selectors as select

    return table.with_columns(
        select.string().map_elements(for_cell, pl.String)
    ).rename(visible)
