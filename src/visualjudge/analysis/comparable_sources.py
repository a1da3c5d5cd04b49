"""Which sources may be ranked against each other: those that questions of the same tasks compare.

A source's mean over one task says nothing against another's mean over another task. Tasks that
compare the same sources count together; what is compared in different tasks, or in none with the
other, not even through others, stays apart.
"""

from __future__ import annotations

from collections import defaultdict

import polars as pl

Edge = tuple[str, str, str]


def source_groups(edges: pl.DataFrame) -> dict[tuple[str, str], str]:
    """The name of the group of each (task, source), from what was compared: rows with ``task``,
    ``a`` and ``b``.

    A group is named by its tasks; where these compare several sets of sources that never met, also
    by a number.
    """
    rows: list[Edge] = (
        edges.select(pl.col("task", "a", "b").cast(pl.String))
        .unique()
        .sort("task", "a", "b")
        .rows()
    )
    sources = defaultdict[str, set[str]](set)
    for task, a, b in rows:
        sources[task] |= {a, b}
    together = defaultdict[frozenset[str], list[str]](list)
    for task, names in sources.items():
        together[frozenset(names)].append(task)
    out: dict[tuple[str, str], str] = {}
    for tasks in together.values():
        parts = _connected([edge for edge in rows if edge[0] in tasks])
        for number, part in enumerate(parts, 1):
            name = " + ".join(tasks) + (f" ({number})" if len(parts) > 1 else "")
            out |= {(task, source): name for task in tasks for source in part}
    return out


def placed(edges: pl.DataFrame) -> tuple[list[tuple[str, str]], pl.DataFrame]:
    """The (group, source) that there are, sorted, and the ``place`` of each ``task`` and ``source``
    among them.
    """
    groups = source_groups(edges)
    known = sorted({(group, source) for (_, source), group in groups.items()})
    place = {pair: k for k, pair in enumerate(known)}
    rows = [(task, source, place[group, source]) for (task, source), group in groups.items()]
    return known, pl.DataFrame(
        rows, {"task": pl.String, "source": pl.String, "place": pl.Int64}, orient="row"
    )


def places_of(rows: pl.DataFrame, places: pl.DataFrame, source: str = "source") -> pl.Series:
    """The place of each row's ``task`` and ``source``; null where it has none."""
    each = rows.select(
        pl.col("task").cast(pl.String), pl.col(source).cast(pl.String).alias("source")
    )
    return each.join(places, on=["task", "source"], how="left", maintain_order="left")["place"]


def _connected(edges: list[Edge]) -> list[list[str]]:
    """The sources that met, directly or through others; sorted."""
    parts = {name: {name} for _, *pair in edges for name in pair}
    for _, a, b in edges:
        if parts[a] is not parts[b]:
            less, more = sorted((parts[a], parts[b]), key=len)
            more |= less
            parts |= dict.fromkeys(less, more)
    return sorted(sorted(part) for part in {id(part): part for part in parts.values()}.values())
