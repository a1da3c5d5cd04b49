"""From the options of the command to a desk with its pages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from visualjudge.analysis.decisions.labels import read_queue
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.studio.app import application, renderer, static
from visualjudge.studio.people.desk import Desk
from visualjudge.studio.people.pages import PeoplePages
from visualjudge.studio.people.plan import Item, Plan, Settings
from visualjudge.studio.people.tokens import Tokens
from visualjudge.studio.places import DatasetPlace
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.site import Site

LONGEST_NAME = 60


def people_pages(
    site: Site, folder: Path, settings: Settings, raters: Sequence[str], queue: Path | None = None
) -> PeoplePages:
    """The desk of the run at ``folder`` over the one dataset of ``site``, and its pages.

    ``queue`` is a file that ``visualjudge label`` wrote: only its items are asked, in one question each.

    Raises
    ------
    UsageError
        If there is not exactly one dataset, it holds labels only, no question fits, a rater's name cannot be used, or
        the folder holds another run.
    RunError
        If another process writes to the folder.
    """
    if len(site.places.datasets) != 1:
        raise UsageError(f"--people needs exactly one dataset, got {len(site.places.datasets)}")
    for name in raters:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or "/" in name:
            raise UsageError(f"--rater must be 1 to {LONGEST_NAME} printable characters without '/', got {name!r}")
    place = site.places.datasets[0]
    if place.labels_only:
        raise UsageError(f"{place.root}: people cannot be asked: it holds labels only")
    shelf = site.shelf(place.slug)
    drawn = None
    if queue is not None:
        drawn = drawn_rows(shelf, queue)
        settings = replace(settings, items=hashlib.sha256(queue.read_bytes()).hexdigest())
    desk = Desk(folder, plan_of(shelf, settings, drawn), _dataset(place, shelf), list(raters))
    return PeoplePages(desk, shelf.index, Tokens(site.home, folder), renderer())


def drawn_rows(shelf: Shelf, queue: Path) -> dict[int, float]:
    """The question that asks each item of the queue, and the probability of its draw.

    Raises
    ------
    DataError
        If the queue cannot be read, or names what no question of the dataset asks.
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
        raise DataError(f"{queue}: {by}: no question of the dataset asks {missing}")
    return {row: drawn[name] for name, row in found.items()}


def plan_of(shelf: Shelf, settings: Settings, drawn: Mapping[int, float] | None = None) -> Plan:
    """The queue: the questions that the filter leaves, those ``drawn`` or a sample of them, and the known items."""
    columns = shelf.index.columns
    rows = np.sort(shelf.select(State.of(parse_qsl(settings.filter.lstrip("?")))).rows)
    if drawn is not None:
        rows = rows[np.isin(rows, list(drawn))]
    if settings.sample is not None and settings.sample < rows.size:
        places = rng_for(settings.seed, "people", "sample").permutation(rows.size)[: settings.sample]
        rows = rows[np.sort(places)]
    if not rows.size:
        raise UsageError("no question fits --filter")
    kinds = columns.vocabulary["type"]
    items = tuple(
        Item(identity, kinds[columns.one["type"][row]], int(columns.options[row]), (drawn or {}).get(row))
        for identity, row in zip(shelf.index.identities(rows), rows.tolist(), strict=True)
    )
    margin = np.nan_to_num(columns.margin[rows], nan=-1.0)
    widest = np.argsort(-margin, kind="stable")[: settings.known]
    return Plan(settings, items, tuple(items[k].id for k in widest.tolist() if margin[k] > 0))


def people_app(pages: PeoplePages) -> Any:
    """The application for raters: nothing of the dataset's own pages is in it."""
    return application([("/static/{name}", static, "GET"), *pages.routes()])


def _dataset(place: DatasetPlace, shelf: Shelf) -> dict[str, str]:
    return {"path": str(place.root), "checksum": shelf.index.checksum}
