"""The pages for raters: from the options of the command to the application, its links and its
addresses.

Each address needs the rater's token; in this mode no page shows scores, sources or verdicts.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np
import orjson
from markupsafe import Markup
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from visualjudge.analysis.decisions.label_files import read_queue
from visualjudge.clients.cache_key import cache_secret
from visualjudge.core import jsons
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.question_filter import read_ids
from visualjudge.prompts.spans import spans_of
from visualjudge.studio.app import application, renderer, static
from visualjudge.studio.guard import TOKEN_HEADER, same_token
from visualjudge.studio.index import Columns, DatasetIndex
from visualjudge.studio.people.instructions import Instructions, read_instructions
from visualjudge.studio.people.monitor import agreement, progress
from visualjudge.studio.people.plan import Item, Plan, Settings, Slot
from visualjudge.studio.people.rating_run import Given, RatingRun, Stale, as_shown, read_answer
from visualjudge.studio.people.wording import for_people
from visualjudge.studio.question_views import option_images, option_texts, original_images, outcome
from visualjudge.studio.selection import Shelf, State
from visualjudge.studio.site import Site
from visualjudge.studio.thumbnails import confined, image_response
from visualjudge.vision.encodings import encodings

ADMIN = "\0admin"
"""Stands for the one who runs the study; no rater can bear this name."""
_LAYOUT = re.compile(r"^\s*(Options:|[A-E]\.|Image:.*)\s*$", re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")
Render = Callable[..., Response]
LONGEST_NAME = 60


class Tokens:
    """Tokens of one people's run, made from a secret in the user's cache that nobody else can
    read.
    """

    def __init__(self, home: Path, folder: Path) -> None:
        try:
            secret = cache_secret(home, "secret")
        except OSError as error:
            raise RunError(str(error)) from None
        self._key = hmac.digest(secret, str(folder.resolve()).encode("utf-8", "replace"), "sha256")

    def token(self, name: str) -> str:
        """The token of a rater."""
        return self._tag("token", name, 22)

    def code(self, rater: str) -> str:
        """What a rater shows to be paid; on the page once nothing is left, and on the overview."""
        return self._tag("code", rater, 10)

    def slot(self, rater: str, identity: str, turn: int) -> str:
        """A name for a question that tells nothing of it."""
        return self._tag("slot", f"{rater}\0{identity}\0{turn}", 32)

    def _tag(self, kind: str, name: str, length: int) -> str:
        return hmac.new(
            self._key, f"{kind}\0{name}".encode("utf-8", "replace"), hashlib.sha256
        ).hexdigest()[:length]


@dataclass(frozen=True, slots=True)
class Choice:
    """One option under the letter that the rater sees."""

    letter: str
    image: str | None
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """What is sent to the rater's page; images are addresses that tell nothing."""

    slot: str
    type: str
    before: str
    after: str
    originals: tuple[str, ...]
    options: tuple[Choice, ...]
    ties: tuple[str, ...]
    """What may be said of a pair beside A and B."""
    practice: bool


def shown_images(question: Question, slot: Slot) -> list[str]:
    """The images of the dataset as the slot shows them: the originals, then those of the options in
    its order.
    """
    images = option_images(question)
    shown = (images["ABCDE".index(stored)] for stored in slot.shown)
    return [*original_images(question), *(image for image in shown if image)]


def view(question: Question, slot: Slot, name: str, address: str) -> View:
    """The question in the order of the slot.

    Parameters
    ----------
    name
        Of the slot, for the answer.
    address
        Where the images of :func:`shown_images` are served, each by its place.
    """
    images, texts = option_images(question), option_texts(question)
    before, after = _around(question)
    places = (f"{address}/{k}" for k in itertools.count())
    originals = tuple(itertools.islice(places, len(original_images(question))))
    choices = []
    for k, stored in enumerate(slot.shown):
        place = "ABCDE".index(stored)
        choices.append(Choice("ABCDE"[k], next(places) if images[place] else None, texts[place]))
    before, after = for_people(before, after, question.question_type)
    ties, practice = question.ties or (), slot.purpose == "practice"
    return View(
        name, question.question_type, before, after, originals, tuple(choices), ties, practice
    )


def _around(question: Question) -> tuple[str, str]:
    """The prompt's text before the options and after them, without marks and letters that the page
    shows itself.
    """
    try:
        spans = spans_of(question).options
    except DataError:
        spans = ()
    if not spans:
        return _plain(question.prompt), ""
    return _plain(question.prompt[: spans[0][0]]), _plain(question.prompt[spans[-1][1] :])


def _plain(text: str) -> str:
    return _GAPS.sub("\n\n", _LAYOUT.sub("", text.replace(IMAGE_MARK, ""))).strip()


class PeoplePages:
    """One method an address."""

    def __init__(
        self,
        run: RatingRun,
        index: DatasetIndex,
        tokens: Tokens,
        render: Render,
        told: Instructions | None = None,
    ) -> None:
        self.run = run
        self.index = index
        self.tokens = tokens
        self.render = render
        self.told = told

    def routes(self) -> list[tuple[str, Callable[[Request], Any], str]]:
        """Address, handler and method."""
        return [
            ("/", self.overview, "GET"),
            ("/instructions-image/{number:int}", self.instructions_image, "GET"),
            ("/people-image/{rater}/{slot}/{number:int}", self.image, "GET"),
            ("/people/{rater}", self.page, "GET"),
            ("/people/{rater}/next", self.next, "GET"),
            ("/people/{rater}/back", self.back, "GET"),
            ("/people/{rater}/answer", self.answer, "POST"),
        ]

    def link(self, name: str) -> str:
        """The address of a rater's page, token included; of the overview for ADMIN."""
        path = "/" if name == ADMIN else f"/people/{quote(name, safe='')}"
        return f"{path}?{urlencode({'token': self.tokens.token(name)})}"

    # ---------------------------------------------------------------- pages

    def overview(self, request: Request) -> Response:
        """How far each rater is, for the one who runs the study."""
        if not same_token(request.query_params.get("token"), self.tokens.token(ADMIN)):
            raise _refused()
        plan = self.run.plan
        raters = [
            progress(rater, self.run.left(rater.name), plan.settings.rules, self._question)
            for rater in self.run.raters.values()
        ]
        return self.render(
            "people.html.j2",
            raters=raters,
            links={name: self.link(name) for name in self.run.raters},
            codes={name: self.tokens.code(name) for name in self.run.raters},
            settings=plan.settings,
            plan=plan,
            agreement=agreement(self.run.raters.values(), plan),
        )

    def page(self, request: Request) -> Response:
        """Where a rater answers."""
        name = request.path_params["rater"]
        token = request.query_params.get("token")
        if name not in self.run.raters or not same_token(token, self.tokens.token(name)):
            raise _refused()
        return self.render(
            "rater.html.j2",
            rater=name,
            token=token,
            instructions=Markup(self.told.html) if self.told else None,
            least_seconds=self.run.plan.settings.least_seconds,
        )

    def instructions_image(self, request: Request) -> Response:
        """An image of the instructions, by its place in them."""
        number = request.path_params["number"]
        if self.told is None or number >= len(self.told.images):
            raise HTTPException(404, "no such image")
        return image_response(self.told.images[number])

    def image(self, request: Request) -> Response:
        """An image of a question, by its place; the name of the question tells nothing of it."""
        rater, number = request.path_params["rater"], request.path_params["number"]
        try:
            slot = self._named(rater, request.path_params["slot"])
        except (KeyError, Stale):
            raise HTTPException(404, "no such image") from None
        images = shown_images(self._question(slot.id), slot)
        path = confined(self.index.root, images[number]) if number < len(images) else None
        if path is None:
            raise HTTPException(404, "no such image")
        return image_response(path)

    # ---------------------------------------------------------------- questions and answers

    async def next(self, request: Request) -> Response:
        """The question to answer now."""
        return await asyncio.to_thread(self._next, self._allowed(request))

    async def back(self, request: Request) -> Response:
        """A question that was answered, with the answer, to change it."""
        name, steps = self._allowed(request), request.query_params.get("steps", "1")
        found = (
            self.run.back(name, int(steps))
            if steps.isascii() and steps.isdecimal() and len(steps) < 7
            else None
        )
        if found is None:
            raise HTTPException(404, "there is no earlier answer")
        slot, line = found
        shown = await asyncio.to_thread(self._view, name, slot)
        said = {
            "value": as_shown(line["value"], slot),
            "cannot_tell": line["status"] == "cannot_tell",
        }
        return self._json(name, shown, given={**said, "note": line.get("note")})

    async def answer(self, request: Request) -> Response:
        """Write an answer; the reply holds the next question, and comes when the answer is on the
        disk.
        """
        name = self._allowed(request)
        try:
            raw = _body(await request.body())
            slot = self._named(name, str(raw.get("slot")))
            question, least = self._question(slot.id), self.run.plan.settings.least_seconds
            given = read_answer(
                raw, slot, question.question_type, ties=question.ties or (), least_seconds=least
            )
            await asyncio.to_thread(
                self.run.write, name, slot.key, given, revise=raw.get("revise") is True
            )
        except Stale as error:
            raise HTTPException(409, str(error)) from None
        except DataError as error:
            raise HTTPException(422, str(error)) from None
        await self.run.synced()
        await asyncio.to_thread(self._apply_rules, name)
        return await asyncio.to_thread(self._next, name, _feedback(slot, given, question))

    # ---------------------------------------------------------------- helpers

    def _allowed(self, request: Request) -> str:
        """The rater of a request with the right token in its header; any other is refused."""
        name = str(request.path_params["rater"])
        if name not in self.run.raters or not same_token(
            request.headers.get(TOKEN_HEADER), self.tokens.token(name)
        ):
            raise _refused()
        return name

    def _named(self, rater: str, name: str) -> Slot:
        """The slot of this opaque name: the rater's next one, as also after a restart, or one that
        was answered.
        """
        known = self.run.raters[rater]
        pending = known.pending or self.run.next(rater)
        for slot in (*([pending] if pending else []), *reversed(known.slots)):
            if self.tokens.slot(rater, slot.id, slot.turn) == name:
                return slot
        raise Stale("this question is no longer open")

    def _next(self, name: str, feedback: Mapping[str, Any] | None = None) -> Response:
        slot = self.run.next(name)
        return self._json(name, self._view(name, slot) if slot else None, feedback=feedback)

    def _view(self, name: str, slot: Slot) -> View:
        key = self.tokens.slot(name, slot.id, slot.turn)
        return view(
            self._question(slot.id), slot, key, f"/people-image/{quote(name, safe='')}/{key}"
        )

    def _question(self, identity: str) -> Question:
        row = self.index.row_of(identity)
        if row is None:
            raise DataError(f"question {identity} is not in the dataset")
        return self.index.question(row)

    def _json(
        self,
        name: str,
        shown: View | None,
        given: Mapping[str, Any] | None = None,
        feedback: Mapping[str, Any] | None = None,
    ) -> Response:
        rater, left = self.run.raters[name], self.run.left(name)
        question = None if shown is None else {**asdict(shown), "given": given}
        code = None if left else self.tokens.code(name)
        state = {
            "question": question,
            "answered": len(rater.slots),
            "left": left,
            "code": code,
            "feedback": feedback,
        }
        return Response(orjson.dumps(state), media_type="application/json")

    def _apply_rules(self, name: str) -> None:
        """Write down whether the rater is left out now."""
        rules = self.run.plan.settings.rules
        if rules:
            told = progress(self.run.raters[name], 0, rules, self._question)
            self.run.leave_out(name, out=bool(told.broken))


def _feedback(slot: Slot, given: Given, question: Question) -> Mapping[str, Any] | None:
    """What a rater is told after a practice question: whether it was right, and the answer in the
    letters shown.
    """
    if slot.purpose != "practice":
        return None
    right = outcome(given.value, given.status, question) == "right"
    return {"right": right, "answer": as_shown(question.answer, slot)}


def _body(content: bytes) -> Mapping[str, Any]:
    try:
        value = jsons.loads(content)
    except orjson.JSONDecodeError:
        raise DataError("the body must be JSON") from None
    if not isinstance(value, dict):
        raise DataError("the body must be an object")
    return value


def _refused() -> HTTPException:
    return HTTPException(403, "this link is not valid: ask for yours again")


def people_pages(
    site: Site,
    folder: Path,
    settings: Settings,
    raters: Sequence[str],
    queue: Path | None = None,
    *,
    questions: Path | None = None,
    known_questions: Path | None = None,
    instructions: Path | None = None,
) -> PeoplePages:
    """The pages of the run at ``folder``, over the one dataset of ``site``.

    Parameters
    ----------
    queue
        A file that ``visualjudge label`` wrote: only its items are asked, in one question each.
    questions
        A file of ids, one a line: only these questions are asked.
    known_questions
        A file of ids, one a line: the known items, in place of the easiest questions.
    instructions
        A Markdown file that raters read first.

    Raises
    ------
    UsageError
        If there is not exactly one dataset, it holds labels only, no question fits, a rater's name
        cannot be used, or the folder holds another run.
    RunError
        If another process writes to the folder.
    """
    if len(site.places.datasets) != 1:
        raise UsageError(f"--people needs exactly one dataset, got {len(site.places.datasets)}")
    for name in raters:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or "/" in name:
            raise UsageError(
                f"--rater must be 1 to {LONGEST_NAME} printable characters without '/', got "
                f"{name!r}"
            )
    place = site.places.datasets[0]
    if place.labels_only:
        raise UsageError(f"{place.root}: people cannot be asked: it holds labels only")
    shelf = site.shelf(place.slug)
    drawn, named, known, told = None, None, None, None
    if queue is not None:
        drawn = drawn_rows(shelf, queue)
        settings = replace(settings, items=file_sha256(queue))
    if questions is not None:
        named = named_rows(shelf, questions)
        settings = replace(settings, questions=file_sha256(questions))
    if known_questions is not None:
        known = named_rows(shelf, known_questions)
        settings = replace(settings, known_questions=file_sha256(known_questions))
    if instructions is not None:
        told = read_instructions(instructions, "/instructions-image/{}".format)
        settings = replace(settings, instructions=file_sha256(instructions))
    run = RatingRun(
        folder,
        plan_of(shelf, settings, drawn, named, known),
        {"path": str(place.root), "checksum": shelf.index.checksum},
        list(raters),
    )
    return PeoplePages(run, shelf.index, Tokens(site.home, folder), renderer(), told)


def named_rows(shelf: Shelf, path: Path) -> list[int]:
    """The rows of the ids in a file.

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


def plan_of(
    shelf: Shelf,
    settings: Settings,
    drawn: Mapping[int, float] | None = None,
    named: Sequence[int] | None = None,
    known: Sequence[int] | None = None,
) -> Plan:
    """The queue: the questions that the filter leaves, those ``drawn``, ``named`` or a sample, and
    the known items.

    ``known``: the rows of the known items, in place of the easiest; they need not be among the
    others.
    """
    columns = shelf.index.columns
    rows = np.sort(shelf.select(_state_of(shelf, settings.filter)).rows)
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
        raise UsageError("no question fits --filter")
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
    return Plan(settings, items, tuple(checks), tuple(practice))


def _state_of(shelf: Shelf, query: str) -> State:
    """The state that ``--filter`` names.

    Raises
    ------
    UsageError
        If it names a facet that the pages of this study do not have: a filter that is ignored asks
        other questions.
    """
    pairs = parse_qsl(query.lstrip("?"), keep_blank_values=True)
    names = {facet.name for facet in shelf.facets()} | {"q", "sort", "at"}
    for name, _ in pairs:
        if name not in names:
            raise UsageError(
                f"--filter must name {', '.join(sorted(names - {'at'}))}; got {name!r}"
            )
    return State.from_query(pairs)


def _easiest(columns: Columns, rows: NDArray[np.int32]) -> NDArray[np.intp]:
    """Places in ``rows`` of questions that everybody who looks gets right, easiest first.

    Pairs with a positive margin whose options are drawn, widest margin first; then those whose
    options are text. Rankings and scores have no answer that is plain to see.
    """
    margin = np.nan_to_num(columns.margin[rows], nan=-1.0)
    pair = (
        columns.vocabulary["type"].index("pairwise")
        if "pairwise" in columns.vocabulary["type"]
        else -1
    )
    kinds = {row.stem: row.kind for row in encodings()}
    stems = [name.rpartition("/")[2] for name in columns.vocabulary["encoding"]]
    text = np.array([kinds.get(stem) == "text" for stem in stems], dtype=bool)[
        columns.single["encoding"][rows]
    ]
    fit = (columns.single["type"][rows] == pair) & (columns.changed[rows] == 0) & (margin > 0)
    order: NDArray[np.intp] = np.lexsort((-margin, text))
    easy: NDArray[np.intp] = order[fit[order]]
    return easy


def people_app(pages: PeoplePages) -> Any:
    """The application for raters: nothing of the dataset's own pages is in it."""
    return application([("/static/{name}", static, "GET"), *pages.routes()])
