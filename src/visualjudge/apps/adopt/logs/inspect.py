"""Logs of Inspect: the model's own verdicts where the targets are letters, else a grade of each
scorer for each sample. A sample that failed is a failed verdict.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.answers import is_answer
from visualjudge.apps.adopt.files import at, members
from visualjudge.apps.adopt.logs.log_rows import log_row, text_of
from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import apart

MEMBERS = re.compile(r"header\.json|samples/.*\.json")
Rows = list[dict[str, Any]]


def rows(path: Path, log: Any) -> Rows:
    """Return a row per sample, or per sample and grade."""
    if log is None:
        parts = apart(_parts, path, "zip")
        log = {**parts.pop("header.json", {}), "samples": list(parts.values())}
    about, samples = log.get("eval"), log["samples"]
    if not isinstance(about, dict) or not samples:
        raise DataError(f"{path}: header.json: must describe an eval with samples")
    targets = [target for target in map(_target, samples) if target is not None]
    letters = [is_answer(target) or (len(target) == 1 and target.isalpha()) for target in targets]
    if all(letters) and any(map(is_answer, targets)):
        return [_verdict(sample, about) for sample in samples]
    graders = dict.fromkeys(name for sample in samples for name in _grades(sample))
    if not graders:
        return [_verdict(sample, about) for sample in samples]
    return [_grade(sample, about, *name) for sample in samples for name in graders]


def _parts(path: Path) -> dict[str, dict[str, Any]]:
    """Return the members without the messages and events, which are most of them."""
    return {
        name: _part(jsons.lenient(text, f"{path}: {name}")) for name, text in members(path, MEMBERS)
    }


def _part(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    left_out = ("messages", "events", "attachments", "store")
    return {field: item for field, item in value.items() if field not in left_out}


def _target(sample: dict[str, Any]) -> str | None:
    target = sample.get("target")
    only = target[0] if isinstance(target, list) and len(target) == 1 else target
    return only if isinstance(only, str) else None


def _grades(sample: dict[str, Any]) -> dict[tuple[str, str | None], Any]:
    """Return the grades by scorer, and by dimension of those with several."""
    values = {name: score.get("value") for name, score in (sample.get("scores") or {}).items()}
    return {
        (name, part): grade
        for name, value in values.items()
        for part, grade in (value.items() if isinstance(value, dict) else [(None, value)])
    }


def _known(sample: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    return {
        "item": sample.get("id"),
        "repeat": int(sample.get("epoch") or 1) - 1,
        "task": about.get("task"),
        "request": text_of(sample.get("input")),
    }


def _reply(sample: dict[str, Any]) -> str | None:
    text = at(sample, "output.completion")
    return text or text_of(at(sample, "output.choices.0.message.content"))


def _grade(
    sample: dict[str, Any], about: dict[str, Any], scorer: str, part: str | None
) -> dict[str, Any]:
    value = _grades(sample).get((scorer, part))
    known = _known(sample, about) | {
        "judge": scorer,
        "model": about.get("model"),
        "text_a": _reply(sample) or "",
        "verdict": "" if value is None else value,
    }
    return log_row(known if part is None else known | {"task": part}, sample.get("metadata"))


def _verdict(sample: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    stopped = at(sample, "output.choices.0.stop_reason") or "stop"
    answers = (score.get("answer") for score in (sample.get("scores") or {}).values())
    known = _known(sample, about) | {
        "judge": about.get("model"),
        "truth": _target(sample),
        "verdict": next(filter(is_answer, answers), ""),
        "reply": _reply(sample) or "",
        "finish_reason": "error" if sample.get("error") else str(stopped),
        "input_tokens": at(sample, "output.usage.input_tokens"),
        "output_tokens": at(sample, "output.usage.output_tokens"),
    }
    return log_row(known, sample.get("metadata"))
