"""Results of ``visualjudge pipeline`` as verdicts, one a metric and row.

Images, instructions and further fields, such as a truth, are read from the file of rows that
``results.run.json`` names. Rows whose keys end in ``/AB`` and ``/BA`` are one pair in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from visualjudge.apps.adopt.files import at, log_row, records
from visualjudge.apps.pipelines.results import RowResult, read_results
from visualjudge.apps.pipelines.run import settings_path
from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TURNED

VALUES = {"Image A": "A", "Image B": "B", "Tie": "tie"}
OF_ROW = frozenset(("key", "instruction", "input_image", "edited_images"))


def rows(path: Path, _: Any) -> list[dict[str, Any]]:
    """Return the verdicts of all metrics."""
    place = settings_path(path)
    settings = jsons.read(place, "manifest") if place.is_file() else {}
    asked = path.parent / str(at(settings, "rows"))
    inputs = {
        str(row.get("key")): row for row in (records(asked) if asked.is_file() else ())
    }
    results = list(read_results(path))
    types = {part.get("type") for line in results for part in line.results.values()}
    if others := types - {"single_score", "pairwise_comparison"}:
        raise DataError(
            f"{path}: results: must be winners or scores, got {', '.join(map(str, others))}"
        )
    if len(types) > 1:
        raise DataError(
            f"{path}: results: must be all of pairs or all of scores, got {types}"
        )
    scored = "single_score" in types
    return [
        row
        for line in results
        for row in _of_line(line, inputs.get(str(line.key), {}), settings, scored)
    ]


def _of_line(
    line: RowResult, asked: Any, settings: Any, scored: bool
) -> Iterator[dict[str, Any]]:
    key, _, order = str(line.key).rpartition("/")
    key, order = (
        (key, order) if key and order in ("AB", "BA") else (str(line.key), "AB")
    )
    sources = _sources(asked.get("edited_images") or ())
    # A truth may be in the words of the results.
    more = {
        name: VALUES.get(value, value) if isinstance(value, str) else value
        for name, value in asked.items()
        if name not in OF_ROW
    }
    usage = line.usage if len(line.results) == 1 else {}
    for metric in (*line.results, *line.errors):
        result = line.results.get(metric, {"value": FAILED})
        value, reply = result["value"], at(result, "meta.raw_response")
        known = {
            "item": f"{key}/{metric}",
            "image": asked.get("input_image"),
            "task": metric,
            "judge": at((at(settings, "metrics") or {}).get(metric), "client.model"),
            "request": asked.get("instruction"),
            "input_tokens": usage.get("prompt_tokens"),
            "output_tokens": usage.get("completion_tokens"),
        }
        if scored:
            known |= {
                "verdict": "" if value == FAILED else value,
                "model": next(iter(sources), None),
            }
            reply = (
                next(iter(reply.values()), None) if isinstance(reply, dict) else reply
            )
        else:
            letter = VALUES.get(value, "")
            known["verdict"] = TURNED.get(letter, letter) if order == "BA" else letter
            pair = sources if order == "AB" else sources[::-1]
            known |= {
                "order": order,
                **dict(zip(("model_a", "model_b"), pair, strict=False)),
            }
        yield log_row(known | {"reply": reply if isinstance(reply, str) else ""}, more)


# Return the folder of each edit as its source, where two have one name in two folders.
def _sources(images: Any) -> list[str]:
    paths = [PurePosixPath(str(image)) for image in images]
    folders = [path.parent.name for path in paths]
    alike = len({path.name for path in paths}) == 1
    return (
        folders if alike and all(folders) and len(set(folders)) == len(folders) else []
    )
