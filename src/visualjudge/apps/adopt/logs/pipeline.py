"""Results of ``visualjudge pipeline`` as verdicts, one a metric and row. Pipelines are
run in ``apps/pipelines``.

Images, instructions and further fields, such as a truth, are read from the file of rows
that ``results.run.json`` names. Rows whose keys end in ``/AB`` and ``/BA`` are one pair
in both orders. Letters are those of the pair: A is the first edit of ``/AB``. Words of
results, such as ``Image A``, name an edit of their own row.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from visualjudge.apps.adopt.criteria import SAID
from visualjudge.apps.adopt.files import at, log_row, records
from visualjudge.apps.pipelines.results import RowResult, read_results
from visualjudge.apps.pipelines.run import settings_path
from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, TURNED

WORDS = {"image a": "A", "image b": "B", "tie": "tie"}
"""Words of results, in lower case and with spaces, for which GEditBench also writes
``image_a``."""
KINDS = ("pairwise_comparison", "single_score")
OF_ROW = frozenset(("key", "instruction", "input_image", "edited_images"))


def rows(path: Path, _: Any) -> list[dict[str, Any]]:
    """Return the verdicts of all metrics."""
    place = settings_path(path)
    settings = jsons.read(place, "manifest") if place.is_file() else {}
    asked = path.parent / str(at(settings, "rows"))
    stated = records(asked) if asked.is_file() else []
    inputs = {
        # a row without a key has its number
        str(k if row.get("key") is None else row["key"]): row
        for k, row in enumerate(stated, 1)
    }
    if any("task" in row for row in stated):
        warnings.warn(
            f"{path}: task: is the metric; that of the rows is in metadata.task "
            "(`columns` task=metadata.task)",
            stacklevel=2,
        )
    results = list(read_results(path))
    types = {
        (metric, str(part.get("type")))
        for line in results
        for metric, part in line.results.items()
    }
    others = {
        metric: kind for metric, kind in sorted(types) if kind not in KINDS
    }
    kinds = {kind for _, kind in types}.intersection(KINDS)
    if others:
        names = ", ".join(
            f"{kind} of {metric}" for metric, kind in others.items()
        )
        message = f"{path}: results: must be winners or scores, got {names}"
        if not kinds:
            raise DataError(message)
        warnings.warn(f"{message}, left out", stacklevel=2)
    if len(kinds) > 1:
        raise DataError(
            f"{path}: results: must be all of pairs or all of scores, got {kinds}"
        )
    scored = "single_score" in kinds
    return [
        row
        for line in results
        for row in _of_line(
            line, inputs.get(str(line.key), {}), settings, scored
        )
        if row["task"] not in others
    ]


def _of_line(
    line: RowResult, asked: Any, settings: Any, scored: bool
) -> Iterator[dict[str, Any]]:
    key, _, order = str(line.key).rpartition("/")
    key, order = (
        (key, order) if key and order in ("AB", "BA") else (str(line.key), "AB")
    )
    sources = _sources(asked.get("edited_images") or ())
    more = {
        name: _letter(value, order) or value
        for name, value in asked.items()
        if name not in OF_ROW
    }
    usage = line.usage if len(line.results) == 1 else {}
    for metric in (*line.results, *line.errors):
        result = line.results.get(metric, {"value": FAILED})
        value = result["value"]
        reply = at(result, "meta.raw_response")
        known = {
            "item": f"{key}/{metric}",
            "image": asked.get("input_image"),
            "task": metric,
            "judge": at(
                (at(settings, "metrics") or {}).get(metric), "client.model"
            ),
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
                next(iter(reply.values()), None)
                if isinstance(reply, dict)
                else reply
            )
        else:
            known["verdict"] = _letter(value, order)
            pair = sources if order == "AB" else sources[::-1]
            known |= {
                "order": order,
                **dict(zip(("model_a", "model_b"), pair, strict=False)),
            }
        known |= _criteria(metric, result, settings, order)
        yield log_row(
            known | {"reply": reply if isinstance(reply, str) else ""}, more
        )


def _criteria(
    metric: str, result: Any, settings: Any, order: str
) -> dict[str, Any]:
    """Return the columns of a result's criteria; of scores those of the first edit."""
    values = result.get("criteria") or {}
    values = values.get("edited_image_0", values)
    stated = (
        at((at(settings, "metrics") or {}).get(metric), "rubric.criteria") or ()
    )
    options = {
        item.get("id") for item in stated if item.get("answer") == "option"
    }
    return {
        SAID + name: TURNED.get(value, value)
        if name in options and order == "BA"
        else value
        for name, value in values.items()
    }


def _letter(value: Any, order: str) -> str:
    """Return which edit of the pair a word of the results means in a row; "" if it is
    none."""
    letter = WORDS.get(str(value).strip().lower().replace("_", " "), "")
    return TURNED.get(letter, letter) if order == "BA" else letter


def _sources(images: Any) -> list[str]:
    """Return the folder of each edit as its source, where two have one name in two
    folders."""
    paths = [PurePosixPath(str(image)) for image in images]
    folders = [path.parent.name for path in paths]
    alike = len({path.name for path in paths}) == 1
    return (
        folders
        if alike and all(folders) and len(set(folders)) == len(folders)
        else []
    )
