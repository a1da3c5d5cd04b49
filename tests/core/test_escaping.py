"""Forty texts that act somewhere, through the escaper of each place."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from unittest.mock import patch
from xml.etree import ElementTree

import polars as pl

from folding import each
from visualjudge.core.escaping import (
    for_csv,
    for_html,
    for_markdown,
    for_terminal,
    visible,
)

EVIL = [
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'\" onload='x"),
    *("</td></table>", "<!--", "-->", "]]>", "<![CDATA[x]]>", "&lt;b&gt;", "&#x3c;b"),
    *("# heading", "## gate: holds", "- item", "+ item", "* item", "1. item", "> quote"),
    *("| a | b |", "a|b", "**bold**", "_em_", "`code`", "~~no~~", "[x](http://e)"),
    *("![x](http://e/p.png)", "<http://e>", "http://e/?q=1", "@everyone", "$x^2$"),
    *("line\nline", "line\r\n::error::x", "::set-output name=a::b", "##[error]x"),
    *("\x1b[31mred\x1b[0m", "\x00\x08\x7f", "\u202eright to left", "\ufffe\ud800"),
    *("=1+1", "+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "\\", "{{ 7*7 }}"),
]  # fmt: skip


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@each("text", EVIL)
def test_no_text_acts_where_it_is_shown(text: str) -> None:
    assert len(EVIL) >= 40
    page = Elements(f'<p title="{for_html(text)}">{for_html(text)}</p>')
    assert page.names == ["p"]
    assert page.text == visible(text)
    element = ElementTree.fromstring(
        f'<a b="{for_html(text)}">{for_html(text)}</a>'
    )
    assert len(element) == 0
    shown = for_terminal(text).replace("\r\n", "\n")
    assert all(sign.isprintable() or sign in "\n\t" for sign in shown)
    line = for_markdown(text)
    assert "\n" not in line
    bare = re.sub(r"\\.", "x", line)
    assert not re.search(r"[`*_{}\[\]<>#|!~&$@]|://|^[-+=]|^\d+[.)]", bare)
    with patch.dict(os.environ, GITHUB_ACTIONS="true"):
        logged = for_terminal(text).splitlines()
    for part in logged:
        assert not part.strip().startswith("::")
        assert "##[" not in part


@each("text", [text for text in EVIL if "\ud800" not in text])
def test_no_cell_is_a_formula(text: str) -> None:
    assert for_csv(pl.DataFrame({"a": [text]}))["a"][0][:1] not in tuple(
        "=+-@\t\r"
    )
