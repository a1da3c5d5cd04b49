"""Options shared by several commands, with each group defined once as a dataclass.

A command takes a group as one parameter. The decorator :func:`with_groups` turns the fields of each
group into separate Typer options, under the group's ``heading`` for a dataclass.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypedDict, get_type_hints, is_typeddict

import typer

from visualjudge.core.errors import UsageError
from visualjudge.core.registry import added

if TYPE_CHECKING:
    from visualjudge.apps.frontdoor.judge import Baseline
    from visualjudge.clients.base import Client
    from visualjudge.clients.batch.batched_client import Settings
    from visualjudge.core.workers import EngineName
    from visualjudge.dataset.build import BuildOptions
    from visualjudge.dataset.question_filter import Choice
    from visualjudge.judges.judge_options import Option
    from visualjudge.runs.budget import Budget, Limits, Prices


JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Write the figures to this JSON file.")
]
MovedDataset = Annotated[
    Path | None, typer.Option("--dataset", help="The dataset, if it has moved since the run.")
]
ReplaceDataset = Annotated[
    bool, typer.Option("--force", help="Replace an existing dataset at --out.")
]
Task = Annotated[str | None, typer.Option(help="Only questions of this task.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        help="Only questions with FIELD=VALUE, such as encoding=text_xyxy; may be repeated."
    ),
]
BACKENDS = ", ".join(["api, google, vllm, anthropic", *added("backend")])
JUDGES = ", ".join(["baseline, metric, reward", *added("question judge")])


def key_of(variable: str | None, option: str = "--api-key-env") -> str | None:
    """Return the API key in an environment variable.

    Raises
    ------
    UsageError
        If the variable is named but not set.
    """
    if variable is None:
        return None
    from visualjudge.clients.masked_secrets import key_from_environment

    return key_from_environment(variable, option, os.environ)


@dataclass(frozen=True, kw_only=True)
class ClientOptions:
    """The model to ask, and its settings."""

    heading: ClassVar[str] = "Model"

    backend: Annotated[
        str,
        typer.Option(
            help=f"Backend, such as {BACKENDS}; judge also accepts {JUDGES}. An "
            "unknown name prints all names."
        ),
    ] = "api"
    model: Annotated[
        str | None,
        typer.Option(
            help="Model name on the server; for baseline: random, first, "
            "oracle:P[,bias=B][,slope=S] or sharpness."
        ),
    ] = None
    base_url: Annotated[
        str | None, typer.Option(help="URL of the server; with /v1 for api and vllm.")
    ] = None
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key.")
    ] = None
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Sampling temperature; default: the server's.")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum length of a reply, in tokens.")
    ] = None
    effort: Annotated[
        str | None,
        typer.Option(help="Thinking: none, low, medium, high or a number of tokens."),
    ] = None
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Timeout of one call, in seconds; default: 300.")
    ] = None
    attempts: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of attempts per call.")
    ] = None
    max_image_side: Annotated[
        int | None,
        typer.Option(
            min=16, help="Shrink images whose longer side exceeds this (recorded in the verdicts)."
        ),
    ] = None

    def config(self, key_option: str = "--api-key-env") -> dict[str, Any]:
        """Return the client's fields, without unset ones; error messages about the key name
        ``key_option``.

        Raises
        ------
        UsageError
            If no model is named, or the variable of the API key is not set.
        """
        if not self.model:
            raise UsageError("--model is missing")
        named = {"backend": self.backend, "model_name": self.model, "base_url": self.base_url}
        own = ("temperature", "max_tokens", "effort", "timeout", "attempts", "max_image_side")
        given = {
            **named,
            "api_key": key_of(self.api_key_env, key_option),
            **{name: getattr(self, name) for name in own},
        }
        return {name: value for name, value in given.items() if value is not None}

    def asked(
        self, cache: CacheOptions, concurrency: int, batch: Settings | None = None
    ) -> Client | Baseline:
        """Return a client of the model, or the baseline named by ``--backend``.

        Raises
        ------
        UsageError
            If the backend is unknown, is a baseline that is to be asked in batches, or an option is
            wrong.
        """
        from visualjudge.apps.frontdoor.judge import Baseline
        from visualjudge.judges.registry import QUESTION_JUDGES, check_backend

        check_backend(self.backend)
        config = self.config()
        if self.backend not in QUESTION_JUDGES:
            return open_asked(config, cache, concurrency, batch)
        if batch:
            raise UsageError(f"--batch needs a backend with a server, got {self.backend!r}")
        return Baseline(config["model_name"], backend=self.backend)


@dataclass(frozen=True, kw_only=True)
class CacheOptions:
    """Where replies are cached."""

    heading: ClassVar[str] = "Cache"

    cache_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of the reply cache; default: the user's cache folder."),
    ] = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not use the reply cache.")] = (
        False
    )

    @property
    def folder(self) -> Path | None:
        """Return the folder, or None for no cache."""
        from visualjudge.clients.cache import default_cache_dir

        return None if self.no_cache else self.cache_dir or default_cache_dir()


def open_asked(
    config: Mapping[str, Any], cache: CacheOptions, concurrency: int, batch: Settings | None = None
) -> Client:
    """Return the client of a configuration."""
    from visualjudge.clients.registry import open_client

    return open_client(config, cache_dir=cache.folder, concurrency=concurrency, batch=batch)


@dataclass(frozen=True, kw_only=True)
class ExtractorOptions:
    """A second reader for replies that could not be read."""

    heading: ClassVar[str] = "Model"

    extractor_model: Annotated[
        str | None,
        typer.Option(
            help="Ask this model about replies that could not be read (status ok_extracted)."
        ),
    ] = None
    extractor_backend: Annotated[str, typer.Option(help="Like --backend, for the extractor.")] = (
        "api"
    )
    extractor_base_url: Annotated[
        str | None, typer.Option(help="Like --base-url, for the extractor.")
    ] = None
    extractor_api_key_env: Annotated[
        str | None, typer.Option(help="Like --api-key-env, for the extractor.")
    ] = None

    def opened(self, cache: CacheOptions, concurrency: int) -> Client | None:
        """Return the client of the second reader, or None without one.

        Raises
        ------
        UsageError
            If the variable of the API key is not set, or the backend is unknown.
        """
        if self.extractor_model is None:
            return None
        shared = ClientOptions(
            backend=self.extractor_backend,
            model=self.extractor_model,
            base_url=self.extractor_base_url,
            api_key_env=self.extractor_api_key_env,
        )
        return open_asked(shared.config("--extractor-api-key-env"), cache, concurrency)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run is executed and continued."""

    heading: ClassVar[str] = "Run"

    concurrency: Annotated[int, typer.Option(min=1, help="Maximum concurrent calls.")] = 16
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only the first N questions or rows.", metavar="N")
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Limits on a run's spending; it stops before exceeding them."""

    heading: ClassVar[str] = "Budget"

    max_calls: Annotated[int | None, typer.Option(min=1, help="Stop after N calls.")] = None
    max_tokens_total: Annotated[
        int | None, typer.Option(min=1, help="Stop before this many tokens are exceeded.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop before this cost is exceeded (needs prices).")
    ] = None
    price_in: Annotated[
        float | None, typer.Option(min=0, help="Price per million prompt tokens.")
    ] = None
    price_out: Annotated[
        float | None,
        typer.Option(min=0, help="Price per million reply tokens, reasoning included."),
    ] = None

    @property
    def limits(self) -> Limits:
        """Return the limits."""
        from visualjudge.runs.budget import Limits

        return Limits(self.max_calls, self.max_tokens_total, self.max_cost)

    @property
    def prices(self) -> Prices:
        """Return the prices.

        Raises
        ------
        UsageError
            If only one of the two is given.
        """
        from visualjudge.runs.budget import Prices

        if (self.price_in is None) != (self.price_out is None):
            raise UsageError("--price-in and --price-out must be given together; 0 is a price")
        return Prices(self.price_in or 0.0, self.price_out or 0.0)

    @property
    def budget(self) -> Budget:
        """Return the budget of limits and prices."""
        from visualjudge.runs.budget import Budget

        return Budget(self.limits, self.prices)


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The questions of a dataset to ask."""

    heading: ClassVar[str] = "Questions"

    task: Annotated[list[str] | None, typer.Option(help="Only this task; may be repeated.")] = None
    encoding: Annotated[
        list[str] | None, typer.Option(help="Only this encoding; may be repeated.")
    ] = None
    type: Annotated[
        list[str] | None, typer.Option(help="Only pairwise, ranking or scoring; may be repeated.")
    ] = None
    subset: Annotated[list[str] | None, typer.Option(help="Only this subset; may be repeated.")] = (
        None
    )
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only where FIELD=VALUE holds; also !=, <, <=, >, >= and ~ (contains), such as "
            "'margin<2', "
            "'error_type=missed', 'sources~sam'; if repeated, all must hold.",
            metavar="FIELD=VALUE",
        ),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Ask a balanced sample of N questions.", metavar="N"),
    ] = None
    sample_seed: Annotated[int, typer.Option(help="Seed of --sample.")] = 42
    questions: Annotated[
        Path | None,
        typer.Option(help="Only the questions whose ids are in this file, one per line."),
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
            seed=self.sample_seed,
        )


class Work(TypedDict):
    """Number of build processes, and their engine."""

    workers: int
    engine: EngineName


class FormName(StrEnum):
    """How the questions of a dataset, or the verdicts of a run, are stored."""

    parquet = "parquet"
    json = "json"


class MediaName(StrEnum):
    """How the images of a dataset are stored."""

    files = "files"
    shards = "shards"


@dataclass(frozen=True, kw_only=True)
class BuildingOptions:
    """How a data folder is converted into a dataset."""

    heading: ClassVar[str] = "Building"

    task: Annotated[
        list[str] | None, typer.Option(help="Only this task; may be repeated; default: all.")
    ] = None
    seed: Annotated[int, typer.Option(help="Random seed.")] = 42
    workers: Annotated[
        int | None, typer.Option(help="Number of processes; default: one per core.")
    ] = None
    engine: Annotated[str, typer.Option(help="local or ray (needs the extra 'ray').")] = "local"
    prompts: Annotated[
        str | None,
        typer.Option(
            help="v1, v2 (states the form of the answer), or a folder of your own prompts; "
            "default: v1."
        ),
    ] = None
    prompt_version: Annotated[
        str | None,
        typer.Option(
            help="Prompt version, such as v2, also for a folder of your own prompts; default: v1."
        ),
    ] = None
    max_side: Annotated[
        int | None,
        typer.Option(
            help="Maximum length of an image's longer side; larger images and "
            "their predictions are shrunk."
        ),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing dataset at --out.")
    ] = False

    @property
    def work(self) -> Work:
        """Return the number of workers and the engine."""
        cores = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        return {"workers": cores if self.workers is None else self.workers, "engine": self.engine}  # type: ignore[typeddict-item]

    @property
    def options(self) -> BuildOptions:
        """Return the options that determine the output bytes; without subsets and caps.

        Raises
        ------
        UsageError
            If a task is not known, a size is below 1, or the prompts are not found.
        """
        from visualjudge.dataset.build import BuildOptions
        from visualjudge.prompts.prompt_set import prompt_set

        prompts = prompt_set(self.prompts, self.prompt_version)
        tasks = tuple(self.task) if self.task else None
        return BuildOptions(self.seed, tasks=tasks, prompts=prompts, max_side=self.max_side)


def conditions(task: str | None, where: Sequence[str] | None) -> tuple[str, ...]:
    """Return ``--task`` and ``--where`` as conditions ``FIELD=VALUE``."""
    return (*(() if task is None else (f"task={task}",)), *(where or ()))


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with each group parameter replaced by that group's options."""
    hints = get_type_hints(command, include_extras=True)
    shown = {
        name: list(_options(hint))
        for name, hint in hints.items()
        if is_dataclass(hint) or is_typeddict(hint)
    }

    @functools.wraps(command)
    def called(**values: Any) -> None:
        made = {
            name: hints[name](**{one.name: values.pop(one.name) for one in own})
            for name, own in shown.items()
        }
        command(**values, **made)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        parameters += shown.get(name) or [parameter.replace(annotation=hints[name])]
    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    called.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword}
    return called


def _options(group: Any) -> Iterator[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    if is_typeddict(group):
        for name, hint in group.__annotations__.items():
            option: Option = hint.__metadata__[0]
            if option.help:
                # explicit, since a bool would also get --no-…
                flag = f"--{(option.flag or name).replace('_', '-')}"
                shown = typer.Option(flag, help=option.help, min=option.least)
                declared = Annotated[hint.__origin__, shown]  # type: ignore[name-defined]
                yield inspect.Parameter(name, kind, default=option.default, annotation=declared)
        return
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        hints[field.name].__metadata__[0].rich_help_panel = group.heading
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name])
