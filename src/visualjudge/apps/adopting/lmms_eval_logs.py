"""Samples of lmms-eval (and lm-evaluation-harness): ``MODEL/…_samples_TASK.jsonl``."""

from __future__ import annotations

from typing import Any

from visualjudge.apps.adopting.answers import is_answer
from visualjudge.apps.adopting.logs import Log, LogFormat, LogRows, log_row

_KNOWN = {"doc_id", "target"}
_REPLIES = {"filtered_resps", "resps"}


def _fits(log: Log) -> bool:
    return log.suffix == ".jsonl" and log.columns >= _KNOWN and bool(_REPLIES & log.columns)


def _read(log: Log) -> LogRows:
    task = log.path.stem.partition("samples_")[2] or log.path.stem
    folder = log.path.resolve().parent.name
    rows = []
    for number, sample in enumerate(log.document, 1):
        if not isinstance(sample, dict) or "doc_id" not in sample:
            raise log.fault(f"line {number}", "doc_id: is missing")
        filtered = _first(sample.get("filtered_resps"))
        tokens = _first_object(sample.get("token_counts"))
        asked = sample.get("input")
        known = {
            "item": str(sample["doc_id"]),
            "task": task,
            "judge": folder.rpartition("__")[2] or folder,
            "truth": sample.get("target"),
            "verdict": filtered if is_answer(filtered) else "",
            "reply": _first(sample.get("resps")) or filtered or "",
            "input_tokens": tokens.get("input_tokens"),
            "output_tokens": tokens.get("output_tokens"),
            "request": asked if isinstance(asked, str) else None,
        }
        rows.append(log_row(known, sample.get("doc"), _fields(sample)))
    return LogRows(rows)


def _first(value: Any) -> str | None:
    """The first text of lists within lists: one reply a request, one request a question."""
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else None


def _first_object(value: Any) -> dict[str, Any]:
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, dict) else {}


def _fields(sample: dict[str, Any]) -> dict[str, Any]:
    """The metrics of the task."""
    own = {*_KNOWN, *_REPLIES, "doc", "doc_hash", "input", "arguments", "token_counts"}
    return {name: value for name, value in sample.items() if name not in own}


LMMS_EVAL = LogFormat("lmms-eval", "samples of lmms-eval (samples_*.jsonl)", _fits, _read)
