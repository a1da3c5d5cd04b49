"""Finds the datasets, runs and data folders in the folders given to the studio."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError, UsageError
from visualjudge.dataset.folder import META, questions_file, read_meta
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.runs.folder import REMOTE, RUN, RunFolder
from visualjudge.runs.judge_names import distinct_names

DEPTH = 4
"""Maximum depth of the search."""
MOST = 2000
"""Maximum number of folders searched."""
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
        """Return the SHA-256 of ``questions.json`` that ``dataset.json`` states."""
        stated: str | None = self.meta.get("files", {}).get(QUESTIONS)
        return stated

    @property
    def data_beside(self) -> Path | None:
        """Return a data folder next to the dataset, which may be its source."""
        return next((folder for folder in _children(self.root.parent) if _is_data(folder)), None)

    @property
    def labels_only(self) -> bool:
        """Return whether it holds answers without the images or texts they are about."""
        return self.meta.get("benchmark", {}).get("labels_only") is True


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A run folder; ``dataset`` is the slug of its dataset, or None if unknown."""

    slug: str
    name: str
    root: Path
    dataset: str | None

    @property
    def journal(self) -> Path:
        """Return the file with its verdicts."""
        return RunFolder(self.root).verdicts_path

    def info(self) -> Mapping[str, Any]:
        """Return the current ``run.json``; empty if it cannot be read."""
        return _info(self.root)


@dataclass(frozen=True, slots=True)
class Places:
    """Everything found, in search order."""

    datasets: tuple[DatasetPlace, ...]
    runs: tuple[RunPlace, ...]
    data_folders: tuple[Path, ...]

    def runs_of(self, dataset: str) -> list[RunPlace]:
        """Return the runs on one dataset."""
        return [run for run in self.runs if run.dataset == dataset]


def cache_home() -> Path:
    """Return the folder for indexes and thumbnails in the user's cache."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "visualjudge" / "studio"


def slug_of(root: Path) -> str:
    """Return a readable name for addresses and cache files, distinct for each folder."""
    resolved = root.resolve()
    readable = re.sub(r"[^a-z0-9]+", "-", resolved.name.lower()).strip("-")[:32] or "folder"
    digest = hashlib.sha256(str(resolved).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{readable}-{digest}"


def find_places(folders: Sequence[str | Path]) -> Places:
    """Find datasets, runs and data folders in ``folders``, and the datasets named by the runs.

    Raises
    ------
    UsageError
        If a folder does not exist or holds nothing to show.
    """
    found = _Found()
    for folder in folders:
        root = Path(folder)
        if not root.is_dir():
            raise UsageError(f"{folder}: no such folder")
        if not sum(found.take(place) for place in _walk(root)):
            raise UsageError(f"{folder}: no dataset ({QUESTIONS}) or run ({RUN}) found in it")
    return found.places()


def _walk(root: Path) -> Iterator[Path]:
    """Return ``root`` and the folders below it, without descending into recognised ones."""
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
    """Collects folders, each of them once."""

    def __init__(self) -> None:
        self.datasets: dict[Path, DatasetPlace] = {}
        self.runs: dict[Path, Mapping[str, Any]] = {}
        self.data: dict[Path, None] = {}

    def take(self, folder: Path) -> bool:
        """Record ``folder`` if it is something to show; return whether it is."""
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
        """Return everything found, including datasets named only by a run if it states their
        checksum.
        """
        for info in self.runs.values():
            stated, checksum = _stated(info, "path"), _stated(info, "checksum")
            if stated and checksum and self._dataset(info) is None and not REMOTE.match(stated):
                place = _dataset_place(Path(stated))
                if place is not None and place.checksum == checksum:
                    self.datasets.setdefault(place.root, place)
        names = distinct_names(self.runs)
        runs = tuple(
            RunPlace(slug_of(root), names[root], root, self._dataset(info))
            for root, info in self.runs.items()
        )
        return Places(tuple(self.datasets.values()), runs, tuple(self.data))

    def _dataset(self, info: Mapping[str, Any]) -> str | None:
        """Return the slug of a run's dataset by its path, else by its checksum, since folders may
        move.
        """
        stated, checksum = _stated(info, "path"), _stated(info, "checksum")
        here = self.datasets.get(Path(stated).resolve()) if stated else None
        same = [
            place for place in self.datasets.values() if checksum and place.checksum == checksum
        ]
        return here.slug if here else same[0].slug if same else None


def _stated(info: Mapping[str, Any], field: str) -> str | None:
    dataset = info.get("dataset")
    value = dataset.get(field) if isinstance(dataset, dict) else None
    return value if isinstance(value, str) and value and "\0" not in value else None


def _dataset_place(folder: Path) -> DatasetPlace | None:
    """Return the dataset in ``folder``, or None."""
    try:
        if not questions_file(folder).is_file() or not (folder / META).is_file():
            return None
    except OSError:  # a run may name an invalid path
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
    """Return whether the folder is a run; a folder whose files are links is not."""
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
