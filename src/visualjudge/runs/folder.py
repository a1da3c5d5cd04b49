"""A run on disk: ``run.json`` describes the judge and the questions; ``verdicts.jsonl``
holds one verdict per line. The line of a verdict is in ``verdicts.py``; data folders
are in ``data/folder.py``, datasets in ``dataset/folder.py``.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from typing_extensions import TypedDict

from visualjudge.clients.masked_secrets import environment_secrets
from visualjudge.core import atomic, jsons
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import Verdict
from visualjudge.core.registry import MadeWith, note_made_with
from visualjudge.core.typed_records import Rows, record_of
from visualjudge.core.untrusted import confined_target
from visualjudge.judges.base import Key, Schema
from visualjudge.runs.budget import StatedCost
from visualjudge.runs.journal import Journal, Line, read_lines
from visualjudge.runs.verdicts import verdict_in

VERDICTS = "verdicts.jsonl"
COMPACTED = "verdicts.parquet"
RUN = "run.json"
_OF = "a run"
# Start of a path to another machine: a URL or a network share. Drives have one letter.
REMOTE = re.compile(r"\w\w+:/|//|\\\\")
# Fields of ``run.json`` if people were the judges.
PEOPLE = {
    "judge": "people",
    "backend": "people",
    "base_url": None,
    "model": "people",
}


class Asked(TypedDict, total=False):
    """The dataset of a run: its path, and the SHA-256 of its questions."""

    path: str | None
    checksum: str | None


class People(TypedDict, total=False):
    """The raters of a run, and those whom its rules exclude."""

    raters: list[str]
    excluded: list[str]


Counts = dict[str, int]


class Manifest(StatedCost, total=False):
    """What is read of ``run.json``; it may come from a stranger."""

    backend: str | None
    model: str | None
    judge: str | None
    base_url: str | None
    dataset: Asked
    dataset_checksum: str | None
    media_checksum: str | None
    parameters: Json | None
    schema: Schema | None
    swap: bool | None
    repeats: int | None
    limit: int | None
    asked: int | None
    unasked: int | None
    missing: int | None
    simulated: bool | None
    order_shown: bool | None
    started: str | None
    finished: str | None
    stopped: str | None
    statuses: Counts
    causes: Counts
    identity: Rows
    changes: Rows
    people: People
    plugins: list[MadeWith]


def excluded_raters(manifest: Manifest) -> frozenset[str]:
    """Return the raters whose answers are excluded by rules stated in the run
    beforehand."""
    return frozenset(manifest.get("people", {}).get("excluded", ()))


def stated_dataset(manifest: Manifest) -> str | None:
    """Return the dataset's path as stated in a run's manifest, or None."""
    return manifest.get("dataset", {}).get("path") or None


def stated_checksum(manifest: Manifest) -> str | None:
    """Return the SHA-256 of the questions.json that a run was asked from, or None if
    its manifest does not state it.
    """
    nested = manifest.get("dataset", {}).get("checksum")
    return nested or manifest.get("dataset_checksum") or None


def check_questions(
    run: Path, manifest: Manifest, digest: str | None, *, named: bool
) -> str | None:
    """Return a message if a ``run`` is used with questions other than those it was
    asked, else None.

    Parameters
    ----------
    digest
        SHA-256 of the current questions.json.
    named
        Whether the user named the dataset, so that the run's own path was not followed.

    Raises
    ------
    DataError
        If they differ and only the run named the dataset: an untrusted run could name
        any of the user's folders.
    """
    asked = stated_checksum(manifest)
    if digest == asked or asked is None or digest is None:
        return None
    message = f"{run}: the dataset's questions.json has changed since the run"
    if named:
        return message
    raise DataError(
        f"{message}, or the run belongs to another dataset: "
        f"{stated_dataset(manifest)}; name it with `dataset`"
    )


class RunFolder:
    """The folder of a run, which need not exist yet.

    Parameters
    ----------
    path
        Folder given as ``judge --out``.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def journal_path(self) -> Path:
        """Path of ``verdicts.jsonl``, which need not exist. A link is refused, because
        the folder may be untrusted.
        """
        return confined_target(self.path, VERDICTS, of=_OF)

    @property
    def manifest_path(self) -> Path:
        """``run.json``; it need not exist."""
        return confined_target(self.path, RUN, of=_OF)

    def manifest(self) -> Manifest:
        """``run.json``; empty if the file does not exist.

        Raises
        ------
        DataError
            If it is not a JSON object, or has a field of another type.
        """
        if not self.manifest_path.is_file():
            return {}
        hint = "; delete it and judge with `resume`"
        content = jsons.read(self.manifest_path, "manifest", hint)
        if isinstance(content, dict) and isinstance(
            content.get("dataset"), str
        ):
            content["dataset"] = {"path": content["dataset"]}  # as 0.1 wrote it
        manifest = record_of(Manifest, content, self.manifest_path)
        note_made_with(manifest.get("plugins", ()))
        return manifest

    def dataset_path(self, named: str | Path | None = None) -> Path:
        """Return the dataset that the user ``named``, or else the one that ``run.json``
        names, which is only a hint.

        The run may be untrusted. Its path is used only if it is on this machine (an
        object store would learn who asks) and ``run.json`` states the checksum of its
        questions, which :func:`check_questions` compares.

        Raises
        ------
        DataError
            If ``run.json`` names no such dataset.
        """
        if named is not None:
            return Path(named)
        manifest = self.manifest()
        path = stated_dataset(manifest)
        hint = "; name the dataset with `dataset`"
        if path is None or not path.isprintable():
            raise DataError(
                f"{self.manifest_path}: dataset.path must be printable text{hint}"
            )
        if REMOTE.match(path):
            raise DataError(
                f"{self.manifest_path}: dataset.path must be a folder on this machine, "
                f"got {path}{hint}"
            )
        if stated_checksum(manifest) is None:
            raise DataError(
                f"{self.manifest_path}: dataset.checksum must be the SHA-256 of the "
                f"questions{hint}"
            )
        return Path(path)

    def write_manifest(self, manifest: Fields) -> None:
        """Replace ``run.json``, atomically; a key in the place of a name is masked."""
        mask = environment_secrets()
        names = {
            name: mask.setting("", manifest[name])
            for name in ("judge", "model")
            if name in manifest
        }
        atomic.write_json(self.manifest_path, {**manifest, **names})

    def remove_empty(self) -> None:
        """Remove the files of a run that has no verdict, and its folder if nothing else
        is there."""
        if not self.journal_path.stat().st_size:
            self.journal_path.unlink()
            self.manifest_path.unlink(missing_ok=True)
            with suppress(OSError):
                self.path.rmdir()

    def existing_verdicts_path(self) -> Path:
        """Return the file that holds the verdicts.

        Raises
        ------
        DataError
            If the run has no file of verdicts.
        """
        path = self.journal_path
        if not path.is_file():
            hint = "name a folder that `visualjudge judge` wrote"
            if self.path.joinpath(COMPACTED).exists():
                hint = (
                    f"tools/expand_verdicts.py makes it of {COMPACTED} of version "
                    "1.0"
                )
            raise DataError(f"{path}: no such file; {hint}")
        return path

    def lines(self, start: int = 0) -> Iterator[Line]:
        """Return every line, readable or not, in order, from the one at byte ``start``.

        Raises
        ------
        DataError
            If there is no file of verdicts.
        """
        return read_lines(self.existing_verdicts_path(), start)

    def verdicts(self) -> dict[Key, Verdict]:
        """Return the verdicts: the last one for each question, order and repeat. A
        partial last line is ignored.

        Raises
        ------
        DataError
            If there is no file of verdicts, or a line is not a verdict.
        """
        verdicts: dict[Key, Verdict] = {}
        for line in self.lines():
            verdict = verdict_in(line)
            if verdict is not None:
                verdicts[verdict.id, verdict.order, verdict.repeat] = verdict
            elif not line.cut:
                raise DataError(
                    f"{self.journal_path}: line {line.number} is not a verdict; "
                    "`resume` removes partial lines"
                )
        return verdicts

    def record_at(self, start: int) -> Json:
        """Return the line that begins at byte ``start``; empty if it is not a JSON
        object."""
        line = next(read_lines(self.journal_path, start), None)
        return (line and line.record) or {}

    def open_journal(self, *, resume: bool) -> Journal:
        """Open the journal for writing.

        Raises
        ------
        UsageError
            If there are verdicts and ``resume`` is False.
        RunError
            If another process writes it, or it cannot be written.
        """
        return Journal(self.journal_path, resume=resume)


def distinct_names(infos: Mapping[Path, Fields]) -> dict[Path, str]:
    """Return a distinct name for each run, given its ``run.json``. Simulated judges
    without a name are named after their folders. Runs of the same judge are
    distinguished by their paths below the folder that holds all of them.
    """
    names = {
        home: home.name
        if info.get("simulated") and info.get("judge") == info.get("model")
        else str(info.get("judge") or info.get("model") or home.name)
        for home, info in infos.items()
    }
    out: dict[Path, str] = {}
    for home, name in names.items():
        alike = [other for other, own in names.items() if own == name]
        above = os.path.commonpath([other.resolve() for other in alike])
        place = home.resolve().relative_to(above)
        out[home] = name if len(alike) == 1 else f"{name} ({place.as_posix()})"
    return out
