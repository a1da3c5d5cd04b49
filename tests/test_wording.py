"""Messages of errors state the requirement as "must …, got …", or what was not
found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from folding import each
from package_sources import ROOT, SOURCES, found_in

BAD = re.compile(
    r": is ((an?|no|one|[0-9]+)\b|\{\})|\ban? [\w ]+ (is|are) (an? |one "
    r"of|H×W|\[)|\b\w+ "
    r"(is|are) one of\b"
    r"|\bis due\b|\bare due\b|\bon end\b|\bso often\b|\bare let be\b|\btold on\b|\bis "
    r"none\b"
    r"|\bthat is no\b|\bwhole road\b|\blet go of\b|\bpictures?\b"
)
"""Forms that state the requirement as if it were the finding, and idioms that no manual
has."""


def _messages(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and text of every message of a raised error, of a recorded problem, and of a
    help text; fields are {}.
    """
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        name = (
            node.func.id
            if isinstance(node.func, ast.Name)
            else getattr(node.func, "attr", "")
        )
        if name.endswith(
            ("Error", "_invalid", "invalid", "Problem", "Option", "Argument")
        ):
            for given in [*node.args, *(word.value for word in node.keywords)]:
                text = _text(given)
                if text:
                    yield node.lineno, text


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                _text(part) if isinstance(part, ast.Constant) else "{}"
                for part in parts
            )
        case _:
            return ""


def _bad_messages(nodes: Iterable[ast.AST]) -> list[tuple[int, str]]:
    return [(line, text) for line, text in _messages(nodes) if BAD.search(text)]


def test_messages_say_what_must_be() -> None:
    assert found_in(SOURCES, _bad_messages) == []


WRITES_COMMANDS = {
    *("apps/planning/study_designs.py", "apps/starting/folder_contents.py"),
    "apps/starting/known_files.py",
    *("analysis/decisions/card.py", "analysis/report/page.py"),
    "formats/importers.py",
    *("apps/adopt/logs/__init__.py", "judges/local/judge.py"),
}
"""Files below ``cli`` with whole commands, or options of another program."""
FLAG = re.compile(r"(?<![\w-])--[a-z]")


def _flags(nodes: Iterable[ast.AST]) -> list[int]:
    every = list(nodes)
    docstrings = {
        id(node.value) for node in every if isinstance(node, ast.Expr)
    }
    return [
        node.lineno
        for node in every
        if isinstance(node, ast.Constant)
        and id(node) not in docstrings
        and FLAG.search(str(node.value))
    ]


def test_a_message_below_cli_names_the_field_and_cli_the_option() -> None:
    paths = [
        path
        for path in SOURCES
        if (name := path.relative_to(ROOT).as_posix()) not in WRITES_COMMANDS
        and not name.startswith(("cli/", "analysis/plots/"))
    ]
    assert found_in(paths, _flags) == []


HOME = ROOT.parent.parent
PAGES = [
    *ROOT.rglob("*"),
    *(HOME / "docs").rglob("*.md"),
    *(HOME / "examples").rglob("*.py"),
    HOME / "README.md",
]
WRITTEN = {".py", ".md", ".html", ".j2", ".js", ".css"}
OLD_WORD = re.compile(r"pictur", re.IGNORECASE)
QUOTED = re.compile(r"Complete the picture:|\(\?:image\|picture\|more")
"""What a reply may say, and a prompt of the demo: words of others, which stay."""


IDIOM = re.compile(
    r"\b(stands? (or falls?|beside|together)|(is|are) (let be|told|due)|in the place "
    r"of|so "
    r"often|on end|what came of"
    r"|an? \w+ of (your|his|her|their) own|a (line|file|row) an? \w+|held against|made "
    r"good)\b"
)
"""What pages of other projects do not say; decisions and the changelog are left as they
were written.
"""


def test_pages_have_no_invented_idiom() -> None:
    pages = [
        path
        for path in PAGES
        if path.suffix == ".md"
        and path.parent.name not in ("decisions", "prompts", "gallery")
    ]
    lines = [
        (path.name, line)
        for path in pages
        for line in path.read_text("utf-8").splitlines()
    ]
    assert [one for one in lines if IDIOM.search(one[1])] == []


SOURCE = re.compile(
    r"(?<!image )\b(an?|the|each|every|two|no|of|named|close) [Ss]ources?\b(?! image)"
)
"""The model whose predictions are judged, which files and options call ``source``."""
MADE_BY_OTHERS = (
    "findings.md",
    "figures.md",
    "documents.md",
    "generation_editing.md",
)
"""Of literature, and of the image that is edited."""


def test_a_model_is_called_model_in_messages_and_pages() -> None:
    messages = found_in(
        SOURCES,
        lambda nodes: [
            found for found in _messages(nodes) if SOURCE.search(found[1])
        ],
    )
    assert messages == []
    pages = [
        (path.name, line)
        for path in PAGES
        if path.suffix == ".md"
        and path.parent.name not in ("decisions", "prompts", "gallery")
        and path.name not in MADE_BY_OTHERS
        for line in path.read_text("utf-8").splitlines()
        if SOURCE.search(re.sub("`.*?`", "", line))
    ]
    assert pages == []


def test_an_image_is_called_image_in_code_and_pages() -> None:
    lines = [
        (path, line)
        for path in PAGES
        if path.suffix in WRITTEN
        for line in path.read_text("utf-8").splitlines()
    ]
    assert [
        one
        for one in lines
        if OLD_WORD.search(one[1]) and not QUOTED.search(one[1])
    ] == []


@each(
    "source",
    [
        'raise DataError(f"{path}: is no table")',
        'Problem(a, b, c, "a whole number is due")',
        'typer.Option(help="the pictures")',
        'raise UsageError(f"align is one of {names}, not {align}")',
        'raise DataError("a polygon is a flat list of numbers")',
        'raise DataError(f"mask: is {size}, the image {other}")',
    ],
)
def test_a_bad_form_is_seen(source: str) -> None:
    assert _bad_messages(ast.walk(ast.parse(source)))
