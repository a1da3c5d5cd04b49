"""The pages for raters: command options, application, links and routes; instructions,
and questions as people read them. The pages of the studio are in ``studio/app.py``;
what is asked is planned in ``plan.py``.

Each address requires the rater's token; in this mode no page shows scores, sources or
verdicts.
"""

import asyncio
import hashlib
import hmac
import itertools
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import orjson
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from visualjudge.analysis.score_scale import ScoreScale, asked_scale
from visualjudge.core import jsons
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import IMAGE_MARK, Question, QuestionType
from visualjudge.core.typed_records import record_of
from visualjudge.core.untrusted import read_file
from visualjudge.dataset.fault_truth import deciding
from visualjudge.dataset.folder import read_meta
from visualjudge.prompts.rubric import TIE, Criterion, Scale, rubric_of_json
from visualjudge.prompts.spans import spans_of
from visualjudge.runs.folder import RunFolder
from visualjudge.studio.app import application, json_response, missing, page
from visualjudge.studio.people.plan import (
    NO_FILES,
    Settings,
    Slot,
    StudyFiles,
    drawn_rows,
    named_rows,
    plan_of,
)
from visualjudge.studio.people.rating_run import (
    Given,
    RatingRun,
    Stale,
    as_shown,
    progress,
    read_answer,
)
from visualjudge.studio.question_views import (
    option_images,
    option_texts,
    original_images,
)
from visualjudge.studio.selection import Shelf
from visualjudge.studio.serving import LOOPBACK, TOKEN_HEADER, same_token
from visualjudge.studio.studio_data import Site
from visualjudge.studio.thumbnails import confined, image_response
from visualjudge.vision.faults import kinds_of

LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Instructions:
    """The ``html`` for the page, and its ``images`` in order, files inside the Markdown
    file's folder.
    """

    html: str
    images: tuple[Path, ...]


def read_instructions(
    path: Path, address: Callable[[int], str]
) -> Instructions:
    """Read the instructions in a Markdown file.

    Parameters
    ----------
    address
        Function from an image's index to its address.

    Raises
    ------
    UsageError
        If the file cannot be read, or shows an image that is not a file in its folder.
    """
    try:
        text = read_file(path, "yaml").decode("utf-8-sig")
    except (DataError, UnicodeDecodeError) as error:
        raise UsageError(
            f"`instructions`: {path}: must be a Markdown file: {error}"
        ) from None
    if len(text) > LONGEST:
        raise UsageError(
            f"`instructions`: {path}: must have at most {LONGEST} characters, got "
            f"{len(text)}"
        )
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    images = list[Path]()
    for token in (child for block in tokens for child in block.children or ()):
        if token.type == "image":
            name = str(token.attrGet("src"))
            file = (
                None
                if ":" in name.partition("/")[0]
                else confined(path.parent, unquote(name))
            )
            if not isinstance(file, Path):
                raise UsageError(
                    f"`instructions`: {path}: image {name!r} must be a file in its "
                    "folder"
                )
            token.attrSet("src", address(len(images)))
            images.append(file)
    return Instructions(
        markdown.renderer.render(tokens, markdown.options, {}), tuple(images)
    )


_IMAGES = re.compile(r"^(?:First image|Image): .*$", re.MULTILINE)
_BEFORE = (
    (re.compile(r"The class\(es\) of interest is (.+?)\."),
     r"Only these classes count: \1."),
    (re.compile(r"You are a judge to decide the quality of answers to an? (.+?) "
                r"task(?: based on "
                r"my given image)?\."),
     r"Task: \1."),
    (re.compile(r"^Format of predictions?:", re.MULTILINE), "How the predictions are "
                                                            "shown:"),
)  # fmt: skip
_AFTER = (
    (re.compile(r"\s*Please answer with A or B\.?"), ""),
    (
        re.compile(
            r"\s*Respond with the ranking as a single string of letters only.*",
            re.DOTALL,
        ),
        "",
    ),
    (re.compile(r"0 = random guessing / worst"), "0 = worst"),
    (
        re.compile(
            r"\s*Please answer with a single score from 0 to 10 only\.?"
        ),
        "",
    ),
)
# The question to show if the prompt states it before the options, for models only.
ASKED: Mapping[QuestionType, str] = {
    "pairwise": "Which one is better?",
    "ranking": "Put them in order, the best one first.",
    "scoring": "How good is it, from {low:g} (worst) to {high:g} (best)?",
}
_GAPS = re.compile(r"\n{3,}")


def for_people(
    before: str, after: str, kind: QuestionType, scale: ScoreScale
) -> tuple[str, str]:
    """Rewrite a prompt's texts before and after the options for people; other tools'
    prompts are unchanged.
    """
    for pattern, wording in _BEFORE:
        before = pattern.sub(wording, before)
    for pattern, wording in _AFTER:
        after = pattern.sub(wording, after)
    asked = ASKED[kind].format(low=scale.low, high=scale.high)
    return without_image_notes(before), after.strip() or asked


def without_image_notes(text: str) -> str:
    """Leave out lines that tell a model which image is which."""
    return _GAPS.sub("\n\n", _IMAGES.sub("", text)).strip()


# ---------------------------------------------------------------- access

# Stands for the person who runs the study; not allowed as a rater's name.
ADMIN = "\0admin"
_BYTES = 32


class Tokens:
    """Tokens of one people's run, derived from a private secret in the user's cache.

    Raises
    ------
    RunError
        If the secret cannot be created or read.
    """

    def __init__(self, home: Path, folder: Path) -> None:
        path = home / "secret"
        try:
            secret = _secret(path)
        except OSError as error:
            raise RunError(f"{path}: cannot be used: {error}") from None
        if len(secret) != _BYTES or (
            os.name == "posix" and path.stat().st_mode & 0o077
        ):
            raise RunError(
                f"{path}: must have {_BYTES} bytes that you alone can read (mode "
                "0600); remove it"
            )
        self._key = hmac.digest(
            secret, str(folder.resolve()).encode("utf-8", "replace"), "sha256"
        )

    def token(self, name: str) -> str:
        """Return the token of a rater."""
        return self._tag("token", name, 22)

    def slot(self, rater: str, identity: str, turn: int) -> str:
        """Return a name for a question that reveals nothing about it."""
        return self._tag("slot", f"{rater}\0{identity}\0{turn}", 32)

    def _tag(self, kind: str, name: str, length: int) -> str:
        text = f"{kind}\0{name}".encode("utf-8", "replace")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:length]


def _secret(path: Path) -> bytes:
    """Read the secret; the first call makes it, complete when it appears."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # mode 0600
            file.write(secrets.token_bytes(_BYTES))
            file.flush()
            with suppress(
                FileExistsError
            ):  # another studio was first: its secret counts
                os.link(file.name, path)
    return path.read_bytes()


def refused() -> HTTPException:
    """Return the response to a wrong token, without details."""
    return HTTPException(403, "this link is not valid: ask for a new one")


# ---------------------------------------------------------------- pages

_LAYOUT = re.compile(r"^\s*(Options:|[A-E]\.|Image:.*)\s*$", re.MULTILINE)
LONGEST_NAME = 60


def shown_images(question: Question, slot: Slot) -> list[str]:
    """Return the dataset's images in the slot's order: the originals, then those of the
    options."""
    images = option_images(question)
    option_files = (images["ABCDE".index(stored)] for stored in slot.shown)
    return [
        *original_images(question),
        *(image for image in option_files if image),
    ]


def view(
    question: Question,
    slot: Slot,
    name: str,
    address: str,
    *,
    scale: ScoreScale,
    criteria: Sequence[Criterion],
) -> Json:
    """Return what the rater's page is sent: the question in the order of the slot.

    Parameters
    ----------
    name
        Name of the slot, sent back with the answer.
    address
        Address under which the images of :func:`shown_images` are served by index.
    scale
        Scale of the scores.
    criteria
        Criteria of a rubric that are asked too.
    """
    images = option_images(question)
    texts = option_texts(question)
    before, after = _around(question)
    places = (f"{address}/{k}" for k in itertools.count())
    originals = tuple(itertools.islice(places, len(original_images(question))))
    choices = []
    for k, stored in enumerate(slot.shown):
        place = "ABCDE".index(stored)
        text = without_image_notes(texts[place])
        image = next(places) if images[place] else None
        choices.append({"letter": "ABCDE"[k], "image": image, "text": text})
    before, after = for_people(before, after, question.question_type, scale)
    return {
        "slot": name,
        "type": question.question_type,
        "before": before,
        "after": after,
        "originals": originals,
        "options": choices,
        "ties": question.ties or (),
        "practice": slot.purpose == "practice",
        "scores": scale.scores,
        "criteria": [
            {
                "id": criterion.id,
                "ask": criterion.ask,
                "range": _range(criterion),
                "words": _words(criterion, question.task),
            }
            for criterion in criteria
        ],
    }


def _range(criterion: Criterion) -> tuple[float, float] | None:
    form = criterion.answer
    return form.scale if isinstance(form, Scale) else None


def _words(criterion: Criterion, task: str) -> tuple[str, ...]:
    if criterion.answer == "yes_no":
        return ("yes", "no")
    if criterion.answer == "option":
        return ("A", "B", TIE)
    return criterion.words(task)


def _around(question: Question) -> tuple[str, str]:
    """Return the prompt's text before and after the options, without marks and letters
    that the page adds.
    """
    try:
        spans = spans_of(question).options
    except DataError:
        spans = ()
    if not spans:
        return _plain(question.prompt), ""
    return _plain(question.prompt[: spans[0][0]]), _plain(
        question.prompt[spans[-1][1] :]
    )


def _plain(text: str) -> str:
    return without_image_notes(_LAYOUT.sub("", text.replace(IMAGE_MARK, "")))


class PeoplePages:
    """The routes, one method each."""

    def __init__(
        self,
        run: RatingRun,
        shelf: Shelf,
        tokens: Tokens,
        guide: Instructions | None = None,
    ) -> None:
        self.run = run
        self.shelf = shelf
        self.study = shelf.study
        self.tokens = tokens
        self.guide = guide
        self.scale = asked_scale(read_meta(shelf.study.root))
        stated = run.plan.settings.rubric
        self.rubric = None if stated is None else rubric_of_json(stated)

    def routes(self) -> list[tuple[str, Callable[[Request], Any], str]]:
        """Return address, handler and method."""
        return [
            ("/", self.overview, "GET"),
            (
                "/instructions-image/{number:int}",
                self.instructions_image,
                "GET",
            ),
            ("/people-image/{rater}/{slot}/{number:int}", self.image, "GET"),
            ("/people/{rater}", self.page, "GET"),
            ("/people/{rater}/next", self.next, "GET"),
            ("/people/{rater}/back", self.back, "GET"),
            ("/people/{rater}/answer", self.answer, "POST"),
        ]

    def link(self, name: str) -> str:
        """Return the address of a rater's page, including the token; for ADMIN, of the
        overview."""
        path = "/" if name == ADMIN else f"/people/{quote(name, safe='')}"
        return f"{path}?{urlencode({'token': self.tokens.token(name)})}"

    # ---------------------------------------------------------------- pages

    def overview(self, request: Request) -> Response:
        """Show the progress of each rater to the person who runs the study."""
        token = request.query_params.get("token")
        if not same_token(token, self.tokens.token(ADMIN)):
            raise refused()
        run = self.run
        raters = [
            progress(r, run.left(r.name), self._question)
            for r in run.raters.values()
        ]
        return page(
            "people.html.j2",
            raters=raters,
            links={name: self.link(name) for name in run.raters},
            settings=run.plan.settings,
            plan=run.plan,
            complete=run.complete(),
        )

    def page(self, request: Request) -> Response:
        """Show a rater's page."""
        name = self._rater(request, request.query_params.get("token"))
        return page(
            "rater.html.j2",
            rater=name,
            token=self.tokens.token(name),
            instructions=Markup(self.guide.html) if self.guide else None,
            least_seconds=self.run.plan.settings.least_seconds,
        )

    def instructions_image(self, request: Request) -> Response:
        """Return an image of the instructions by its index."""
        number = request.path_params["number"]
        if self.guide is None or number >= len(self.guide.images):
            raise missing("image")
        return image_response(self.guide.images[number])

    def image(self, request: Request) -> Response:
        """Return an image of a question by its index; the question's name reveals
        nothing."""
        rater = request.path_params["rater"]
        number = request.path_params["number"]
        if rater not in self.run.raters:
            raise missing("image")
        try:
            slot = self._named(rater, request.path_params["slot"])
        except (KeyError, Stale):
            raise missing("image") from None
        images = shown_images(self._question(slot.id), slot)
        path = (
            confined(self.study.root, images[number])
            if number < len(images)
            else None
        )
        if path is None:
            raise missing("image")
        return image_response(path)

    # ---------------------------------------------------------------- questions and
    # answers

    async def next(self, request: Request) -> Response:
        """Return the current question."""
        return await asyncio.to_thread(self._next, self._sender(request))

    async def back(self, request: Request) -> Response:
        """Return an answered question with its answer, for a correction."""
        name = self._sender(request)
        steps = request.query_params.get("steps", "1")
        earlier = (
            self.run.back(name, int(steps))
            if re.fullmatch(r"[0-9]{1,6}", steps)
            else None
        )
        if earlier is None:
            raise HTTPException(404, "there is no earlier answer")
        slot, line = earlier
        question = await asyncio.to_thread(self._view, name, slot)
        criteria = self._criteria(self._question(slot.id))
        options = {own.id for own in criteria if own.answer == "option"}
        answer = {
            "value": as_shown(line["value"], slot, self.scale),
            "cannot_tell": line["status"] == "cannot_tell",
            "criteria": {
                name: as_shown(value, slot) if name in options else value
                for name, value in line.get("criteria", {}).items()
            },
        }
        return self._json(
            name, question, answer={**answer, "note": line.get("note")}
        )

    async def answer(self, request: Request) -> Response:
        """Write an answer; the response has the next question and is sent once the
        answer is on disk.
        """
        name = self._sender(request)
        try:
            raw = record_of(Json, jsons.loads(await request.body()), "the body")
            slot = self._named(name, str(raw.get("slot")))
            question = self._question(slot.id)
            answer = read_answer(
                raw,
                slot,
                question.question_type,
                ties=question.ties or (),
                least_seconds=self.run.plan.settings.least_seconds,
                scale=self.scale,
                criteria=self._criteria(question),
                task=question.task,
            )
            await asyncio.to_thread(
                self.run.write,
                name,
                slot.key,
                answer,
                revise=raw.get("revise") is True,
            )
        except Stale as error:
            raise HTTPException(409, str(error)) from None
        except (DataError, orjson.JSONDecodeError) as error:
            raise HTTPException(422, str(error)) from None
        await self.run.synced()
        return await asyncio.to_thread(
            self._next, name, self._feedback(slot, answer, question)
        )

    # ---------------------------------------------------------------- helpers

    def _sender(self, request: Request) -> str:
        """Return the rater whose page sent the request."""
        return self._rater(request, request.headers.get(TOKEN_HEADER))

    def _rater(self, request: Request, token: str | None) -> str:
        """Return the rater of a request with the right token; refuse others."""
        name = str(request.path_params["rater"])
        known = name in self.run.raters
        if not known or not same_token(token, self.tokens.token(name)):
            raise refused()
        return name

    def _named(self, rater: str, name: str) -> Slot:
        """Return the slot with this opaque name: the rater's next one (also after a
        restart) or an answered one.
        """
        known = self.run.raters[rater]
        pending = known.pending or self.run.next(rater)
        for slot in (*([pending] if pending else []), *reversed(known.slots)):
            if self.tokens.slot(rater, slot.id, slot.turn) == name:
                return slot
        raise Stale("this question is no longer open")

    def _next(self, name: str, feedback: Fields | None = None) -> Response:
        slot = self.run.next(name)
        question = self._view(name, slot) if slot else None
        return self._json(name, question, feedback=feedback)

    def _view(self, name: str, slot: Slot) -> Json:
        key = self.tokens.slot(name, slot.id, slot.turn)
        return view(
            self._question(slot.id),
            slot,
            key,
            f"/people-image/{quote(name, safe='')}/{key}",
            scale=self.scale,
            criteria=self._criteria(self._question(slot.id)),
        )

    def _criteria(self, question: Question) -> tuple[Criterion, ...]:
        """Return the criteria that people are asked with a question."""
        asked = () if self.rubric is None else self.rubric.of(question)
        return tuple(own for own in asked if own.answer != "place")

    def _feedback(
        self, slot: Slot, answer: Given, question: Question
    ) -> Fields | None:
        """Return the feedback after a practice question: whether it was right, and the
        answer as shown.
        """
        if slot.purpose != "practice":
            return None
        decided = deciding(question, None)
        return {
            "right": answer.value == question.answer,
            "answer": as_shown(question.answer, slot, self.scale),
            "why": " or ".join(
                kinds_of(question.task).get(kind, kind)
                for kind in (decided.kinds if decided else ())
            ),
        }

    def _question(self, identity: str) -> Question:
        row = self.study.row_of(identity)
        if row is None:
            raise DataError(f"question {identity} is not in the dataset")
        return self.study.question(row)

    def _json(
        self,
        name: str,
        fields_shown: Fields | None,
        answer: Fields | None = None,
        feedback: Fields | None = None,
    ) -> Response:
        rater = self.run.raters[name]
        left = self.run.left(name)
        question = (
            None if fields_shown is None else {**fields_shown, "given": answer}
        )
        return json_response(
            {
                "question": question,
                "answered": rater.counted,
                "past": len(rater.slots),
                "left": left,
                "feedback": feedback,
            }
        )


def people_pages(
    site: Site,
    folder: Path,
    settings: Settings,
    raters: Sequence[str],
    files: StudyFiles = NO_FILES,
) -> PeoplePages:
    """Create the pages of the run at ``folder`` for the single dataset of ``site``.

    Raises
    ------
    UsageError
        If there is not exactly one dataset, it holds labels only, no question fits, a
        rater's name cannot be used, or the folder holds another run.
    RunError
        If another process writes to the folder.
    """
    if len(site.places.datasets) != 1:
        raise UsageError(
            "people are asked about exactly one dataset, got "
            f"{len(site.places.datasets)}"
        )
    for name in raters:
        fits = name.isprintable() and "/" not in name and name == name.strip()
        if not fits or not 0 < len(name) <= LONGEST_NAME:
            raise UsageError(
                f"`rater` must be 1 to {LONGEST_NAME} printable characters without '/' "
                f"and without blanks around them, got {name!r}"
            )
    stored = RunFolder(folder).manifest()
    if not raters and not stored.get("people", {}).get("raters"):
        raise UsageError("people need at least one rater: `rater` NAME")
    paths = {
        name: path for name, path in asdict(files).items() if path is not None
    }
    for name in asdict(files).keys() - paths.keys():
        if (stored.get("parameters") or {}).get(name):
            option = f"`{name}`"
            raise UsageError(
                f"this study has {option}: give the same file again to continue"
            )
    place = site.places.datasets[0]
    if place.labels_only:
        raise UsageError(
            f"{place.root}: people cannot be asked: it contains only labels"
        )
    shelf = site.shelf(place.slug)
    guide = (
        None
        if files.instructions is None
        else read_instructions(
            files.instructions, "/instructions-image/{}".format
        )
    )
    checksums: Json = {name: file_sha256(path) for name, path in paths.items()}
    settings = replace(settings, **checksums)
    plan = plan_of(
        shelf,
        settings,
        drawn_rows(shelf, files.items) if files.items else None,
        named_rows(shelf, files.questions) if files.questions else None,
    )
    run = RatingRun(
        folder,
        plan,
        {"path": str(place.root), "checksum": shelf.study.checksum},
        list(raters),
    )
    return PeoplePages(run, shelf, Tokens(site.home, folder), guide)


def going_on(folder: Path, settings: Settings, *, named: bool) -> Settings:
    """Return the settings to continue with: those of the study in ``folder`` if the
    command gives none.

    A new study leaves out questions whose predictions are shown only as text, unless
    they are requested by ``settings.encoding`` or ``named`` in a file of questions.
    """
    stored = RunFolder(folder).manifest().get("parameters")
    if not isinstance(stored, dict):
        drawn = not (
            settings.encoding or named or "encodings" in settings.filter
        )
        return replace(settings, encoding="drawn") if drawn else settings
    if settings == Settings() and not named:
        names = {setting.name for setting in fields(Settings)} - {
            setting.name for setting in fields(StudyFiles)
        }
        return Settings(
            **{name: stored[name] for name in names & stored.keys()}
        )
    return replace(
        settings, encoding=settings.encoding or stored.get("encoding", "")
    )


def people_app(pages: PeoplePages, names: frozenset[str] = LOOPBACK) -> Any:
    """Create the application for raters under these host names; it has none of the
    dataset's own pages.
    """
    return application(pages.routes(), names)
