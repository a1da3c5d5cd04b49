"""Whether a resumed run is the run that was started: everything that shapes a verdict must be the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from visualjudge.errors import UsageError

_NAMED = ("backend", "model", "base_url")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Change:
    """One setting that is not what it was."""

    name: str
    was: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {_short(self.was)}, now {_short(self.now)}"


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """What differs between two manifests: backend, model, server, every parameter, and the questions."""
    before, after = _shape(old), _shape(new)
    names = [*before, *(name for name in after if name not in before)]
    return [Change(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def check_changes(folder: Path, found: list[Change], *, accept: bool) -> None:
    """Refuse to mix verdicts that were given under different settings.

    Raises
    ------
    UsageError
        If anything differs and ``accept`` is false; the message lists it.
    """
    if found and not accept:
        listed = "; ".join(map(str, found))
        raise UsageError(
            f"{folder}: cannot resume with other settings: {listed}. Choose another --out, or add --accept-changes to "
            "record both"
        )


def recorded(found: list[Change], *, at: str, verdicts: int) -> dict[str, Any]:
    """Accepted changes as ``run.json`` keeps them; ``verdicts`` were given before."""
    return {"at": at, "verdicts": verdicts, "fields": {c.name: {"was": c.was, "now": c.now} for c in found}}


def _shape(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """By name what shapes a verdict, as JSON would give it back."""
    parameters = manifest.get("parameters")
    dataset = manifest.get("dataset")
    shape = {name: manifest.get(name) for name in _NAMED}
    shape |= dict(parameters) if isinstance(parameters, Mapping) else {}
    shape["questions.json"] = dataset.get("checksum") if isinstance(dataset, Mapping) else None
    plain: dict[str, Any] = orjson.loads(orjson.dumps(shape, default=str))
    return plain


def _short(value: Any) -> str:
    text = "unset" if value is None else orjson.dumps(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
