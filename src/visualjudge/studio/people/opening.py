"""From the options of the command to a desk with its pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from visualjudge.errors import UsageError
from visualjudge.seeding import rng_for
from visualjudge.studio.app import application, renderer, static
from visualjudge.studio.people.desk import Desk
from visualjudge.studio.people.pages import PeoplePages
from visualjudge.studio.people.plan import Item, Plan, Settings
from visualjudge.studio.people.tokens import Tokens
from visualjudge.studio.places import DatasetPlace
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.site import Site

LONGEST_NAME = 60


def people_pages(site: Site, folder: Path, settings: Settings, raters: Sequence[str]) -> PeoplePages:
    """The desk of the run at ``folder`` over the one dataset of ``site``, and its pages.

    Raises
    ------
    UsageError
        If there is not exactly one dataset, no question fits, a rater's name cannot be used, or the folder holds
        another run.
    RunError
        If another process writes to the folder.
    """
    if len(site.places.datasets) != 1:
        raise UsageError(f"--people needs exactly one dataset, got {len(site.places.datasets)}")
    for name in raters:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or "/" in name:
            raise UsageError(f"--rater must be 1 to {LONGEST_NAME} printable characters without '/', got {name!r}")
    place = site.places.datasets[0]
    shelf = site.shelf(place.slug)
    desk = Desk(folder, plan_of(shelf, settings), _dataset(place, shelf), list(raters))
    return PeoplePages(desk, shelf.index, Tokens(site.home, folder), renderer())


def plan_of(shelf: Shelf, settings: Settings) -> Plan:
    """The queue: the questions that the filter leaves, a sample of them, and the known items."""
    columns = shelf.index.columns
    rows = np.sort(shelf.select(State.of(parse_qsl(settings.filter.lstrip("?")))).rows)
    if settings.sample is not None and settings.sample < rows.size:
        drawn = rng_for(settings.seed, "people", "sample").permutation(rows.size)[: settings.sample]
        rows = rows[np.sort(drawn)]
    if not rows.size:
        raise UsageError("no question fits --filter")
    kinds = columns.vocabulary["type"]
    items = tuple(
        Item(identity, kinds[columns.one["type"][row]], int(columns.options[row]))
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
