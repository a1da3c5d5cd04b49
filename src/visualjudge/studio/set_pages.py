"""The routes of working sets: stars, tags, notes, saved views, and a selection as a file.

Writes change only the notes on a dataset; the guard refuses cross-site requests.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.studio.places import DatasetPlace
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.site import Site
from visualjudge.studio.working_sets import UNMARKED, read_change

Route = tuple[str, Callable[[Request], Any], str]
COLUMNS = ("task", "encoding", "type", "image", "error_type", "probe", "answer")
"""Facets of a question that are columns of the CSV."""


class SetPages:
    """The routes, one method each."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def set_routes(self) -> list[Route]:
        """Return address, handler and method; POST changes notes."""
        return [
            ("/d/{slug}/views", self.views, "GET"),
            ("/d/{slug}/selection.csv", self.table, "GET"),
            ("/d/{slug}/selection.txt", self.identities, "GET"),
            ("/d/{slug}/commands", self.commands, "GET"),
            ("/d/{slug}/marks", self.mark, "POST"),
            ("/d/{slug}/undo", self.undo, "POST"),
            ("/d/{slug}/save-view", self.save_view, "POST"),
        ]

    # ---------------------------------------------------------------- notes

    async def mark(self, request: Request) -> Response:
        """Change the notes of the questions in ``ids``, or of those selected by ``query``."""
        place, raw = self._place(request), await _body(request)
        return await asyncio.to_thread(self._mark, place, raw)

    def _mark(self, place: DatasetPlace, raw: Mapping[str, Any]) -> Response:
        shelf, names = self.site.shelf(place.slug), raw.get("ids")
        try:
            change = read_change(raw)
            if names is None and isinstance(raw.get("query"), str):
                names = shelf.study.identities(shelf.select(_state(raw["query"])))
            elif not isinstance(names, list) or -1 in shelf.study.rows_of(map(str, names)):
                raise DataError(
                    "ids must be a list of ids of questions of this dataset, or query the query of "
                    "a grid"
                )
            changed = shelf.working.change(map(str, names), change)
        except DataError as error:
            raise HTTPException(422, str(error)) from None
        return json_response({"changed": changed, "undo": shelf.working.undoable})

    async def undo(self, request: Request) -> Response:
        """Undo the last change of notes or views, and describe it."""
        _, shelf = self._shelf(request)
        undone = await asyncio.to_thread(shelf.working.undo)
        return json_response({"undone": undone, **_views(shelf)})

    # ---------------------------------------------------------------- views

    def views(self, request: Request) -> Response:
        """Return the saved views by name, and the change that can be undone."""
        return json_response(_views(self._shelf(request)[1]))

    async def save_view(self, request: Request) -> Response:
        """Save a view under a name, or remove it."""
        (_, shelf), raw = self._shelf(request), await _body(request)
        name, query = raw.get("name"), raw.get("query")
        try:
            if not isinstance(name, str) or not (query is None or isinstance(query, str)):
                raise DataError("name and query must be texts")
            await asyncio.to_thread(shelf.working.save_view, name, query)
        except DataError as error:
            raise HTTPException(422, str(error)) from None
        return json_response(_views(shelf))

    # ---------------------------------------------------------------- a selection as a file

    def identities(self, request: Request) -> Response:
        """Return the ids of the selection, one per line, for ``judge --questions`` and ``studio
        --questions``.
        """
        _, shelf = self._shelf(request)
        names = shelf.study.identities(shelf.select(_state(request.url.query)))
        return _file(
            "".join(f"{name}\n" for name in names), "text/plain; charset=utf-8", "questions.txt"
        )

    def table(self, request: Request) -> Response:
        """Return the selection as CSV: one row per question, with its notes and each run's
        verdict.
        """
        _, shelf = self._shelf(request)
        rows = shelf.select(_state(request.url.query))
        names, marks = shelf.study.identities(rows), shelf.working.marks()
        noted = [marks.get(name, UNMARKED) for name in names]
        facets = [facet for name in COLUMNS if (facet := shelf.facet(name)) is not None]
        facets += [facet for facet in shelf.facets() if facet.name.startswith("outcome.")]
        columns = ", ".join(facet.column for facet in facets)
        state = replace(_state(request.url.query), sort="file")
        codes = {row: some for row, *some in shelf.rows(state, f"q.row, q.difference, {columns}")}
        held: dict[str, Any] = {"id": names}
        for k, facet in enumerate(facets, 1):
            title = f"{facet.group}: outcome" if facet.group else facet.name
            held[title] = [facet.values[codes[row][k]][0] for row in rows]
        margins = (codes[row][0] for row in rows)
        held["margin"] = [None if value is None else round(value, 4) for value in margins]
        held["star"] = [mark.star for mark in noted]
        held["tags"] = [" | ".join(mark.tags) for mark in noted]
        held["note"] = [mark.note for mark in noted]
        return csv_file(held, "selection.csv")

    def commands(self, request: Request) -> Response:
        """Return commands that put the questions in a file of ids to a judge or to people, or train
        on them.
        """
        place = self._place(request)
        dataset = shlex.quote(str(place.root))
        judge = (
            f"visualjudge judge {dataset} --questions questions.txt --model MODEL --out runs/NAME"
        )
        people = (
            f"visualjudge studio {dataset} --people runs/people --rater NAME --questions "
            "questions.txt"
        )
        training = (
            f"visualjudge export {dataset} --format trl --questions questions.txt --out train.jsonl"
        )
        return json_response({"judge": judge, "people": people, "training": training})

    # ---------------------------------------------------------------- helpers

    def _place(self, request: Request) -> DatasetPlace:
        place = self.site.dataset(request.path_params["slug"])
        if place is None:
            raise missing("dataset")
        return place

    def _shelf(self, request: Request, *, refresh: bool = True) -> tuple[DatasetPlace, Shelf]:
        place = self._place(request)
        return place, self.site.shelf(place.slug, refresh=refresh)


def _state(query: str) -> State:
    return State.from_query(parse_qsl(query.lstrip("?"), keep_blank_values=True))


async def _body(request: Request) -> Mapping[str, Any]:
    try:
        value = jsons.loads(await request.body())
    except orjson.JSONDecodeError:
        raise HTTPException(422, "the body must be JSON") from None
    if not isinstance(value, dict):
        raise HTTPException(422, "the body must be an object")
    return value


def _views(shelf: Shelf) -> dict[str, Any]:
    return {"views": dict(shelf.working.views()), "undo": shelf.working.undoable}


def json_response(value: Any) -> Response:
    """Return a value as JSON, with arrays as lists."""
    content = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(content, media_type="application/json")


def missing(what: str) -> HTTPException:
    """Return the error for an address that does not exist."""
    return HTTPException(404, f"no such {what}")


def csv_file(
    table: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]], name: str
) -> Response:
    """Return a table as a CSV file from which a spreadsheet executes nothing."""
    import polars as pl

    from visualjudge.core.text_tables import harmless

    frame = pl.DataFrame(table, infer_schema_length=None)
    return _file(harmless(frame).write_csv(), "text/csv; charset=utf-8", name)


def _file(text: str, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return PlainTextResponse(text, media_type=kind, headers=headers)
