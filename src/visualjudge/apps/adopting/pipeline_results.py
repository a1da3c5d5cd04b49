"""Results of ``visualjudge pipeline`` as verdicts, one a metric and row.

The rows that were judged are read from the file that ``results.run.json`` names, for the images,
instructions and further fields, such as a truth. Rows whose keys end in ``/AB`` and ``/BA`` are one
pair in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from visualjudge.apps.adopting.log_to_table import Log, LogFormat, LogRows, log_row
from visualjudge.apps.pipelines.results import RowResult, read_results
from visualjudge.apps.pipelines.run import settings_path
from visualjudge.core import jsons
from visualjudge.core.records import FAILED, TURNED

_VALUES = {"Image A": "A", "Image B": "B", "Tie": "tie", FAILED: ""}
_OF_ROW = frozenset(("key", "instruction", "input_image", "edited_images"))
Row = Mapping[str, Any]


def _read(log: Log) -> LogRows:
    settings = _settings(log)
    given = {str(row.get("key")): row for row in _rows(log, settings.get("rows"))}
    metrics = settings.get("metrics") or {}
    lines = list(read_results(log.path))
    types = {name: found.get("type") for line in lines for name, found in line.results.items()}
    if len(set(types.values())) > 1:
        raise log.fault("results", f"must be all of pairs or all of scores, got {types}")
    scored = "single_score" in types.values()
    found = [
        row
        for line in lines
        for row in _of_line(line, given.get(str(line.key), {}), metrics, scored=scored)
    ]
    return LogRows(found, (0.0, 10.0))


def _settings(log: Log) -> Row:
    place = settings_path(log.path)
    found = jsons.read(place, jsons.LARGEST_MANIFEST) if place.is_file() else {}
    return found if isinstance(found, dict) else {}


def _rows(log: Log, name: Any) -> list[Row]:
    place = log.path.parent / str(name)
    if name is None or not place.is_file():
        return []
    return [row for row in Log(place).records() if isinstance(row, dict)]


def _of_line(
    line: RowResult, given: Row, metrics: Row, *, scored: bool
) -> Iterator[dict[str, Any]]:
    key, _, order = str(line.key).rpartition("/")
    key, order = (key, order) if key and order in ("AB", "BA") else (str(line.key), "AB")
    sources = _sources(given.get("edited_images") or ())
    more = {name: value for name, value in given.items() if name not in _OF_ROW}
    for metric in (*line.results, *line.errors):
        result = line.results.get(metric, {"value": FAILED})
        client = (metrics.get(metric) or {}).get("client") or {}
        value, reply = result["value"], result.get("meta", {}).get("raw_response")
        known = {
            "item": f"{key}/{metric}",
            "group": given.get("input_image"),
            "task": metric,
            "judge": client.get("model"),
            "request": given.get("instruction"),
        }
        if len(line.results) == 1:
            known["input_tokens"] = line.usage.get("prompt_tokens")
            known["output_tokens"] = line.usage.get("completion_tokens")
        if scored:
            known["verdict"] = "" if value == FAILED else value
            known["model"] = sources[0] if sources else None
            reply = next(iter(reply.values()), None) if isinstance(reply, dict) else reply
        else:
            said = _VALUES.get(value, "")
            known["verdict"] = TURNED.get(said, said) if order == "BA" else said
            pair = sources if order == "AB" else sources[::-1]
            known |= {"order": order, **dict(zip(("model_a", "model_b"), pair, strict=False))}
        yield log_row(known | {"reply": reply if isinstance(reply, str) else ""}, more)


def _sources(images: Any) -> list[str]:
    """Return the folder of each edit as its source, where two have one name in two folders."""
    paths = [PurePosixPath(str(image)) for image in images]
    folders = [path.parent.name for path in paths]
    alike = len({path.name for path in paths}) == 1
    return folders if alike and all(folders) and len(set(folders)) == len(folders) else []


PIPELINE = LogFormat(
    "pipeline",
    "results of visualjudge pipeline (.jsonl)",
    lambda log: log.suffix == ".jsonl" and log.has("key", "results"),
    _read,
)
