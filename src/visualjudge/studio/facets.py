"""Facets: criteria for choosing questions. Each is an SQL expression whose codes stand
for one or several values, so that filters and counts are plain SQL.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.studio.study import FACETS, MARGIN_NAMES, Study
from visualjudge.studio.verdicts import (
    CONSISTENCY,
    NO_WRONG,
    OUTCOMES,
    REASONS,
    RunVerdicts,
)
from visualjudge.studio.working_sets import Marked
from visualjudge.vision.encodings import encoding_title

TITLES = {
    "task": "Task",
    "form": "Shown as",
    "encoding": "Encoding",
    "type": "Question type",
    "subset": "Subset",
    "error_type": "Error type",
    "class": "Class",
    "image": "Image",
    "source": "Source",
    "probe": "Probe",
    "group": "Probe group",
    "star": "Star",
    "tag": "Tag",
    "note": "Note",
    "margin": "Margin",
    "answer": "Answer",
}
# Facets of a run; its slug follows a dot.
OF_RUNS = ("outcome", "order", "reason", "wrong_difference")
WRONG_DIFFERENCE = "Largest wrong difference"
UNTAGGED = "(no tag)"
MOST_VALUES = 12
Pair = tuple[str, str]
Values = Sequence[tuple[str, ...]]
_KINDS = {"pixel": "drawn", "combo": "drawn and text", "text": "text"}


@dataclass(frozen=True, eq=False, slots=True)
class Facet:
    """A criterion: ``name`` is used in addresses, ``title`` on the page; ``values`` has
    the values of each code of the SQL expression ``column``.

    Attributes
    ----------
    group
        The run it belongs to; empty for a facet of the questions themselves.
    """

    name: str
    title: str
    column: str
    values: Values
    group: str = ""

    def label(self, value: str) -> str:
        """Return the label of a value."""
        return _LABELS.get(self.name.partition(".")[0], str)(value)

    def condition(self, chosen: Iterable[str]) -> str:
        """Return the SQL condition that a question has any of these values."""
        wanted = set(chosen)
        codes = (
            str(code)
            for code, some in enumerate(self.values)
            if not wanted.isdisjoint(some)
        )
        return f"{self.column} IN ({', '.join(codes)})"

    def by_value(self, codes: Mapping[int, int]) -> Counter[str]:
        """Return the number of questions with each value, given that of each code."""
        totals = Counter[str]()
        for code in sorted(codes):
            for value in self.values[code]:
                totals[value] += codes[code]
        return totals


def encoding_label(value: str) -> str:
    """Return the human name of ``task/stem``."""
    return encoding_title(*value.split("/", 1))


def spaced(value: str) -> str:
    """Return a name without underscores."""
    return value.replace("_", " ")


_LABELS: dict[str, Callable[[str], str]] = {
    "encoding": encoding_label,
    "task": spaced,
    "form": _KINDS.__getitem__,
    "probe": spaced,
    "error_type": spaced,
}


def question_facets(study: Study) -> list[Facet]:
    """Return the facets of the questions themselves."""
    return [
        Facet(name, TITLES[name], f"q.of_{name}", study.values[name])
        for name in FACETS
    ]


def mark_facets(study: Study, marks: Mapping[str, Marked]) -> list[Facet]:
    """Write the notes on the questions to the study's file and return their facets."""
    tags: dict[tuple[str, ...], int] = {(UNTAGGED,): 0}
    rows = [
        (
            row,
            mark.star,
            tags.setdefault(mark.tags or (UNTAGGED,), len(tags)),
            bool(mark.note),
        )
        for row, mark in zip(study.rows_of(marks), marks.values(), strict=True)
        if row >= 0
    ]
    with study.writing() as db:
        db.execute("DELETE FROM mark")
        db.executemany("INSERT INTO mark VALUES (?, ?, ?, ?)", rows)
    star = [("not starred",), ("starred",)]
    note = [("without a note",), ("with a note",)]
    return [
        Facet("star", TITLES["star"], "ifnull(m.star, 0)", star),
        Facet("tag", TITLES["tag"], "ifnull(m.tag, 0)", list(tags)),
        Facet("note", TITLES["note"], "ifnull(m.note, 0)", note),
    ]


def run_facets(slug: str, name: str, run: RunVerdicts) -> list[Facet]:
    """Return the facets of one run."""
    at = f"o{run.number}"
    wrong = [*((name,) for name in MARGIN_NAMES[:NO_WRONG]), ()]
    reasons = [
        tuple(name for bit, name in enumerate(REASONS) if code >> bit & 1)
        for code in range(2 ** len(REASONS))
    ]
    rows = (
        (
            "outcome",
            "Outcome",
            "outcome",
            0,
            [(outcome,) for outcome in OUTCOMES],
        ),
        (
            "order",
            "Both orders",
            "consistency",
            0,
            [(name,) for name in CONSISTENCY],
        ),
        ("reason", "Right, and why", "reasons", 0, reasons),
        ("wrong_difference", WRONG_DIFFERENCE, "of_wrong", NO_WRONG, wrong),
    )
    return [
        Facet(
            f"{kind}.{slug}",
            title,
            f"ifnull({at}.{column}, {none})",
            values,
            name,
        )
        for kind, title, column, none, values in rows
    ]


def shown_facet(
    facet: Facet,
    counts: Counter[str],
    chosen: Sequence[str],
    find: str = "",
    most: int = MOST_VALUES,
) -> dict[str, object]:
    """Return the facet as the page's script reads it: the values that occur, most
    frequent first; chosen values are always included. ``hint`` is shown beside a value,
    such as an encoding's task, and ``more`` is the number of values left out.
    """
    needle = find.casefold().strip()
    matching = [
        value
        for value in dict.fromkeys((*counts, *chosen))
        if not needle
        or needle in facet.label(value).casefold()
        or needle in value.casefold()
    ]
    matching.sort(key=lambda value: -counts[value])
    first = matching[:most] + [
        value for value in matching[most:] if value in chosen
    ]
    values = [
        {
            "value": value,
            "label": facet.label(value),
            "hint": spaced(value.partition("/")[0])
            if facet.name == "encoding"
            else "",
            "count": counts[value],
            "chosen": value in chosen,
        }
        for value in first
    ]
    return {
        "name": facet.name,
        "title": facet.title,
        "group": facet.group,
        "values": values,
        "more": len(matching) - len(first),
        "chosen": list(chosen),
    }


def named_pairs(facets: Sequence[Facet], pairs: Sequence[Pair]) -> list[str]:
    """Return the filters of a query as readable text."""
    known = {facet.name: facet for facet in facets}
    named = []
    for name, value in pairs:
        if name == "q":
            named.append(f"Words: {value}")
        elif name in known:
            facet = known[name]
            group = f"{facet.group}, " if facet.group else ""
            named.append(f"{group}{facet.title}: {facet.label(value)}")
    return named
