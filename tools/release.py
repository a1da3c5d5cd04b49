"""Make a release: version, changelog, package and list of parts, then a commit and its
tag.

    python tools/release.py 1.2.0 [--date 2026-12-01]

The working tree must be clean, and the changelog must begin with "1.2.0 (unreleased)".
The commit has the time 00:00 UTC of the date, which ``make package`` hands to the build
as SOURCE_DATE_EPOCH, so that whoever checks the tag out builds the same bytes. If a
step fails, the commit is taken back and nothing is tagged. The tag holds the section of
the changelog and the checksums of the files; it is not pushed: pushing it starts the
workflow ``publish``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

VERSION = re.compile(r"\d+\.\d+\.\d+")
CITING = "src/visualjudge/analysis/report/citing.py"
WHERE = {
    "src/visualjudge/__init__.py": r'(?m)^(__version__ = ").*(")$',
    "CITATION.cff": r"(?m)^(version: ).*()$",
    "packaging/conda-recipe.yaml": r'(?m)^(  version: ").*(")$',
}
"""Files that state the version, and the line that does."""
CHANGELOG = "CHANGELOG.md"
STEPS = ((".ci/run",), ("make", "package"))
"""What must pass before the tag; the second leaves wheel, sdist and list of parts in
dist/."""
SUMS = "SHA256SUMS"


class ReleaseError(Exception):
    """A step that cannot be done, in one line."""


def run(
    root: Path, *command: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository; its error is one line."""
    done = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, **(env or {})},
        capture_output=command[0] == "git",
        text=True,
    )
    if done.returncode:
        reason = (done.stderr or "see above").strip().splitlines()[-1]
        raise ReleaseError(f"{' '.join(command)} must pass: {reason}")
    return done


def replaced(root: Path, name: str, pattern: str, new: str) -> None:
    """Replace what stands between the two groups of ``pattern``, which must match
    once."""
    path = root / name
    text, times = re.subn(pattern, rf"\g<1>{new}\g<2>", path.read_text("utf-8"))
    if times != 1:
        raise ReleaseError(f"{name} must have one line {pattern}, got {times}")
    path.write_text(text, "utf-8")


def newest(root: Path) -> tuple[str, str]:
    """Return the heading and the text of the newest section of the changelog."""
    parts = re.split(r"(?m)^## ", (root / CHANGELOG).read_text("utf-8"))
    heading, _, text = "".join(parts[1:2]).partition("\n")
    return heading, text.strip()


def check(root: Path, version: str) -> None:
    """Check that the release can begin."""
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"version must be like 1.2.0, got {version}")
    if run(root, "git", "status", "--porcelain").stdout:
        raise ReleaseError("the working tree must be clean: commit first")
    tags = run(root, "git", "tag", "--list").stdout.split()
    if f"v{version}" in tags:
        raise ReleaseError(f"v{version} must be new, got a tag that exists")
    heading = newest(root)[0]
    if heading != f"{version} (unreleased)":
        wanted = f"{CHANGELOG} must begin with {version} (unreleased)"
        raise ReleaseError(f"{wanted}, got {heading or 'no section'}")


def checksums(root: Path, version: str) -> str:
    """Write the checksums of the package's files, and return them."""
    files = sorted(
        path for path in (root / "dist").iterdir() if path.name != SUMS
    )
    names = [path.name for path in files]
    for wanted in (
        f"-{version}-.*\\.whl",
        f"-{version}\\.tar\\.gz",
        r"sbom\.json",
    ):
        if not any(re.search(wanted, name) for name in names):
            raise ReleaseError(f"dist must have a file {wanted}, got {names}")
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in files
    ]
    text = "".join(lines)
    (root / "dist" / SUMS).write_text(text, "utf-8")
    return text


def release(root: Path, version: str, day: date) -> str:
    """Make the release of a day and return the name of its tag."""
    check(root, version)
    before = run(root, "git", "rev-parse", "HEAD").stdout.strip()
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC).isoformat()
    times = {"GIT_COMMITTER_DATE": midnight, "GIT_AUTHOR_DATE": midnight}
    heading = rf"(?m)^(## {re.escape(version)} \()unreleased(\))$"
    try:
        replaced(root, CHANGELOG, heading, day.isoformat())
        for name, pattern in WHERE.items():
            replaced(root, name, pattern, version)
        replaced(root, "CITATION.cff", r"(?m)^(date-released: ).*()$", str(day))
        replaced(root, CITING, r'(?m)^(RELEASED = ").*(")$', str(day))
        run(root, "git", "commit", "-qam", f"Release {version}", env=times)
        for step in STEPS:
            run(root, *step)
        if run(root, "git", "status", "--porcelain").stdout:
            raise ReleaseError("the steps must leave the working tree clean")
        message = (
            f"{version}\n\n{newest(root)[1]}\n\n{checksums(root, version)}"
        )
        tag = f"v{version}"
        stripped = ("--cleanup=whitespace", "-m", message)
        run(root, "git", "tag", "-a", tag, *stripped, env=times)
    except (ReleaseError, KeyboardInterrupt):
        run(root, "git", "reset", "-q", "--hard", before)
        raise
    return tag


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    today = datetime.now(UTC).date()
    parser.add_argument("--date", type=date.fromisoformat, default=today)
    asked = parser.parse_args(words)
    try:
        tag = release(Path.cwd(), asked.version, asked.date)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"{tag} is ready in dist/: git push --follow-tags")
    return 0


if __name__ == "__main__":
    sys.exit(main())
