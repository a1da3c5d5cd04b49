"""The files around the code say what the code says."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

import visualjudge
from package_sources import tree

ROOT = Path(__file__).parents[1]


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert "version" not in project["project"]
    source = (ROOT / project["tool"]["hatch"]["version"]["path"]).read_text(
        "utf-8"
    )
    assert f'__version__ = "{visualjudge.__version__}"' in source


def test_the_citation_is_of_the_version_that_is_released_next() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == visualjudge.__version__.removesuffix(".dev0")


def test_the_workflow_of_a_release_builds_what_make_package_checks_and_needs_no_secret() -> (
    None
):
    workflow = yaml.safe_load(
        (ROOT / ".github/workflows/publish.yml").read_text("utf-8")
    )
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert [step["run"] for step in build["steps"] if "run" in step] == [
        "make package"
    ]
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/publish.yml").read_text(
        "utf-8"
    )


def test_the_changelog_begins_with_this_version_and_is_short_enough_to_read() -> (
    None
):
    _, newest, *_ = re.split(
        r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE
    )
    assert newest.startswith(
        f"{visualjudge.__version__.removesuffix('.dev0')} "
    )
    assert "### Removed" in newest
    assert len(newest.strip().splitlines()) <= 90, "join lines of one subject"


def test_the_hosted_workflow_runs_what_every_change_must_pass() -> None:
    workflow = yaml.safe_load(
        (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    )
    assert [
        step["run"]
        for step in workflow["jobs"]["check"]["steps"]
        if "run" in step
    ] == [".ci/run"]


def test_the_hosted_workflow_tests_every_system_and_python_that_the_package_states() -> (
    None
):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    stated = {line.rpartition(" :: ")[2] for line in project["classifiers"]}
    versions = {name for name in stated if re.fullmatch(r"3\.\d+", name)}
    systems = {"POSIX": "ubuntu", "MacOS": "macos", "Windows": "windows"}
    workflow = yaml.safe_load(
        (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    )
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    assert set(matrix["python"]) == versions
    assert {name.partition("-")[0] for name in matrix["os"]} == {
        runner for system, runner in systems.items() if system in stated
    }


def test_pre_commit_uses_the_locked_linter() -> None:
    hooks = yaml.safe_load(
        (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    )["repos"][0]["hooks"]
    locked = re.search(
        r"^(ruff==\S+)",
        (ROOT / "requirements.lock").read_text("utf-8"),
        re.MULTILINE,
    )
    assert locked
    assert {
        one for hook in hooks for one in hook.get("additional_dependencies", ())
    } == {locked[1]}


def test_the_benchmarks_of_make_bench_exist() -> None:
    names = re.search(
        r"^BENCHES \?= (.*)$",
        (ROOT / "Makefile").read_text("utf-8"),
        re.MULTILINE,
    )
    assert names
    assert all(
        (ROOT / "benchmarks" / f"{name}.py").is_file()
        for name in names[1].split()
    )


def test_the_image_of_the_container_is_made_of_files_that_exist() -> None:
    copied = re.findall(
        r"^COPY (?!--from)(.+) \S+$",
        (ROOT / "Dockerfile").read_text("utf-8"),
        re.MULTILINE,
    )
    sources = {name for line in copied for name in line.split()}
    allowed = set(
        re.findall(
            r"^!(\S+)$",
            (ROOT / ".dockerignore").read_text("utf-8"),
            re.MULTILINE,
        )
    )
    assert sources and sources <= allowed
    assert all((ROOT / name).exists() for name in sources)
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))[
        "services"
    ]
    assert (
        services["studio"]["build"] == "."
        and "127.0.0.1" in services["model"]["command"]
    )


def test_the_conda_recipe_has_the_dependencies_that_conda_forge_has() -> None:
    """Fonts are on PyPI only, fpng and isal are optional; two packages have other names
    there."""
    recipe = yaml.safe_load(
        (ROOT / "packaging/conda-recipe.yaml").read_text("utf-8")
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    named = {
        "opencv-python-headless": "py-opencv",
        "json-repair": "json_repair",
    }
    wanted = {f"python {project['requires-python']}"}
    for line in project["dependencies"]:
        name, bound = re.fullmatch(
            r"([a-z0-9-]+)([>=]=[\d.]+).*", line
        ).groups()  # type: ignore[union-attr]
        if "font" not in name and name not in (
            "fpng",
            "isal",
            "noto-cjk-sans-otc",
        ):
            wanted.add(f"{named.get(name, name)} {bound}")
    assert set(recipe["requirements"]["run"]) == wanted
    assert recipe["context"]["version"] == visualjudge.__version__.removesuffix(
        ".dev0"
    )
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {target}" for name, target in project["scripts"].items()
    ]


PACKAGE = ROOT / "src/visualjudge"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.<>-]+(/[\w.<>-]*)+|[\w<>-]+\.(py|yml|md|cff|toml)")
PLACEHOLDER = re.compile(r"<\w+>|(?<=/v)N(?=\.yaml)")


def _files(path: str) -> list[Path]:
    """Return the files or folders that a path of CONTRIBUTING means; `<type>` is any
    name."""
    pattern = PLACEHOLDER.sub("*", path).rstrip("/")
    own = [file for home in (ROOT, PACKAGE) for file in home.glob(pattern)]
    beside = [] if "/" in pattern else [*PACKAGE.glob(f"vision/*/{pattern}")]
    return own or beside or [*PACKAGE.glob(f"vision/{pattern}")]


def _bound(path: Path) -> Iterator[str]:
    """Yield the names that a file assigns, declares or sets as a keyword of a call."""
    for node in ast.walk(tree(path)):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store()) | ast.keyword(arg=str(name))
            ):
                yield name


def _changes() -> list[tuple[str, str]]:
    """Return what can be added and what it touches: the rows of the table of common
    changes."""
    section = CONTRIBUTING.split("| To add | Touch |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines()[2:]]
    return [(name, touched) for name, touched in rows]


def test_paths_of_contributing_exist() -> None:
    spans = SPAN.findall(CONTRIBUTING)
    paths = {span for span in spans if PATH.fullmatch(span)}
    assert len(paths) > 30
    assert [path for path in sorted(paths) if not _files(path)] == []


def test_a_common_change_touches_files_that_bind_the_names_stated() -> None:
    for change, touched in _changes():
        for part in re.split(r" · |[;.] ", touched):
            spans = SPAN.findall(part)
            files = [
                file
                for span in spans
                if PATH.fullmatch(span)
                for file in _files(span)
                if file.suffix == ".py"
            ]
            names = {span for span in spans if span.isidentifier()}
            bound = {name for file in files for name in _bound(file)}
            if files:
                assert names <= bound, change


def test_a_common_change_touches_few_files() -> None:
    touched = {
        change: {span for span in SPAN.findall(text) if PATH.fullmatch(span)}
        for change, text in _changes()
    }
    assert {
        change for change, paths in touched.items() if len(paths) > 2
    } == set()
