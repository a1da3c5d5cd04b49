"""The question judge, which asks a model a dataset's question and reads the reply.
Reading is in ``visualjudge.replies``; the prompt is stored with the question; modules
for edited images are in ``judge_module.py``.
"""

import itertools
import re
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from visualjudge.clients.base import (
    Client,
    Diagnostics,
    Part,
    Reply,
    Request,
    TextPart,
    ToolCall,
    ToolResult,
)
from visualjudge.clients.image_parts import ImageStore
from visualjudge.clients.protocol_fields import REFUSED, follows
from visualjudge.clients.retry import cause_of
from visualjudge.clients.tool_calls import Ending, converse
from visualjudge.core.errors import ApiError, DataError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import FAILED, LETTERS, TIES, Question, Verdict
from visualjudge.judges.base import Ask, Schema, failed, in_stored_letters
from visualjudge.judges.logprobs import expected_score, probability_of_a
from visualjudge.judges.reply_extractor import extracted
from visualjudge.judges.toolbox import ToolBox, Tools, trace_of
from visualjudge.options import Mode, Tiers
from visualjudge.prompts.rubric import Rubric
from visualjudge.prompts.spans import interleaved, spans_of, swapped
from visualjudge.replies import Reading, read_reply
from visualjudge.replies.criteria import FIELD, read_criteria, split_criteria

TOP_LOGPROBS = 20
TIE_ALLOWED = (
    "\n\nIf the two are equally good, answer Tie instead; if both are bad, "
    "answer Both bad instead."
)
MORE_REQUESTS = 2
"""Maximum number of requests in a conversation besides one per call: the answer, and
one that demands it.
"""
TOOL_LIMIT: Ending = "tool_limit"
IGNORED = "the server ignores JSON schemas: the prompt asks for the form of the answer"
_REFUSALS = (400, 422, 501)
"""Statuses with which servers refuse an unknown parameter."""
# How servers refuse an unknown parameter; most do not name it. Other refusals are not
# asked again.
_OF_A_PARAMETER = re.compile(
    r"unknown|unrecogni[sz]ed|unsupported|not "
    r"(?:supported|permitted|allowed|implemented)|extra"
    r"|unexpected|invalid|validation|field|parameter|argument|bad request",
    re.IGNORECASE,
)


def answer_schema(
    question: Question,
    *,
    whole: bool = False,
    reasons: bool = False,
    criteria: Json | None = None,
) -> Json:
    """Return the JSON schema of a reply: the answer, preceded by ``reasons`` and
    ``criteria`` if requested. Scores are in tenths, or ``whole``.
    """
    fields = {"reasoning": {"type": "string"}} if reasons else {}
    asked = {} if criteria is None else {FIELD: criteria}
    properties = {**fields, **asked, "answer": _answer_rule(question, whole)}
    return {
        "title": f"{question.question_type}_answer",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _answer_rule(question: Question, whole: bool) -> Json:
    # Enumerated, because with a grammar that allows any number a small model may write
    # digits until its tokens run out.
    if question.question_type == "scoring":
        tenths = [
            tenth / 10 if tenth % 10 else tenth // 10 for tenth in range(101)
        ]
        return {"type": "number", "enum": list(range(11)) if whole else tenths}
    letters = LETTERS[: len(question.annotation_ids)]
    if question.question_type == "pairwise":
        return {"type": "string", "enum": [*letters, *(question.ties or ())]}
    return {
        "type": "string",
        "enum": ["".join(order) for order in itertools.permutations(letters)],
    }


async def _no_tool(_call: ToolCall) -> ToolResult:
    raise AssertionError("a request without tools has no calls")


@dataclass
class QuestionJudge:
    """A judge that uses a client.

    Parameters
    ----------
    client
        Client to ask.
    root
        Folder of the dataset.
    mode
        ``"text"`` sends only the prompt and reads the reply. ``"json"`` also requests a
        JSON schema with the answer. ``"auto"`` requests a schema with reasons before
        the answer; once an answer shows that the server refuses or ignores it, all
        others are asked in text. ``"logprobs"`` also requests log-probabilities for the
        probability of A and the expected score (the schema locates the answer; scores
        are whole).
    retries
        Number of repeats after an unreadable reply. The default, 0, keeps the first
        reply; more repeats make the judge look better than it is.
    seed
        Seed sent to the server; the n-th repeat gets ``seed + n``.
    """

    client: Client
    root: Path
    mode: Mode = "text"
    retries: int = 0
    seed: int | None = None
    ties: bool = False
    """Whether every pairwise question allows a tie, or that both are bad, as stated in
    its prompt.
    """
    read: Tiers = "all"
    """``"marked"``: replies that state their answer only in sentences fail."""
    tools: Tools | None = None
    """Tools that the model may call before it answers. Asked in text, because a schema
    would prevent calls.
    """
    rubric: Rubric | None = None
    """Criteria that are asked in the same call, after the question's own text."""
    extractor: Client | None = None
    """A second reader of replies that cannot be read
    (``judges/reply_extractor.py``)."""
    images: ImageStore = field(default_factory=ImageStore)
    simulated: bool = False
    schema: Schema | None = None
    """How the server treats the schema of mode "auto"; None until a reply shows it."""

    @property
    def most_calls(self) -> int:
        """The maximum number of replies for one ask."""
        requests = 1 if self.tools is None else self.tools.most + MORE_REQUESTS
        return (self.retries + 1) * requests + (self.extractor is not None)

    @property
    def tries_schema(self) -> bool:
        """Whether replies decide if a schema is asked for."""
        return self.mode == "auto" and self.tools is None

    def request(self, ask: Ask) -> Request:
        """Return the request for one ask.

        Raises
        ------
        DataError
            If an image cannot be read or the prompt does not fit its images.
        """
        displayed = swapped(ask.question) if ask.order == "BA" else ask.question
        parts: list[Part] = [
            self.images.get(text, root=self.root)
            if is_image
            else TextPart(text)
            for text, is_image in interleaved(
                displayed.prompt, displayed.images
            )
        ]
        return Request(
            tuple(parts),
            seed=None if self.seed is None else self.seed + ask.repeat,
            schema=self._schema(ask.question),
            top_logprobs=TOP_LOGPROBS if self.mode == "logprobs" else None,
            repeat=ask.repeat,
        )

    def _schema(self, question: Question) -> Json | None:
        unwanted = self.tries_schema and self.schema not in (None, "followed")
        if self.mode == "text" or self.tools is not None or unwanted:
            return None
        return answer_schema(
            question,
            whole=self.mode == "logprobs",
            reasons=self.mode == "auto",
            criteria=None
            if self.rubric is None
            else self.rubric.schema(question),
        )

    async def __call__(self, ask: Ask) -> Verdict:
        """Return the verdict on one ask; every failure is a verdict too."""
        if (
            self.ties
            and ask.question.question_type == "pairwise"
            and not ask.question.ties
        ):
            prompt = ask.question.prompt + TIE_ALLOWED
            ask = replace(
                ask, question=replace(ask.question, prompt=prompt, ties=TIES)
            )
        try:
            ask = self._with_criteria(ask)
            request = self.request(ask)
            box = None
            if self.tools is not None:
                box = self.tools.box(ask)
                introduction = (
                    (TextPart(box.introduction(self.tools.most)),)
                    if box.specs
                    else ()
                )
                request = replace(
                    request,
                    parts=(*request.parts, *introduction),
                    tools=box.specs,
                )
        except DataError as error:
            return failed(ask, "unreadable question", error=str(error))
        verdict = await self._asked(ask, request, box)
        if self.extractor is None:
            return verdict
        return await extracted(self.extractor, ask, verdict)

    def _with_criteria(self, ask: Ask) -> Ask:
        text = "" if self.rubric is None else self.rubric.text(ask.question)
        if not text:
            return ask
        question = ask.question
        # The options of a prompt of version 0.1 are found only before something follows
        # it.
        spans = spans_of(question) if ask.order == "BA" else question.spans
        prompt = question.prompt + text
        return replace(
            ask, question=replace(question, prompt=prompt, spans=spans)
        )

    async def _asked(
        self, ask: Ask, request: Request, box: ToolBox | None
    ) -> Verdict:
        calls = 0
        paid = Counter[str]()
        asked_of = () if self.rubric is None else self.rubric.of(ask.question)
        for attempt in range(self.retries + 1):
            begun = time.perf_counter()
            asked = partial(self._reply, attempt=attempt)
            exchange = await converse(
                asked,
                request,
                box.run if box else _no_tool,
                self.tools.most if self.tools else 0,
            )
            calls += exchange.calls
            paid.update(exchange.paid)
            trace = (
                {"tool_calls": trace_of(exchange.turns)}
                if exchange.turns
                else {}
            )
            if exchange.error is not None:
                message = " ".join(str(exchange.error).split())
                verdict = failed(
                    ask, cause_of(exchange.error), error=message, **trace
                )
                break
            seconds = time.perf_counter() - begun
            reply = replace(
                exchange.reply,
                usage=dict(exchange.usage),
                notes=tuple(exchange.notes),
            )
            answer, values = (
                split_criteria(reply.text) if asked_of else (reply.text, {})
            )
            reading = read_reply(
                answer,
                ask.question.question_type,
                len(ask.question.annotation_ids),
                finish_reason=reply.finish_reason,
                ties=ask.question.ties or (),
                read=self.read,
            )
            self._hear(request, reply, answers=reading.status == "ok")
            verdict = self._verdict(ask, reply, reading, seconds, attempt)
            if asked_of:
                read = read_criteria(asked_of, values, ask.question, ask.stored)
                verdict = replace(verdict, criteria=read)
            verdict = (
                replace(verdict, extra={**verdict.extra, **trace})
                if trace
                else verdict
            )
            if exchange.ending == TOOL_LIMIT:
                verdict = replace(
                    verdict,
                    value=FAILED,
                    status="unparseable",
                    cause=TOOL_LIMIT,
                    probability_a=None,
                )
                break
            if verdict.status != "unparseable":
                break
        return replace(verdict, calls=calls, paid=dict(paid))

    async def _reply(self, request: Request, *, attempt: int) -> Reply:
        asked = partial(self.client.ask, attempt=attempt)
        try:
            return await asked(request)
        except ApiError as error:
            tried = (
                self.tries_schema
                and self.schema is None
                and request.schema is not None
            )
            refused = error.status in _REFUSALS and _OF_A_PARAMETER.search(
                str(error)
            )
            if not (tried and refused):
                raise
            reply = await asked(replace(request, schema=None))
            self.schema = "refused"
            return reply

    def _hear(self, request: Request, reply: Reply, *, answers: bool) -> None:
        """Learn how the server treats a schema; declined and cut replies do not show
        it."""
        if (
            not self.tries_schema
            or self.schema is not None
            or request.schema is None
        ):
            return
        if REFUSED in reply.notes:
            self.schema = "refused"
        elif reply.finish_reason == "stop" and follows(
            reply.text, request.schema
        ):
            self.schema = "followed"
        elif reply.finish_reason == "stop" and answers:
            self.schema = "ignored"

    def _verdict(
        self,
        ask: Ask,
        reply: Reply,
        reading: Reading,
        seconds: float,
        attempt: int,
    ) -> Verdict:
        weighed = self.mode == "logprobs" and reply.tokens is not None
        kind = ask.question.question_type if weighed else ""
        extra = {
            "notes": list(reply.notes) or None,
            "attempts": attempt + 1 if attempt else None,
            "rule": reading.rule,
            "read_by": reading.read_by,
        }
        displayed = Verdict(
            ask.question.id,
            ask.order,
            reading.value,
            reading.status,
            reply.text,
            usage=dict(reply.usage) or None,
            latency_s=round(seconds, 4),
            repeat=ask.repeat,
            probability_a=probability_of_a(reply)
            if kind == "pairwise"
            else None,
            expected_score=expected_score(reply) if kind == "scoring" else None,
            cause=reply.cause or reading.cause,
            served=reply.served,
            extra={
                name: value
                for name, value in extra.items()
                if value is not None
            },
        )
        return in_stored_letters(ask, displayed)

    @property
    def diagnostics(self) -> Diagnostics:
        """Return the client's diagnostics, and how the server treated a schema."""
        known = self.client.diagnostics
        adjustment = {"ignored": (IGNORED,), "refused": (REFUSED,)}.get(
            str(self.schema), ()
        )
        adjustments = tuple(dict.fromkeys((*known.adjustments, *adjustment)))
        schema = self.schema if self.tries_schema else known.schema
        return replace(known, adjustments=adjustments, schema=schema)

    def describe(self) -> Fields:
        """Return backend, model, base URL and parameters, without secrets."""
        mode = self.mode if self.tools is None else "text"
        how: Json = {"mode": mode, "retries": self.retries, "seed": self.seed}
        how |= {"ties": True} if self.ties else {}
        how |= {"read": self.read} if self.read != "all" else {}
        if self.rubric is not None:
            how |= {"rubric": self.rubric.json()}
        if self.tools is not None:
            how |= {
                "tools": list(self.tools.names),
                "max_tool_calls": self.tools.most,
            }
        if self.extractor is not None:
            how |= {"extractor": asdict(self.extractor.identity)}
        identity = asdict(self.client.identity)
        return {**identity, "parameters": {**identity["parameters"], **how}}

    async def aclose(self) -> None:
        """Close the clients."""
        await self.client.aclose()
        if self.extractor is not None:
            await self.extractor.aclose()
