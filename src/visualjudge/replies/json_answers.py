"""JSON in a reply: plain, in a code fence, in prose, or repaired if slightly malformed. Nothing is
guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import json_repair

from visualjudge.replies.stripped_text import without_thoughts

Object = dict[str, Any]
MOST_MARKS = 24
"""Maximum number of marks to consider: the last ones of a reply."""

_FENCE = re.compile(r"```[A-Za-z0-9_+-]*(.*?)(?:```|\Z)", re.DOTALL)
_KEY_FOLLOWS = re.compile(r"\{\s*(?:[\"'}]|\w+\s*:)")
_STRUCTURE = re.compile(r'[{}"]|\\.', re.DOTALL)
_COMPLETE_ENDS = "\"'”’]}"
_DECODER = json.JSONDecoder(strict=False)  # a line feed inside a string is a minor error
_DEEPEST, _LONGEST_REPAIR = 40, 20_000

_COMMON = "final_answer final answer verdict winner choice decision result selection prediction"
ANSWER_KEYS = {
    "pairwise": f"{_COMMON} better better_option best best_option preferred preference selected "
    "selected_option option "
    "pick vote better_response better_prediction response conclusion judgment judgement "
    "preferred_option",
    "ranking": f"final_ranking ranking ranked_options rankings rank order {_COMMON} response",
    "scoring": "final_score overall_score total_score score final_rating overall_rating rating "
    "quality_score overall "
    f"grade {_COMMON} quality",
}


def object_with(text: str, key: str) -> Object | None:
    """Return the one object of ``text`` that has ``key`` at its top level, or None.

    Thoughts are ignored; code fences have precedence over prose; a list with a single object counts
    as that object. Different values of the key in different objects give None.
    """
    said = without_thoughts(text).strip()
    try:
        whole = _DECODER.decode(said)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, list) and len(whole) == 1:
            whole = whole[0]
        return whole if isinstance(whole, dict) and key in whole else None
    fenced = _FENCE.findall(said) if "```" in said else []
    for regions in (fenced, [said]):
        found = [value for region in regions for _, _, value in objects(region) if key in value]
        if found:
            return found[-1] if all(other[key] == found[-1][key] for other in found) else None
    return None


def object_as_geditbench(text: str, key: str) -> Object | None:
    """Return the object that GEditBench's judges read, for figures comparable with theirs.

    This is the repaired JSON block (a fence, or from the first brace to the last), or without a
    block, the whole text repaired. Thoughts count as text. Unlike there, a value truncated by the
    end of the reply remains unread.
    """
    fence = _FENCED_JSON.search(text)
    braces = text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""
    block = fence[1] if fence else braces or text
    if len(block) > _LONGEST_REPAIR or not (block.rstrip().endswith("}") or _could_be_whole(block)):
        return None
    try:
        found = json_repair.loads(block)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and key in found else None


_FENCED_JSON = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
OBJECT_RULES = {"strict": object_with, "geditbench": object_as_geditbench}


def objects(text: str, most: int | None = None) -> Iterator[tuple[int, int, Object]]:
    """Yield the last ``most`` outermost objects in order, each with its start and end."""
    for start, end in list(_regions(text))[-most if most else None :]:
        chunk = text[start : len(text) if end is None else end]
        value = _decoded(chunk) if end is not None else None
        if (
            value is None
            and (end is not None or _could_be_whole(chunk))
            and len(chunk) <= _LONGEST_REPAIR
        ):
            value = (
                json_repair.loads(chunk) if end is not None or _KEY_FOLLOWS.match(chunk) else None
            )
        if isinstance(value, dict):
            yield start, start + len(chunk), value


def _regions(text: str) -> Iterator[tuple[int, int | None]]:
    """Yield the regions of balanced braces, and of an open brace that is never closed (None).
    Braces in double quotes are ignored.
    """
    depth, start, quoted = 0, 0, False
    for mark in _STRUCTURE.finditer(text):
        sign = mark[0]
        if sign == '"':
            quoted = not quoted and depth > 0
        elif not quoted and sign == "{":
            if not depth:
                start = mark.start()
            depth += 1
            if depth > _DEEPEST:
                return
        elif not quoted and sign == "}" and depth:
            depth -= 1
            if not depth:
                yield start, mark.end()
    if depth:
        yield start, None


def _could_be_whole(chunk: str) -> bool:
    """Return whether a truncated object ends with a complete value: a number at its end may be
    incomplete.
    """
    return chunk.rstrip()[-1:] in _COMPLETE_ENDS


def _decoded(chunk: str) -> Any:
    try:
        return _DECODER.decode(chunk)
    except (ValueError, RecursionError):
        return None


def answers(text: str, question_type: str) -> list[tuple[str, int, int]]:
    """Return the answers that JSON objects give under an answer key, with their positions."""
    if "{" not in text:
        return []
    names = ANSWER_KEYS[question_type].split()
    items = list(objects(text, MOST_MARKS))
    if (
        question_type == "ranking"
        and len(items) > 1
        and (order := _by_rank([value for *_, value in items]))
    ):
        return [(order, items[0][0], items[-1][1])]
    found = ((start, end, _answer_in(value, names)) for start, end, value in items)
    return [(answer, start, end) for start, end, answer in found if answer is not None]


def _by_rank(items: list[Object]) -> str | None:
    """Read ``[{"option": "A", "rank": 2}, …]`` as "B, A, …"; with scores instead of ranks, from the
    highest.
    """
    ranked = []
    for item in items:
        keys = {str(key).lower(): value for key, value in item.items()}
        rank = next(
            (keys[name] * sign for name, sign in _RANK_KEYS.items() if _is_number(keys.get(name))),
            None,
        )
        option = next((keys[name] for name in _OPTION_KEYS if name in keys), None)
        if rank is None or not isinstance(option, str):
            return None
        ranked.append((rank, option))
    return (
        ", ".join(option for _, option in sorted(ranked))
        if len(dict(ranked)) == len(ranked)
        else None
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_RANK_KEYS = {"rank": 1, "position": 1, "place": 1, "score": -1, "rating": -1}
_OPTION_KEYS = (
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
)


_SCALE = re.compile(r"^(?:of|total_points|best_possible|highest)$|max|scale|range|out_of")
"""Keys of a score's scale, or of its maximum."""
_UPWARD = re.compile(
    r"^\W*(?:from[_ ])?(?:worst|lowest)[_ -]?(?:to[_ -]?(?:best|highest)|first)|^\W*ascending", re.I
)


def _answer_in(value: Object, names: list[str]) -> str | None:
    if "ranking" in names and any(
        isinstance(item, str) and _UPWARD.search(item) for item in value.values()
    ):
        return "?"  # the direction of the letters is unknown
    keys = {str(key).strip().lower().replace(" ", "_").replace("-", "_"): key for key in value}
    greatest = next(
        (
            top[-1]
            for name in keys
            if _SCALE.search(name) and (top := re.findall(r"\d+", str(value[keys[name]])))
        ),
        None,
    )
    for name in names:
        if name in keys:
            said = _phrase(value[keys[name]], names)
            return said if greatest is None or "score" not in names else f"{said}/{greatest}"
    lists = [
        item
        for item in value.values()
        if isinstance(item, list) and item and isinstance(item[0], dict)
    ]
    if "ranking" in names and len(lists) == 1 and all(isinstance(item, dict) for item in lists[0]):
        return _by_rank(lists[0])
    inner = [item for item in value.values() if isinstance(item, dict)]
    return _answer_in(inner[0], names) if len(value) == len(inner) == 1 else None


def _phrase(value: Any, names: list[str]) -> str:
    """Return a JSON value in the words that the reader expects."""
    if isinstance(value, dict):
        if "ranking" in names and sorted(map(str, value.values())) == [
            str(n) for n in range(1, len(value) + 1)
        ]:
            return ", ".join(sorted(value, key=lambda option: int(value[option])))
        inner = ", ".join(f"{key}: {item}" for key, item in value.items())
        return _answer_in(value, [*names, "value"]) or (inner if "ranking" in names else "?")
    if isinstance(value, list):
        if len(value) > 1 and all(isinstance(item, dict) for item in value):
            return _by_rank(value) or "?"
        return ", ".join("?" if isinstance(item, list) else _phrase(item, names) for item in value)
    return "?" if value is None or isinstance(value, bool) else str(value)
