"""Input schemas of judge modules and reply schemas for models. Prompts refer to these
classes by name. The schema of a dataset's questions is in ``question_judge.py``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, StrictStr, ValidationError

from visualjudge.core.errors import DataError, PromptError

ImageSource = Annotated[
    Any, Field(description="path, URL, bytes, PIL image or array")
]


class InvalidInput(DataError, ValueError):
    """An input does not fit a judge's schema; the message names the field."""


class _Input(
    BaseModel, arbitrary_types_allowed=True, hide_input_in_errors=True
):
    instruction: StrictStr
    input_image: ImageSource


class PairJudgeInput(_Input):
    """An instruction, the source image, and exactly two edits of it."""

    edited_images: list[ImageSource] = Field(min_length=2, max_length=2)


class VIEScoreInput(_Input):
    """An instruction, the source image, and one or two edits of it."""

    edited_images: list[ImageSource] = Field(min_length=1, max_length=2)


class _Output(BaseModel, extra="forbid"):
    reasoning: str


class PairJudgeOutput(_Output):
    """Reasons first, then the winner, because a model that must name the winner first
    only defends it afterwards.
    """

    winner: Literal["Image A", "Image B", "Tie"]


# Enumerated, because with a grammar that allows any number a small model may write
# digits until its tokens run out.
_UP_TO_10 = {
    "enum": [half / 2 if half % 2 else half // 2 for half in range(21)]
}
_UP_TO_25 = {"enum": list(range(26))}


class _Scored(_Output):
    highest: ClassVar[float]  # of a scale that begins at 0


class VIEScoreOutput(_Scored):
    """One number from 0 to ``highest``, in steps of one half."""

    highest: ClassVar[float] = 10
    score: Annotated[float, Field(json_schema_extra=_UP_TO_10)]


class VIEScoreListOutput(_Scored):
    """Two whole numbers from 0 to ``highest``."""

    highest: ClassVar[float] = 25
    score: list[Annotated[int, Field(json_schema_extra=_UP_TO_25)]] = Field(
        min_length=2, max_length=2
    )


INPUTS: Mapping[str, type[BaseModel]] = {
    c.__name__: c for c in (PairJudgeInput, VIEScoreInput)
}
OUTPUTS: Mapping[str, type[BaseModel]] = {
    c.__name__: c for c in (PairJudgeOutput, VIEScoreOutput, VIEScoreListOutput)
}


def schema_named(
    name: str, known: Mapping[str, type[BaseModel]], *, where: str
) -> type[BaseModel]:
    """Return the schema that a prompt declares.

    Raises
    ------
    PromptError
        If the name is unknown.
    """
    if name not in known:
        raise PromptError(
            f"prompt {where} declares schema {name!r}; known: {', '.join(known)}"
        )
    return known[name]


def fields_of(
    schema: type[BaseModel], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the schema's fields of ``data`` without other fields; ``data`` is not
    modified.

    Raises
    ------
    InvalidInput
        If a field is missing or wrong.
    """
    try:
        valid = schema.model_validate(
            dict(data) if isinstance(data, Mapping) else data
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "input"
        reason = (
            first["msg"]
            .replace("List should", "must")
            .replace(" after validation, not", ", got")
        )
        raise InvalidInput(f"{where}: {reason}") from None
    fields = {name: getattr(valid, name) for name in schema.model_fields}
    empty = [name for name, value in fields.items() if value is None]
    if empty:
        raise InvalidInput(f"{empty[0]}: is null")
    return fields


def json_schema(output: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema to request from a server, in strict form: all fields are
    required, no others allowed.
    """
    rules = output.model_json_schema()["properties"].items()
    properties = {
        name: {k: v for k, v in rule.items() if k != "title"}
        for name, rule in rules
    }
    return {
        "title": output.__name__,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
