"""Files that a command writes for its user. Nothing that it reads is overwritten, nor,
unless the user forces it, what visualjudge did not write; and the files of a command
come together. How one file is written in one step is in ``atomic.py``; what commands
print, in ``cli/console.py``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visualjudge.core.atomic import (
    json_bytes,
    new_scratch,
    room_for,
    write_bytes,
    writing,
)
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import UsageError
from visualjudge.core.untrusted import READ

# A folder with one of these is a dataset, a run or a data folder.
KINDS = (
    "dataset.json",
    "questions.json",
    "dataset.parquet",
    "run.json",
    "verdicts.jsonl",
    "annotations",
    "data_json_v2",
)
# What is part of it, with all that is in it: never overwritten.
PARTS = (
    *KINDS,
    "predictions.jsonl",
    "media",
    "batches",
    "images",
    "images_v2",
    "files",
)


def default_cache_dir() -> Path:
    """Return ``$XDG_CACHE_HOME/visualjudge``, by default ``~/.cache/visualjudge``."""
    return Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache",
        "visualjudge",
    )


@dataclass
class _Command:
    """What a command was told, and its outputs: the scratch files that were made, and
    those that are complete."""

    inputs: Collection[Path] = ()
    force: bool = True
    made: list[Path] = field(default_factory=list)
    complete: dict[OutputFile, Path] = field(default_factory=dict)


_COMMAND: ContextVar[_Command | None] = ContextVar("command", default=None)


@dataclass(frozen=True)
class OutputFile:
    """A file to write, which comes whole or not at all: within :func:`together` when
    the command ends, else at once.

    Parameters
    ----------
    path
        Where the user wants it.
    option
        The option that names it, for messages.
    journal
        Whether it grows during the command, which looks itself whether it is its own.
    """

    path: Path
    option: str = "path"
    journal: bool = False

    def __str__(self) -> str:
        return str(self.path)

    def beside(self, suffix: str) -> OutputFile:
        """Return the output with another suffix, such as ``.coco.json``."""
        return OutputFile(
            self.path.with_suffix(suffix), f"{self.option} ({suffix})"
        )

    def check(self) -> None:
        """Check that the file may be written.

        Raises
        ------
        UsageError
            If it is an input of the command or part of a dataset, run or data folder,
            or no regular file; or if a command would replace what visualjudge did not
            write, without ``--force``.
        """
        command = _COMMAND.get() or _Command()
        try:
            status = self.path.stat()
        except (OSError, ValueError):
            return  # the one who writes says why it cannot be written
        where = f"{self.option}: {self.path}"
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{where} must be a regular file")
        if (status.st_dev, status.st_ino) in READ or any(
            map(self.path.samefile, command.inputs)
        ):
            raise UsageError(f"{where} is an input file; name another file")
        # An empty file may be anyone's.
        if not self.journal and status.st_size and is_ours(self.path):
            return
        if any(
            part.name in PARTS and (part.parent / kind).exists()
            for part in (self.path.resolve(), *self.path.resolve().parents)
            for kind in KINDS
        ):
            raise UsageError(
                f"{where} is part of a dataset, run or data folder"
            )
        if not self.journal and not command.force and status.st_size:
            raise UsageError(
                f"{where} was not written by visualjudge, or was changed since; name "
                "another file, or add `force` to replace it"
            )

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Yield the path to write to. The file takes its place if the block
        succeeds."""
        with ExitStack() as alone:
            if _COMMAND.get() is None:
                alone.enter_context(together(force=True))
            command = _COMMAND.get() or _Command()
            self.check()
            scratch = new_scratch(self.path)
            command.made.append(scratch)
            with room_for(self.path):
                yield scratch
            command.complete[self] = scratch

    def write_now(self, content: bytes) -> None:
        """Write the file at once, as what a killed command needs to continue."""
        write_bytes(self.path, content)
        _remember(self.path)

    def write(self, content: Any) -> None:
        """Write a text, bytes, or a value as JSON."""
        raw = content.encode() if isinstance(content, str) else content
        with self.scratch() as scratch, writing(self.path):
            scratch.write_bytes(
                raw if isinstance(raw, bytes) else json_bytes(raw)
            )


@contextmanager
def together(
    inputs: Collection[Path] = (), *, force: bool = False
) -> Iterator[list[str]]:
    """Put the outputs that are written within the block in their places when it ends:
    all of them, or none if it raises. Yield a list that then says which files were
    replaced.

    Parameters
    ----------
    inputs
        The files and folders that the user named.
    force
        Whether outputs may replace what visualjudge did not write.
    """
    command = _Command(inputs, force)
    replaced: list[str] = []
    READ.clear()
    token = _COMMAND.set(command)
    try:
        yield replaced
        for output in command.complete:
            output.check()
        replaced += [
            f"{output}: replaced an earlier output"
            if is_ours(output.path)
            else f"{output}: replaced another's file"
            for output in command.complete
            if output.path.exists()
        ]
        _put(command)
    finally:
        _COMMAND.reset(token)
        for scratch in command.made:
            scratch.unlink(missing_ok=True)


def inputs_in(folder: Path, *more: Path) -> list[Path]:
    """Return the inputs of the command, and ``more``, that are ``folder``, or lie in
    it."""
    return [
        path
        for path in (*(_COMMAND.get() or _Command()).inputs, *more)
        if path.resolve().is_relative_to(folder.resolve())
    ]


def _put(command: _Command) -> None:
    """Rename every scratch file; if one cannot be, take back those before it."""
    done: dict[Path, Path] = {}
    try:
        for output, scratch in command.complete.items():
            before = scratch.with_name(f"{scratch.name}.old")
            command.made.append(before)
            with writing(output.path):
                scratch.chmod(0o644)
                _remember(scratch)
                with suppress(OSError):  # none there, or no hard links there
                    os.link(output.path, before, follow_symlinks=False)
                scratch.replace(output.path)
            done[output.path] = before
    except BaseException:
        for path, before in done.items():
            if before.exists():
                before.replace(path)
            else:
                path.unlink(missing_ok=True)
        raise


# ---------------------------------------------------------------- what we wrote


def is_ours(path: Path) -> bool:
    """Return whether a file is as visualjudge wrote it, here or elsewhere: its SHA-256
    is noted in the cache folder.
    """
    with suppress(OSError, RuntimeError):
        return (
            file_sha256(path).encode()
            in (default_cache_dir() / "outputs").read_bytes()
        )
    return False


def _remember(path: Path) -> None:
    with suppress(
        OSError, RuntimeError
    ):  # then --force is needed to replace it
        default_cache_dir().mkdir(parents=True, exist_ok=True, mode=0o700)
        with (default_cache_dir() / "outputs").open("ab") as file:
            file.write(f"{file_sha256(path)}\n".encode())
