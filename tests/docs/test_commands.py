"""Every command of every page runs as written, in a folder with the files that the page
takes for granted, against a server that gives one answer. What does not run says why.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysed_once import analyse_once
from clients.loopback import Loopback, serving
from docs.workspace import make_workspace, multiple_choice, one_task
from folding import each
from visualjudge.cli.main import app
from visualjudge.clients.sync_calls import run_sync

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8").replace(
        "\\\n", " "
    )
    for path in (
        ROOT / "README.md",
        *DOCS.glob("*.md"),
        *DOCS.glob("[tr]*/*.md"),
    )
}
RUN = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
OTHER = re.compile(r"^```(?!console)\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NOT_RUN = {
    "visualjudge studio ": "serves until it is stopped; tests/studio and tests/browser "
    "open it",
    "visualjudge judge dataset --model gpt-4o-mini --batch": "a batch takes hours; "
    "tests/batch",
    "visualjudge judge dataset --backend metric": "pyiqa downloads weights; "
    "tests/judges",
    "visualjudge judge dataset --backend reward": "transformers downloads weights; "
    "tests/judges",
    "visualjudge adopt GenAI-Bench": "needs a clone; tests/apps/adopt makes small ones",
    "visualjudge report genai": "of that clone",
    "visualjudge adopt questions.json --fetch": "downloads; "
    "tests/apps/adopt/test_fetching.py",
    "visualjudge adopt data --fetch": "downloads; tests/apps/adopt/test_fetching.py",
    "visualjudge label OUT": "tests/docs/test_examples.py runs the example and "
    "compares its table",
    "visualjudge correct OUT": "as above",
    "visualjudge show plugins": "with a plug-in that is not installed; "
    "tests/plugins/test_page.py",
    "visualjudge import counting": "as above",
    "visualjudge perturb --task object_counting": "as above",
}
"""Beginnings of commands outside console blocks, and why they are not run here."""
TOO_FEW_IMAGES = {
    "visualjudge accept runs/known": 1,
    "visualjudge gate check": 3,
}
"""How commands end that promise nothing on the few images here, as their pages say."""


def commands(text: str) -> list[str]:
    """The commands of the console blocks of a page."""
    lines = [line for block in RUN.findall(text) for line in block.splitlines()]
    return [
        line.removeprefix("$ ")
        for line in lines
        if line.startswith("$ visualjudge ")
    ]


WITH_COMMANDS = [page for page, text in PAGES.items() if commands(text)]


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    context = serving("Answer: A")
    yield run_sync(context.__aenter__())
    run_sync(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, server: Loopback) -> Path:
    home = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        enter(home, server, patch)
        make_workspace(home, lambda command: call(command, server))
    return home


def enter(home: Path, server: Loopback, patch: pytest.MonkeyPatch) -> None:
    """Go to a folder; every model of the pages is answered by ``server``."""
    patch.chdir(home)
    patch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    patch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    patch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def call(command: str, server: Loopback) -> None:
    """Run a command of ours in this process; it must succeed."""
    words = shlex.split(
        command.replace("http://127.0.0.1:8000", server.url), comments=True
    )[1:]
    if words[0] in ("build", "probe"):
        words += [
            "--workers",
            "1",
        ]  # the same bytes, without processes to start
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    few = [
        status
        for begin, status in TOO_FEW_IMAGES.items()
        if command.startswith(begin)
    ]
    assert done.exit_code in (0, *few), f"{command}\n{done.output[-2000:]}"


def copy_or_link(source: str, target: str) -> None:
    """Give a file another name; a copy if it is text, which a command may append to."""
    if source.endswith((".png", ".npy")):
        os.link(source, target)
    else:
        shutil.copyfile(source, target)


def forget_outputs(page: str, home: Path) -> None:
    """Remove what the page itself makes: it is read by someone who does not have it
    yet."""
    for command in commands(PAGES[page]):
        for name in re.findall(r"--out (\S+)", command):
            path = home / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(
                missing_ok=True
            )


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of_a_page_run_as_written(
    page: str,
    made: Path,
    server: Loopback,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = tmp_path / "home"
    shutil.copytree(made, home, copy_function=copy_or_link)
    enter(home, server, monkeypatch)
    analyse_once(monkeypatch)
    server.answers = [
        '{"winner": "Image A"}' if "judge-modules" in page else "Answer: A"
    ]
    if page.endswith("plan.md"):
        one_task(home, lambda command: call(command, server))
    if page.endswith("multiple-choice.md"):
        multiple_choice(home)
    if page.endswith("accept.md"):
        [script] = PYTHON.findall(PAGES[page])
        exec(script, {})
    forget_outputs(page, home)
    for command in commands(PAGES[page]):
        call(command, server)


def test_a_command_that_is_not_run_says_why() -> None:
    left = [
        (page, line)
        for page, text in PAGES.items()
        if page != "docs/cli.md"
        for block in OTHER.findall(text)
        for line in block.splitlines()
        if line.startswith("visualjudge ")
        and not line.startswith(tuple(NOT_RUN))
    ]
    assert left == []
    everything = "\n".join(PAGES.values())
    assert [command for command in NOT_RUN if command not in everything] == []


@each(
    "page",
    [
        page
        for page in PAGES
        if (page.count("/") == 2 and page.split("/")[1] in ("routes", "tasks"))
        or Path(page).name in ("accept.md", "plan.md", "rubrics.md")
    ],
)
def test_a_route_is_short_and_has_its_commands_first(page: str) -> None:
    text = PAGES[page]
    assert len(text.split()) <= 350
    if not page.endswith("README.md"):
        assert (
            len(re.findall(r"^## ", text.partition("```console")[0], re.M)) == 0
        )
