"""Logs of Inspect: the model's own verdicts where the targets are letters, else a grade
of each scorer for each sample. A sample that failed is a failed verdict. Tasks for
Inspect are in ``apps/connectors/inspect_tasks.py``.
"""

import warnings
from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.cell_spellings import is_answer
from visualjudge.apps.adopt.files import at, log_row, texts_of
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Json


def rows(path: Path, log: Any) -> list[Json]:
    """Return a row per sample, or per sample and grade."""
    about = log.get("eval")
    samples = log["samples"]
    if not isinstance(about, dict) or not samples:
        raise DataError(
            f"{path}: header.json: must describe an eval with samples"
        )
    status = log.get("status", "success")
    if status != "success":
        warnings.warn(
            f"{path}: must have status success, got {status!r}: the evaluation did not "
            f"finish, and the {len(samples)} samples that it has are read",
            stacklevel=2,
        )
    targets = [target for target in map(_target, samples) if target is not None]
    letters = [
        is_answer(target) or (len(target) == 1 and target.isalpha())
        for target in targets
    ]
    graders = dict.fromkeys(
        name for sample in samples for name in _grades(sample)
    )
    if not graders or (all(letters) and any(map(is_answer, targets))):
        return [_verdict(sample, about) for sample in samples]
    return [
        _grade(sample, about, *name) for sample in samples for name in graders
    ]


def _target(sample: Json) -> str | None:
    target = sample.get("target")
    only = (
        target[0] if isinstance(target, list) and len(target) == 1 else target
    )
    return only if isinstance(only, str) else None


def _grades(sample: Json) -> dict[tuple[str, str | None], Any]:
    """Return the grades by scorer, and by dimension of those with several."""
    values = {
        name: score.get("value")
        for name, score in (sample.get("scores") or {}).items()
    }
    return {
        (name, part): grade
        for name, value in values.items()
        for part, grade in (
            value.items() if isinstance(value, dict) else [(None, value)]
        )
    }


def _known(sample: Json, about: Json) -> Json:
    message = at(sample, "output.choices.0.message.content")
    return {
        "item": sample.get("id"),
        "repeat": int(sample.get("epoch") or 1) - 1,
        "task": about.get("task"),
        "request": "\n".join(texts_of(sample.get("input"))) or None,
        "reply": at(sample, "output.completion")
        or "\n".join(texts_of(message)),
    }


def _grade(sample: Json, about: Json, scorer: str, part: str | None) -> Json:
    value = _grades(sample).get((scorer, part))
    known = _known(sample, about)
    known |= {
        "judge": scorer,
        "model": about.get("model"),
        "text_a": known.pop("reply"),
        "verdict": "" if value is None else value,
    }
    return log_row(
        known if part is None else known | {"task": part},
        sample.get("metadata"),
    )


def _verdict(sample: Json, about: Json) -> Json:
    stopped = at(sample, "output.choices.0.stop_reason") or "stop"
    answers = (
        score.get("answer") for score in (sample.get("scores") or {}).values()
    )
    known = _known(sample, about) | {
        "judge": about.get("model"),
        "truth": _target(sample),
        "verdict": next(filter(is_answer, answers), ""),
        "finish_reason": "error" if sample.get("error") else str(stopped),
        "input_tokens": at(sample, "output.usage.input_tokens"),
        "output_tokens": at(sample, "output.usage.output_tokens"),
    }
    return log_row(known, sample.get("metadata"))
