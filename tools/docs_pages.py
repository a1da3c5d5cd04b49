"""Pages that are made: one for each task, and all commands; ``--check`` says which are stale.

    python tools/docs_pages.py [--check]

What a person writes on the page of a task stands in ``task_notes.toml``; scores, errors and
encodings come from the tables of the package, commands from the command line itself.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from visualjudge.cli.main import COMMANDS, MODULES, app
from visualjudge.vision.encode import encodings
from visualjudge.vision.encodings import encoding_title
from visualjudge.vision.predictions import type_of
from visualjudge.vision.tasks import TASKS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTES = Path(__file__).with_name("task_notes.toml")
METRICS = {
    "detection": "Mean F1 over box IoU .50, .55, … .95, matched within a label.",
    "instance": "Mean F1 over mask IoU .50, .55, … .95, matched within a label.",
    "semantic": "Mean IoU over the labels of truth or prediction.",
    "referring": "IoU of the region.",
    "keypoint": "Mean F1 over OKS .50, .55, … .95.",
    "depth": "δ1: share of valid pixels whose depth is wrong by a factor of less than 1.25.",
    "restoration": "SSIM to the clean image, or scaled PSNR (`--metric psnr`).",
    "generation": "No metric: scores come from people or another metric, and are mapped to 0..10.",
}

COMMANDS_PURPOSE = (
    "Every command with its options, as `--help` prints them. Exit status: 0 on "
    "success, 1 for invalid "
    "input or a failed check, 2 for wrong usage."
)
TASKS_PURPOSE = (
    "The tasks whose predictions can be judged. Each page shows how to import predictions, how "
    "they are scored, which "
    "controlled errors exist, and every encoding."
)
TIMES = ("", "The score is 10 times this value. ")


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit status 1 if a page is stale"
    )
    check = parser.parse_args().check
    stale = [
        path for path, text in pages() if not path.is_file() or path.read_text("utf-8") != text
    ]
    if check and stale:
        sys.exit(
            f"stale: {', '.join(str(path.relative_to(ROOT)) for path in stale)}: run make docs"
        )
    for path, text in pages():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


def pages() -> Iterator[tuple[Path, str]]:
    """Every page that is made here."""
    notes = tomllib.loads(NOTES.read_text("utf-8"))
    yield DOCS / "tasks/README.md", index(notes)
    for task in TASKS.own:
        yield DOCS / f"tasks/{task}.md", task_page(task, notes[task])
    yield DOCS / "cli.md", commands_page()


# ---------------------------------------------------------------- tasks


def index(notes: Mapping[str, Any]) -> str:
    """The list of all tasks."""
    lines = [
        "# Tasks",
        "",
        TASKS_PURPOSE,
        "",
        "| Task | Name in files | Encodings | Error types |",
        "|---|---|---|---|",
    ]
    for task, note in notes.items():
        kinds = len(errors(task))
        lines.append(
            f"| [{note['title']}]({task}.md) | `{task}` | {len(final(task))} | {kinds or '–'} |"
        )
    return "\n".join(lines) + "\n"


def task_page(task: str, note: Mapping[str, Any]) -> str:
    """The page of one task: import, score, errors, encodings, and what to check."""
    kind = TASKS[task].type
    parts = [
        f"# {note['title']}",
        f"How to import predictions of {note['title'].lower()}, how they are scored, and how a "
        "judge is shown them. "
        f"The task's name in files and options is `{task}`.",
        "## Import",
        note["data"] + " All formats: [Import](../importing.md).",
        f"```console\n$ {note['import'].strip()}\n```",
        "## Score",
        f"{METRICS[kind]} {TIMES[kind != 'generation']}Definition and options: "
        "[Scores](../metrics.md).",
        "## Controlled errors",
        errors_text(task),
        "## Encodings",
        encodings_text(task),
        "## What to check",
        "\n".join(f"- {line}" for line in note["watch"]),
    ]
    return "\n\n".join(parts) + "\n"


def errors(task: str) -> dict[str, str]:
    """The errors of a task, each with what it does."""
    rows = type_of(task).errors
    return {row.name: " ".join(str(row.perturb.__doc__).split()) for row in rows}


def errors_text(task: str) -> str:
    """The table of errors."""
    found = errors(task)
    if not found:
        return (
            "None: there is no ground truth to modify. Import scored outputs; the demo generates "
            "graded ones."
        )
    rows = [f"| `{name}` | {text} |" for name, text in found.items()]
    command = f"visualjudge perturb --help    # {', '.join(found)}"
    return "\n".join(
        ["| Error | Effect |", "|---|---|", *rows, "", "```console", f"$ {command}", "```"]
    )


def final(task: str) -> list[Any]:
    """The encodings of a task that are built by default."""
    return [row for row in encodings(task) if row.is_final]


def encodings_text(task: str) -> str:
    """Each encoding by its name, with its image where it has one."""
    shown = next(name for name in TASKS.own if TASKS[name].type == TASKS[task].type)
    lines = []
    for row in final(task):
        lines += [f"### {encoding_title(task, row.stem)}", "", f"`{row.stem}` ({row.kind})", ""]
        image = gallery_image(task, shown, row.stem)
        lines += [f"![{encoding_title(task, row.stem)}](../gallery/{image})", ""] if image else []
    return "\n".join(lines).strip()


def gallery_image(task: str, shown: str, stem: str) -> str | None:
    """The file in the gallery: of the task itself, else of the first task of its type."""
    names = (f"{name}-{stem}.jpg" for name in (task, shown))
    return next((name for name in names if (DOCS / "gallery" / name).is_file()), None)


# ---------------------------------------------------------------- commands


def commands_page() -> str:
    """Every command with its help, as the command line prints it."""
    parts = [
        "# Commands",
        COMMANDS_PURPOSE,
    ]
    for path, level in commands():
        parts += [f"{'#' * level} {' '.join(path)}", f"```text\n{help_of(path)}\n```"]
    return "\n\n".join(parts) + "\n"


def commands() -> Iterator[tuple[tuple[str, ...], int]]:
    """Every command and sub-command, with the level of its heading."""
    for name in COMMANDS:
        yield (name,), 2
        module = importlib.import_module(f"visualjudge.cli.{MODULES.get(name, name)}")
        group = typer.main.get_command(module.app)
        for sub in group.list_commands(None) if hasattr(group, "commands") else ():
            yield (name, sub), 3


def help_of(path: tuple[str, ...]) -> str:
    """The help of one command, 100 characters wide."""
    shown = CliRunner().invoke(
        app, [*path, "--help"], prog_name="visualjudge", env={"COLUMNS": "100", "NO_COLOR": "1"}
    )
    return "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())


if __name__ == "__main__":
    main()
