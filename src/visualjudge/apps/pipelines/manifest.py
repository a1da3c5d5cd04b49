"""What results were made with: ``results.run.json`` beside ``results.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from visualjudge import __version__
from visualjudge.core import atomic, jsons
from visualjudge.core.errors import DataError, UsageError
from visualjudge.judges.pipe import ClientPipe


def settings_path(out: Path) -> Path:
    """``results.run.json`` beside ``results.jsonl``."""
    return out.with_suffix(".run.json")


def settings_of(pipes: Mapping[str, ClientPipe]) -> dict[str, Any]:
    """By metric everything that shapes a result; no secrets."""
    return {
        name: {
            "pipe": type(pipe).__name__,
            "prompt": pipe.prompt_template.name,
            "client": asdict(pipe.client.identity),
            "retries": pipe.retries,
        }
        | ({"rules": pipe.rules} if pipe.rules != "strict" else {})
        for name, pipe in pipes.items()
    }


def check_same(out: Path, settings: Mapping[str, Any]) -> None:
    """Results of two configurations must not end in one file.

    Raises
    ------
    UsageError
        If ``out`` was made with other settings, or nothing tells with which.
    """
    if not out.is_file() or not out.stat().st_size:
        return
    before = _stated(settings_path(out))
    if before is None:
        raise UsageError(
            f"{settings_path(out)} is missing or cannot be read: it says what {out} was made with; restore it, or "
            "choose another --out (calls that the reply cache holds are free)"
        )
    now = orjson.loads(orjson.dumps(settings, default=str))
    for name in sorted(set(before) | set(now)):
        if before.get(name) != now.get(name):
            raise UsageError(f"{out} was made with other settings of metric {name!r}; choose another --out")


def _stated(place: Path) -> dict[str, Any] | None:
    try:
        found = jsons.read(place, jsons.LARGEST_MANIFEST)["metrics"]
    except (OSError, DataError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def write_settings(out: Path, settings: Mapping[str, Any]) -> None:
    """Write them beside ``out``."""
    whole = {"visualjudge": __version__, "metrics": settings}
    atomic.write_bytes(settings_path(out), orjson.dumps(whole, default=str, option=orjson.OPT_INDENT_2) + b"\n")
