"""What lies in the folders that the studio is given: datasets, runs and data folders."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.object_stores import check_local
from visualjudge.dataset.folder import META, questions_file, read_meta
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.runs.folder import REMOTE, RUN, RunFolder

DEPTH = 4
"""How deep a folder is searched."""
MOST = 2000
"""How many folders are looked at before the search gives up."""
_SKIPPED = frozenset({"media", "images", "node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class DatasetPlace:
    """A dataset folder; ``slug`` names it in addresses."""

    slug: str
    name: str
    root: Path
    meta: Mapping[str, Any]

    @property
    def checksum(self) -> str | None:
        """SHA-256 of ``questions.json`` as ``dataset.json`` states it."""
        stated: str | None = self.meta.get("files", {}).get(QUESTIONS)
        return stated

    @property
    def data_beside(self) -> Path | None:
        """A data folder beside the dataset, which may be the one that it was built from."""
        return next((folder for folder in _children(self.root.parent) if _is_data(folder)), None)

    @property
    def labels_only(self) -> bool:
        """Whether it holds answers without the images or texts that they are about."""
        return self.meta.get("benchmark", {}).get("labels_only") is True


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A run folder; ``dataset`` is the slug of the dataset that it was asked from, None where that
    is not known.
    """

    slug: str
    name: str
    root: Path
    dataset: str | None

    @property
    def journal(self) -> Path:
        """The file that holds its verdicts."""
        return RunFolder(self.root).verdicts_path

    def info(self) -> Mapping[str, Any]:
        """``run.json`` as it is now; empty where it cannot be read."""
        return _info(self.root)


@dataclass(frozen=True, slots=True)
class Places:
    """Everything that was found, in the order of the search."""

    datasets: tuple[DatasetPlace, ...]
    runs: tuple[RunPlace, ...]
    data_folders: tuple[Path, ...]

    def runs_of(self, dataset: str) -> list[RunPlace]:
        """The runs on one dataset."""
        return [run for run in self.runs if run.dataset == dataset]


def cache_home() -> Path:
    """The folder for indexes and thumbnails, in the user's cache."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "visualjudge" / "studio"


def slug_of(root: Path) -> str:
    """A name for addresses and cache files: readable, and distinct for distinct folders."""
    resolved = root.resolve()
    readable = re.sub(r"[^a-z0-9]+", "-", resolved.name.lower()).strip("-")[:32] or "folder"
    digest = hashlib.sha256(str(resolved).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{readable}-{digest}"


def find_places(folders: Sequence[str | Path]) -> Places:
    """Datasets, runs and data folders in ``folders``, and the datasets that the runs name.

    Raises
    ------
    UsageError
        If a folder does not exist or holds nothing to show.
    """
    found = _Found()
    for folder in folders:
        root = Path(folder)
        if not root.is_dir():
            check_local(folder, "a folder for the studio")
            raise UsageError(f"{folder}: no such folder")
        if not sum(found.take(place) for place in _walk(root)):
            raise UsageError(f"{folder}: no dataset ({QUESTIONS}) or run ({RUN}) found in it")
    return found.places()


def _walk(root: Path) -> Iterator[Path]:
    """``root`` and the folders below it, without descending into what was recognised as
    something.
    """
    waiting, seen = [(root, 0)], 0
    while waiting and seen < MOST:
        folder, depth = waiting.pop(0)
        seen += 1
        yield folder
        if (
            depth < DEPTH
            and not questions_file(folder).is_file()
            and not (folder / "annotations").is_dir()
        ):
            waiting += [(child, depth + 1) for child in _children(folder)]


def _children(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [
        e
        for e in entries
        if e.name[0] != "." and e.name not in _SKIPPED and not e.is_symlink() and e.is_dir()
    ]


class _Found:
    """Gathers folders, each one once."""

    def __init__(self) -> None:
        self.datasets: dict[Path, DatasetPlace] = {}
        self.runs: dict[Path, Mapping[str, Any]] = {}
        self.data: dict[Path, None] = {}

    def take(self, folder: Path) -> bool:
        """Whether ``folder`` is something to show; it is noted where it is."""
        dataset = _dataset_place(folder)
        known = dataset is not None
        if dataset is not None:
            self.datasets.setdefault(dataset.root, dataset)
        if _is_run(folder):
            known = True
            self.runs.setdefault(folder.resolve(), _info(folder))
        if _is_data(folder):
            known = True
            self.data.setdefault(folder.resolve())
        return known

    def places(self) -> Places:
        """All that was found; datasets that only a run names are added, where it states the
        checksum of theirs.
        """
        for info in self.runs.values():
            stated, checksum = _stated(info, "path"), _stated(info, "checksum")
            if stated and checksum and self._dataset(info) is None and not REMOTE.match(stated):
                place = _dataset_place(Path(stated))
                if place is not None and place.checksum == checksum:
                    self.datasets.setdefault(place.root, place)
        runs = [
            RunPlace(
                slug_of(root),
                str(info.get("judge") or info.get("model") or root.name),
                root,
                self._dataset(info),
            )
            for root, info in self.runs.items()
        ]
        return Places(tuple(self.datasets.values()), tuple(_distinct(runs)), tuple(self.data))

    def _dataset(self, info: Mapping[str, Any]) -> str | None:
        """The slug of a run's dataset: by its path, else by its checksum, since folders are
        moved.
        """
        stated, checksum = _stated(info, "path"), _stated(info, "checksum")
        here = self.datasets.get(Path(stated).resolve()) if stated else None
        same = [
            place for place in self.datasets.values() if checksum and place.checksum == checksum
        ]
        return here.slug if here else same[0].slug if same else None


def _distinct(runs: list[RunPlace]) -> Iterator[RunPlace]:
    """Runs of one judge on one dataset are told apart by their folder, with as many of its parents
    as that takes.
    """
    alike: dict[tuple[str, str | None], list[Path]] = {}
    for run in runs:
        alike.setdefault((run.name, run.dataset), []).append(run.root)
    for run in runs:
        roots = alike[run.name, run.dataset]
        yield replace(run, name=f"{run.name} ({_tail(run.root, roots)})") if len(roots) > 1 else run


def _tail(root: Path, others: Sequence[Path]) -> str:
    """The last parts of a path, as few as no other path ends with."""
    for n in range(1, len(root.parts)):
        tail = root.parts[-n:]
        if sum(other.parts[-n:] == tail for other in others) == 1:
            return "/".join(tail)
    return str(root)


def _stated(info: Mapping[str, Any], field: str) -> str | None:
    dataset = info.get("dataset")
    value = dataset.get(field) if isinstance(dataset, dict) else None
    return value if isinstance(value, str) and value and "\0" not in value else None


def _dataset_place(folder: Path) -> DatasetPlace | None:
    """The dataset in ``folder``; None if there is none."""
    try:
        if not questions_file(folder).is_file() or not (folder / META).is_file():
            return None
    except OSError:  # a run names a path that is none
        return None
    root = folder.resolve()
    return DatasetPlace(slug_of(root), root.name, root, _meta(folder))


def _meta(folder: Path) -> Mapping[str, Any]:
    try:
        return read_meta(folder)
    except DataError:
        return {}


def _is_data(folder: Path) -> bool:
    return (folder / "annotations").is_dir() and (folder / "images").is_dir()


def _is_run(folder: Path) -> bool:
    """Whether it is a run; one whose files are links is none."""
    try:
        return (
            RunFolder(folder).manifest_path.is_file()
            and not RunFolder(folder).verdicts_path.is_dir()
        )
    except DataError:
        return False


def _info(run: Path) -> Mapping[str, Any]:
    try:
        return RunFolder(run).manifest()
    except (DataError, OSError):
        return {}
