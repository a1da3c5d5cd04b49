"""Questions that cannot be answered because an encoding shows two of their options
identically."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from visualjudge.dataset.sampling import Item

COMPARED = ("pairwise", "ranking")
"""Question types that compare options; others are always decidable."""
Counts = dict[str, dict[str, dict[str, int]]]


def counted(items: Sequence[Item], left_out: Collection[int]) -> Counts:
    """Count the omitted questions by task, encoding and type, for encodings that omit
    any."""
    counts: Counts = {}
    for place in sorted(left_out):
        item = items[place]
        cell = counts.setdefault(item.task, {}).setdefault(
            item.stem, dict.fromkeys(COMPARED, 0)
        )
        cell[item.question_type] += 1
    return counts


def unseen_errors(
    items: Sequence[Item],
    left_out: Collection[int],
    error_types: Mapping[tuple[str, str], str | None],
) -> dict[str, dict[str, list[str]]]:
    """Return the error types that an encoding does not show in any sampled pair: task →
    encoding → sorted error types.

    ``error_types`` has the error type of each (task, annotation_id).
    """
    asked: dict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for place, item in enumerate(items):
        error_type = error_types[item.task, item.annotation_ids[0]]
        if item.question_type == "pairwise" and error_type is not None:
            asked[item.task, item.stem, error_type].append(
                place not in left_out
            )
    unseen: dict[str, dict[str, list[str]]] = {}
    for (task, stem, error_type), places in sorted(asked.items()):
        if not any(places):
            unseen.setdefault(task, {}).setdefault(stem, []).append(error_type)
    return unseen
