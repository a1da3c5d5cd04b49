"""Check that a resumed run has the settings it was started with, as far as they affect a
verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.image_storage import image_finder
from visualjudge.dataset.folder import MEDIA, META, Dataset

_NAMED = ("backend", "model", "base_url")
_ASKED = ("swap", "repeats", "asked")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that has changed."""

    name: str
    was: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {_short(self.was)}, now {_short(self.now)}"


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return the differences of two manifests: backend, model, server, every parameter, and the
    questions.
    """
    before, after = _shape(old), _shape(new)
    if before["media"] is None:  # written by an older version
        after["media"] = None
    names = [*before, *(name for name in after if name not in before)]
    return [
        Change(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    ]


def media_checksum(dataset: Dataset) -> str:
    """Return the SHA-256 over the names and checksums of the images, as stated in
    ``dataset.json``.
    """
    return hashlib.sha256(orjson.dumps(_stated(dataset), option=orjson.OPT_SORT_KEYS)).hexdigest()


def _stated(dataset: Dataset) -> dict[str, Any]:
    return {
        name: digest
        for name, digest in dataset.meta.get("files", {}).items()
        if name.startswith(f"{MEDIA}/")
    }


def edited_images(dataset: Dataset, old: Mapping[str, Any]) -> list[Change]:
    """Return images that were modified since the run began or since the last accepted change.

    Only files whose modification time is later are read.
    """
    accepted = old.get("changes") or [{}]
    began = accepted[-1].get("at") or old.get("started")
    try:
        since = datetime.fromisoformat(str(began)).timestamp()
    except ValueError:
        since = 0.0
    stated = _stated(dataset)
    edited = [
        name for name in _written(dataset, stated, since) if _edited(dataset, name, stated[name])
    ]
    if not edited:
        return []
    return [
        Change(
            "images",
            f"as {META} states",
            f"{len(edited)} of {len(stated)} differ, the first {edited[0]}",
        )
    ]


def _written(dataset: Dataset, names: Iterable[str], since: float) -> Iterator[str]:
    find = image_finder(dataset.root)
    for name in names:
        # No question shows it: those that are shown were checked before.
        with suppress(OSError, ValueError, DataError):
            if find(name).stat().st_ctime >= since:
                yield name


def _edited(dataset: Dataset, name: str, digest: object) -> bool:
    try:
        return hashlib.sha256(dataset.image(name).read_bytes()).hexdigest() != digest
    except (DataError, OSError):
        return False


def fallen_out(old: Mapping[str, Any], new: Mapping[str, Any], unasked: int) -> list[Change]:
    """Return what differs if ``unasked`` verdicts of the run are no longer asked for, because of a
    different selection, no ``swap`` or fewer repeats. Empty if an accepted change covers as many.
    """
    accepted = old.get("unasked") or 0
    if unasked <= accepted:
        return []
    asked = [
        Change(name, old.get(name), new.get(name))
        for name in _ASKED
        if old.get(name) != new.get(name)
    ]
    return [*asked, Change("verdicts not asked for", accepted, unasked)]


def check_changes(folder: Path, found: list[Change], *, accept: bool) -> None:
    """Refuse to mix verdicts of different settings.

    Raises
    ------
    UsageError
        If anything differs and ``accept`` is False; the message lists the differences.
    """
    if found and not accept:
        listed = "; ".join(map(str, found))
        raise UsageError(
            f"{folder}: cannot resume with other settings: {listed}. Choose another --out, or "
            "add --accept-changes to "
            "record both"
        )


def recorded(found: list[Change], *, at: str, verdicts: int) -> dict[str, Any]:
    """Return accepted changes in the form of ``run.json``; ``verdicts`` is the number of verdicts
    before the change.
    """
    return {
        "at": at,
        "verdicts": verdicts,
        "fields": {c.name: {"was": c.was, "now": c.now} for c in found},
    }


def _shape(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that affect a verdict, by name, as they are after a JSON round trip."""
    parameters = manifest.get("parameters")
    dataset = manifest.get("dataset")
    shape = {name: manifest.get(name) for name in _NAMED}
    shape |= dict(parameters) if isinstance(parameters, Mapping) else {}
    shape["questions.json"] = dataset.get("checksum") if isinstance(dataset, Mapping) else None
    shape["media"] = manifest.get("media_checksum")
    plain: dict[str, Any] = orjson.loads(orjson.dumps(shape, default=str))
    return plain


def _short(value: Any) -> str:
    text = "unset" if value is None else orjson.dumps(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
