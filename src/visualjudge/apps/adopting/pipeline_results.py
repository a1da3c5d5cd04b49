"""Results of ``visualjudge pipeline`` as verdicts, one a metric and row.

Images, instructions and further fields, such as a truth, are read from the file of rows that
``results.run.json`` names. Rows whose keys end in ``/AB`` and ``/BA`` are one pair in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from visualjudge.apps.adopting.log_to_table import Log, LogFormat, LogRows, at, log_row
from visualjudge.apps.pipelines.results import RowResult, read_results
from visualjudge.apps.pipelines.run import settings_path
from visualjudge.core import jsons
from visualjudge.core.records import FAILED, TURNED

_VALUES = {"Image A": "A", "Image B": "B", "Tie": "tie"}
_OF_ROW = frozenset(("key", "instruction", "input_image", "edited_images"))


def _read(log: Log) -> LogRows:
    place = settings_path(log.path)
    settings = jsons.read(place, jsons.LARGEST_MANIFEST) if place.is_file() else {}
    rows = log.path.parent / str(at(settings, "rows"))
    given = {str(at(row, "key")): row for row in (Log(rows).records() if rows.is_file() else ())}
    lines = list(read_results(log.path))
    types = {name: found.get("type") for line in lines for name, found in line.results.items()}
    if len(set(types.values())) > 1:
        raise log.fault("results", f"must be all of pairs or all of scores, got {types}")
    scored = "single_score" in types.values()
    judged = (_of_line(line, given.get(str(line.key), {}), settings, scored) for line in lines)
    return LogRows([row for rows in judged for row in rows], (0.0, 10.0))


def _of_line(line: RowResult, given: Any, settings: Any, scored: bool) -> Iterator[dict[str, Any]]:
    key, _, order = str(line.key).rpartition("/")
    key, order = (key, order) if key and order in ("AB", "BA") else (str(line.key), "AB")
    sources = _sources(given.get("edited_images") or ())
    more = {name: value for name, value in given.items() if name not in _OF_ROW}
    usage = line.usage if len(line.results) == 1 else {}
    for metric in (*line.results, *line.errors):
        result = line.results.get(metric, {"value": FAILED})
        value, reply = result["value"], at(result, "meta.raw_response")
        known = {
            "item": f"{key}/{metric}",
            "image": given.get("input_image"),
            "task": metric,
            "judge": at((at(settings, "metrics") or {}).get(metric), "client.model"),
            "request": given.get("instruction"),
            "input_tokens": usage.get("prompt_tokens"),
            "output_tokens": usage.get("completion_tokens"),
        }
        if scored:
            score = "" if value == FAILED else value
            known |= {"verdict": score, "model": next(iter(sources), None)}
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
