"""The filters of questions, with the names that pages show. What they select is in
``selection.py``.

A facet is an SQL expression whose codes stand for one or several values, so that filters
and counts are plain SQL.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.core.records import UNCHANGED
from visualjudge.studio.dataset_index import (
    CONSISTENCY,
    FACETS,
    MARGIN_NAMES,
    OUTCOMES,
    REASONS,
    SIZE_NAMES,
    RunVerdicts,
    Study,
)
from visualjudge.studio.stars_and_notes import Marked
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
    "source": "Model",
    "probe": "Probe",
    "star": "Star",
    "tag": "Tag",
    "note": "Note",
    "margin": "Difference in true score, of 10",
    "answer": "Answer",
    "size": "Size of the costliest error",
}
# Facets of a run; its slug follows a dot.
OF_RUNS = ("outcome", "order", "reason")
UNTAGGED = "(no tag)"
MOST_VALUES = 12
Pair = tuple[str, str]
Values = Sequence[tuple[str, ...]]
_KINDS = {"pixel": "drawn", "combo": "drawn and text", "text": "text"}
_PROBES = {UNCHANGED: "unchanged", "other": "another photograph"}


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

    def ranked(self, counts: Mapping[str, int]) -> list[str]:
        """Return the values in their own order, or the most frequent first."""
        names = _ORDERS.get(self.name, ())
        places = {name: place for place, name in enumerate(names)}
        return sorted(
            counts,
            key=lambda value: (places.get(value, len(names)), -counts[value]),
        )

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
    """Return the human name of ``task/stem`` with its task, as those of different tasks
    share names; an address may lack the task."""
    task, _, stem = value.rpartition("/")
    title = encoding_title(task, stem)
    return f"{title} ({spaced(task)})" if task else title


def spaced(value: str) -> str:
    """Return a name without underscores."""
    return value.replace("_", " ")


_ORDERS = {"margin": MARGIN_NAMES, "size": SIZE_NAMES}
_LABELS: dict[str, Callable[[str], str]] = {
    "encoding": encoding_label,
    "task": spaced,
    "form": lambda value: _KINDS.get(value, value),
    "probe": lambda value: _PROBES.get(value, spaced(value)),
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
    reasons = [
        tuple(name for bit, name in enumerate(REASONS) if code >> bit & 1)
        for code in range(2 ** len(REASONS))
    ]
    rows = (
        ("outcome", "Outcome", "outcome", [(name,) for name in OUTCOMES]),
        (
            "order",
            "Both orders",
            "consistency",
            [(name,) for name in CONSISTENCY],
        ),
        ("reason", "Answer and reason", "reasons", reasons),
    )
    return [
        Facet(
            f"{kind}.{slug}",
            title,
            f"ifnull({at}.{column}, 0)",
            values,
            name,
        )
        for kind, title, column, values in rows
    ]


def shown_facet(
    facet: Facet,
    counts: Counter[str],
    chosen: Sequence[str],
    find: str,
    most: int,
) -> dict[str, object]:
    """Return the facet as the page's script reads it: the values that occur, and those
    that are chosen; ``more`` is the number of values left out.
    """
    needle = find.casefold().strip()
    matching = [
        value
        for value in facet.ranked({**counts, **{v: counts[v] for v in chosen}})
        if not needle
        or needle in facet.label(value).casefold()
        or needle in value.casefold()
    ]
    first = matching[:most] + [
        value for value in matching[most:] if value in chosen
    ]
    values = [
        {
            "value": value,
            "label": facet.label(value),
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
