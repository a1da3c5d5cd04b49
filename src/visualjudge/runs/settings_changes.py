"""Whether a run may be continued with other settings. What is still to be asked is in
``asks.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from visualjudge.core.errors import UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.dataset.folder import MEDIA, Dataset

_ASKED = ("swap", "repeats", "asked")
_LONGEST = 80


class Change(NamedTuple):
    """One setting that has changed."""

    name: str
    was: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {_short(self.was)}, now {_short(self.now)}"


def changes(old: Fields, new: Fields) -> list[Change]:
    """Return the differences of two manifests: backend, model, server, every parameter,
    and the questions.
    """
    before = _shape(old)
    after = _shape(new)
    if before["media"] is None:  # written by an older version
        after["media"] = None
    return [*differences(before, after)]


def differences(old: Fields, new: Fields, within: str = "") -> Iterator[Change]:
    """Yield what differs in two objects; of an object inside both, only what differs
    there, by a name such as ``parameters.temperature``.
    """
    for name in {**old, **new}:
        was, now = old.get(name), new.get(name)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from differences(was, now, f"{within}{name}.")
        elif was != now:
            yield Change(f"{within}{name}", was, now)


def fallen_out(old: Fields, new: Fields, unasked: int) -> list[Change]:
    """Return what differs if ``unasked`` verdicts of the run are no longer asked for,
    because of a different selection, no ``swap`` or fewer repeats. Empty if an accepted
    change covers as many.
    """
    accepted = old.get("unasked") or 0
    if unasked <= accepted:
        return []
    return [
        *(change for change in differences(old, new) if change.name in _ASKED),
        Change(
            "verdicts left out by filters, swap or repeats", accepted, unasked
        ),
    ]


def check_changes(
    folder: Path, result: Sequence[Change], *, accept: bool
) -> None:
    """Refuse to mix verdicts of different settings.

    Raises
    ------
    UsageError
        If anything differs and ``accept`` is False; the message lists the differences.
    """
    if result and not accept:
        raise UsageError(
            f"{folder}: cannot resume with other settings: "
            f"{'; '.join(map(str, result))}. Choose another `out`, or add "
            "`accept_changes=true` to record both"
        )


def media_checksum(dataset: Dataset) -> str:
    """Return the SHA-256 over the names and checksums of the images, as stated in
    ``dataset.json``.
    """
    files = dataset.meta.get("files", {})
    stated = {
        name: digest
        for name, digest in files.items()
        if name.startswith(f"{MEDIA}/")
    }
    return hashlib.sha256(
        orjson.dumps(stated, option=orjson.OPT_SORT_KEYS)
    ).hexdigest()


def _shape(manifest: Fields) -> Json:
    # Return the settings that affect a verdict, by name, as they are after a JSON round
    # trip.
    parameters = manifest.get("parameters")
    dataset = manifest.get("dataset")
    shape = {
        "backend": manifest.get("backend"),
        "model": manifest.get("model"),
        "base_url": manifest.get("base_url"),
        **(parameters if isinstance(parameters, Mapping) else {}),
        "questions.json": dataset.get("checksum")
        if isinstance(dataset, Mapping)
        else None,
        "media": manifest.get("media_checksum"),
    }
    return dict(orjson.loads(orjson.dumps(shape, default=str)))


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return _short([part for part in value.values() if part is not None])
    if isinstance(value, list):
        text = " ".join(map(_short, value)) or "none"
    else:
        text = "unset" if value is None else orjson.dumps(value).decode()
    head = text[: _LONGEST - 1]
    return (
        text if len(text) <= _LONGEST else f"{head.rpartition(' ')[0] or head}…"
    )
