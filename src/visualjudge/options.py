"""What judging, building and measuring can be told: a frozen record for each, whose
fields are options of the command (:mod:`visualjudge.cli.options`) and keywords of the
Python function. A default, a help and a bound stand here only. Each is declared once;
``cli/options.py`` makes command options of them, ``arguments.py`` checks arguments of
functions.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from visualjudge.arguments import Arguments, prepared_by
from visualjudge.core.errors import UsageError, check_score_range, one_of

Result = TypeVar("Result")
ENCODING_ANALYSIS = "encoding_analysis"
JUDGE_ANALYSIS = "judge_analysis"
SUBSETS = (ENCODING_ANALYSIS, JUDGE_ANALYSIS)
MOST_RANKED = 5
Mode = Literal["text", "auto", "json", "logprobs"]
Tiers = Literal["all", "marked"]


def option(
    default: Any, help: str, metavar: str | None = None, **more: Any
) -> Any:
    """Declare a field that has an option of its own on the command line.

    Parameters
    ----------
    help, metavar
        As the help shows them.
    more
        ``name`` of the option, if not the field's; ``least``, the smallest value;
        ``kind``, the type of what is typed, if not the field's; ``typed``, the default
        of the option, if not the field's; ``quiet`` leaves the default out of the help.
    """
    return field(
        default=default, metadata={"help": help, "metavar": metavar, **more}
    )


def setting(default: Any, least: float | None = None, **more: Any) -> Any:
    """Declare a field that few need: on the command line it is given as ``--set
    NAME=VALUE``. ``more`` may hold ``most``, the largest value."""
    return field(
        default=default, metadata={"setting": True, "least": least, **more}
    )


class Options:
    """Base of the records: no number is below its bound; a list, a text or None is a
    tuple."""

    def __post_init__(self) -> None:
        for option_field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, option_field.name)
            least = option_field.metadata.get("least")
            most = option_field.metadata.get("most")
            if option_field.default == ():
                several = (
                    (value,) if isinstance(value, str) else tuple(value or ())
                )
                object.__setattr__(self, option_field.name, several)
            if value is not None and least is not None and not value >= least:
                raise UsageError(
                    f"`{option_field.name}` must be at least {least}, got {value}"
                )
            if value is not None and most is not None and not value <= most:
                raise UsageError(
                    f"`{option_field.name}` must be at most {most}, got {value}"
                )


def nested(record: type[Any]) -> Iterator[Field[Any]]:
    """Yield the fields of a record that hold a record, whose fields are options too."""
    return (
        option_field
        for option_field in fields(record)
        if is_dataclass(option_field.default)
    )


def keywords(
    record: type[Any],
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Give a function, in place of its parameter ``options`` (which still takes a
    record), the fields of ``record``, and of the records in it, as keywords.
    """
    inner: dict[str, Any] = {
        option_field.name: option_field.default
        for option_field in nested(record)
    }
    owners = {
        part.name: name
        for name, option_field in inner.items()
        for part in fields(option_field)
    }
    every = [
        *fields(record),
        *(
            part
            for option_field in inner.values()
            for part in fields(option_field)
        ),
    ]
    kind = inspect.Parameter.KEYWORD_ONLY
    taken = [
        inspect.Parameter(x.name, kind, default=x.default, annotation=x.type)
        for x in every
    ]

    def decorated(function: Callable[..., Result]) -> Callable[..., Result]:
        def with_record(positional: Any, values: Any) -> Arguments:
            if "options" in values:
                return positional, values
            own = {
                item.name: values.pop(item.name)
                for item in every
                if item.name in values
            }
            parts = {name: own.pop(name) for name in owners if name in own}
            for name, value in parts.items():
                whole = own.get(owners[name], inner[owners[name]])
                own[owners[name]] = type(whole)(**{**vars(whole), name: value})
            return positional, {**values, "options": record(**own)}

        displayed: Any = prepared_by(with_record, function)
        stated = inspect.signature(function)
        others = [
            item
            for item in stated.parameters.values()
            if item.name != "options"
        ]
        parameters = sorted(
            [*others, *taken], key=lambda parameter: parameter.kind
        )
        displayed.__signature__ = stated.replace(parameters=parameters)
        del (
            displayed.__wrapped__
        )  # tools that make pages would show its signature instead
        return displayed  # type: ignore[no-any-return]

    return decorated


# ---------------------------------------------------------------- which questions


@dataclass(frozen=True, kw_only=True)
class Tasks(Options):
    """A selection of tasks; an empty tuple selects all."""

    tasks: tuple[str, ...] = option(
        (), "Only this task; repeatable.", "TASK", name="task"
    )


@dataclass(frozen=True, kw_only=True)
class Selection(Tasks):
    """A selection of questions by what they are; an empty tuple does not restrict
    it."""

    encodings: tuple[str, ...] = option(
        (), "Only this encoding; repeatable.", "STEM", name="encoding"
    )
    types: tuple[str, ...] = option(
        (), "Only pairwise, ranking or scoring.", "TYPE", name="type"
    )
    where: tuple[str, ...] = option(
        (), "Only if it holds; also != < > ~.", "FIELD=…"
    )

    @property
    def _named(self) -> dict[str, tuple[str, ...]]:
        return {
            "task": self.tasks,
            "encoding": self.encodings,
            "type": self.types,
        }

    @property
    def stated(self) -> tuple[str, ...]:
        """The selection in words, one condition each: ``task=keypoint``."""
        return (
            *(f"{k}={' or '.join(v)}" for k, v in self._named.items() if v),
            *self.where,
        )

    @property
    def words(self) -> list[str]:
        """The options of a command that select the same questions."""
        return [
            word
            for name, values in {**self._named, "where": self.where}.items()
            for value in values
            for word in (f"--{name}", value)
        ]

    @property
    def text(self) -> str:
        """The selection as text that :meth:`of_text` reads; empty for all questions."""
        named = {name: value for name, value in asdict(self).items() if value}
        return json.dumps(named) if named else ""

    @classmethod
    def of_text(cls, text: str) -> Selection:
        return cls(**json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Choice(Selection):
    """A selection of questions to ask.

    ``sample`` draws this number, balanced over tasks, then encodings, then question
    types. ``limit`` then keeps the first ones, in the order of the dataset.
    """

    subsets: tuple[str, ...] = option(
        (), "Only this subset; repeatable.", "NAME", name="subset"
    )
    sample: int | None = option(
        None, "Only a balanced sample of N.", "N", least=1
    )
    questions: Path | None = option(None, "Only the ids in this file.", "FILE")
    limit: int | None = None
    seed: int = 42
    ids: tuple[str, ...] | None = None
    """Only the questions with these ids; None = all."""


# ---------------------------------------------------------------- building a dataset


@dataclass(frozen=True)
class Caps(Options):
    """Maximum numbers of questions per task in the two subsets."""

    encoding_groups: int = setting(10, least=0)
    encoding_pairs: int = setting(10, least=0)
    judge_groups: int = option(
        20, "Images of a task in judge_analysis.", "N", least=0
    )
    judge_pairs: int = option(
        50, "Pairs of a task in judge_analysis.", "N", least=0
    )
    scoring_groups: int = setting(20, least=0)
    ranking_groups: int = setting(20, least=0)
    per_group: int = setting(5, least=0)
    min_margin: float = setting(0.0, least=0, most=10)
    """Minimum score difference of a pair, of 10 points; 0 = any difference."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per_group > MOST_RANKED:
            raise UsageError(
                f"per_group must be at most {MOST_RANKED}, got {self.per_group}"
            )

    def differ(self, first: float, second: float) -> bool:
        """Whether two scores differ enough for a pair."""
        return (
            first != second and round(abs(first - second), 9) >= self.min_margin
        )


@dataclass(frozen=True, kw_only=True)
class WorkOptions(Tasks):
    """How the questions of a data folder are made and written."""

    seed: int = option(42, "Random seed.", "N")
    workers: int | None = option(
        1,
        "Processes; default: 1, after 20 s one per core.",
        "N",
        least=1,
        kind=int,
        typed=None,
        quiet=True,
    )
    """None: one per core, started when this process has worked for 20 s."""
    engine: Literal["local", "ray"] = option(
        "local", "Run them here or on Ray."
    )
    prompts: Any = option(
        None, "Prompts: v1 (default), v2, a folder.", "NAME", kind=str
    )
    """A version, a folder, or a :class:`~visualjudge.prompts.prompt_set.PromptSet`."""
    prompt_version: str | None = None
    max_side: int | None = setting(None, least=1)
    """Maximum length of the longer side of images in the dataset; None = unchanged."""
    force: bool = option(False, "Replace a dataset that is there.")

    def __post_init__(self) -> None:
        super().__post_init__()
        from visualjudge.prompts.prompt_set import prompt_set

        object.__setattr__(
            self, "prompts", prompt_set(self.prompts, self.prompt_version)
        )


@dataclass(frozen=True, kw_only=True)
class BuildOptions(WorkOptions, Selection):
    """The options of `visualjudge build` and :func:`visualjudge.build`, which describes
    them."""

    subsets: tuple[str, ...] = option(
        (),
        "Only encoding_analysis or judge_analysis; repeatable.",
        "NAME",
        name="subset",
    )
    caps: Caps = Caps()
    score_range: tuple[float, float] | None = option(
        None, "Range of the data's scores, which become 0 to 10.", "LOW HIGH"
    )
    form: Literal["json", "parquet"] | None = setting(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_score_range(self.score_range)
        for name in self.subsets:
            if name not in SUBSETS:
                raise UsageError(
                    f"`subsets` must be {one_of(name, SUBSETS)}, got {name!r}"
                )


# ---------------------------------------------------------------- judging


@dataclass(frozen=True, kw_only=True)
class CallOptions(Options):
    """How a model is asked, and how an interrupted run continues."""

    concurrency: int = option(16, "Concurrent calls.", "N", least=1)
    limit: int | None = option(None, "Ask only the first N.", "N", least=1)
    resume: bool = option(False, "Continue an interrupted run.")


@dataclass(frozen=True, kw_only=True)
class RunSettings(CallOptions):
    """The extent of a run and how to continue it."""

    swap: bool = option(False, "Ask pairs in both orders.")
    repeats: int = setting(1, least=1)
    retry_errors: bool = setting(False)
    """Continue, and also ask questions with an api_error again."""
    accept_changes: bool = setting(False)
    """Continue with different settings, and record both."""
    name: str | None = setting(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "resume", self.resume or self.retry_errors)


@dataclass(frozen=True, kw_only=True)
class JudgeOptions(RunSettings):
    """The options of `visualjudge judge` and :func:`visualjudge.judge`, which describes
    them."""

    ties: bool = option(False, "Allow a tie as an answer.")
    rubric: Any = option(
        None,
        "Criteria to ask as well: reason, quality or a file.",
        "NAME",
        kind=str,
    )
    """A name, a file, or a :class:`~visualjudge.prompts.rubric.Rubric`."""
    tools: Sequence[str] | str | None = option(
        None, "Tools to offer: zoom,measure or all.", "NAMES", kind=str
    )
    mode: Mode = setting("auto")
    retries: int = setting(0, least=0)
    read: Tiers = setting("all")
    seed: int | None = setting(None)
    max_tool_calls: int = setting(6, least=1)


# ---------------------------------------------------------------- measuring runs


@dataclass(frozen=True, kw_only=True)
class MeasureOptions(Selection):
    """What is measured: the questions, and where they are."""

    dataset: str | Path | None = option(
        None, "The dataset, if it has moved.", "FOLDER", kind=Path
    )
    seed: int = 0
    """Seed of the bootstrap over images."""


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(MeasureOptions):
    """What is measured, and what scores and choices must reach to be used."""

    bar: tuple[str, ...] = option(
        (), "Threshold: spearman=, error=, accuracy=.", "NAME=…"
    )
