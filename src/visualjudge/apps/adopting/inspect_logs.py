"""Logs of Inspect: ``.eval`` (a zip file of JSON) and ``.json``."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from visualjudge.apps.adopting.answers import is_answer
from visualjudge.apps.adopting.logs import UNIT, Log, LogFormat, LogRows, log_row, parsed, text_of
from visualjudge.apps.adopting.zips import members

_SAMPLE = re.compile(r"samples/.*\.json")
CUT = ("max_tokens", "model_length")
"""Inspect's reasons of a reply that was cut off."""


def _fits(log: Log) -> bool:
    return log.suffix == ".eval" or (log.suffix == ".json" and {"eval", "samples"} <= log.columns)


def _read(log: Log) -> LogRows:
    if log.suffix == ".json":
        head, samples = log.document, log.document["samples"]
    else:
        head, samples = {}, []
        try:
            for name, content in members(log.path, _SAMPLE, "header.json"):
                value = parsed(content, f"{log.path}: {name}")
                if name == "header.json":
                    head = value
                else:
                    samples.append(value)
        except zipfile.BadZipFile as error:
            raise log.fault("is not a log of Inspect", str(error)) from None
    about = head.get("eval")
    if not isinstance(about, dict) or not samples:
        raise log.fault("header.json", f"must describe a finished eval, got {len(samples)} samples")
    rows = [row for sample in samples for row in _rows(sample, about)]
    judged = any("reply" in row for row in rows)
    return LogRows(rows, None if judged else UNIT)


def _rows(sample: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The model's own verdict where the target is one; else a grade of each scorer."""
    output = sample.get("output") or {}
    usage, choices = output.get("usage") or {}, output.get("choices") or [{}]
    stopped = str(choices[0].get("stop_reason") or "stop")
    scores = sample.get("scores") or {}
    text = output.get("completion") or text_of((choices[0].get("message") or {}).get("content"))
    target = sample.get("target")
    known = {
        "item": sample.get("id"),
        "repeat": int(sample.get("epoch") or 1) - 1,
        "task": about.get("task"),
        "request": text_of(sample.get("input")),
    }
    if is_answer(target) or not scores:
        answers = (score.get("answer") for score in scores.values())
        known |= {
            "judge": about.get("model"),
            "truth": target,
            "verdict": next((answer for answer in answers if is_answer(answer)), "") or "",
            "reply": text or "",
            "finish_reason": "length" if stopped in CUT else stopped,
            "input_tokens": usage.get("input_tokens"),
            "output_tokens": usage.get("output_tokens"),
        }
        yield log_row(known, sample.get("metadata"))
        return
    for name, score in scores.items():
        graded = known | {"judge": name, "model": about.get("model"), "text_a": text}
        yield log_row(graded | {"verdict": score.get("value")}, sample.get("metadata"))


INSPECT = LogFormat("inspect", "a log of Inspect (.eval or .json)", _fits, _read)
