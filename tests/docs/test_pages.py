"""The pages name what is there: files, commands, options."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

import visualjudge
from folding import each
from making import make_folder
from visualjudge.cli.main import COMMANDS, command_named

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from docs_pages import stale_pages  # noqa: E402

DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "AGENTS.md",
    ROOT / "SKILL.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("tasks/*.md")),
    *sorted(DOCS.glob("routes/*.md")),
]
MOST_PAGES, MOST_WORDS, MOST_WORDS_OF_ALL = 23, 24_000, 33_000
MADE = {
    DOCS / "cli.md",
    DOCS / "findings.md",
    *(DOCS / name for name in ("tasks", "gallery", "prompts")),
}
"""What ``docs_pages.py``, ``atlas.py``, ``gallery.py`` and ``prompt_pages.py`` write;
marked blocks too.
"""
MADE_BLOCK = re.compile(r"<!-- (.+?) -->\n.*?<!-- end of \1 -->", re.DOTALL)
WRITTEN = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if not MADE & {page, *page.parents}
]
TO_READ = [page for page in WRITTEN if page.parent.name != "decisions"]
SHOWS_NO_COMMAND = {
    "comparison.md",
    "figures.md",
    "index.md",
    "reference.md",
    "analysis.md",
    "concepts.md",
    "tables.md",
}
"""Pages that are a table, a list or a method as a whole."""
PROGRAM = "visualjudge "
PLUGGED_IN = {
    "counting",
    "counts",
}  # the importer of docs/plugins.md, which tests/plugins runs
OFFERED = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def nav_pages(entry: object) -> Iterator[str]:
    for value in (
        entry.values()
        if isinstance(entry, dict)
        else entry
        if isinstance(entry, list)
        else [entry]
    ):
        if isinstance(value, str):
            yield value
        else:
            yield from nav_pages(value)


def navigation() -> set[str]:
    return set(
        nav_pages(
            yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
        )
    )


def test_the_site_names_pages_that_exist() -> None:
    assert [page for page in navigation() if not (DOCS / page).is_file()] == []


def test_the_navigation_is_short_enough_to_read() -> None:
    words = sum(
        len((DOCS / page).read_text("utf-8").split()) for page in navigation()
    )
    assert len(navigation()) <= MOST_PAGES
    assert words <= MOST_WORDS


def test_what_people_wrote_is_short_enough_to_keep_true() -> None:
    """As ``wc -w`` counts; without decisions, and what commands write."""
    texts = (MADE_BLOCK.sub("", page.read_text("utf-8")) for page in TO_READ)
    assert sum(len(text.split()) for text in texts) <= MOST_WORDS_OF_ALL


@each("page", TO_READ)
def test_a_page_begins_with_its_purpose_and_shows_an_example(
    page: Path,
) -> None:
    """A paragraph of two or three sentences, before any code, table or heading."""
    text = page.read_text("utf-8")
    first = text.split("\n\n")[1]
    assert re.match(r"[\w*`\[]", first) and not first.startswith("```")
    assert 2 <= len(re.findall(r"[.?](?=\s|$)", first)) <= 3
    assert "\n```" in text or page.name in SHOWS_NO_COMMAND


@each("page", PAGES)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    missing = [
        link
        for link in links
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert missing == []


def commands_of(page: Path) -> list[str]:
    """What is written as a command, in blocks and in code spans; a comment and what is
    piped on are cut off.
    """
    text = page.read_text("utf-8").replace("\\\n", " ")
    blocks = [
        body
        for kind, body in re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)
        if kind != "python"
    ]
    lines = [
        line.strip().removeprefix("$ ")
        for body in blocks
        for line in body.splitlines()
    ]
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    spans = [
        " ".join(span.split()) for span in re.findall(r"`([^`]+)`", outside)
    ]
    parts = [
        part.strip()
        for line in (*lines, *spans)
        for part in re.split(r"&&|\s\|\s|;", line)
    ]
    return [
        re.split(r"\s#", part)[0] for part in parts if part.startswith(PROGRAM)
    ]


def click_command(name: str) -> click.Command:
    return command_named(name)


def problem(line: str) -> str | None:
    """Why the command line cannot be one of ours, or None."""
    words = shlex.split(line)[1:]
    if words[0].startswith("-"):
        return (
            None
            if words[0] in ("--version", "--help", "--install-completion")
            else f"{words[0]} is no option"
        )
    if words[0] not in COMMANDS:
        return None if words[0].isupper() else f"{words[0]} is no command"
    command, rest = click_command(words[0]), words[1:]
    while (
        isinstance(getattr(command, "commands", None), dict)
        and rest
        and not rest[0].startswith("-")
    ):
        if (
            rest[0].isupper() or rest[0] in PLUGGED_IN
        ):  # FORMAT stands for any of them
            return None
        if rest[0] not in command.list_commands(None):
            if hasattr(command, "usual"):
                rest = [command.usual, *rest]
                continue
            return f"{rest[0]} is no command of {words[0]}"
        made = getattr(command, "made", command.commands.get)
        command, rest = made(rest[0]), rest[1:]
    known = {
        option
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    unknown = [
        word
        for word in rest
        if OFFERED.fullmatch(word.split("=")[0])
        and word.split("=")[0] not in known
    ]
    return (
        f"{words[0]} knows no {', '.join(unknown)}"
        if set(unknown) - {"--help", "--help-all"}
        else None
    )


@each("page", PAGES)
def test_every_command_on_a_page_has_the_options_that_it_names(
    page: Path,
) -> None:
    assert [
        (line, why) for line in commands_of(page) if (why := problem(line))
    ] == []


def test_a_page_with_a_wrong_command_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`visualjudge jugde x`\n```console\n$ visualjudge build data \\\n   --outt x  "
        "# y\n```\n"
    )
    assert [problem(line) for line in commands_of(page)] == [
        "build knows no --outt",
        "jugde is no command",
    ]


def test_the_readme_is_short_and_names_the_commands_of_the_first_hours() -> (
    None
):
    first = {
        "demo",
        "import",
        "build",
        "judge",
        "report",
        "card",
        "label",
        "studio",
        "adopt",
    }
    assert first <= {
        line.split()[1] for line in commands_of(ROOT / "README.md")
    }
    text = MADE_BLOCK.sub("", (ROOT / "README.md").read_text("utf-8"))
    assert len(text.split()) <= 750


def test_the_judge_of_the_page_on_python_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_folder(tmp_path / "data", tasks=["object_detection"])
    dataset = visualjudge.build(tmp_path / "data", out=tmp_path / "ds")
    names = {"vj": visualjudge, "dataset": dataset}
    monkeypatch.chdir(tmp_path)
    section = (
        (ROOT / "docs/python.md")
        .read_text("utf-8")
        .partition("## Your own judge")[2]
    )
    exec(
        compile(
            re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0],
            "python.md",
            "exec",
        ),
        names,
    )
    run = visualjudge.open_run(tmp_path / "runs/mine")
    assert run.manifest["judge"] == "shortest-name"
    assert {verdict.status for verdict in run.verdicts.values()} == {"ok"}
    assert len(run) == 2 * len(dataset.filter(question_type="pairwise")) > 0


def test_the_pages_that_are_made_from_the_code_are_fresh() -> None:
    assert [path for path, _ in stale_pages()] == [], (
        "python tools/docs_pages.py"
    )
