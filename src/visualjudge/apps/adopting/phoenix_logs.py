"""Annotations of Phoenix: ``get_span_annotations_dataframe()`` as a table, or the answer of
``/v1/projects/…/span_annotations``. Those of people are the truth of those that models gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from visualjudge.apps.adopting.logs import Log, LogFormat, LogRows, log_row, unit_of

_KIND = "annotator_kind"


def _fits(log: Log) -> bool:
    if log.suffix == ".json" and "data" in log.columns:
        found = log.document["data"]
        return bool(found) and isinstance(found[0], dict) and _KIND in found[0]
    return _KIND in log.columns


def _read(log: Log) -> LogRows:
    found = log.document
    found = found["data"] if isinstance(found, dict) else found
    records = [_flat(one) for one in (log.table.to_dicts() if found is None else found)]
    scored = any(one["score"] is not None for one in records)
    value = "score" if scored else "label"
    human = {(one["span"], one["name"]): one[value] for one in records if one["kind"] == "HUMAN"}
    rows = []
    for one in records:
        if one["kind"] != "HUMAN":
            known = {
                "item": one["span"],
                "task": one["name"],
                "judge": one["identifier"] or one["name"],
                "verdict": "" if one[value] is None else one[value],
                "truth": human.get((one["span"], one["name"])),
            }
            rows.append(log_row(known, one["metadata"]))
    if not rows:
        raise log.fault("the file", "must hold annotations of a model, got none")
    return LogRows(rows, unit_of(one[value] for one in records))


def _flat(one: Mapping[str, Any]) -> dict[str, Any]:
    """An annotation, whether its result is an object or three columns."""
    result = one.get("result")
    fields = result if isinstance(result, dict) else {}
    return {
        "span": one.get("span_id") or one.get("context.span_id"),
        "name": one.get("annotation_name") or one.get("name"),
        "kind": one.get(_KIND),
        "identifier": one.get("identifier"),
        "metadata": one.get("metadata"),
        **{
            name: fields.get(name, one.get(f"result.{name}", one.get(name)))
            for name in ("label", "score")
        },
    }


PHOENIX = LogFormat("phoenix", "span annotations of Phoenix", _fits, _read)
