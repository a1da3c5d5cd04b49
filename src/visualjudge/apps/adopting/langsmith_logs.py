"""Experiments of LangSmith: ``results.to_pandas()`` as a table, or rows of run, example and
evaluation results as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from visualjudge.apps.adopting.logs import Log, LogFormat, LogRows, log_row, unit_of

_FEEDBACK = "feedback."
PEOPLE = ("app", "human", "annotation_queue")
"""Sources of feedback that people gave."""


def _fits(log: Log) -> bool:
    columns = log.columns
    if {"run", "example", "evaluation_results"} <= columns or "feedback" in columns:
        return log.suffix in (".json", ".jsonl")
    return "example_id" in columns and any(name.startswith(_FEEDBACK) for name in columns)


def _read(log: Log) -> LogRows:
    found = log.document
    records = log.table.to_dicts() if found is None else found
    rows = [
        row
        for one in records
        for row in (_nested(one) if "run" in one or "feedback" in one else _flat(one))
    ]
    if not rows:
        raise log.fault("the file", "must hold feedback of at least one run, got none")
    return LogRows(rows, unit_of(row["verdict"] for row in rows))


def _flat(one: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A record of ``to_pandas()``: a row for each column of feedback."""
    rest = {name.partition(".")[2]: one[name] for name in one if name.startswith("reference.")}
    text = next((one[name] for name in one if name.startswith("outputs.")), None)
    asked = next((one[name] for name in one if name.startswith("inputs.")), None)
    for name in one:
        if name.startswith(_FEEDBACK):
            key = name.removeprefix(_FEEDBACK)
            known = {"item": one.get("example_id"), "judge": key, "task": key, "request": asked}
            said = "" if one[name] is None else one[name]
            yield log_row(known | {"text_a": text, "verdict": said}, rest)


def _nested(one: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A record of objects: a row for each model's feedback, people's of the same key its truth."""
    run, example = one.get("run") or one, one.get("example") or {}
    results = (one.get("evaluation_results") or {}).get("results") or one.get("feedback") or []
    human = {result.get("key"): _value(result) for result in results if _of_people(result)}
    about = {
        "item": example.get("id") or run.get("reference_example_id") or run.get("id"),
        "text_a": _text(run.get("outputs")),
        "request": _text(run.get("inputs") or example.get("inputs")),
    }
    for result in results:
        key = result.get("key")
        if not _of_people(result):
            given = {"judge": key, "task": key, "verdict": _value(result), "truth": human.get(key)}
            yield log_row(about | given, example.get("outputs"))


def _of_people(result: Mapping[str, Any]) -> bool:
    return str((result.get("feedback_source") or {}).get("type")) in PEOPLE


def _value(result: Mapping[str, Any]) -> Any:
    found = result.get("score") if result.get("score") is not None else result.get("value")
    return "" if found is None else found


def _text(fields: Any) -> str | None:
    return next((text for text in (fields or {}).values() if isinstance(text, str)), None)


LANGSMITH = LogFormat("langsmith", "an experiment of LangSmith", _fits, _read)
