"""Groups of sources that may be ranked against each other. Whether two of a group
differ is tested in ``separation.py``.

Only sources that are compared in the same tasks are, because a source's mean over one
task cannot be compared with another source's mean over another task. Tasks that compare
the same sources are pooled. Sources that are compared in different tasks, or that are
not connected by comparisons even through others, are in separate groups.
"""

from collections import defaultdict

import polars as pl

Edge = tuple[str, str, str]


def source_groups(edges: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return the name of the group of each (task, source), from comparisons given as
    rows with ``task``, ``a`` and ``b``.

    A group is named after its tasks. A number is added if those tasks compare several
    sets of sources that never met.
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
        parts = _connected(
            [edge for edge in rows if edge[0] in tasks],
        )
        for number, part in enumerate(parts, 1):
            name = " + ".join(tasks) + (
                f" ({number})" if len(parts) > 1 else ""
            )
            out |= {(task, source): name for task in tasks for source in part}
    return out


def placed(
    edges: pl.DataFrame,
) -> tuple[list[tuple[str, str]], pl.DataFrame]:
    """Return all (group, source), sorted, and a table with the index (``place``) of
    each ``task`` and ``source`` in that list.
    """
    groups = source_groups(edges)
    known = sorted({(group, source) for (_, source), group in groups.items()})
    place = {pair: k for k, pair in enumerate(known)}
    rows = [
        (
            task,
            source,
            place[group, source],
        )
        for (task, source), group in groups.items()
    ]
    return known, pl.DataFrame(
        rows,
        {
            "task": pl.String,
            "source": pl.String,
            "place": pl.Int64,
        },
        orient="row",
    )


def places_of(
    rows: pl.DataFrame,
    places: pl.DataFrame,
    source: str = "source",
) -> pl.Series:
    """Return the place of each row's ``task`` and ``source``; null if it has none."""
    each = rows.select(
        pl.col("task").cast(pl.String),
        pl.col(source).cast(pl.String).alias("source"),
    )
    return each.join(
        places,
        on=["task", "source"],
        how="left",
        maintain_order="left",
    )["place"]


def _connected(edges: list[Edge]) -> list[list[str]]:
    """Return sets of sources that met directly or through others, sorted."""
    parts = list[set[str]]()
    for _, a, b in edges:
        met = [part for part in parts if a in part or b in part]
        apart = [part for part in parts if part not in met]
        parts = [*apart, {a, b}.union(*met)]
    return sorted(map(sorted, parts))
