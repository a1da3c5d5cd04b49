"""JSON in a reply: plain, in a code fence, in prose, or repaired if slightly malformed.
Nothing is guessed. Files of JSON are read in ``core/jsons.py``.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import json_repair

Object = dict[str, Any]
# Maximum number of objects to consider.
_OPENS = re.compile(r"\{\s*(?:[\"'}]|\w+\s*:)")
DECODER = json.JSONDecoder(
    strict=False
)  # a line feed inside a string is a minor error
MOST_OBJECTS = 24
LONGEST_REPAIR = 20_000

_COMMON = (
    "final answer verdict winner choice decision result selection prediction"
)
_NAMES = {
    "pairwise": f"{_COMMON} better better_option best best_option preferred preference "
    "selected "
    "selected_option option pick vote better_response better_prediction response "
    "conclusion "
    "judgment judgement preferred_option",
    "ranking": f"ranking ranked_options rankings rank order {_COMMON} "
    "response "
    "judgment judgement",
    "scoring": "overall_score total_score score overall_rating rating "
    f"quality_score overall grade {_COMMON} quality",
    "choice": f"{_COMMON} option selected selected_option correct correct_answer "
    "correct_option",
}
ANSWER_KEYS = {
    kind: [prefix + name for prefix in ("final_", "") for name in names.split()]
    for kind, names in _NAMES.items()
}
"""Keys of an answer for each kind of question, the first that an object has counts."""
# Keys of a score's scale, or of its maximum.
_SCALE = re.compile(
    r"^(?:of|total_points|best_possible|highest)$|max|scale|range|out_of"
)


def repaired(block: str, *, whole: bool = True) -> Object | None:
    """Return an object of slightly malformed JSON; if its last value may be cut, only
    if it need not be whole."""
    if len(block) > LONGEST_REPAIR or (
        whole and block.rstrip()[-1:] not in "\"'”’]}"
    ):
        return None
    try:
        value = json_repair.loads(block)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def objects(text: str) -> Iterator[tuple[int, int, Object]]:
    """Yield the outermost objects in order, each with its start and end. A malformed
    one is repaired."""
    end = 0
    for opening in islice(_OPENS.finditer(text), MOST_OBJECTS):
        start = opening.start()
        if start < end:
            continue
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = text.find("}", start) + 1 or len(text)
            value = repaired(text[start:end])
        if isinstance(value, dict):
            yield start, end, value


def answers(text: str, question_type: str) -> list[tuple[str, int, int]]:
    """Return the answers that JSON objects give under an answer key, with their
    positions."""
    return [
        (answer, start, end)
        for start, end, value in objects(text)
        if (answer := _answer_in(value, ANSWER_KEYS[question_type])) is not None
    ]


def _answer_in(value: Object, names: list[str]) -> str | None:
    """Return the answer under the first of the keys, in the words that the reader
    expects."""
    keys = {
        re.sub(r"[ -]", "_", str(key).strip().lower()): key for key in value
    }
    tops = [
        re.findall(r"\d+", str(value[keys[name]]))
        for name in keys
        if _SCALE.search(name)
    ]
    greatest = next(
        (f"/{top[-1]}" for top in tops if top and "score" in names), ""
    )
    for name in names:
        if name in keys:
            return _phrase(value[keys[name]], names) + greatest
    if (
        "ranking" in names
        and value
        and all(str(item) in "ABCDE" for item in value.values())
    ):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    return None


def _phrase(value: Any, names: list[str]) -> str:
    if isinstance(value, dict):
        return _answer_in(value, [*names, "value"]) or "?"
    if isinstance(value, list):
        return ", ".join(
            "?" if isinstance(item, list | dict) else _phrase(item, names)
            for item in value
        )
    return "?" if value is None or isinstance(value, bool) else str(value)
