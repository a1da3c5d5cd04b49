"""Tables of a page as a reader finds them: under their headings, with the clicks that it
takes to see them.
"""

from __future__ import annotations

import html.parser
from dataclasses import dataclass, field


@dataclass
class SeenTable:
    """A table below a ``heading``; ``clicks``: one on the contents, if it is not part of
    the answer, and one for each part around it that is folded.
    """

    heading: str
    title: str
    clicks: int
    rows: list[list[str]] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def row(self, *begin: str) -> dict[str, str]:
        """Return the cells of the row that begins so, by column."""
        (found,) = (r for r in self.rows[1:] if r[: len(begin)] == [*begin])
        return dict(zip(self.rows[0], found, strict=True))


class Tables(html.parser.HTMLParser):
    """Collects the tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[SeenTable] = []
        self.texts = {"h2": "", "h3": "", "summary": ""}
        self._inside: list[str] = []
        self._folded: list[bool] = []
        self._section = ""

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        values = dict(attrs)
        if tag == "section":
            self._section = values.get("id") or ""
        if tag == "details":
            self._folded.append("open" not in values)
        if tag in self.texts:
            self.texts[tag] = ""
        if tag in ("h2", "summary"):
            self.texts["h3"] = ""
        if tag == "table":
            clicks = sum(self._folded) + (self._section != "answer")
            detail = self._section == "details"
            heading = self.texts["summary" if detail else "h2"]
            self.tables.append(
                SeenTable(heading.strip(), self.texts["h3"], clicks)
            )
        if tag == "tr":
            self.tables[-1].rows.append([])
        if tag in ("td", "th"):
            self.tables[-1].rows[-1].append("")
        if tag == "br" and "td" in self._inside:
            self.tables[-1].rows[-1][-1] += "; "
        if tag == "a" and "td" in self._inside:
            self.tables[-1].links.append(values.get("href") or "")
        if tag not in ("br", "meta", "link", "img", "wbr"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self._folded.pop()
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self._inside):
            self.tables[-1].rows[-1][-1] += data
        for tag in {"h2", "h3", "summary"} & set(self._inside):
            if "a" not in self._inside:
                self.texts[tag] += data


def tables_of(page: str) -> list[SeenTable]:
    """Return the tables of a page, in order."""
    parser = Tables()
    parser.feed(page)
    return parser.tables
