"""Pages that are made: one for each task, all commands, and two short forms of the
pages, for agents (AGENTS.md) and language models (docs/llms.txt), and the types of the
package for type checkers; ``--check`` says which are stale.

    python tools/docs_pages.py [--check]

What a person writes on the page of a task stands in ``task_notes.toml``; scores, errors
and encodings come from the tables of the package, commands from the command line
itself.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from stub import stub
from typer.testing import CliRunner

from visualjudge.cli.main import COMMANDS, app, command_named
from visualjudge.vision.encode import encodings
from visualjudge.vision.encodings import encoding_title
from visualjudge.vision.metrics import metrics_of
from visualjudge.vision.predictions import type_of
from visualjudge.vision.score import measured_by
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
    "depth": "δ1: share of valid pixels whose depth is wrong by a factor of less than "
    "1.25.",
    "restoration": "SSIM to the clean image, or scaled PSNR (`--metric psnr`).",
    "generation": "No metric: scores come from people or another metric, and are "
    "mapped to 0..10.",
}

COMMANDS_PURPOSE = (
    "Every command with its options, as `--help` prints them. Exit status: 0 on "
    "success, 1 for invalid input or a failed check, 2 for wrong usage, such as a path that is not there."
)
TASKS_PURPOSE = (
    "The tasks whose predictions can be judged. Each page shows how to import "
    "predictions, how they are scored, which controlled errors exist, and every "
    "encoding."
)
RECIPES = {
    "Judge detections of your own": "routes/detector.md",
    "Judge edited or generated images": "routes/images.md",
    "Use verdicts that another tool wrote": "routes/verdicts.md",
    "Test a judge with ground truth alone": "routes/photographs.md",
    "Check a judge in CI": "routes/ci.md",
}
"""What agents are asked for, and the page whose purpose, commands and exit status they
need."""
AGENTS = """# For agents

<!-- Made by tools/docs_pages.py from the pages of docs. -->

visualjudge measures how far a vision-language model can be trusted as a judge of vision models. The
recipes below are the commands of five pages, which a test runs as written.

- Exit status: 0 success; 1 invalid input, a failed check or missing verdicts; 2 wrong usage,
  such as a path that is not there.
  Errors are one line on stderr: file, record, field, "must …, got …".
- `visualjudge COMMAND --help` is one screen. `visualjudge doctor --json` checks keys and servers.
- Nothing asks back. `judge --dry-run` costs nothing, `--resume` continues a run, `--max-calls` and
  `--max-cost` bound it. Keys come from the environment only.
- Read results from JSON: `describe --json`, `card --json`, `report --json`, `accept --json`.
- To work on the repository itself, read CONTRIBUTING.md; `make check` and `make test` must pass.
"""
SKILL = (
    "Measure how far a vision-language model can be trusted as a judge of images, "
    "edits, detections, masks, poses or depth: whether it may rank models, how right, "
    "biased and consistent it is. Use it when verdicts or scores of such a judge exist "
    "or are to be made, or when a judge is to be checked in CI."
)
"""What a skill is for, by which an agent chooses it."""
SITE = "https://github.com/visualjudge/visualjudge/blob/main/docs/"
TIMES = ("", "Times 10. ")


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit status 1 if a page is stale",
    )
    check = parser.parse_args().check
    stale = dict(stale_pages())
    if check and stale:
        sys.exit(
            f"stale: {', '.join(str(path.relative_to(ROOT)) for path in stale)}: run "
            "make docs"
        )
    for path, text in stale.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


def stale_pages() -> Iterator[tuple[Path, str]]:
    """The pages that are not as they would be made, with their new text."""
    for path, text in pages():
        if not path.is_file() or path.read_text("utf-8") != text:
            yield path, text


def pages() -> Iterator[tuple[Path, str]]:
    """Every page that is made here."""
    notes = tomllib.loads(NOTES.read_text("utf-8"))
    yield DOCS / "tasks/README.md", index(notes)
    for task in TASKS.own:
        yield DOCS / f"tasks/{task}.md", task_page(task, notes[task])
    yield DOCS / "cli.md", commands_page()
    yield ROOT / "AGENTS.md", agents_page()
    yield ROOT / "SKILL.md", skill_page()
    yield DOCS / "llms.txt", overview()
    yield ROOT / "src/visualjudge/__init__.pyi", stub()


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
            f"| [{note['title']}]({task}.md) | `{task}` | {len(final(task))} | "
            f"{kinds or '–'} |"
        )
    return "\n".join(lines) + "\n"


def task_page(task: str, note: Mapping[str, Any]) -> str:
    """The page of one task: import, score, errors, encodings, and what to check."""
    kind = TASKS[task].type
    parts = [
        f"# {note['title']}",
        f"From predictions to a judge's card. In files and options this is `{task}`.",
        f"{note['data']} [All formats](../importing.md).",
        study_text(note["import"].strip()),
        "## Score",
        f"{METRICS[kind]} {TIMES[kind != 'generation']}[Definition and options](../metrics.md).",
        *defaults_text(task),
        "## Controlled errors",
        errors_text(task),
        "## Encodings",
        encodings_text(task),
        "## What to check",
        "\n".join(f"- {line}" for line in note["watch"]),
    ]
    return "\n\n".join(parts) + "\n"


def defaults_text(task: str) -> Iterator[str]:
    """What changes the scores without being asked for, of each metric of a task."""
    stated = []
    for name in metrics_of(TASKS[task].type):
        measured = measured_by(task, {"metric": name})
        values = ", ".join(
            f"`{key}={value}`" for key, value in measured.items()
        )
        if values:
            stated.append(values)
    if stated:
        yield f"Each record's `metadata` states {'; or '.join(stated)}."


STUDY = """$ {command}
$ visualjudge build data --out dataset
$ visualjudge judge dataset --type pairwise --swap --model gpt-4o-mini --out runs/mini
$ visualjudge card runs/mini"""
"""From files to an answer; the same for all tasks."""


def study_text(command: str) -> str:
    """The commands of a study, and what to change in them."""
    return (
        f"```console\n{STUDY.format(command=command)}\n```\n\n"
        "Key: `OPENAI_API_KEY`. Your own server: `--backend vllm --base-url "
        "http://127.0.0.1:8000/v1`. A simulated judge: `--backend baseline --model "
        "oracle:0.9`. "
        "[How many images?](../plan.md) [What the card says](../decide.md)"
    )


def errors(task: str) -> dict[str, str]:
    """The errors of a task, each with what it does."""
    rows = type_of(task).errors
    return {
        row.name: " ".join(str(row.perturb.__doc__).split()) for row in rows
    }


def errors_text(task: str) -> str:
    """The table of errors."""
    found = errors(task)
    if not found:
        return "None: there is no ground truth to modify."
    rows = [f"| `{name}` | {text} |" for name, text in found.items()]
    return "\n".join(["| Error | Effect |", "|---|---|", *rows])


def final(task: str) -> list[Any]:
    """The encodings of a task that are built by default."""
    return [row for row in encodings(task) if row.is_final]


def encodings_text(task: str) -> str:
    """Each encoding by its name, with its image where it has one."""
    shown = next(
        name for name in TASKS.own if TASKS[name].type == TASKS[task].type
    )
    lines = []
    for row in final(task):
        image = gallery_image(task, shown, row.stem)
        picture = f"\n\n![{row.stem}](../gallery/{image})" if image else ""
        title = encoding_title(task, row.stem)
        lines.append(f"- `{row.stem}`: {title}{picture}")
    return "\n".join(lines)


def gallery_image(task: str, shown: str, stem: str) -> str | None:
    """The file in the gallery: of the task itself, else of the first task of its
    type."""
    names = (f"{name}-{stem}.jpg" for name in (task, shown))
    return next(
        (name for name in names if (DOCS / "gallery" / name).is_file()), None
    )


# ---------------------------------------------------------------- commands


def commands_page() -> str:
    """Every command with its help, as the command line prints it."""
    parts = [
        "# Commands",
        COMMANDS_PURPOSE,
    ]
    for path, level in commands():
        parts += [
            f"{'#' * level} {' '.join(path)}",
            f"```text\n{help_of(path)}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def commands() -> Iterator[tuple[tuple[str, ...], int]]:
    """Every command and sub-command, with the level of its heading."""
    for name in COMMANDS:
        yield (name,), 2
        group = command_named(name)
        for sub in (
            group.list_commands(None) if hasattr(group, "commands") else ()
        ):
            yield (name, sub), 3


def help_of(path: tuple[str, ...]) -> str:
    """The help of one command, 100 characters wide."""
    shown = CliRunner().invoke(
        app,
        [*path, "--help"],
        prog_name="visualjudge",
        env={"COLUMNS": "100", "NO_COLOR": "1"},
    )
    return "\n".join(
        line.rstrip() for line in shown.stdout.strip().splitlines()
    )


# ---------------------------------------------------------------- short forms of the
# pages


def agents_page() -> str:
    """The recipes, each with the purpose, the commands and the exit status of its
    page."""
    parts = [AGENTS.strip()]
    for number, (title, page) in enumerate(RECIPES.items(), start=1):
        text = (DOCS / page).read_text("utf-8")
        commands = re.findall(
            r"^```(?:console|bash)\n(.*?)^```", text, re.DOTALL | re.MULTILINE
        )
        [status] = re.findall(r"^Exit status.*", text, re.MULTILINE)
        parts += [
            f"## {number}. {title}",
            f"{purpose(text)} Page: docs/{page}",
            "```console\n" + "".join(map(with_prompts, commands)) + "```",
            plain(status),
        ]
    return "\n\n".join(parts) + "\n"


def skill_page() -> str:
    """AGENTS.md as a skill: a head by which an agent knows when to read it, and the
    recipes."""
    head = yaml.safe_dump(
        {"name": "visualjudge", "description": SKILL}, sort_keys=False
    )
    body = agents_page().replace("# For agents", "# visualjudge", 1)
    return f"---\n{head}---\n\n{body}"


def with_prompts(commands: str) -> str:
    """The commands of a block, each behind ``$``."""
    return re.sub(r"^(?=visualjudge )", "$ ", commands, flags=re.MULTILINE)


def overview() -> str:
    """All pages with their purpose, in the form of llmstxt.org."""
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    read = list(nav_pages(site["nav"]))
    others = [
        name for name in site["not_in_nav"].split() if name.endswith(".md")
    ]
    parts = [f"# {site['site_name']}", f"> {site['site_description']}"]
    for title, names in (("Pages", read), ("Optional", others)):
        parts += [f"## {title}", "\n".join(map(entry, names))]
    return "\n\n".join(parts) + "\n"


def nav_pages(node: Any) -> Iterator[str]:
    """The files of the navigation, in order."""
    if isinstance(node, str):
        yield node
    else:
        for child in node.values() if isinstance(node, dict) else node:
            yield from nav_pages(child)


def entry(name: str) -> str:
    """A page with its title and its purpose."""
    text = (DOCS / name).read_text("utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return f"- [{title}]({SITE}{name}): {purpose(text)}"


def purpose(text: str) -> str:
    """The first paragraph of a page, without links."""
    return plain(text.split("\n\n")[1])


def plain(text: str) -> str:
    """Text on one line, with the words of its links alone."""
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).split())


if __name__ == "__main__":
    main()
