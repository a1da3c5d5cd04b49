"""The routes of the studio. The raters' pages are in ``people/pages.py``; what is shown
is found in ``studio_data.py``.

Reading needs no token; routes that write answers are in ``people``. Jinja escapes all
text.
"""

import asyncio
import logging
import mimetypes
import shlex
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import orjson
from fastapi import FastAPI
from jinja2 import Environment
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.staticfiles import StaticFiles

from visualjudge.analysis.figure_text import points
from visualjudge.analysis.stated_reasons import place_in_pixels
from visualjudge.core.addresses import address_name
from visualjudge.core.errors import DataError, RunError
from visualjudge.core.image_storage import Place
from visualjudge.core.page_templates import environment
from visualjudge.core.records import Question
from visualjudge.core.typed_records import first_problem
from visualjudge.dataset.fault_truth import deciding, shown_sizes
from visualjudge.runs.budget import money
from visualjudge.studio import question_views as views
from visualjudge.studio.dataset_index import difference_of
from visualjudge.studio.facets import (
    MOST_VALUES,
    named_pairs,
    shown_facet,
    spaced,
)
from visualjudge.studio.places import DatasetPlace, RunPlace
from visualjudge.studio.selection import SORTS, Shelf, State
from visualjudge.studio.serving import LOOPBACK, Guard
from visualjudge.studio.slices import matrix, slices, worst_tasks
from visualjudge.studio.stars_and_notes import UNMARKED, Asked
from visualjudge.studio.studio_data import (
    EXPECTED,
    READING,
    STATES,
    UNITS,
    Site,
    StillIndexing,
)
from visualjudge.studio.thumbnails import (
    WIDTHS,
    confined,
    image_response,
    thumbnail,
)
from visualjudge.vision.encodings import encoding_title

Route = tuple[str, Callable[[Request], Any], str]
MOST_CARDS = 120
# Number of values of a filter that a search in it shows.
MOST_FOUND = 200
# Number of replies on a run's page.
MOST_REPLIES = 30
# Number of characters of an option's text and of a prompt on a card.
EXCERPT = 220
LONGEST_PROMPT = 600
MARKS = {
    "right": "✓",
    "wrong": "✕",
    "mixed": "≠",
    "failed": "!",
    "cannot tell": "?",
    "not asked": "·",
    "no right answer": "–",
}
_OF_SLICES = ("by", "across", "judge", "at", "order_by")


@cache
def templates() -> Environment:
    """Return the template environment, with autoescaping."""
    env = environment(__package__)
    env.globals |= {
        "marks": MARKS,
        "encoding_title": encoding_title,
        "place_in_pixels": place_in_pixels,
    }
    env.filters |= {
        "path": lambda text: quote(str(text), safe=""),
        "filepath": lambda text: quote(str(text), safe="/"),
        "count": "{:,}".format,
        "share": lambda part, whole: (
            f"{100 * part / whole:.1f} %" if whole else "\N{EN DASH}"
        ),
        "money": money,
        "points": points,
        "shell": lambda path: shlex.quote(str(path)),
        "query": urlencode,
        "spaced": spaced,
        "value": lambda value: (
            spaced(value) if isinstance(value, str) else f"{value:g}"
        ),
        "json": lambda value: orjson.dumps(value).decode(),
    }
    return env


def create_app(site: Site) -> Any:
    """Create the application for ``site``."""
    return application(Pages(site).routes())


def application(
    routes: Sequence[Route], names: frozenset[str] = LOOPBACK
) -> Any:
    """Create an application from these addresses, handlers and methods, behind the
    guard, for these host names.
    """
    handlers = {
        HTTPException: _refused,
        DataError: _unreadable,
        RunError: _not_done,
        sqlite3.Error: _not_done,
        StillIndexing: _indexing,
    }
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        exception_handlers=handlers,
    )
    for path, handler, method in routes:
        app.add_route(path, handler, methods=[method])
    mimetypes.add_type("text/javascript", ".js")  # as Windows may not say
    app.mount(
        "/static", StaticFiles(packages=[("visualjudge.studio", "static")])
    )
    app.add_middleware(Guard, names=names)
    return app


def page(template: str, **values: Any) -> Response:
    """Render a template with values."""
    return HTMLResponse(templates().get_template(template).render(values))


class Pages:
    """The routes, one method each."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def routes(self) -> list[Route]:
        """Return address, handler and method; POST changes notes."""
        read: dict[str, Callable[[Request], Any]] = {
            "/": self.home,
            "/progress": self.progress,
            "/open/{digest}": self.open,
            "/open/{digest}/{identity}": self.open,
            "/d/{slug}": self.grid,
            "/d/{slug}/facets": self.facets,
            "/d/{slug}/cards": self.cards,
            "/d/{slug}/judges": self.judges,
            "/d/{slug}/slices": self.slices,
            "/d/{slug}/selection.txt": self.identities,
            "/r/{slug}": self.run,
            "/r/{slug}/state": self.state,
            "/r/{slug}/answer": self.answer,
            "/d/{slug}/q/{identity:path}": self.question,
            "/d/{slug}/image/{name:path}": self.image,
            "/d/{slug}/thumb/{width:int}/{name:path}": self.thumb,
        }
        return [
            *((path, handler, "GET") for path, handler in read.items()),
            ("/d/{slug}/marks", self.mark, "POST"),
        ]

    # ---------------------------------------------------------------- datasets and runs

    def home(self, request: Request) -> Response:
        """Show the datasets and runs."""
        places = self.site.places
        opened = {
            place.slug: self.site.opened(place.slug)
            for place in places.datasets
        }
        return page(
            "home.html.j2",
            datasets=places.datasets,
            opened=opened,
            states=[self.site.state(run) for run in places.runs],
            worst={
                slug: worst_tasks(shelf)
                for slug, shelf in opened.items()
                if shelf and not self.site.indexing()
            },
            runs={
                place.slug: places.runs_of(place.slug)
                for place in places.datasets
            },
        )

    def progress(self, request: Request) -> Response:
        """Return a description of what is still to be indexed; empty if there is
        nothing."""
        return json_response({"lines": self.site.indexing()})

    def run(self, request: Request) -> Response:
        """Show one run with its newest replies from ``start``, all or the failed ones
        (``failed``: the cause, empty for all).
        """
        place = self._run(request)
        verdicts = self.site.verdicts_of(place)
        cause = request.query_params.get("failed")
        start = _whole(request.query_params.get("start"), 0)
        replies = []
        if verdicts:
            read = list(verdicts.newest(cause, start, MOST_REPLIES))
            asked = {
                question.id: question
                for _, question in verdicts.study.questions(
                    {verdict.id for verdict, _ in read}
                )
            }
            size_of = shown_sizes(verdicts.study.root)
            replies = [
                views.reply_of(
                    place,
                    verdict,
                    outcome,
                    asked[verdict.id],
                    size_of(asked[verdict.id]),
                )
                for verdict, outcome in read
            ]
        return page(
            "run.html.j2",
            r=self.site.state(place),
            replies=replies,
            cause=cause,
            start=start,
            more=start + MOST_REPLIES if len(replies) == MOST_REPLIES else None,
        )

    def state(self, request: Request) -> Response:
        """Return the part of a page that shows the state of a run, to replace it."""
        return page("state.html.j2", r=self.site.state(self._run(request)))

    def answer(self, request: Request) -> Response:
        """Return the card's answer about a run, the probes that it fails, and the page
        of these."""
        place = self._run(request)
        judgement = self.site.judged(place)
        answer = judgement.answer
        return json_response(
            {
                "question": answer and answer.question,
                "verdict": answer.verdict if answer else judgement.why,
                "reasons": [vars(own) for own in answer.reasons]
                if answer
                else [],
                "caution": answer and answer.caution,
                "failing": judgement.failing,
                "address": f"/d/{place.dataset}/slices?by=probe#probes-{place.slug}",
            }
        )

    def open(self, request: Request) -> Response:
        """Redirect from an address of :mod:`visualjudge.core.addresses`."""
        place = self.site.dataset_named(request.path_params["digest"])
        if place is None:
            raise HTTPException(
                404,
                "no dataset with these questions is open; start the studio with its "
                "folder",
            )
        query = [
            (self._own_name(place, name), value)
            for name, value in request.query_params.multi_items()
        ]
        identity = request.path_params.get("identity")
        page_of = "" if identity is None else f"/q/{quote(identity, safe='')}"
        return RedirectResponse(f"/d/{place.slug}{page_of}?{urlencode(query)}")

    def _own_name(self, place: DatasetPlace, name: str) -> str:
        """Return the name of a filter here, where two runs' folders may have one
        name."""
        result, dot, run = name.partition(".")
        if not dot:
            return name
        runs = self.site.places.runs_of(place.slug)
        slugs = [
            run_place.slug
            for run_place in runs
            if address_name(run_place.root) == run
        ]
        if len(slugs) != 1:
            raise HTTPException(
                404,
                f"{len(slugs)} open runs on {place.name} are in a folder {run}; start "
                "the studio with the one that is meant",
            )
        return f"{result}.{slugs[0]}"

    # ---------------------------------------------------------------- the grid

    def grid(self, request: Request) -> Response:
        """Show the grid; its content is loaded from ``facets`` and ``cards``."""
        place, _ = self._shelf(request, whole=False)
        return page(
            "grid.html.j2",
            dataset=place,
            sorts=SORTS,
            runs=self.site.places.runs_of(place.slug),
        )

    def facets(self, request: Request) -> Response:
        """Return the number of selected questions, and each facet's values with counts
        under the other filters; or of one facet (``name``) all values that contain a
        text (``find``).
        """
        _, shelf = self._shelf(request, whole=False)
        state = _state(request)
        total, counts = shelf.counts(state)
        chosen = dict(state.chosen)
        name = request.query_params.get("name")
        text = request.query_params.get("find", "")
        most = MOST_VALUES if name is None else MOST_FOUND
        listed = [
            shown_facet(x, counts[x.name], chosen.get(x.name, ()), text, most)
            for x in shelf.facets()
            if name in (None, x.name)
        ]
        return json_response(
            {
                "total": total,
                "of": shelf.study.count
                - (0 if state.copies else shelf.study.changed),
                "copies": {
                    "shown": state.copies,
                    "number": shelf.study.changed,
                },
                "facets": listed,
            }
        )

    def cards(self, request: Request) -> Response:
        """Return some cards of the selection, starting at ``start``."""
        params = request.query_params
        (_, shelf) = self._shelf(request, whole=False)
        selected = shelf.select(_state(request))
        start = _whole(params.get("start"), 0)
        count = _whole(params.get("count"), 60)
        rows = selected[start : start + min(count, MOST_CARDS)]
        verdicts = views.verdicts_on(shelf, rows)
        cards = [
            _card(shelf, shelf.study.question(row), verdicts.get(row, ()))
            for row in rows
        ]
        return json_response(
            {"start": start, "total": len(selected), "cards": cards}
        )

    async def mark(self, request: Request) -> Response:
        """Change the notes of the questions in ``ids``, or of those selected by
        ``query``."""
        _, shelf = self._shelf(request)
        return await asyncio.to_thread(_mark, shelf, await request.body())

    def identities(self, request: Request) -> Response:
        """Return the ids of the selection, one per line, for ``judge --questions`` and
        ``studio --questions``.
        """
        _, shelf = self._shelf(request)
        names = shelf.study.identities(shelf.select(_state(request)))
        headers = {
            "content-disposition": 'attachment; filename="questions.txt"'
        }
        return PlainTextResponse(
            "".join(f"{name}\n" for name in names), headers=headers
        )

    # ---------------------------------------------------------------- comparisons

    def judges(self, request: Request) -> Response:
        """Compare two runs on one question type, with counts that link to the
        questions."""
        place, shelf = self._shelf(request)
        runs = [run for run, _ in shelf.runs]
        params = request.query_params
        kinds = shelf.study.types()
        chosen = [
            _chosen(runs, params.get(name), k) for k, name in enumerate("ab")
        ]
        # Outcomes of both runs are rows and columns, so links to the grid name them.
        sides = {
            f"{side}.{run.slug}"
            for run in chosen
            if run
            for side in ("outcome", "order")
        }
        back = [
            pair
            for pair in params.multi_items()
            if pair[0] not in {"a", "b", "at", *sides}
        ]
        kind = next((v for name, v in back if name == "type"), kinds[0])
        pairs = [*(pair for pair in back if pair[0] != "type"), ("type", kind)]
        a, b = chosen
        return page(
            "judges.html.j2",
            dataset=place,
            runs=runs,
            chosen=chosen,
            table=matrix(shelf, a, b, pairs) if a and b else None,
            filters=named_pairs(shelf.facets(), pairs),
            pairs=pairs,
            back=back,
            kind=kind,
            kinds=kinds,
        )

    def slices(self, request: Request) -> Response:
        """Show the share of right answers by a facet and judge, or by two facets for
        one judge."""
        place, shelf = self._shelf(request)
        params = request.query_params
        kinds = shelf.study.types()
        facets = {facet.name: facet for facet in shelf.facets()}
        runs = [run for run, _ in shelf.runs]
        usual = "probe" if shelf.study.changed else "task"
        facet = facets.get(params.get("by", usual)) or facets[usual]
        judge = _chosen(runs, params.get("judge"), 0)
        across = facets.get(params.get("across", "")) if judge else None
        kind = next(
            (kind for kind in params.getlist("type") if kind in kinds), kinds[0]
        )
        back = [
            pair for pair in params.multi_items() if pair[0] not in _OF_SLICES
        ]
        pairs = [
            pair for pair in back if pair[0] not in ("sort", "type", facet.name)
        ]
        order = params.get("order_by", "")
        both = (across, judge) if across and judge else None
        probed = (
            facet.name == "probe" and across is None and shelf.study.changed
        )
        return page(
            "slices.html.j2",
            dataset=place,
            by=facet.name,
            across=across.name if across else "",
            judge=judge,
            order=order,
            kind=kind,
            facets=[
                known
                for known in facets.values()
                if len(known.values) > 1 or known in (facet, across)
            ],
            runs=runs,
            table=slices(shelf, facet, kind, pairs, order=order, across=both),
            probed=[self.site.judged(run) for run in runs] if probed else [],
            filters=named_pairs(shelf.facets(), pairs),
            pairs=pairs,
            back=back,
            kinds=kinds,
            states=STATES,
            units=UNITS,
        )

    def question(self, request: Request) -> Response:
        """Show one question with its images, prompt and replies."""
        place, shelf = self._shelf(request, whole=False)
        row = shelf.study.row_of(request.path_params["identity"])
        if row is None:
            raise (
                missing("question")
                if shelf.study.complete
                else StillIndexing(READING)
            )
        question = shelf.study.question(row)
        same = views.related(shelf, row)
        probe = question.probe if question.changed else None
        unchanged = (
            member.question
            for member in same
            if member.unchanged
            and probe
            and member.question.probe
            and member.question.probe.group == probe.group
        )
        pairs = [
            pair
            for pair in request.query_params.multi_items()
            if pair[0] != "at"
        ]
        step = views.step(shelf, shelf.select(State.from_query(pairs)), row)
        size = shown_sizes(place.root)(question)
        replies = [
            views.reply_of(run, *verdict, question, size)
            for run, verdicts in shelf.runs
            for verdict in verdicts.of_question(row)
        ]
        return page(
            "question.html.j2",
            dataset=place,
            q=question,
            query=urlencode(pairs),
            grid=urlencode([*pairs, ("at", str(step["place"] or 0))]),
            step=step,
            layers=views.layers(question, next(unchanged, None)),
            options=views.options(question),
            prompts=views.prompts(question),
            replies=replies,
            places=views.places(question, replies),
            same=same,
            expected=EXPECTED[probe.design] if probe else "",
            mark=shelf.working.marks().get(question.id, UNMARKED),
            answered=question.has_answer,
            margin=difference_of(question),
            decided=deciding(question, size),
            size=size,
        )

    # ---------------------------------------------------------------- files

    def image(self, request: Request) -> Response:
        """Return an image as stored in the dataset."""
        return image_response(self._image(request))

    def thumb(self, request: Request) -> Response:
        """Return an image at the displayed size."""
        path = self._image(request)
        width = request.path_params["width"]
        if width not in WIDTHS:
            raise missing("width")
        return Response(
            thumbnail(path, width),
            media_type="image/jpeg",
            headers={"cache-control": "private, max-age=3600"},
        )

    # ---------------------------------------------------------------- helpers

    def _shelf(
        self, request: Request, *, refresh: bool = True, whole: bool = True
    ) -> tuple[DatasetPlace, Shelf]:
        place = self.site.datasets.get(request.path_params["slug"])
        if place is None:
            raise missing("dataset")
        return place, self.site.shelf(place.slug, refresh=refresh, whole=whole)

    def _run(self, request: Request) -> RunPlace:
        place = self.site.runs.get(request.path_params["slug"])
        if place is None:
            raise missing("run")
        return place

    def _image(self, request: Request) -> Place:
        """Return the file of an image that a question of the dataset shows and that is
        inside its folder.
        """
        place, shelf = self._shelf(request, refresh=False, whole=False)
        name = request.path_params["name"]
        path = (
            confined(place.root, name) if shelf.study.has_image(name) else None
        )
        if path is None:
            raise missing("image")
        return path


def _card(
    shelf: Shelf, question: Question, verdicts: Sequence[views.RunVerdict]
) -> dict[str, Any]:
    """Return one question for the grid, with the beginning of its prompt if no option
    has an image or text to show.
    """
    margin = difference_of(question)
    mark = shelf.working.marks().get(question.id, UNMARKED)
    originals = views.original_images(question)
    options = views.options(question)
    bare = not originals and not any(
        option.image or option.text for option in options
    )
    texts = [
        {"text": "" if option.image else option.text[:EXCERPT]}
        for option in options
    ]
    return {
        "id": question.id,
        "type": question.question_type,
        "task": spaced(question.task),
        "encoding": encoding_title(question.task, question.encoding),
        "stem": question.encoding,
        "image": question.image_id,
        "original": originals[0] if originals else None,
        "margin": None if margin is None else round(margin, 2),
        "prompt": question.prompt[:LONGEST_PROMPT].strip() if bare else None,
        "star": mark.star,
        "tags": mark.tags,
        "options": [
            asdict(option) | text
            for option, text in zip(options, texts, strict=True)
        ],
        "verdicts": [
            asdict(verdict) | {"said": verdict.said} for verdict in verdicts
        ],
    }


def _mark(shelf: Shelf, body: bytes) -> Response:
    try:
        asked = Asked.model_validate_json(body)
        names = asked.ids
        if names is None and asked.query is not None:
            query = parse_qsl(asked.query.lstrip("?"), keep_blank_values=True)
            names = shelf.study.identities(
                shelf.select(State.from_query(query))
            )
        if names is None or -1 in shelf.study.rows_of(names):
            raise DataError(
                "ids must be ids of questions of this dataset, or query that of a grid"
            )
        return json_response({"changed": shelf.working.change(names, asked)})
    except ValidationError as error:
        place, reason = first_problem(error)
        raise HTTPException(
            422, f"{'.'.join(place) or 'body'}: {reason}"
        ) from None
    except DataError as error:
        raise HTTPException(422, str(error)) from None


def _state(request: Request) -> State:
    return State.from_query(request.query_params.multi_items())


def _chosen(
    runs: Sequence[RunPlace], slug: str | None, default: int
) -> RunPlace | None:
    """Return the run named in the address, else the n-th, else the last."""
    named = [run for run in runs if run.slug == slug]
    if named or not runs:
        return named[0] if named else None
    return runs[min(default, len(runs) - 1)]


def _whole(text: str | None, default: int) -> int:
    return (
        min(int(text), 2**31)
        if text and text.isascii() and text.isdecimal()
        else default
    )


# ---------------------------------------------------------------- responses


def json_response(value: Any) -> Response:
    """Return a value as JSON."""
    return Response(orjson.dumps(value), media_type="application/json")


def missing(what: str) -> HTTPException:
    """Return the error for an address that does not exist."""
    return HTTPException(404, f"no such {what}")


def _refused(request: Request, error: Any) -> Response:
    return _problem(request, error.detail, error.status_code)


def _problem(request: Request, text: str, status: int) -> Response:
    """Return an error as a page where a browser asked for one, else as text."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(text, status)
    response = page("error.html.j2", text=text)
    response.status_code = status
    return response


def _indexing(request: Request, error: Any) -> Response:
    """Return a page that reloads once the questions are read; other requests are asked
    to retry."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(
            "the questions are being read", 503, {"retry-after": "2"}
        )
    return page("indexing.html.j2", until=str(error))


def _unreadable(request: Request, error: Exception) -> Response:
    """Report an error; its reason goes only to the terminal, as it may reveal what
    raters must not see.
    """
    logging.getLogger("visualjudge").warning("visualjudge: %s", error)
    return _problem(
        request, "cannot be read; the terminal of the studio says why", 404
    )


def _not_done(request: Request, error: Exception) -> Response:
    """Report a full disk or a damaged index."""
    logging.getLogger("visualjudge").error("visualjudge: %s", error)
    return _problem(
        request, "not saved; the terminal of the studio says why", 507
    )
