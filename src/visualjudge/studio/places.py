"""Finds the datasets and runs in the folders given to the studio. What a folder is, for
messages, is in ``core/folder_kinds.py``.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from visualjudge.core.addresses import address_name
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.output_files import default_cache_dir
from visualjudge.dataset.folder import (
    META,
    DatasetMeta,
    questions_file,
    read_meta,
)
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.runs.folder import (
    REMOTE,
    RUN,
    Manifest,
    RunFolder,
    distinct_names,
    stated_checksum,
    stated_dataset,
)

# Maximum depth of the search.
DEPTH = 4
# Maximum number of folders searched.
MOST = 2000
_SKIPPED = frozenset(
    {"media", "images", "annotations", "node_modules", "__pycache__"}
)


@dataclass(frozen=True, slots=True)
class DatasetPlace:
    """A dataset folder; ``slug`` names it in addresses."""

    slug: str
    name: str
    root: Path
    meta: DatasetMeta

    @property
    def checksum(self) -> str | None:
        """Return the SHA-256 of ``questions.json`` that ``dataset.json`` states."""
        return self.meta.get("files", {}).get(QUESTIONS)

    @property
    def labels_only(self) -> bool:
        """Return whether it holds answers without the images or texts they are
        about."""
        return self.meta.get("benchmark", {}).get("labels_only") is True


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A run folder; ``dataset`` is the slug of its dataset, or None if unknown."""

    slug: str
    name: str
    root: Path
    dataset: str | None

    def info(self) -> Manifest:
        """Return the current ``run.json``; empty if it cannot be read."""
        return _info(self.root)


@dataclass(frozen=True, slots=True)
class Places:
    """Everything found, in search order."""

    datasets: tuple[DatasetPlace, ...]
    runs: tuple[RunPlace, ...]

    def runs_of(self, dataset: str) -> list[RunPlace]:
        """Return the runs on one dataset."""
        return [run for run in self.runs if run.dataset == dataset]


def cache_home() -> Path:
    """Return the studio's folder in the user's cache."""
    return default_cache_dir() / "studio"


def slug_of(root: Path) -> str:
    """Return a readable name for addresses and cache files, distinct for each
    folder."""
    resolved = root.resolve()
    path = str(resolved).encode("utf-8", "surrogateescape")
    return f"{address_name(resolved)}-{hashlib.sha256(path).hexdigest()[:8]}"


def find_places(folders: Sequence[str | Path]) -> Places:
    """Find datasets and runs in ``folders``, and the datasets named by the runs.

    Raises
    ------
    UsageError
        If a folder does not exist or holds nothing to show.
    """
    datasets: dict[Path, DatasetPlace] = {}
    runs: dict[Path, Manifest] = {}
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise UsageError(
                f"{folder}: "
                + (
                    "is a file; name the folder of a dataset or of runs"
                    if folder.exists()
                    else "no such folder"
                )
            )
        below = list(_walk(folder))
        held = [place for place in map(_dataset_at, below) if place]
        judged = [place.resolve() for place in below if _is_run(place)]
        if not held and not judged:
            raise UsageError(
                f"{folder}: no dataset ({QUESTIONS}) or run ({RUN}) found in it"
            )
        datasets |= {place.root: place for place in held}
        runs |= {root: _info(root) for root in judged}
    for info in runs.values():
        named = None if _asked(info, datasets) else _named_by(info)
        if named is not None:
            datasets[named.root] = named
    names = distinct_names(runs)
    times = Counter(place.name for place in datasets.values())
    places = tuple(
        replace(
            place,
            name="/".join(
                place.root.parts[-2 if times[place.name] > 1 else -1 :]
            ),
        )
        for place in datasets.values()
    )
    run_places = [
        RunPlace(slug_of(r), names[r], r, _asked(info, datasets))
        for r, info in runs.items()
    ]
    return Places(places, tuple(run_places))


def _walk(root: Path) -> Iterator[Path]:
    """Return ``root`` and the folders below it, without descending into datasets."""
    waiting = [(root, 0)]
    seen = 0
    while waiting and seen < MOST:
        folder, depth = waiting.pop(0)
        seen += 1
        yield folder
        if depth < DEPTH and not questions_file(folder).is_file():
            waiting += [(child, depth + 1) for child in _children(folder)]


def _children(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    named = [e for e in entries if e.name[0] != "." and e.name not in _SKIPPED]
    return [
        entry for entry in named if not entry.is_symlink() and entry.is_dir()
    ]


def _asked(info: Manifest, datasets: Mapping[Path, DatasetPlace]) -> str | None:
    """Return the slug of a run's dataset by its path, else by its checksum, since
    folders move."""
    stated = stated_dataset(info)
    checksum = stated_checksum(info)
    if (
        stated
        and "\0" not in stated
        and (here := datasets.get(Path(stated).resolve()))
    ):
        return here.slug
    same = (
        place.slug
        for place in datasets.values()
        if checksum and place.checksum == checksum
    )
    return next(same, None)


def _named_by(info: Manifest) -> DatasetPlace | None:
    """Return the dataset that only a run names, if the run states its checksum."""
    stated = stated_dataset(info)
    checksum = stated_checksum(info)
    if not stated or not checksum or "\0" in stated or REMOTE.match(stated):
        return None
    place = _dataset_at(Path(stated))
    return place if place is not None and place.checksum == checksum else None


def _dataset_at(folder: Path) -> DatasetPlace | None:
    try:
        if (
            not questions_file(folder).is_file()
            or not (folder / META).is_file()
        ):
            return None
        meta = read_meta(folder)
    except OSError:  # a run may name an invalid path
        return None
    except DataError:
        meta = {}
    root = folder.resolve()
    return DatasetPlace(slug_of(root), root.name, root, meta)


def _is_run(folder: Path) -> bool:
    """Return whether the folder is a run; a folder whose files are links is not."""
    try:
        run = RunFolder(folder)
        return run.manifest_path.is_file() and not run.journal_path.is_dir()
    except DataError:
        return False


def _info(run: Path) -> Manifest:
    try:
        return RunFolder(run).manifest()
    except (DataError, OSError):
        return {}
