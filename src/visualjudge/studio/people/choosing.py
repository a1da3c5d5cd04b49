"""Chooses the questions of a study, from a filter, a queue or a file of ids, and its known
items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from visualjudge.analysis.decisions.label_files import read_queue
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.question_filter import read_ids
from visualjudge.studio.index import Columns
from visualjudge.studio.people.plan import Item, Plan, Settings
from visualjudge.studio.selection import Shelf, State
from visualjudge.vision.encodings import encodings

# Parameters of the grid's address other than filters.
_OF_PAGES = frozenset({"sort", "at", "a", "b"})


def named_rows(shelf: Shelf, path: Path) -> list[int]:
    """Return the rows of the ids in a file.

    Raises
    ------
    UsageError
        If the file cannot be read, or an id is not in the dataset.
    """
    names = read_ids(path)
    rows = shelf.index.rows_of(names)
    missing = next((name for name, row in zip(names, rows, strict=True) if row < 0), None)
    if missing is not None:
        raise UsageError(f"--questions: question {missing!r} is not in the dataset")
    return rows


def drawn_rows(shelf: Shelf, queue: Path) -> dict[int, float]:
    """Return the question for each item of the queue, with its probability of selection.

    Raises
    ------
    DataError
        If the queue cannot be read, or has an item that no question of the dataset asks.
    """
    by, drawn = read_queue(queue)
    index = shelf.index
    if by == "question_id":
        found = dict(zip(drawn, index.rows_of(drawn), strict=True))
    else:
        scored = shelf.select(State((("type", ("scoring",)),))).rows.tolist()
        found = dict.fromkeys(drawn, -1)
        for row in scored:
            question = index.question(row)
            annotation = question.annotation_ids[0]
            for name in (annotation, f"{question.task}/{annotation}"):
                if found.get(name) == -1:
                    found[name] = row
    missing = next((name for name, row in found.items() if row < 0), None)
    if missing is not None:
        raise DataError(f"{queue}: {by}: no question of the dataset asks about {missing}")
    return {row: drawn[name] for name, row in found.items()}


def plan_of(
    shelf: Shelf,
    settings: Settings,
    drawn: Mapping[int, float] | None = None,
    named: Sequence[int] | None = None,
    known: Sequence[int] | None = None,
) -> Plan:
    """Return the plan: the questions from the filter, the queue (``drawn``), the ids (``named``) or
    a sample, and the known questions.

    ``known`` gives the rows of the known questions, instead of the easiest; they need not be among
    the others.
    """
    columns = shelf.index.columns
    rows = np.sort(shelf.select(_state_of(shelf, settings.filter)).rows)
    textual, fit = _textual(columns), rows.size
    if settings.encoding in ("drawn", "text"):
        rows = rows[textual[rows] == (settings.encoding == "text")]
        if fit and not rows.size:
            raise UsageError(
                f"--encoding {settings.encoding}: no matching question is shown this way; "
                "choose another (drawn, text or all)"
            )
    left_out = fit - rows.size
    if drawn is not None:
        rows = rows[np.isin(rows, list(drawn))]
    if named is not None:
        rows = rows[np.isin(rows, named)]
    if settings.sample is not None and settings.sample < rows.size:
        places = rng_for(settings.seed, "people", "sample").permutation(rows.size)[
            : settings.sample
        ]
        rows = rows[np.sort(places)]
    if not rows.size:
        raise UsageError("no question matches --filter")
    chosen = np.array(known or (), rows.dtype)
    rows = np.union1d(rows, chosen)
    kinds = columns.vocabulary["type"]
    items = tuple(
        Item(
            identity,
            kinds[columns.single["type"][row]],
            int(columns.options[row]),
            (drawn or {}).get(row),
        )
        for identity, row in zip(shelf.index.identities(rows), rows.tolist(), strict=True)
    )
    easy = [items[k].id for k in _easiest(columns, rows).tolist()]
    checks = shelf.index.identities(chosen) if known is not None else easy[: settings.known]
    practice = [name for name in easy if name not in checks][: settings.practice]
    return Plan(settings, items, tuple(checks), tuple(practice), int(textual[rows].sum()), left_out)


def _textual(columns: Columns) -> NDArray[np.bool_]:
    """Return which questions show predictions only as text."""
    kinds = {row.stem: row.kind for row in encodings()}
    stems = [name.rpartition("/")[2] for name in columns.vocabulary.get("encoding", ())]
    text = np.array([kinds.get(stem) == "text" for stem in stems], dtype=bool)
    return np.asarray(text[columns.single["encoding"]])


def _state_of(shelf: Shelf, query: str) -> State:
    """Parse the state given by ``--filter``.

    Raises
    ------
    UsageError
        If it names a facet that this study does not have, since ignoring a filter would change the
        questions.
    """
    pairs = parse_qsl(query.lstrip("?"), keep_blank_values=True)
    names = {facet.name for facet in shelf.facets()} | {"q", *_OF_PAGES}
    for name, _ in pairs:
        if name not in names:
            raise UsageError(
                f"--filter must name {', '.join(sorted(names - _OF_PAGES))}; got {name!r}"
            )
    return State.from_query(pairs)


def _easiest(columns: Columns, rows: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return the positions in ``rows`` of questions that any attentive rater answers correctly,
    easiest first.

    Pairs with a positive margin whose options are drawn, widest margin first; then those whose
    options are text. Rankings and scores have no obvious answer.
    """
    margin = np.nan_to_num(columns.margin[rows], nan=-1.0)
    pair = (
        columns.vocabulary["type"].index("pairwise")
        if "pairwise" in columns.vocabulary["type"]
        else -1
    )
    text = _textual(columns)[rows]
    fit = (columns.single["type"][rows] == pair) & (columns.changed[rows] == 0) & (margin > 0)
    order: NDArray[np.intp] = np.lexsort((-margin, text))
    easy: NDArray[np.intp] = order[fit[order]]
    return easy
