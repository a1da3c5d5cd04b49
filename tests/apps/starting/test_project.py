"""`visualjudge init`: what it writes works as it stands."""

from __future__ import annotations

import runpy
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from making import make_folder
from visualjudge.apps.starting.project import FILES, write_project
from visualjudge.core.errors import UsageError


def test_the_project_runs_as_written_and_goes_on_when_run_again(
    tmp_path: Path,
) -> None:
    project = tmp_path / "study"
    written = write_project(project)
    assert written == [project / name for name in FILES]
    assert all(path.is_file() for path in written)
    make_folder(project / "data", tasks=["object_detection"])
    done = subprocess.run(
        [sys.executable, project / "study.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runpy.run_path(str(project / "study.py"), run_name="__main__")
    assert "simulated" in (project / "report.html").read_text("utf-8")
    assert (project / "metrics.json").is_file()


def test_a_project_without_data_says_so_in_one_line(tmp_path: Path) -> None:
    write_project(tmp_path / "study")
    with pytest.raises(SystemExit, match=r"^study\.py: .*[^\n]$"):
        runpy.run_path(str(tmp_path / "study/study.py"), run_name="__main__")


def test_every_choice_of_the_configuration_is_one_that_the_functions_take() -> (
    None
):
    import inspect

    import visualjudge as vj
    from visualjudge.clients.api import ApiClient
    from visualjudge.clients.registry import ClientConfig
    from visualjudge.options import JudgeOptions

    client = {
        *inspect.signature(vj.client).parameters,
        *inspect.signature(ApiClient).parameters,
    }
    known = {
        "build": set(inspect.signature(vj.build).parameters),
        "client": client | set(ClientConfig.model_fields),
        "judge": {field.name for field in fields(JudgeOptions)},
    }
    text = (
        Path(vj.__file__).parent
        / "apps"
        / "starting"
        / "assets"
        / "config.yaml"
    ).read_text("utf-8")
    first, rest = text.split("\n\n", 1)
    assert first.startswith("#")
    section = ""
    for line in rest.splitlines():
        if line and not line[0].isspace():
            section = line.split(":")[0]
        elif line.strip():
            name = line.replace("# ", "", 1).split(":")[0].strip()
            assert name in known[section], line
    assert list(yaml.safe_load(text)) == list(known)


@pytest.mark.parametrize("name", ["config.yaml", "dataset.json", "run.json"])
def test_no_file_is_replaced_and_no_dataset_becomes_a_project(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match=name):
        write_project(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_file_as_folder_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="must be a folder"):
        write_project(tmp_path / "file")
