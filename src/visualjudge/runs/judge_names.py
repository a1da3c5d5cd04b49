"""The names of judges in reports and in the studio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def distinct_names(told: Mapping[Path, Mapping[str, Any]]) -> dict[Path, str]:
    """Return a distinct name for each run, given its ``run.json``. Simulated judges without a name
    are named after their folders. Runs of the same judge are distinguished by the last parts of
    their paths.
    """
    names = {
        home: home.name
        if info.get("simulated") and info.get("judge") == info.get("model")
        else str(info.get("judge") or info.get("model") or home.name)
        for home, info in told.items()
    }
    out: dict[Path, str] = {}
    for home, name in names.items():
        alike = [other for other, own in names.items() if own == name]
        unlike = name if len(alike) == 1 else f"{name} ({_ending(home, alike)})"
        while unlike in out.values():
            unlike += "′"
        out[home] = unlike
    return out


def _ending(folder: Path, others: Sequence[Path]) -> str:
    """Return the last parts of the path of ``folder``, as many as needed to distinguish
    ``others``.
    """
    paths = {home.resolve().parts for home in others}
    longest = max(map(len, paths))
    depth = next(
        (n for n in range(1, longest) if len({parts[-n:] for parts in paths}) == len(paths)),
        longest,
    )
    return "/".join(folder.resolve().parts[-depth:])
