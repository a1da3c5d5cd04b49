"""``tools/release.py`` in a repository of its own, whose package is three small
files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs make")
TOOL = Path(__file__).parents[1] / "tools/release.py"
FILES = {
    "src/visualjudge/__init__.py": '__version__ = "1.1.0"\n',
    "CITATION.cff": "version: 1.1.0\ndate-released: 2026-01-01\n",
    "packaging/conda-recipe.yaml": 'context:\n  version: "1.1.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.0 (unreleased)\n\n### Added\n\n- A "
    "thing.\n\n"
    "## 1.1.0 (2026-01-01)\n\n- Old.\n",
    "src/visualjudge/analysis/report/citing.py": 'RELEASED = "2026-01-01"\n',
    ".gitignore": "dist/\n",
    ".ci/run": "#!/bin/sh\ntrue\n",
    "Makefile": "package:\n\tmkdir -p dist\n"
    "\tgit log -1 --format=%ct > dist/x-1.2.0-py3-none-any.whl\n"
    "\tgit log -1 --format=%ct > dist/x-1.2.0.tar.gz\n\techo {} > dist/sbom.json\n",
}
PERSON = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "a"), ("EMAIL", "a@example.org"))
} | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=root,
        env={**os.environ, **PERSON},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def repository(root: Path, changed: Mapping[str, str] | None = None) -> Path:
    for name, text in {**FILES, **(changed or {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    (root / ".ci/run").chmod(0o755)
    git(root, "init", "-q")
    git(root, "add", "-A")
    earlier = "2026-11-01T00:00:00+00:00"
    subprocess.run(
        ["git", "commit", "-qm", "Work"],
        cwd=root,
        check=True,
        env={
            **os.environ,
            **PERSON,
            "GIT_AUTHOR_DATE": earlier,
            "GIT_COMMITTER_DATE": earlier,
        },
    )
    return root


def release(
    root: Path, version: str = "1.2.0", day: str = "2026-12-01"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOL), version, "--date", day],
        cwd=root,
        env={**os.environ, **PERSON},
        capture_output=True,
        text=True,
    )


def test_a_release_ends_in_a_tag_that_states_the_version_the_changes_and_the_checksums(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path / "r")
    done = release(root)
    assert done.returncode == 0, done.stderr
    assert git(root, "rev-parse", "v1.2.0^{commit}") == git(
        root, "rev-parse", "HEAD"
    )
    assert git(root, "status", "--porcelain") == ""
    stated = [git(root, "show", f"v1.2.0:{name}") for name in list(FILES)[:5]]
    assert [text.count("1.2.0") for text in stated] == [1, 1, 1, 1, 0]
    assert "date-released: 2026-12-01" in stated[1]
    assert "## 1.2.0 (2026-12-01)" in stated[3]
    assert 'RELEASED = "2026-12-01"' in stated[4]
    message = git(root, "tag", "-l", "--format=%(contents)", "v1.2.0")
    wheel = (root / "dist/x-1.2.0-py3-none-any.whl").read_bytes()
    assert "### Added\n\n- A thing." in message
    assert "Old." not in message
    assert f"{sha256(wheel).hexdigest()}  x-1.2.0-py3-none-any.whl" in message


def test_the_same_work_released_twice_is_the_same_commit_tag_and_package(
    tmp_path: Path,
) -> None:
    roots = [repository(tmp_path / name) for name in ("one", "two")]
    assert [release(root).returncode for root in roots] == [0, 0]
    tags = {git(root, "rev-parse", "v1.2.0") for root in roots}
    sums = {(root / "dist/SHA256SUMS").read_text("utf-8") for root in roots}
    assert len(tags) == len(sums) == 1
    assert git(roots[0], "log", "-1", "--format=%ct") == "1796083200"


@pytest.mark.parametrize(
    ("changed", "version", "words"),
    [
        (
            {"Makefile": "package:\n\tfalse\n"},
            "1.2.0",
            "make package must pass",
        ),
        (
            {"Makefile": "package:\n\tmkdir -p dist\n"},
            "1.2.0",
            "dist must have a file",
        ),
        ({".ci/run": "#!/bin/sh\nexit 1\n"}, "1.2.0", ".ci/run must pass"),
        (
            {"CITATION.cff": "title: a\n"},
            "1.2.0",
            "CITATION.cff must have one line",
        ),
        (
            {},
            "1.3.0",
            "CHANGELOG.md must begin with 1.3.0 (unreleased), got 1.2.0",
        ),
        ({}, "v1.2", "version must be like 1.2.0, got v1.2"),
    ],
)
def test_a_step_that_fails_leaves_neither_commit_nor_tag(
    tmp_path: Path, changed: Mapping[str, str], version: str, words: str
) -> None:
    root = repository(tmp_path / "r", changed)
    before = git(root, "rev-parse", "HEAD")
    done = release(root, version)
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]
    assert git(root, "rev-parse", "HEAD") == before
    assert git(root, "tag", "--list") + git(root, "status", "--porcelain") == ""


def test_uncommitted_work_and_a_used_tag_are_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    (root / "CHANGELOG.md").write_text("mine", "utf-8")
    assert "working tree must be clean" in release(root).stderr
    assert (root / "CHANGELOG.md").read_text("utf-8") == "mine"
    git(root, "checkout", "-q", ".")
    git(root, "tag", "v1.2.0")
    assert "v1.2.0 must be new" in release(root).stderr
