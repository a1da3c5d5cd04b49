"""The addresses for raters. Each needs the rater's token; in this mode no page shows scores, sources or verdicts."""

from __future__ import annotations

import asyncio
import statistics
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from visualjudge.core import jsons
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.studio.compare import outcome
from visualjudge.studio.guard import TOKEN_HEADER, same_token
from visualjudge.studio.index import DatasetIndex
from visualjudge.studio.people.answers import as_shown, read_answer
from visualjudge.studio.people.desk import Desk, Rater, Stale
from visualjudge.studio.people.plan import Slot
from visualjudge.studio.people.tokens import ADMIN, Tokens
from visualjudge.studio.people.view import View, view
from visualjudge.studio.thumbnails import confined, image_response

Render = Callable[..., Response]

MOST_IMAGES = 20_000
"""Addresses of images that are remembered."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One rater on the overview."""

    name: str
    link: str
    answered: int
    left: int
    cannot_tell: int
    median_seconds: float | None
    known: tuple[int, int]
    same_again: tuple[int, int]


class PeoplePages:
    """One method an address."""

    def __init__(self, desk: Desk, index: DatasetIndex, tokens: Tokens, render: Render) -> None:
        self.desk = desk
        self.index = index
        self.tokens = tokens
        self.render = render
        self._images: OrderedDict[str, str] = OrderedDict()

    def routes(self) -> list[tuple[str, Callable[[Request], Any], str]]:
        """Address, handler and method."""
        return [
            ("/", self.overview, "GET"),
            ("/people-image/{key}", self.image, "GET"),
            ("/people/{rater}", self.page, "GET"),
            ("/people/{rater}/next", self.next, "GET"),
            ("/people/{rater}/back", self.back, "GET"),
            ("/people/{rater}/answer", self.answer, "POST"),
        ]

    def link(self, name: str) -> str:
        """The address of a rater's page, token included; of the overview for ADMIN."""
        path = "/" if name == ADMIN else f"/people/{quote(name, safe='')}"
        return f"{path}?{urlencode({'token': self.tokens.of(name)})}"

    # ---------------------------------------------------------------- pages

    def overview(self, request: Request) -> Response:
        """How far each rater is, for the one who runs the study."""
        if not same_token(request.query_params.get("token"), self.tokens.of(ADMIN)):
            raise _refused()
        raters = [self._progress(rater) for rater in self.desk.raters.values()]
        return self.render(
            "people.html.j2", raters=raters, settings=asdict(self.desk.plan.settings), plan=self.desk.plan
        )

    def page(self, request: Request) -> Response:
        """Where a rater answers."""
        name = request.path_params["rater"]
        token = request.query_params.get("token")
        if name not in self.desk.raters or not same_token(token, self.tokens.of(name)):
            raise _refused()
        return self.render("rater.html.j2", rater=name, token=token)

    def image(self, request: Request) -> Response:
        """An image under a name that tells nothing."""
        name = self._images.get(request.path_params["key"])
        path = confined(self.index.root, name) if name else None
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
        found = self.desk.back(name, int(steps)) if steps.isascii() and steps.isdecimal() and len(steps) < 7 else None
        if found is None:
            raise HTTPException(404, "there is no earlier answer")
        slot, line = found
        shown = await asyncio.to_thread(self._view, name, slot)
        said = {"value": as_shown(line["value"], slot), "cannot_tell": line["status"] == "cannot_tell"}
        return self._json(name, shown, given={**said, "note": line.get("note")})

    async def answer(self, request: Request) -> Response:
        """Write an answer; the reply holds the next question, and comes when the answer is on the disk."""
        name = self._allowed(request)
        try:
            raw = _body(await request.body())
            slot = self._named(name, str(raw.get("slot")))
            kind = self.desk.plan.by_id[slot.id].type
            given = read_answer(raw, slot, kind)
            await asyncio.to_thread(self.desk.write, name, slot.key, given, revise=raw.get("revise") is True)
        except Stale as error:
            raise HTTPException(409, str(error)) from None
        except DataError as error:
            raise HTTPException(422, str(error)) from None
        await self.desk.synced()
        return await asyncio.to_thread(self._next, name)

    # ---------------------------------------------------------------- helpers

    def _allowed(self, request: Request) -> str:
        """The rater of a request with the right token in its header; any other is refused."""
        name = str(request.path_params["rater"])
        if name not in self.desk.raters or not same_token(request.headers.get(TOKEN_HEADER), self.tokens.of(name)):
            raise _refused()
        return name

    def _named(self, rater: str, name: str) -> Slot:
        """The slot of this opaque name: the rater's next one, or one that was answered."""
        known = self.desk.raters[rater]
        for slot in (*([known.pending] if known.pending else []), *reversed(known.slots)):
            if self.tokens.slot(rater, slot.id, slot.turn) == name:
                return slot
        raise Stale("this question is no longer open")

    def _next(self, name: str) -> Response:
        slot = self.desk.next(name)
        return self._json(name, self._view(name, slot) if slot else None)

    def _view(self, name: str, slot: Slot) -> View:
        def address(image: str) -> str:
            key = self.tokens.image(name, image)
            self._images[key] = image
            while len(self._images) > MOST_IMAGES:
                self._images.popitem(last=False)
            return f"/people-image/{key}"

        return view(self._question(slot.id), slot, self.tokens.slot(name, slot.id, slot.turn), address)

    def _question(self, identity: str) -> Question:
        row = self.index.row_of(identity)
        if row is None:
            raise DataError(f"question {identity} is not in the dataset")
        return self.index.question(row)

    def _json(self, name: str, shown: View | None, given: Mapping[str, Any] | None = None) -> Response:
        rater = self.desk.raters[name]
        question = None if shown is None else {**asdict(shown), "given": given}
        state = {"question": question, "answered": len(rater.slots), "left": self.desk.left(name)}
        return Response(orjson.dumps(state), media_type="application/json")

    def _progress(self, rater: Rater) -> Progress:
        lines = rater.lines
        right = [self._right(line) for line in lines if line.get("purpose") == "known"]
        first = {line["id"]: line for line in lines if line.get("turn") == 0}
        again = [line for line in lines if line.get("purpose") == "repeat" and line["id"] in first]
        seconds = [line["latency_s"] for line in lines if isinstance(line.get("latency_s"), int | float)]
        return Progress(
            name=rater.name,
            link=self.link(rater.name),
            answered=len(lines),
            left=self.desk.left(rater.name),
            cannot_tell=sum(line["status"] == "cannot_tell" for line in lines),
            median_seconds=statistics.median(seconds) if seconds else None,
            known=(sum(right), len(right)),
            same_again=(sum(line["value"] == first[line["id"]]["value"] for line in again), len(again)),
        )

    def _right(self, line: Mapping[str, Any]) -> bool:
        return outcome(line["value"], line["status"], self._question(line["id"])) == "right"


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
