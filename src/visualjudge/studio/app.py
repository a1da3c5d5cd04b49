"""The routes of the studio.

Reading needs no token; routes that write are in ``people``. Jinja escapes all text.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from fastapi import FastAPI
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from visualjudge.core.errors import DataError, RunError
from visualjudge.core.image_storage import Place
from visualjudge.core.records import LETTERS, Question, Verdict
from visualjudge.studio import question_views as views
from visualjudge.studio.copied_requests import as_curl
from visualjudge.studio.facets import named_pairs, shown_facet
from visualjudge.studio.guard import LOOPBACK, Guard
from visualjudge.studio.places import DatasetPlace, RunPlace
from visualjudge.studio.probed import COUNTED, EXPECTED, STATES, UNITS, JudgeProbes, judge_probes
from visualjudge.studio.question_views import cards, option_images, original_images
from visualjudge.studio.selection import SORTS, Shelf, State
from visualjudge.studio.set_pages import SetPages, json_response, missing
from visualjudge.studio.site import NotIndexed, Site, StillIndexing
from visualjudge.studio.slices import Row, matrices, slices, two_way, worst_tasks
from visualjudge.studio.thumbnails import WIDTHS, confined, image_response, thumbnail
from visualjudge.studio.verdicts import OUTCOMES, RunVerdicts
from visualjudge.studio.working_sets import UNMARKED
from visualjudge.vision.raster.images import image_size, png_bytes, read_rgb

MOST_CARDS = 120
MOST_WATCHED = 30
MOST_PROBED = 50_000
"""Number of verdicts up to which the home page names failed probes, which takes seconds."""
LONGEST_SHOWN = 2000
"""Number of characters of a reply on a run's page."""
LIVE_EVERY_S = 1.0
MARKS = {
    "right": "✓",
    "wrong": "✕",
    "mixed": "≠",
    "failed": "!",
    "cannot tell": "?",
    "not asked": "·",
    "no right answer": "–",
}
SHARE_TITLES = {
    "pairwise": "right answers to pairs",
    "ranking": "rankings fully right",
    "scoring": "scores within 1 point",
}
_OF_SLICES = ("by", "across", "judge", "at", "order_by")
_STATIC = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def templates() -> Environment:
    """Return the template environment, with autoescaping."""
    loader = PackageLoader("visualjudge.studio")
    env = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals["share_titles"] = SHARE_TITLES
    env.filters["path"] = lambda text: quote(str(text), safe="")
    env.filters["filepath"] = lambda text: quote(str(text), safe="/")
    env.filters["count"] = "{:,}".format
    env.filters["share"] = lambda part, whole: (
        f"{100 * part / whole:.1f} %" if whole else "\N{EN DASH}"
    )
    env.filters["moment"] = lambda text: str(text)[:16].replace("T", " ")
    env.filters["shell"] = lambda path: shlex.quote(str(path))
    env.filters["query"] = lambda pairs: urlencode(pairs)
    return env


def create_app(site: Site) -> Any:
    """Create the application for ``site``."""
    pages = Pages(site, renderer())
    routes = [(path, handler, "GET") for path, handler in pages.routes().items()]
    return application([*routes, *pages.set_routes()])


def application(
    routes: Sequence[tuple[str, Callable[[Request], Any], str]], names: frozenset[str] = LOOPBACK
) -> Any:
    """Create an application from these addresses, handlers and methods, behind the guard, for these
    host names.
    """
    handlers = {
        HTTPException: _refused,
        DataError: _unreadable,
        RunError: _not_done,
        sqlite3.Error: _not_done,
        StillIndexing: _indexing,
    }
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, exception_handlers=handlers)
    for path, handler, method in routes:
        app.add_route(path, handler, methods=[method])
    app.add_middleware(Guard, names=names)
    return app


def renderer() -> Callable[..., Response]:
    """Return a function that renders a template with values."""
    env = templates()

    def page(template: str, **values: Any) -> Response:
        return HTMLResponse(env.get_template(template).render(values))

    return page


def static(request: Request) -> Response:
    """Serve the scripts and styles of the studio."""
    file = files("visualjudge.studio") / "static" / request.path_params["name"]
    kind = _STATIC.get("." + file.name.rpartition(".")[2])
    if kind is None or "/" in file.name or not file.is_file():
        raise missing("file")
    return Response(file.read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})


class Pages(SetPages):
    """The read-only routes, one method each; SetPages has those that change notes."""

    def __init__(self, site: Site, page: Callable[..., Response]) -> None:
        super().__init__(site)
        self._page = page
        self._probes: dict[str, tuple[int, JudgeProbes]] = {}
        self._probing = threading.Lock()

    def routes(self) -> dict[str, Callable[[Request], Any]]:
        """Return the handler of each address."""
        return {
            "/": self.home,
            "/live": self.live,
            "/progress": self.progress,
            "/static/{name}": static,
            "/d/{slug}": self.grid,
            "/d/{slug}/facets": self.facets,
            "/d/{slug}/facet": self.facet,
            "/d/{slug}/cards": self.cards,
            "/d/{slug}/judges": self.judges,
            "/d/{slug}/slices": self.slices,
            "/r/{slug}": self.run,
            "/r/{slug}/live": self.watch,
            "/r/{slug}/probes": self.probes,
            "/d/{slug}/q/{identity}": self.question,
            "/d/{slug}/q/{identity}/request": self.request,
            "/d/{slug}/q/{identity}/labels": self.labels,
            "/d/{slug}/q/{identity}/truth": self.truth,
            "/d/{slug}/image/{name:path}": self.image,
            "/d/{slug}/thumb/{width:int}/{name:path}": self.thumb,
        }

    # ---------------------------------------------------------------- pages

    def home(self, request: Request) -> Response:
        """Show the datasets and runs."""
        places = self.site.places
        sizes = {place.slug: self._size(place) for place in places.datasets}
        states = [self.site.state(run) for run in places.runs]
        return self._page(
            "home.html.j2",
            datasets=places.datasets,
            sizes=sizes,
            states=states,
            worst={place.slug: self._worst(place) for place in places.datasets},
            runs={place.slug: places.runs_of(place.slug) for place in places.datasets},
        )

    def _worst(self, place: DatasetPlace) -> Sequence[Row]:
        try:
            return worst_tasks(self.site.shelf(place.slug, refresh=False))
        except (StillIndexing, NotIndexed):
            return ()

    def _size(self, place: DatasetPlace) -> int:
        """Return the number of questions, or while they are being read the number that the dataset
        states.
        """
        try:
            return self.site.shelf(place.slug).study.count
        except (StillIndexing, NotIndexed):
            stated = (place.meta.get("counts") or {}).get("questions")
            return stated if isinstance(stated, int) else 0

    def progress(self, request: Request) -> Response:
        """Return a description of what is still to be indexed; empty if there is nothing."""
        return json_response(
            {"lines": [_line(self.site, *one) for one in self.site.indexing().items()]}
        )

    def grid(self, request: Request) -> Response:
        """Show the grid; its content is loaded from ``facets`` and ``cards``."""
        place, _ = self._shelf(request)
        runs = self.site.places.runs_of(place.slug)
        return self._page("grid.html.j2", dataset=place, sorts=SORTS, runs=runs)

    def judges(self, request: Request) -> Response:
        """Compare two runs on one question type, with counts that link to the questions."""
        place, shelf = self._shelf(request)
        runs, params = [run for run, _ in shelf.runs], request.query_params
        kinds = shelf.study.types()
        chosen = [_chosen(runs, params.get(name), k) for k, name in enumerate("ab")]
        # Outcomes of both runs are rows and columns, so links to the grid name them.
        sides = {f"{side}.{run.slug}" for run in chosen if run for side in ("outcome", "order")}
        back = [pair for pair in params.multi_items() if pair[0] not in {"a", "b", "at", *sides}]
        kind = next((v for name, v in back if name == "type"), kinds[0] if kinds else "pairwise")
        pairs = [*(pair for pair in back if pair[0] != "type"), ("type", kind)]
        values = {
            "runs": runs,
            "chosen": chosen,
            "tables": matrices(shelf, chosen, pairs) if runs else [],
            "filters": named_pairs(shelf.facets(), pairs),
            "pairs": pairs,
            "back": back,
            "kind": kind,
            "kinds": kinds,
            "judges": [(name, run.slug) for name, run in zip("ab", chosen, strict=True) if run],
        }
        return self._page("judges.html.j2", dataset=place, marks=MARKS, **values)

    def slices(self, request: Request) -> Response:
        """Show the share of right answers by a facet and judge, or by two facets for one judge."""
        place, shelf = self._shelf(request)
        params, kinds = request.query_params, shelf.study.types()
        facets = {facet.name: facet for facet in shelf.facets()}
        usual = "probe" if shelf.study.has_probes else "task"
        facet = facets.get(params.get("by", usual)) or facets[usual]
        across = facets.get(params.get("across", ""))
        judge = _chosen([run for run, _ in shelf.runs], params.get("judge"), 0)
        first = kinds[0] if kinds else "pairwise"
        kind = next((kind for kind in params.getlist("type") if kind in kinds), first)
        back = [pair for pair in params.multi_items() if pair[0] not in _OF_SLICES]
        pairs = [pair for pair in back if pair[0] not in ("sort", "type", facet.name)]
        order = params.get("order_by", "")
        if across is not None and judge is not None:
            table = two_way(shelf, (facet, across), judge, kind, pairs)
        else:
            across, table = None, slices(shelf, facet, kind, pairs, order)
        probed = facet.name == "probe" and across is None and shelf.study.has_probes
        useful = [one for one in facets.values() if len(one.values) > 1 or one in (facet, across)]
        return self._page(
            "slices.html.j2",
            dataset=place,
            by=facet.name,
            across=across.name if across else "",
            judge=judge,
            order=order,
            kind=kind,
            facets=useful,
            runs=[run for run, _ in shelf.runs],
            table=table,
            probed=[self._probed(shelf, run) for run, _ in shelf.runs] if probed else [],
            filters=named_pairs(shelf.facets(), pairs),
            pairs=pairs,
            back=back,
            kinds=kinds,
            states=STATES,
            counted=COUNTED,
            units=UNITS,
        )

    def run(self, request: Request) -> Response:
        """Show one run with its replies as they arrive."""
        place = self._run(request)
        values = {"marks": MARKS, "outcomes": OUTCOMES[1:], "state": self.site.state(place)}
        return self._page("run.html.j2", run=place, info=place.info(), **values)

    def probes(self, request: Request) -> Response:
        """Return the names of the probes that a run fails, and the page that shows them."""
        place = self._run(request)
        verdicts = self.site.verdicts_of(place)
        failing: list[str] = []
        if place.dataset and verdicts and verdicts.lines() <= MOST_PROBED:
            shelf = self.site.shelf(place.dataset, refresh=False)
            if shelf.study.has_probes:
                failing = self._probed(shelf, place).failing
        address = f"/d/{place.dataset}/slices?by=probe#probes-{place.slug}"
        return json_response({"failing": failing, "address": address})

    def _probed(self, shelf: Shelf, place: RunPlace) -> JudgeProbes:
        """Return the probe results of a judge, computed again once there are new verdicts."""
        run = next(run for one, run in shelf.runs if one.slug == place.slug)
        with self._probing:  # one judge at a time, since each loads a whole run
            known = self._probes.get(place.slug)
            if known is None or known[0] != run.generation:
                known = self._probes[place.slug] = (run.generation, judge_probes(shelf, place))
        return known[1]

    def question(self, request: Request) -> Response:
        """Show one question with its images, prompt and replies."""
        place, shelf, row, question = self._question(request)
        family = views.probe_family(shelf, question, row)
        layers = views.layers(
            question, next((one.question for one in family if one.unchanged and not one.here), None)
        )
        pairs = [pair for pair in request.query_params.multi_items() if pair[0] != "at"]
        step = views.step(shelf, shelf.select(State.from_query(pairs)), row)
        return self._page(
            "question.html.j2",
            dataset=place,
            q=question,
            query=urlencode(pairs),
            grid=urlencode([*pairs, ("at", str(step.place or 0))]),
            step=step,
            layers=layers,
            layers_json=orjson.dumps([asdict(layer) for layer in layers]).decode(),
            textual=all(image is None for image in option_images(question)),
            options=views.options(question),
            prompts=views.prompts(question),
            replies=list(views.replies(shelf.runs, question, row)),
            runs=[run for run, _ in shelf.runs],
            facts=views.facts(question),
            family=family,
            same=views.same_case(shelf, row),
            expected=EXPECTED[question.probe.design] if question.probe else "",
            mark=shelf.working.marks().get(question.id, UNMARKED),
            marks=MARKS,
            labelled=bool(self.site.places.data_folders),
        )

    def request(self, request: Request) -> Response:
        """Return the request for the question as a command."""
        (place, _, _, question), params = self._question(request), request.query_params
        parts = views.prompts(question).get(params.get("order", "AB"))
        if parts is None:
            raise missing("order")
        if any(
            confined(place.root, part.image) is None for part in parts if part.image is not None
        ):
            raise missing("image in the dataset")
        run = self.site.run(params.get("run", ""))
        return PlainTextResponse(as_curl(place.root, parts, run.info() if run else {}))

    def labels(self, request: Request) -> Response:
        """Return the labelled regions of each option's image, by letter, and the address of its
        ground truth, or why there is none.

        The page requests it once shown, since reading a task's annotations may take seconds.
        """
        from visualjudge.studio.annotations import marks_of

        place, _, _, question = self._question(request)
        shown = [image for image in option_images(question) if image]
        path = confined(place.root, shown[0]) if shown else None
        size, annotations = None if path is None else image_size(path), self.site.annotations
        known = [
            None if size is None or option is None else option.load(size)
            for option in annotations.options(question)
        ]
        marks = [[asdict(mark) for mark in marks_of(prediction)] for prediction in known]
        truth = any(place.is_truth for place in annotations.peers(question))
        address = f"/d/{place.slug}/q/{quote(question.id, safe='')}/truth"
        told = {"truth": address} if truth else {"why": annotations.without_truth(question)}
        return json_response({"marks": dict(zip(LETTERS, marks, strict=False)), **told})

    def truth(self, request: Request) -> Response:
        """Return the ground truth as an image in the options' encoding; 404 if no data folder has
        it.
        """
        from visualjudge.studio.annotations import truth_image

        place, _, _, question = self._question(request)
        originals = original_images(question)
        path = confined(place.root, originals[0]) if originals else None
        original = None if path is None else read_rgb(path)
        drawn = truth_image(question, self.site.annotations.peers(question), original)
        if drawn is None:
            raise missing("ground truth")
        return Response(png_bytes(drawn), media_type="image/png")

    # ---------------------------------------------------------------- data for the grid

    def facets(self, request: Request) -> Response:
        """Return the number of selected questions, and each facet's values with counts under the
        other filters.
        """
        (_, shelf), state = (
            self._shelf(request),
            State.from_query(request.query_params.multi_items()),
        )
        counts, chosen = shelf.counts(state), dict(state.chosen)
        shown = [shown_facet(x, counts[x.name], chosen.get(x.name, ())) for x in shelf.facets()]
        return json_response(
            {
                "total": len(shelf.select(state)),
                "of": shelf.study.count,
                "facets": [asdict(x) for x in shown],
                "behind": shelf.behind(),
            }
        )

    def facet(self, request: Request) -> Response:
        """Return all values of one facet that contain the typed text."""
        (_, shelf), params = self._shelf(request), request.query_params
        state = State.from_query(
            [(k, v) for k, v in params.multi_items() if k not in ("name", "find")]
        )
        facet = shelf.facet(params.get("name", ""))
        if facet is None:
            raise missing("facet")
        counts, chosen = shelf.counts(state)[facet.name], dict(state.chosen).get(facet.name, ())
        shown = shown_facet(facet, counts, chosen, params.get("find", ""), most=200)
        return json_response(asdict(shown))

    def cards(self, request: Request) -> Response:
        """Return some cards of the selection, starting at ``start``."""
        (_, shelf), params = self._shelf(request), request.query_params
        selected = shelf.select(State.from_query(params.multi_items()))
        start, count = (
            _whole(params.get("start"), 0),
            min(_whole(params.get("count"), 60), MOST_CARDS),
        )
        shown = cards(shelf, selected[start : start + count])
        return json_response(
            {"start": start, "total": len(selected), "cards": [asdict(one) for one in shown]}
        )

    # ---------------------------------------------------------------- files

    def image(self, request: Request) -> Response:
        """Return an image as stored in the dataset."""
        return image_response(self._image(request))

    def thumb(self, request: Request) -> Response:
        """Return an image at the displayed size."""
        path, width = self._image(request), request.path_params["width"]
        if width not in WIDTHS:
            raise missing("width")
        small = thumbnail(path, width)
        return Response(
            small, media_type="image/jpeg", headers={"cache-control": "private, max-age=3600"}
        )

    # ---------------------------------------------------------------- live

    async def live(self, request: Request) -> Response:
        """Stream the state of every run, again whenever one changes."""
        return StreamingResponse(_run_states(self.site, request), media_type="text/event-stream")

    async def watch(self, request: Request) -> Response:
        """Stream the newest replies of a run and each new one."""
        place = self._run(request)
        if place.dataset is None:
            raise missing("dataset of the run")
        return StreamingResponse(
            _new_verdicts(self.site, request, place), media_type="text/event-stream"
        )

    # ---------------------------------------------------------------- helpers

    def _run(self, request: Request) -> RunPlace:
        place = self.site.run(request.path_params["slug"])
        if place is None:
            raise missing("run")
        return place

    def _question(self, request: Request) -> tuple[DatasetPlace, Shelf, int, Question]:
        place, shelf = self._shelf(request)
        row = shelf.study.row_of(request.path_params["identity"])
        if row is None:
            raise missing("question")
        return place, shelf, row, shelf.study.question(row)

    def _image(self, request: Request) -> Place:
        """Return the file of an image that a question of the dataset shows and that is inside its
        folder.
        """
        place, shelf = self._shelf(request, refresh=False)
        name = request.path_params["name"]
        path = confined(place.root, name) if shelf.study.has_image(name) else None
        if path is None:
            raise missing("image")
        return path


async def _run_states(site: Site, request: Request) -> AsyncIterator[bytes]:
    """Stream the state of every run, again whenever one changes."""
    sent: dict[str, bytes] = {}
    while not await request.is_disconnected():
        for run in site.places.runs:
            state = orjson.dumps(asdict(await asyncio.to_thread(site.state, run)))
            if sent.get(run.slug) != state:
                sent[run.slug] = state
                yield b"event: run\ndata: " + state + b"\n\n"
        yield b": here\n\n"
        await asyncio.sleep(LIVE_EVERY_S)


async def _new_verdicts(site: Site, request: Request, place: RunPlace) -> AsyncIterator[bytes]:
    """Stream the newest replies of a run whose dataset is available, and each new one."""
    seen = -1
    while not await request.is_disconnected():
        verdicts = await asyncio.to_thread(site.verdicts_of, place)
        if verdicts is None:  # the dataset's questions are being read
            await asyncio.sleep(LIVE_EVERY_S)
            continue
        total = await asyncio.to_thread(verdicts.lines)
        if total != seen:
            fresh = MOST_WATCHED if seen < 0 else min(MOST_WATCHED, max(total - seen, 0))
            seen = total
            latest = await asyncio.to_thread(_latest, verdicts, fresh)
            yield b"event: verdicts\ndata: " + orjson.dumps(latest) + b"\n\n"
        yield b": here\n\n"
        await asyncio.sleep(LIVE_EVERY_S)


def _latest(verdicts: RunVerdicts, count: int) -> list[dict[str, Any]]:
    return [_watched(verdict) for verdict in verdicts.latest(count)] if count else []


def _watched(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict for the page of a run; the order is included only if options have one."""
    reply = verdict.raw_response or str(verdict.extra.get("error") or "")
    return {
        "id": verdict.id,
        "order": verdict.order if isinstance(verdict.value, str) else "",
        "purpose": views.asked(verdict),
        "said": views.shown_value(verdict.value),
        "status": verdict.status,
        "cause": verdict.cause or "",
        "reply": reply[:LONGEST_SHOWN],
        "seconds": verdict.latency_s,
    }


def _chosen(runs: Sequence[RunPlace], slug: str | None, default: int) -> RunPlace | None:
    """Return the run named in the address, else the n-th, else the last."""
    named = [run for run in runs if run.slug == slug]
    return named[0] if named else runs[min(default, len(runs) - 1)] if runs else None


def _whole(text: str | None, default: int) -> int:
    return min(int(text), 2**31) if text and text.isascii() and text.isdecimal() else default


def _refused(_request: Request, error: Any) -> Response:
    return PlainTextResponse(error.detail, error.status_code)


def _line(site: Site, slug: str, shares: Mapping[str, float]) -> str:
    """Say how much of a dataset is indexed, and what does not work yet."""
    place = site.dataset(slug)
    name = slug if place is None else place.name
    if not shares:
        return f"{name}: reading the questions. The grid opens when this is done"
    told = ", ".join(f"{what} {share:.0%}" for what, share in shares.items())
    return (
        f"{name}: indexing ({told}). Until then, search and the filters of judges cover only what "
        "is indexed so far"
    )


def _indexing(request: Request, error: Any) -> Response:
    """Return a page that reloads once the questions are read; other requests are asked to retry."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse("the questions are being read", 503, {"retry-after": "2"})
    return renderer()("indexing.html.j2")


def _unreadable(_request: Request, error: Exception) -> Response:
    """Report an error; its reason goes only to the terminal, as it may reveal what raters must not
    see.
    """
    logging.getLogger("visualjudge").warning("visualjudge: %s", error)
    return PlainTextResponse("cannot be read; the terminal of the studio says why", 404)


def _not_done(_request: Request, error: Exception) -> Response:
    """Report a full disk or a damaged index."""
    logging.getLogger("visualjudge").error("visualjudge: %s", error)
    return PlainTextResponse("not saved; the terminal of the studio says why", 507)
