"""Predictions of VLMEvalKit: ``MODEL_DATASET.xlsx``, ``.tsv``, ``.csv`` or ``.json``, one row a
question.
"""

from __future__ import annotations

from visualjudge.apps.adopting.logs import Log, LogFormat, LogRows, log_row

_NEEDED = {"index", "prediction", "answer"}
_TELLING = {"question", "hit", "category", "split", "A"}
_SUFFIXES = (".xlsx", ".tsv", ".csv", ".json")


def _fits(log: Log) -> bool:
    return log.suffix in _SUFFIXES and log.columns >= _NEEDED and len(_TELLING & log.columns) >= 1


def _read(log: Log) -> LogRows:
    if log.suffix == ".json":
        found = log.document
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise log.fault("the file", "must hold an array of objects")
    else:
        found = log.table.to_dicts()
    model, _, dataset = log.path.stem.partition("_")
    rows = []
    for one in found:
        known = {
            "item": one.get("index"),
            "task": one.get("category") or dataset or None,
            "judge": model,
            "truth": one.get("answer"),
            "verdict": "",  # what it extracts is kept, if at all, as text in "log"
            "reply": "" if one.get("prediction") is None else str(one["prediction"]),
            "request": one.get("question"),
            "text_a": one.get("A"),
            "text_b": one.get("B"),
            "metadata": None,
        }
        rest = {name: value for name, value in one.items() if name not in (*_NEEDED, *known)}
        rows.append(log_row(known, rest))
    return LogRows(rows)


VLMEVALKIT = LogFormat("vlmevalkit", "predictions of VLMEvalKit (.xlsx, .tsv)", _fits, _read)
