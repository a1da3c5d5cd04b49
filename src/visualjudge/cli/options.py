"""Options that several commands share, each group defined once as a dataclass.

A command takes a group as one parameter; :func:`with_groups` turns the fields of the group into
Typer options, under the group's ``heading``.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

import typer
import yaml

from visualjudge.core.errors import UsageError

if TYPE_CHECKING:
    from visualjudge.apps.frontdoor.judge import Baseline
    from visualjudge.clients.base import Client
    from visualjudge.clients.batch.batched_client import Settings
    from visualjudge.dataset.build import BuildOptions
    from visualjudge.dataset.question_filter import Choice
    from visualjudge.runs.budget import Budget

JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Write the figures to this file.", metavar="FILE.json")
]
PageFile = Annotated[Path | None, typer.Option("--out", help="Page.", metavar="FILE.html")]
MovedDataset = Annotated[
    Path | None, typer.Option("--dataset", help="The dataset, if it has moved.", metavar="FOLDER")
]
TaskOption = Annotated[
    list[str] | None, typer.Option("--task", help="Only this task; repeatable.", metavar="TASK")
]
EncodingOption = Annotated[
    list[str] | None,
    typer.Option("--encoding", help="Only this encoding; repeatable.", metavar="STEM"),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Condition; also != < > ~.",
        metavar="FIELD=…",
    ),
]
PriceOption = Annotated[
    str | None, typer.Option("--price", help="Per million tokens: 2.5/10.", metavar="IN/OUT")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Random seed.", metavar="N")]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Exit with 0 if records were left out.")
]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def settings(stated: Iterable[str] | None) -> dict[str, Any]:
    """Return the values of ``--set NAME=VALUE``; a value is read as in YAML.

    Raises
    ------
    UsageError
        If one has another form.
    """
    values: dict[str, Any] = {}
    for item in stated or ():
        name, equals, text = item.partition("=")
        if not (name and equals):
            raise UsageError(f"--set must be NAME=VALUE, such as timeout=60, got {item!r}")
        try:
            values[name.strip().replace("-", "_")] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise UsageError(f"--set {name}: must be a number or text, got {text!r}") from None
    return values


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model to ask, and its settings."""

    heading: ClassVar[str] = "Model"

    backend: Annotated[
        str,
        typer.Option(
            help="api (default), google, anthropic, vllm, …", metavar="NAME", show_default=False
        ),
    ] = "api"
    model: Annotated[
        str | None, typer.Option(help="Name of the model on the server.", metavar="NAME")
    ] = None
    base_url: Annotated[str | None, typer.Option(help="Address of the server.", metavar="URL")] = (
        None
    )
    api_key_env: Annotated[
        str | None, typer.Option(help="Variable that holds the API key.", metavar="VAR")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum length of a reply.", metavar="N")
    ] = None
    effort: Annotated[
        str | None, typer.Option(help="Thinking: none, low, medium, high, N.", metavar="HOW")
    ] = None
    set: Annotated[
        list[str] | None,
        typer.Option(help="temperature, timeout, attempts, …", metavar="NAME=…"),
    ] = None

    def config(self, own: Iterable[str] = (), **defaults: Any) -> dict[str, Any]:
        """Return the client's fields, without unset ones and those that ``own`` names, which
        :meth:`others` returns.

        Raises
        ------
        UsageError
            If no model is named, or the variable of the API key is not set.
        """
        from visualjudge.clients.masked_secrets import key_from_environment

        if not self.model:
            raise UsageError("--model is missing")
        key = self.api_key_env and key_from_environment(
            self.api_key_env, "--api-key-env", os.environ
        )
        given = {
            **defaults,
            "backend": self.backend,
            "model_name": self.model,
            "base_url": self.base_url,
            "api_key": key,
            "max_tokens": self.max_tokens,
            "effort": self.effort,
            **{name: value for name, value in settings(self.set).items() if name not in own},
        }
        return {name: value for name, value in given.items() if value is not None}

    def others(self, own: Iterable[str]) -> dict[str, Any]:
        """Return the values of ``--set`` that are no fields of the client."""
        return {name: value for name, value in settings(self.set).items() if name in own}

    def asked(
        self, config: Mapping[str, Any], concurrency: int, batch: Settings | None = None
    ) -> Client | Baseline:
        """Return a client of the model, or the judge without a server named by ``--backend``.

        Raises
        ------
        UsageError
            If the backend is unknown, is a baseline that is to be asked in batches, or an option is
            wrong.
        """
        from visualjudge.apps.frontdoor.judge import Baseline
        from visualjudge.judges.registry import QUESTION_JUDGES, check_backend

        check_backend(self.backend)
        if self.backend not in QUESTION_JUDGES:
            return open_asked(config, concurrency, batch)
        if batch:
            raise UsageError(f"--batch needs a backend with a server, got {self.backend!r}")
        return Baseline(config["model_name"], backend=self.backend)


def open_asked(
    config: Mapping[str, Any], concurrency: int, batch: Settings | None = None
) -> Client:
    """Return the client of a configuration; ``cache: false`` in it asks again."""
    from visualjudge.clients.cache import default_cache_dir
    from visualjudge.clients.registry import open_client

    fields = dict(config)
    cached = fields.pop("cache", True)
    folder = (fields.pop("cache_dir", None) or default_cache_dir()) if cached else None
    return open_client(
        fields,
        cache_dir=None if folder is None else Path(folder),
        concurrency=concurrency,
        batch=batch,
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run is executed and continued."""

    concurrency: Annotated[int, typer.Option(min=1, help="Concurrent calls.", metavar="N")] = 16
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only the first N.", metavar="N")] = (
        None
    )
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Limits on a run's spending; it stops before exceeding them."""

    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop after N calls.", metavar="N")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop before this cost.", metavar="COST")
    ] = None
    price: PriceOption = None

    def budget(self, max_tokens: int | None = None) -> Budget:
        """Return the budget of limits and prices.

        Raises
        ------
        UsageError
            If ``--price`` is not two numbers.
        """
        from visualjudge.runs.budget import Budget, Limits, Prices

        limits = Limits(self.max_calls, max_tokens, self.max_cost)
        return Budget(limits, Prices(*price_of(self.price)))


def price_of(stated: str | None) -> tuple[float, float]:
    """Return the prices per million prompt and reply tokens.

    Raises
    ------
    UsageError
        If ``stated`` is not two numbers, at least 0.
    """
    low, _, high = (stated or "0/0").partition("/")
    try:
        prices = float(low), float(high)
    except ValueError:
        raise UsageError(f"--price must be IN/OUT, such as 2.5/10, got {stated!r}") from None
    if not all(0 <= price < float("inf") for price in prices):
        raise UsageError(f"--price must be at least 0, got {stated!r}")
    return prices


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The questions of a dataset to ask."""

    task: TaskOption = None
    encoding: EncodingOption = None
    type: Annotated[
        list[str] | None, typer.Option(help="pairwise, ranking or scoring.", metavar="TYPE")
    ] = None
    subset: Annotated[
        list[str] | None, typer.Option(help="Only this subset; repeatable.", metavar="NAME")
    ] = None
    where: WhereOption = None
    sample: Annotated[
        int | None, typer.Option(min=1, help="Ask a balanced sample of N.", metavar="N")
    ] = None
    questions: Annotated[
        Path | None, typer.Option(help="Only the ids in this file.", metavar="FILE")
    ] = None

    @property
    def choice(self) -> Choice:
        """Return the choice."""
        from visualjudge.dataset.question_filter import Choice, read_ids

        return Choice(
            ids=None if self.questions is None else read_ids(self.questions),
            tasks=tuple(self.task or ()),
            encodings=tuple(self.encoding or ()),
            types=tuple(self.type or ()),
            subsets=tuple(self.subset or ()),
            where=tuple(self.where or ()),
            sample=self.sample,
        )


@dataclass(frozen=True, kw_only=True)
class BuildingOptions:
    """How a data folder is converted into a dataset."""

    task: TaskOption = None
    seed: SeedOption = 42
    workers: Annotated[
        int, typer.Option(help="Processes; default: one per core.", metavar="N", show_default=False)
    ] = CORES
    engine: Annotated[Literal["local", "ray"], typer.Option(help="Who runs them.")] = "local"
    prompts: Annotated[
        str | None, typer.Option(help="v1 (default), v2 or a folder.", metavar="NAME")
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace a dataset at --out.")] = False

    @property
    def options(self) -> BuildOptions:
        """Return the options that determine the output bytes; without subsets and caps.

        Raises
        ------
        UsageError
            If a task is not known, or the prompts are not found.
        """
        from visualjudge.dataset.build import BuildOptions
        from visualjudge.prompts.prompt_set import prompt_set

        tasks = tuple(self.task) if self.task else None
        return BuildOptions(self.seed, tasks=tasks, prompts=prompt_set(self.prompts, None))


@dataclass(frozen=True, kw_only=True)
class PartOptions:
    """The part of runs that is measured."""

    dataset: MovedDataset = None
    task: TaskOption = None
    where: WhereOption = None

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return ``--task`` and ``--where`` as conditions ``FIELD=VALUE``.

        Raises
        ------
        UsageError
            If several tasks are given.
        """
        tasks = self.task or []
        if len(tasks) > 1:
            raise UsageError(f"--task must be given once here, got {', '.join(tasks)}")
        return (*(f"task={name}" for name in tasks), *(self.where or ()))


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with each group parameter replaced by that group's options."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: list(_options(hint)) for name, hint in hints.items() if is_dataclass(hint)}

    @functools.wraps(command)
    def called(**values: Any) -> None:
        made = {
            name: hints[name](**{option.name: values.pop(option.name) for option in options})
            for name, options in groups.items()
        }
        command(**values, **made)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += groups.get(name) or [parameter.replace(annotation=hints[name])]
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    called.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    return called


def _options(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        hint = hints[field.name]
        if heading := getattr(group, "heading", None):
            hint.__metadata__[0].rich_help_panel = heading
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, kind, default=default, annotation=hint)
