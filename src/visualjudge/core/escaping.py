"""What makes a text of others harmless where it is shown: one function for each place. Names of
models and tasks, answers, replies and what servers say may hold anything.
"""

from __future__ import annotations

import html
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = {*range(32), *range(127, 160), *_BIDI, 0x2028, 0x2029}
_ESCAPED = {
    code: f"\\u{code:04x}" for code in _CONTROLS - {ord("\n"), ord("\t"), ord("\r")}
}
_TERMINAL = {**_ESCAPED, ord("\r"): "\\u000d"}
# XML 1.0 cannot hold these at all.
_NO_XML = (*range(0xD800, 0xE000), 0xFFFE, 0xFFFF)
_XML = {**_TERMINAL, **{code: f"\\u{code:04x}" for code in _NO_XML}}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|!~&$@])|(?<=:)(?=//)|^(?=[-+=])")
_NUMBERED = re.compile(r"^(\d+)(?=[.)])")
# GitHub's runner obeys "::" where a line begins, and "##[" anywhere.
_COMMAND = re.compile(r"^(\s*:)(?=:)|(#)(?=#\[)", re.MULTILINE)
FORMULA = r"^[=+\-@\t\r]"
PLAIN_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def for_html(text: str) -> str:
    """Return ``text`` for an element or an attribute in quotes. Templates escape by themselves."""
    return html.escape(text)


def for_xml(text: str) -> str:
    r"""Return ``text`` for an element or an attribute in quotes; characters that XML does not allow
    are written as ``\u001b``.
    """
    return html.escape(text.translate(_XML))


def for_markdown(text: str) -> str:
    """Return ``text`` as one line without any markup, for a paragraph, an item or a cell."""
    line = " ".join(text.translate(_ESCAPED).split())
    escaped = _MARKDOWN.sub(lambda match: f"\\{match[1] or ''}", line)
    return _NUMBERED.sub(r"\1\\", escaped)


def for_terminal(text: str) -> str:
    r"""Return ``text`` with each control character and change of direction written as
    ``\u001b``, as in JSON. Where GitHub reads the output, none of it is a command.
    """
    shown = text.translate(_TERMINAL)
    return for_workflow(shown) if os.environ.get("GITHUB_ACTIONS") else shown


def for_workflow(text: str) -> str:
    """Return ``text`` with a space in what GitHub's runner would take for a command in a log."""
    return _COMMAND.sub(lambda match: f"{match[0]} ", text)


def for_csv(table: pl.DataFrame) -> pl.DataFrame:
    """Return ``table`` with an apostrophe before each text that a spreadsheet would evaluate; plain
    numbers are unchanged.
    """
    import polars as pl
    import polars.selectors as select

    text = select.string()
    acts = text.str.contains(FORMULA) & ~text.str.contains(PLAIN_NUMBER)
    return table.with_columns(
        pl.when(acts).then(pl.lit("'") + text).otherwise(text).name.keep()
    )
