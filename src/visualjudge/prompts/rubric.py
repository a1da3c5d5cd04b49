"""Rubrics: lists of criteria that a judge answers in the same call as the question.
Answers to them are read in ``replies/criteria.py``.

A rubric is a YAML file, whose scalars are those of JSON: ``yes`` and ``no`` are words.
Built-in ones are ``<name>/<version>.yaml`` below ``prompts/rubrics``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    StringConstraints,
    ValidationError,
)

from visualjudge.core.errors import DataError, UsageError, one_of
from visualjudge.core.jsons import Json
from visualjudge.core.records import LETTERS, QuestionType
from visualjudge.core.typed_records import first_problem
from visualjudge.core.yamls import read_yaml
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.vision.encodings import numbers_items
from visualjudge.vision.faults import kinds_of
from visualjudge.vision.tasks import task_named

BUILT_IN = Path(__file__).parent / "rubrics"
FAULTS = "faults"
NONE = "none"
OTHER = "other"
TIE = "tie"
# Names that the answer itself may have in a reply.
RESERVED = ("answer", "final", "final_answer", "criteria", "reasoning")
# A place is given in thousandths of the width and the height of the image shown.
LARGEST_PLACE = 1000
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


def _free(name: str) -> str:
    if name in RESERVED:
        raise ValueError(
            f"must not be one of {', '.join(RESERVED)}, got {name!r}"
        )
    return name


def _task(name: str) -> str:
    try:
        return task_named(name).name
    except UsageError as error:
        raise ValueError(str(error)) from None


class Asked(Protocol):
    """A question, or what a judge module asks (:class:`Comparison`)."""

    @property
    def task(self) -> str:
        """The task; a name that is not ours, or empty, has no faults."""
        ...

    @property
    def question_type(self) -> QuestionType:
        """The form of the answer."""
        ...

    @property
    def encoding(self) -> str:
        """How predictions are shown; empty without any."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a judge module asks: two edits beside one another, or one to be scored."""

    question_type: QuestionType
    task: str = ""
    encoding: str = ""


class Choice(BaseModel, extra="forbid", frozen=True):
    """One of a list of words; ``faults``: the words of the question's prediction type
    for its errors, "none" and "other".
    """

    choice: Literal["faults"] | Annotated[tuple[Text, ...], Field(min_length=2)]


class Scale(BaseModel, extra="forbid", frozen=True):
    """A number from the first to the second."""

    scale: tuple[float, float]


class Criterion(BaseModel, extra="forbid", frozen=True):
    """One question of a rubric.

    Attributes
    ----------
    id
        Its name in verdicts.
    ask
        The question.
    answer
        Its form: ``yes_no``, ``option`` (A, B or tie), ``place`` ([x1, y1, x2, y2] in
        0..1000 of the image shown, or the number of an item where the encoding numbers
        them), a choice or a scale.
    tasks, types
        The tasks and question types that it is for; empty = all.
    faults
        Kinds of faults from which the truth of an ``option`` answer follows: the option
        with less of them.
    """

    id: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z]\w{0,39}$"),
        AfterValidator(_free),
    ]
    ask: Text
    answer: Literal["yes_no", "option", "place"] | Choice | Scale
    tasks: tuple[Annotated[str, AfterValidator(_task)], ...] = ()
    types: tuple[QuestionType, ...] = ()
    faults: tuple[str, ...] = ()

    def fits(self, question: Asked) -> bool:
        """Return whether the criterion is asked with a question."""
        kind = question.question_type
        options = kind == "pairwise" or self.answer != "option"
        known = self.words(question.task) or not isinstance(self.answer, Choice)
        return (
            (not self.tasks or question.task in self.tasks)
            and (not self.types or kind in self.types)
            and options
            and bool(known)
        )

    def words(self, task: str) -> tuple[str, ...]:
        """Return the words of a choice; empty if the task has no measured faults."""
        if not isinstance(self.answer, Choice):
            return ()
        if isinstance(self.answer.choice, tuple):
            return self.answer.choice
        kinds = kinds_of(task)
        return (*kinds, NONE, OTHER) if kinds else ()


class _File(BaseModel, extra="forbid"):
    rubric: Text
    version: Annotated[str, StringConstraints(pattern=r"^v[0-9]+$")]
    criteria: Annotated[
        tuple[Criterion, ...], Field(min_length=1, max_length=20)
    ]


@dataclass(frozen=True, slots=True)
class Rubric:
    """A list of criteria; ``name`` has its version, as in ``reason@v1``."""

    name: str
    criteria: tuple[Criterion, ...]

    def json(self) -> Json:
        """Return the rubric as ``run.json`` states it; :func:`rubric_of_json` reads
        it."""
        asked = [
            criterion.model_dump(mode="json", exclude_defaults=True)
            for criterion in self.criteria
        ]
        return {"name": self.name, "criteria": asked}

    def of(self, question: Asked) -> tuple[Criterion, ...]:
        """Return the criteria that are asked with a question."""
        return tuple(
            criterion for criterion in self.criteria if criterion.fits(question)
        )

    def text(self, question: Asked, part: str = "asked") -> str:
        """Return what follows the question's own text; empty without criteria for it.
        ``part`` of the asset is ``member`` where the question itself asks for a JSON
        object.
        """
        asked = self.of(question)
        if not asked:
            return ""
        words = PromptAssetStore().get_prompt("rubric")
        lines = [
            words.part(
                "criterion",
                {
                    "id": criterion.id,
                    "ask": criterion.ask,
                    "form": _form(words, criterion, question),
                },
            )
            for criterion in asked
        ]
        names = ", ".join(f'"{criterion.id}": …' for criterion in asked)
        values = {"criteria": "\n".join(lines), "names": names}
        return words.part(part, values)

    def schema(self, question: Asked) -> Json | None:
        """Return the JSON schema of the criteria; None without any."""
        rules = {
            criterion.id: _rule(criterion, question)
            for criterion in self.of(question)
        }
        return (
            {
                "type": "object",
                "properties": rules,
                "required": list(rules),
                "additionalProperties": False,
            }
            if rules
            else None
        )


def _form(words: Any, criterion: Criterion, question: Asked) -> str:
    form = criterion.answer
    if isinstance(form, Scale):
        low, high = form.scale
        return str(
            words.part("scale", {"low": f"{low:g}", "high": f"{high:g}"})
        )
    if not isinstance(form, Choice):
        numbered = form == "place" and numbers_items(
            question.task, question.encoding
        )
        return str(words.part("place_or_item" if numbered else form))
    clauses: Mapping[str, str] = (
        kinds_of(question.task) if form.choice == FAULTS else {}
    )
    named = [
        words.part("kind", {"kind": word, "clause": clauses[word]})
        if word in clauses
        else f'"{word}"'
        for word in criterion.words(question.task)
    ]
    return str(words.part("choice", {"choices": ", ".join(named)}))


def _rule(criterion: Criterion, question: Asked) -> Json:
    form = criterion.answer
    if isinstance(form, Choice):
        return {"type": "string", "enum": list(criterion.words(question.task))}
    if isinstance(form, Scale):
        return {
            "type": "number",
            "minimum": form.scale[0],
            "maximum": form.scale[1],
        }
    if form == "place":
        number = {"type": "integer", "minimum": 0, "maximum": LARGEST_PLACE}
        box = {"type": "array", "items": number, "minItems": 4, "maxItems": 4}
        forms = [box, {"type": "string", "enum": [NONE]}]
        return {
            "anyOf": [*forms, {**number, "minimum": 1}]
            if numbers_items(question.task, question.encoding)
            else forms
        }
    words = ["yes", "no"] if form == "yes_no" else [*LETTERS[:2], TIE]
    return {"type": "string", "enum": words}


def is_file(named: Any) -> bool:
    """Return whether a rubric is named by its file."""
    return Path(str(named)).suffix.lower() in (".yaml", ".yml")


def rubric_of(named: str | Path | Rubric) -> Rubric:
    """Return a rubric: a file, or the name of a built-in one, such as ``reason`` or
    ``reason@v1``.

    Raises
    ------
    UsageError
        If there is no such rubric.
    DataError
        If the file is not a rubric; the message names the field.
    """
    if isinstance(named, Rubric):
        return named
    if is_file(named):
        return read_rubric(Path(named))
    files = sorted(
        BUILT_IN.glob("*/v*.yaml"),
        key=lambda file: (file.parent.name, len(file.stem), file.stem),
    )
    known = {f"{file.parent.name}@{file.stem}": file for file in files}
    versions = [
        file
        for version, file in known.items()
        if str(named) in (version, file.parent.name)
    ]
    if not versions:
        raise UsageError(
            f"`rubric` must be a YAML file or {one_of(str(named), known)}, got "
            f"{str(named)!r}"
        )
    return read_rubric(versions[-1])


def read_rubric(path: Path) -> Rubric:
    """Return the rubric of a YAML file.

    Raises
    ------
    DataError
        If it is not one; the message names the field.
    """
    content = read_yaml(path)
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        place, reason = first_problem(error)
        raise DataError(
            f"{path}: {'.'.join(place) or 'rubric'}: {reason}"
        ) from None
    names = [criterion.id for criterion in file.criteria]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise DataError(
            f"{path}: criteria: id must be unique, got {twice[0]!r} twice"
        )
    for criterion in file.criteria:
        if (
            isinstance(criterion.answer, Scale)
            and criterion.answer.scale[0] >= criterion.answer.scale[1]
        ):
            low, high = criterion.answer.scale
            raise DataError(
                f"{path}: {criterion.id}: scale must have its lower end first, got "
                f"[{low:g}, {high:g}]"
            )
    return Rubric(f"{file.rubric}@{file.version}", file.criteria)


def rubric_of_json(stated: Any) -> Rubric:
    """Return the rubric that ``run.json`` states.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it states none.
    """
    criteria = tuple(
        Criterion.model_validate(stored) for stored in stated["criteria"]
    )
    return Rubric(str(stated["name"]), criteria)
