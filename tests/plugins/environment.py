"""A fresh environment with a plug-in installed in it: a new interpreter prefix that
sees this one's libraries.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path

import visualjudge

SOURCES = Path(visualjudge.__file__).parents[1]
TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Environment:
    """``python`` is the interpreter of the environment."""

    root: Path

    @classmethod
    def made(cls, root: Path) -> Environment:
        """Make it; the project and its dependencies are importable, no plug-in is
        installed."""
        venv.create(root, with_pip=False, symlinks=True)
        env = cls(root)
        paths = (
            str(SOURCES),
            *(path for path in sys.path if path.endswith("site-packages")),
        )
        (env.site_packages / "libraries.pth").write_text("\n".join(paths))
        return env

    @property
    def python(self) -> Path:
        return self.root / (
            "Scripts/python.exe" if os.name == "nt" else "bin/python"
        )

    @property
    def site_packages(self) -> Path:
        return next(
            path for path in self.root.rglob("site-packages") if path.is_dir()
        )

    def install(self, project: Path) -> None:
        """What an editable installation leaves behind: a path file, and metadata with
        the entry points.
        """
        stated = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))[
            "project"
        ]
        name, version = stated["name"].replace("-", "_"), stated["version"]
        info = self.site_packages / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {stated['name']}\nVersion: {version}\n"
        )
        lines = [f"[{group}]" + "".join(f"\n{k} = {v}" for k, v in points.items())
                 for group, points in stated["entry-points"].items()]  # fmt: skip
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        (self.site_packages / f"{name}.pth").write_text(str(project / "src"))

    def run(
        self, *arguments: str | Path, status: int | None = 0
    ) -> subprocess.CompletedProcess[str]:
        """``visualjudge`` with these arguments; fails unless it ends with ``status``
        (None: any).
        """
        return self._run(["-m", "visualjudge", *map(str, arguments)], status)

    def run_each(self, *commands: tuple[str | Path, ...]) -> None:
        """Several commands, one after the other in one process; each must end with
        status 0."""
        listed = [[str(word) for word in command] for command in commands]
        self.python_run(
            "from visualjudge.cli.main import app\n"
            "if __name__ == '__main__':\n"
            f"    for command in {listed!r}:\n"
            "        assert not app(command, standalone_mode=False), command\n"
        )

    def run_all(
        self, *commands: tuple[str | Path, ...]
    ) -> list[subprocess.CompletedProcess[str]]:
        """Several commands in one process, and how each ended."""
        listed = [[str(word) for word in command] for command in commands]
        done = self.python_run(
            f"import json, sys\nsys.path.insert(0, {str(TESTS)!r})\n"
            "from commanding import command\n"
            "if __name__ == '__main__':\n"
            f"    ended = [command(*words) for words in {listed!r}]\n"
            "    print(json.dumps([[x.args, x.returncode, x.stdout, x.stderr] for x in "
            "ended]))\n"
        )
        return [
            subprocess.CompletedProcess(*fields)
            for fields in json.loads(done.stdout)
        ]

    def python_run(
        self, code: str, status: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """A Python script of this text, as a file, so that it can start worker
        processes."""
        script = self.root / "script.py"
        script.write_text(code)
        return self._run([str(script)], status)

    def _run(
        self, arguments: list[str], status: int | None
    ) -> subprocess.CompletedProcess[str]:
        clean = {
            key: value
            for key, value in os.environ.items()
            if key != "PYTHONPATH"
        }
        command = [str(self.python), *arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=clean,
            timeout=240,
            check=False,
        )
        assert status in (None, done.returncode), (
            f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done


def write_plugin(root: Path, name: str, code: str, *, entry: str = "") -> Path:
    """A project with one module and one entry point."""
    package = root / name
    (package / "src").mkdir(parents=True)
    (package / "src" / f"{name}.py").write_text(code)
    (package / "pyproject.toml").write_text(
        f'[project]\nname = "{name}"\nversion = "1.2"\n\n'
        f'[project.entry-points."visualjudge.plugins"]\n{name} = "{name}{entry}"\n'
    )
    return package


if (
    __name__ == "__main__"
):  # python tests/plugins/environment.py ENV PROJECT …: to try a plug-in by hand
    made = Environment.made(Path(sys.argv[1]))
    for one in sys.argv[2:]:
        made.install(Path(one).resolve())
    print(made.python)
