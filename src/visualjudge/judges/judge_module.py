"""Base class of the judge modules: prompt, client, input checks, image order, and
repeats after unusable replies. The one JSON object that a reply gives is found by two
rules: ours, and GEditBench's. The modules are ``pairwise_module.py`` and
``viescore.py``; judges of a dataset's questions are in ``question_judge.py``.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ValidationError, create_model

from visualjudge.arguments import checked
from visualjudge.clients.base import (
    Client,
    ImagePart,
    Part,
    Reply,
    Request,
    TextPart,
)
from visualjudge.clients.image_parts import image_part
from visualjudge.clients.registry import open_client
from visualjudge.clients.sync_calls import run_sync
from visualjudge.core.errors import PromptError, UsageError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import IMAGE_MARK, QuestionType
from visualjudge.judges.module_schemas import (
    INPUTS,
    OUTPUTS,
    fields_of,
    json_schema,
    schema_named,
)
from visualjudge.prompts.rubric import Comparison, rubric_of
from visualjudge.prompts.store import PromptTemplate, fill
from visualjudge.replies.criteria import FIELD, read_criteria, split_criteria
from visualjudge.replies.json_answers import Object, objects, repaired
from visualjudge.replies.refusals import is_refusal
from visualjudge.replies.reply_to_value import LONGEST_REPLY, Cause
from visualjudge.replies.stripped_text import without_thoughts

_FENCE = re.compile(r"```[A-Za-z0-9_+-]*(.*?)(?:```|\Z)", re.DOTALL)
_FENCED_JSON = [
    re.compile(rf"```{kind}\s*(.*?)\s*```", re.DOTALL) for kind in ("json", "")
]
_BRACE = re.compile(r"[{}]")
THEIR_SCHEMAS: Mapping[str, type[BaseModel]] = {
    "VLMPairJudgeWithReasonOutput": create_model(
        "Pair", winner=(str, ...), reasoning=(str, ...)
    ),
    "UnicEditVIEScoreOutput": create_model(
        "Score", score=(int, ...), reason=(str, ...)
    ),
    "EditScoreVIEScoreOutput": create_model(
        "Scores", score=(list[int], ...), reasoning=(str, ...)
    ),
}
"""What GEditBench's code asks of replies, by the schema that a prompt file of its
names."""


def object_with(text: str, key: str) -> Object | None:
    """Return the one object of ``text`` that has ``key`` at its top level, or None.

    Thoughts are ignored; code fences have precedence over prose; a list with a single
    object counts as that object. Different values of the key in different objects give
    None.
    """
    answer_text = without_thoughts(text)
    for regions in (_FENCE.findall(answer_text), [answer_text]):
        collected = [
            value
            for region in regions
            for _, _, value in objects(region)
            if key in value
        ]
        if collected:
            return (
                collected[-1]
                if all(other[key] == collected[-1][key] for other in collected)
                else None
            )
    return None


def object_as_geditbench(text: str, schema: str | None) -> Object | None:
    """Return the object that GEditBench's judges read, for figures comparable with
    theirs.

    This is the repaired JSON block (a fence, or the first brace to the one that closes
    it), or without a block, the whole text repaired. Thoughts count as text. Replies to
    a prompt that names one of its schemas must fit it.
    """
    fenced = (fence.search(text) for fence in _FENCED_JSON)
    block = next((result[1] for result in fenced if result), None)
    value = repaired(
        (_braced(text) if block is None else block) or text, whole=False
    )
    fits = THEIR_SCHEMAS.get(schema or "")
    if value is None or fits is None:
        return value
    try:
        return fits.model_validate(value).model_dump()
    except ValidationError:
        return None


def _braced(text: str) -> str:
    """Return the first brace to the one that closes it; empty if none does."""
    marks = list(_BRACE.finditer(text, max(text.find("{"), 0)))
    depths = accumulate(1 if mark[0] == "{" else -1 for mark in marks)
    end = next(
        (
            mark.end()
            for mark, depth in zip(marks, depths, strict=True)
            if not depth
        ),
        0,
    )
    return text[marks[0].start() : end] if end else ""


Value = TypeVar("Value")

RULES = ("strict", "geditbench")
DEFAULT_RETRIES = 3
GEDITBENCH: Fields = {"max_tokens": 2048}
"""What GEditBench's clients send by default."""
GEDITBENCH_OF: Mapping[str, Fields] = {"vllm": {"temperature": 0.7, "seed": 42}}
"""What its client of a backend sends besides."""
_STRUCTURED = ("auto", "off")
_WHOLE = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's result dict and the replies it is based on, in order of arrival."""

    result: Json
    replies: tuple[Reply, ...]
    details: Fields = field(default_factory=dict)
    """Details beyond the result dict, as plain JSON: the ``cause`` of "Failed"."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the client's notes without duplicates."""
        return tuple(
            dict.fromkeys(
                note for reply in self.replies for note in reply.notes
            )
        )


class ClientPipe:
    """Base class of the judge modules.

    Parameters
    ----------
    prompt_template
        Prompt, with ``<image>`` for each image (source, then edits; the source is
        omitted if there are only as many marks as edits) and ``{{instruction}}`` for
        the instruction.
    client_cfg
        ``backend``, ``model_name`` and other fields of the backend
        (:func:`~visualjudge.clients.registry.open_client`). The judge uses ``retries``
        (repeats after an unusable reply; default 3) and ``structured_output``: ``auto``
        asks the server to follow the prompt's output schema, and ``off`` asks for none.
        ``prompt_info`` is ignored. ``rubric`` names criteria that are asked in the same
        call (a YAML file, or a built-in one); the result then has ``criteria``.
        ``rules`` selects how replies are read: ``strict`` (default) or ``geditbench``
        (as in the original, with its default sampling parameters).
    client
        Client to use instead of one built from ``client_cfg``, to share it or for
        tests.
    """

    default_input: ClassVar[type[BaseModel]]

    @checked
    def __init__(
        self,
        prompt_template: PromptTemplate,
        client_cfg: Fields,
        *,
        client: Client | None = None,
    ) -> None:
        self.prompt_template = prompt_template
        retries = _whole(client_cfg, "retries")
        self.retries = DEFAULT_RETRIES if retries is None else retries
        self._seed = _whole(client_cfg, "seed")
        self.rules = rules_of(client_cfg)
        # GEditBench's adapter for Gemini has no system instruction.
        is_google = client_cfg.get("backend") == "google"
        self._system_inline = is_google and self.rules == "geditbench"
        self.client = (
            client
            if client is not None
            else open_client(with_defaults(client_cfg))
        )
        where = prompt_template.name
        declared = prompt_template.input_schema
        self.input_schema = (
            schema_named(declared, INPUTS, where=where)
            if declared
            else self.default_input
        )
        named = client_cfg.get("rubric")
        self.rubric = None if named is None else rubric_of(named)
        self._schema = _reply_schema(
            prompt_template, client_cfg.get("structured_output")
        )

    def __call__(self, input_dict: Fields, **kwargs: Any) -> Json:
        """Return the result dict for one input. Other keywords are ignored.

        Raises
        ------
        InvalidInput
            If the input does not fit the schema, before any call.
        DataError
            If an image cannot be read, before any call.
        ClientError
            If the model could not be asked. An unusable reply is not an error: its
            value is "Failed".
        """
        return run_sync(self.judge(input_dict)).result

    async def judge(self, input_dict: Fields) -> Judgement:
        """Judge one input asynchronously, and return the replies too."""
        raise NotImplementedError

    def most_calls(self, edits: int) -> int:
        """Return the maximum number of calls for an input with ``edits`` edited images,
        including repeats.
        """
        return self.retries + 1

    async def read_input(
        self, input_dict: Fields
    ) -> tuple[str, ImagePart, list[ImagePart]]:
        """Return the instruction, and the bytes of source and edits to send; the input
        is not modified.

        Raises
        ------
        InvalidInput
            If a field is missing or wrong.
        DataError
            If an image cannot be read.
        """
        fields = fields_of(self.input_schema, input_dict)
        images = [fields["input_image"], *fields["edited_images"]]
        source, *edits = await asyncio.to_thread(
            lambda: [image_part(image) for image in images]
        )
        return fields["instruction"], source, edits

    def compared(self, edits: int) -> Comparison:
        """Return what a call with so many edits asks, by which criteria are chosen."""
        kind: QuestionType = "scoring" if edits == 1 else "pairwise"
        return Comparison(kind)

    def criteria_in(self, reply: Reply, edits: int) -> Json | None:
        """Return the values of the rubric's criteria in a reply; None without
        criteria."""
        compared = self.compared(edits)
        asked = self.rubric.of(compared) if self.rubric else ()
        if not asked:
            return None
        values = split_criteria(reply.text)[1]
        return read_criteria(
            asked, values, compared, stored=lambda value: value
        )

    def request(
        self, instruction: str, source: ImagePart, edits: Sequence[ImagePart]
    ) -> Request:
        """Return the filled prompt with its images in order.

        Raises
        ------
        PromptError
            If the number of image marks differs, or there is a placeholder other than
            ``instruction``.
        """
        template = self.prompt_template
        values = {"instruction": instruction}
        texts = template.user.split(IMAGE_MARK)
        images = _images(len(texts) - 1, source, edits, template.name)
        parts: list[Part] = []
        for number, text in enumerate(texts):
            # Filled piece by piece, because an <image> inside an instruction is text,
            # not a mark.
            filled = fill(text, values, where=template.name) if text else ""
            parts += [TextPart(filled)] if filled.strip() else []
            parts += [images[number]] if number < len(images) else []
        schema = self._schema
        compared = self.compared(len(edits))
        rules = self.rubric.schema(compared) if self.rubric else None
        if self.rubric and rules:
            parts.append(TextPart(self.rubric.text(compared, "member")))
            schema = _with_criteria(schema, rules)
        system = template.render_system(values)
        if system and self._system_inline:
            parts = _begun_with(system, parts)
            system = None
        return Request(
            tuple(parts),
            system=system,
            seed=self._seed,
            schema=schema,
        )

    async def ask_until(
        self, request: Request, read: Callable[[str], Value | None]
    ) -> tuple[Value | None, list[Reply]]:
        """Ask until ``read`` returns a value, at most ``retries`` + 1 times. Return all
        replies.

        A reply stopped by a content filter is a refusal regardless of its text. A reply
        cut off within its thoughts, or before its object was closed, is not an answer
        (GEditBench's rules do not check this).

        If a seed is set, each repeat increments it, because the same seed would give
        the same reply.
        """
        replies: list[Reply] = []
        for attempt in range(self.retries + 1):
            if attempt and request.seed is not None:
                request = replace(request, seed=request.seed + 1)
            reply = await self.client.ask(request, attempt=attempt)
            replies.append(reply)
            text = split_criteria(reply.text)[0] if self.rubric else reply.text
            value = None if self._incomplete(reply) else read(text)
            if value is not None:
                return value, replies
        return None, replies

    def _incomplete(self, reply: Reply) -> Cause | None:
        """Return why a reply is no answer, whatever it says; None if it is one."""
        if reply.finish_reason in ("refusal", "error"):
            return (
                "declined"
                if reply.finish_reason == "refusal"
                else "failed call"
            )
        if len(reply.text) > LONGEST_REPLY:
            return "too long"
        if self.rules == "geditbench" or reply.finish_reason != "length":
            return None
        text = without_thoughts(reply.text).rstrip()
        return None if text.endswith(("}", "```", "]")) else "cut"

    def cause(self, reply: Reply) -> Cause:
        """Return why a reply could not be used, as worded by
        :func:`~visualjudge.replies.reply_to_value.read_reply`.
        """
        return self._incomplete(reply) or self.cause_in(reply.text)

    def cause_in(self, text: str) -> Cause:
        """Return why the text of a complete reply could not be used."""
        return "declined" if is_refusal(text) else "no answer"

    def object_with(self, text: str, key: str) -> Object | None:
        """Return the object of a reply, according to the current rules; strict ones
        look for one that has ``key``.
        """
        schema = self.prompt_template.metadata.get("replies")
        return (
            object_with(text, key)
            if self.rules == "strict"
            else object_as_geditbench(text, schema)
        )


def rules_of(config: Fields) -> str:
    """Return the rules that a configuration names.

    Raises
    ------
    UsageError
        If there are no such rules.
    """
    rules = str(config.get("rules") or "strict")
    if rules not in RULES:
        raise UsageError(f"rules must be {' or '.join(RULES)}, got {rules!r}")
    return rules


def with_defaults(config: Fields) -> Json:
    """Return the configuration for a client, with ``rules`` replaced by the sampling
    parameters they imply.
    """
    supplied = {
        name: value for name, value in config.items() if name != "rules"
    }
    if rules_of(config) == "strict":
        return supplied
    own = GEDITBENCH_OF.get(str(config.get("backend", "api")), {})
    return {**GEDITBENCH, **own, **supplied}


def _whole(config: Fields, name: str) -> int | None:
    """Return a non-negative integer, or None if missing."""
    stated = config.get(name)
    if stated is None:
        return None
    # Text too, because environment variables are texts.
    if isinstance(stated, int | float | str) and _WHOLE.fullmatch(str(stated)):
        return int(stated)
    raise UsageError(f"{name} must be an integer of at least 0, got {stated!r}")


def _reply_schema(template: PromptTemplate, mode: Any) -> Json | None:
    # YAML reads an unquoted off as false.
    if mode is None or mode is False:
        mode = "auto" if mode is None else "off"
    if not isinstance(mode, str) or mode not in _STRUCTURED:
        raise UsageError(
            f"structured_output must be {' or '.join(_STRUCTURED)}, got {mode!r}"
        )
    if not template.output_schema or mode == "off":
        return None
    output = schema_named(template.output_schema, OUTPUTS, where=template.name)
    return json_schema(output)


def _with_criteria(schema: Json | None, rules: Json) -> Json | None:
    """Return the schema of a reply with criteria before its last member, the answer."""
    if schema is None:
        return None
    *first, last = schema["properties"].items()
    properties = dict([*first, (FIELD, rules), last])
    return {**schema, "properties": properties, "required": list(properties)}


def _begun_with(system: str, parts: Sequence[Part]) -> list[Part]:
    """Return the parts with the system text before the first text, as GEditBench sends
    it to Gemini."""
    texts = [at for at, part in enumerate(parts) if isinstance(part, TextPart)]
    return [
        TextPart(f"{system}\n\n{part.text}")
        if isinstance(part, TextPart) and at == texts[0]
        else part
        for at, part in enumerate(parts)
    ]


def _images(
    marks: int, source: ImagePart, edits: Sequence[ImagePart], where: str
) -> list[ImagePart]:
    if marks == len(edits) + 1:
        return [source, *edits]
    if marks == len(edits):
        return list(edits)
    raise PromptError(
        f"prompt {where} must have {len(edits)} or {len(edits) + 1} {IMAGE_MARK} "
        f"marks, got {marks}"
    )
