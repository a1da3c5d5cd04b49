"""JSON in a reply: plain, in a code fence, in prose, or repaired if slightly malformed. Nothing is
guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import json_repair

Object = dict[str, Any]
# Maximum number of objects to consider.
_OPENS = re.compile(r"\{\s*(?:[\"'}]|\w+\s*:)")
_DECODER = json.JSONDecoder(strict=False)  # a line feed inside a string is a minor error
MOST_OBJECTS, LONGEST_REPAIR = 24, 20_000

_COMMON = "final_answer final answer verdict winner choice decision result selection prediction"
ANSWER_KEYS = {
    "pairwise": f"{_COMMON} better better_option best best_option preferred preference selected "
    "selected_option option pick vote better_response better_prediction response conclusion "
    "judgment judgement preferred_option",
    "ranking": f"final_ranking ranking ranked_options rankings rank order {_COMMON} response "
    "judgment judgement",
    "scoring": "final_score overall_score total_score score final_rating overall_rating rating "
    f"quality_score overall grade {_COMMON} quality",
    "choice": f"{_COMMON} option selected selected_option correct correct_answer correct_option",
}
_RANK_KEYS = {"rank": 1, "position": 1, "place": 1, "score": -1, "rating": -1}
_OPTION_KEYS = [
    "option",
    "prediction",
    "image",
    "candidate",
    "letter",
    "label",
    "id",
    "name",
    "model",
    "response",
]
# Keys of a score's scale, or of its maximum.
_SCALE = re.compile(r"^(?:of|total_points|best_possible|highest)$|max|scale|range|out_of")


def repaired(block: str, key: str | None = None) -> Object | None:
    """Return an object of slightly malformed JSON, unless its last value may be cut."""
    if len(block) > LONGEST_REPAIR or block.rstrip()[-1:] not in "\"'”’]}":
        return None
    try:
        value = json_repair.loads(block)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and (key is None or key in value) else None


def objects(text: str) -> Iterator[tuple[int, int, Object]]:
    """Yield the outermost objects in order, each with its start and end. One that is malformed is
    repaired up to the last brace, and ends the search.
    """
    end = 0
    for opening in islice(_OPENS.finditer(text), MOST_OBJECTS):
        if opening.start() < end:
            continue
        try:
            value, end = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            closed = text.rfind("}", opening.start()) + 1
            value, end = repaired(text[opening.start() : closed or len(text)]), len(text)
        if isinstance(value, dict):
            yield opening.start(), end, value


def answers(text: str, question_type: str) -> list[tuple[str, int, int]]:
    """Return the answers that JSON objects give under an answer key, with their positions."""
    if "{" not in text:
        return []
    names = ANSWER_KEYS[question_type].split()
    items = list(objects(text))
    order = _by_rank([value for *_, value in items]) if question_type == "ranking" else None
    if order is not None and len(items) > 1:
        return [(order, items[0][0], items[-1][1])]
    found = ((_answer_in(value, names), start, end) for start, end, value in items)
    return [(answer, start, end) for answer, start, end in found if answer is not None]


# Read ``[{"option": "A", "rank": 2}, …]`` as "B, A, …"; with scores instead of ranks, from the
# highest.
def _by_rank(items: list[Object]) -> str | None:
    ranked = {}
    for item in items:
        keys = {str(key).lower(): value for key, value in item.items()}
        rank = next((name for name in _RANK_KEYS if isinstance(keys.get(name), int | float)), "")
        option = next((keys[name] for name in _OPTION_KEYS if name in keys), None)
        if not rank or not isinstance(option, str):
            return None
        ranked[keys[rank] * _RANK_KEYS[rank]] = option
    return ", ".join(ranked[rank] for rank in sorted(ranked)) if len(ranked) == len(items) else None


# Return the answer under the first of the keys, in the words that the reader expects.
def _answer_in(value: Object, names: list[str]) -> str | None:
    keys = {re.sub(r"[ -]", "_", str(key).strip().lower()): key for key in value}
    tops = [re.findall(r"\d+", str(value[keys[name]])) for name in keys if _SCALE.search(name)]
    greatest = next((f"/{top[-1]}" for top in tops if top and "score" in names), "")
    for name in names:
        if name in keys:
            return _phrase(value[keys[name]], names) + greatest
    if "ranking" in names and value and all(str(item) in "ABCDE" for item in value.values()):
        return ", ".join(f"{key}: {item}" for key, item in value.items())
    inner = [item for item in value.values() if isinstance(item, dict)]
    return _answer_in(inner[0], names) if len(value) == len(inner) == 1 else None


def _phrase(value: Any, names: list[str]) -> str:
    if isinstance(value, dict):
        places = sorted(map(str, value.values())) == [str(n) for n in range(1, len(value) + 1)]
        if "ranking" in names and places:
            return ", ".join(sorted(value, key=lambda option: int(value[option])))
        return _answer_in(value, [*names, "value"]) or "?"
    if isinstance(value, list):
        dicts = [item for item in value if isinstance(item, dict)]
        if dicts and len(dicts) == len(value) > 1:
            return _by_rank(dicts) or "?"
        return ", ".join("?" if isinstance(item, list) else _phrase(item, names) for item in value)
    return "?" if value is None or isinstance(value, bool) else str(value)
