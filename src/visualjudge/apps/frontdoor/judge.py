"""Ask a judge the questions of a dataset. The work is done in ``visualjudge.runs``; a
run that is opened later is in ``opened_run.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from visualjudge.apps.frontdoor.opened_run import Run
from visualjudge.clients.base import Client
from visualjudge.clients.batch.batched_client import Settings, batched_in
from visualjudge.clients.registry import BATCH_REGISTRY, open_client
from visualjudge.core.errors import UsageError, one_of
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.judges.base import Judge
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.judges.registry import QUESTION_JUDGES, check_backend
from visualjudge.judges.toolbox import Tools, tool_names
from visualjudge.options import (
    JudgeOptions,
    RunSettings,
    Selection,
    keywords,
)
from visualjudge.prompts.rubric import rubric_of
from visualjudge.runs.asks import check_images
from visualjudge.runs.batches import BatchEngine, has_batches
from visualjudge.runs.budget import Budget, Limits, Prices
from visualjudge.runs.job_runner import Listener, Stop, run_until_stopped
from visualjudge.runs.judge_dataset import run_judge
from visualjudge.runs.live import Engine

CLIENT = (
    "a client, such as vj.client('api', model='gpt-4o-mini'), or a judge of your "
    "own"
)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A judge that needs no network: ``random``, ``first``,
    ``oracle:P[,bias=B][,slope=S]`` or ``sharpness``.
    """

    model: str
    seed: int = 42
    backend: str = field(default="baseline", repr=False)
    """Name of the registered question judge."""


Asked = Client | Judge | Baseline


def client(
    backend: str = "api",
    *,
    model: str | None = None,
    cache: str | Path | bool = True,
    batch: Settings | bool = False,
    **config: Any,
) -> Client | Baseline:
    """Return a model behind a backend, with retries and a cache of replies.

    Parameters
    ----------
    backend
        ``"api"`` (any server that speaks OpenAI chat completions), ``"vllm"``,
        ``"google"``, ``"anthropic"``, ``"transformers"``, a registered one, or
        ``"baseline"`` for a judge that needs no network.
    model
        Name of the model on the server; for a baseline, such as ``"oracle:0.8"``.
    cache
        Whether to cache replies in the user's cache folder, or the folder to use
        instead (``cache_dir`` names it too, for True).
    batch
        Whether :func:`judge` uses the provider's batches (OpenAI, Anthropic, Gemini),
        at half the price and within a day, or settings for them
        (:class:`~visualjudge.clients.batch.batched_client.Settings`).
    config
        Options of the backend: ``base_url``, ``api_key``, ``temperature``,
        ``max_tokens``, ``timeout`` (seconds) …; also ``concurrency`` and ``attempts``.
        Keep keys in the environment.

    Raises
    ------
    UsageError
        If the backend or a field is unknown, or the model is missing.

    Examples
    --------
    >>> import visualjudge as vj
    >>> vj.client("vllm", model="Qwen/Qwen2.5-VL-7B-Instruct", base_url="http://127.0.0.1:8000/v1").model
    'Qwen/Qwen2.5-VL-7B-Instruct'
    >>> vj.client("baseline", model="oracle:0.8")
    Baseline(model='oracle:0.8', seed=42)
    """
    if not model:
        raise UsageError("`model` is missing")
    check_backend(backend)
    supplied = {
        name: value for name, value in config.items() if value is not None
    }
    if backend in QUESTION_JUDGES:
        if batch:
            raise UsageError(
                f"`batch` needs a backend with a server, got {backend!r}"
            )
        if unused := sorted(supplied.keys() - {"seed", "concurrency"}):
            known = [
                item.name
                for item in fields(JudgeOptions)
                if "setting" in item.metadata
            ]
            raise UsageError(
                f"`set` must be {one_of(unused[0], known)}, got {unused[0]!r}; "
                f"`backend` {backend} asks no server"
            )
        return Baseline(model, supplied.get("seed", 42), backend)
    from visualjudge.core.output_files import default_cache_dir

    folder = (
        supplied.pop("cache_dir", default_cache_dir())
        if cache is True
        else cache or None
    )
    return open_client(
        {
            **supplied,
            "backend": backend,
            "model_name": model,
            "cache_dir": folder,
        },
        batch=Settings() if batch is True else batch or None,
    )


@keywords(JudgeOptions)
def judge(
    dataset: Dataset | str | Path,
    asked: Asked | None = None,
    out: str | Path | None = None,
    *,
    options: JudgeOptions,
    progress: bool = True,
    choice: Selection | None = None,
    extractor: Client | None = None,
    limits: Limits | None = None,
    prices: Prices | None = None,
) -> Run:
    """Ask a judge the questions of a dataset; each verdict is on disk before it is
    reported.

    Works in scripts and notebooks. An interrupt lets calls in flight finish and returns
    the run so far; ``resume=True`` continues it. A second interrupt cancels the calls.

    Parameters
    ----------
    dataset
        A dataset, a slice or sample of one, or its folder.
    asked
        A client from :func:`client`, or your own judge
        (:class:`~visualjudge.judges.base.Judge`).
    out
        Folder of the run.
    progress
        Whether to show a progress bar.
    choice, extractor, limits, prices
        As in :func:`judge_async`, like all options.

    Raises
    ------
    UsageError
        If ``out`` holds a run and ``resume`` is false, or a run with different
        settings.
    DataError
        If an image of the dataset is missing.

    Examples
    --------
    >>> import visualjudge as vj
    >>> dataset = vj.load_dataset(example.dataset)
    >>> oracle = vj.client("baseline", model="oracle:1.0")
    >>> run = vj.judge(dataset, oracle, example.out / "run", swap=True)
    >>> run.missing
    0
    >>> run.statuses["ok"] == len(run)
    True
    """
    if asked is None or out is None:
        name, thing = (
            ("out", "the folder of the run") if asked else ("asked", CLIENT)
        )
        raise UsageError(f"{name} must be {thing}, got None")
    with _display(progress) as listener:
        return run_until_stopped(
            lambda stop: judge_async(
                dataset,
                asked,
                out,
                options=options,
                choice=choice,
                extractor=extractor,
                limits=limits,
                prices=prices,
                stop=stop,
                on_event=listener,
            )
        )


@keywords(JudgeOptions)
async def judge_async(
    dataset: Dataset | str | Path,
    asked: Asked,
    out: str | Path,
    *,
    options: JudgeOptions,
    choice: Selection | None = None,
    extractor: Client | None = None,
    limits: Limits | None = None,
    prices: Prices | None = None,
    on_event: Listener | None = None,
    stop: Stop | None = None,
) -> Run:
    """Run :func:`judge` as a coroutine.

    Parameters
    ----------
    choice
        Questions to ask; None, the default, = all.
    swap
        Ask pairwise questions in both orders; default: False.
    repeats
        Number of samples per question and order; default: 1.
    limit
        Maximum number of questions, from the first; default: all.
    concurrency
        Maximum number of concurrent calls; default: 16.
    resume, retry_errors, accept_changes
        Continue the run in ``out``; also ask questions with an api_error again;
        continue with different settings.
    mode
        How to ask for an answer: ``"auto"``, the default (a schema with the reasons
        before the answer if the server follows it, else the prompt alone), ``"text"``
        (the prompt alone), ``"json"``, ``"logprobs"``.
    retries
        How often to ask again if a reply cannot be read; default: 0.
    ties
        Allow the answers "tie" and "both_bad" to pairwise questions; the prompt says
        so. Analysis counts them separately.
    read
        ``"marked"``: read only answers that are marked as such (JSON, boxes, "Answer:
        B", a line of its own), not sentences.
    extractor
        A client that receives each complete but unreadable reply and extracts its
        answer. Such verdicts have the status ``ok_extracted``; analyses count them
        separately.
    seed
        Seed sent to the server.
    tools
        Names of tools that the model may call before it answers, or ``["all"]``;
        default: none. Only with the modes ``"auto"`` and ``"text"``, and asked in text
        with both.
    rubric
        Criteria that are asked in the same call: ``"reason"``, ``"quality"``, or a
        file. Their values are in ``verdict.criteria``; the answer is read as without
        them.
    max_tool_calls
        Maximum tool calls per question; default: 6.
    name
        Name of the judge in reports; None = the model.
    limits, prices
        Budget of the run, and the prices of tokens. Prices cannot be stated with an
        extractor of another model.
    on_event
        Called with the state of the run a few times per second.

    Examples
    --------
    In a notebook, or any other coroutine::

        client = vj.client("api", model="gpt-4o-mini")
        run = await vj.judge_async(dataset, client, "runs/mini", swap=True)
    """
    asking = dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    asking = asking if choice is None else asking.choose(choice)
    if not len(asking.questions[: options.limit]):
        raise UsageError(
            f"{asking.root}: no question is chosen, so there is nothing to ask"
        )
    check_images(asking, asking.questions[: options.limit])
    if extractor is not None:
        _check_prices(asked, extractor, prices)
    chosen = judge_of(asked, asking.root, options, extractor)
    engine, prices = _engine(asked, chosen, Path(out), options, limits, prices)
    report = await run_judge(
        asking,
        chosen,
        out,
        options,
        budget=Budget(limits, prices),
        on_event=on_event,
        stop=stop,
        engine=engine,
    )
    return Run(out, asking, report)


def _check_prices(
    asked: Asked, extractor: Client, prices: Prices | None
) -> None:
    """Check the prices with an extractor: its tokens are counted with the judge's, at
    the judge's price if it is the same model.
    """
    asked_of, read_by = (
        getattr(item, "identity", None) for item in (asked, extractor)
    )
    same = (
        asked_of
        and read_by
        and (asked_of.base_url, asked_of.model)
        == (read_by.base_url, read_by.model)
    )
    if prices is not None and prices.are_stated and not same:
        raise UsageError(
            "`prices` cannot be used if `extractor` is "
            "another model, whose prices are unknown; limit `max_tokens_total` or "
            "`max_calls` instead"
        )


def _engine(
    asked: Asked,
    chosen: Judge,
    out: Path,
    options: RunSettings,
    limits: Limits | None,
    prices: Prices | None,
) -> tuple[Engine | None, Prices | None]:
    """Return the engine that asks the judge, None for live calls, and its prices."""
    batched = batched_in(asked)
    if batched is None:
        if has_batches(out):
            raise UsageError(
                f"{out}: its batches have not ended: add `batch` to continue"
            )
        return None, prices
    if limits is not None and limits != Limits():
        raise UsageError(
            "`max_calls`, `max_tokens_total` and `max_cost` cannot be used with "
            "`batch`; use `limit`"
        )
    provider = BATCH_REGISTRY.find(batched.inner.backend)(batched.inner)
    if isinstance(chosen, QuestionJudge) and chosen.tries_schema:
        chosen.schema = (
            "followed"  # a trial would wait for a batch of one question
        )
    engine = BatchEngine(batched, provider, out, options.retry_errors)
    return engine, None if prices is None else replace(
        prices, share=provider.discount
    )


def judge_of(
    asked: Asked,
    root: Path,
    options: JudgeOptions,
    extractor: Client | None = None,
) -> Judge:
    """Return the judge that asks ``asked`` the questions of the dataset at ``root``."""
    alone = callable(asked) or isinstance(asked, Baseline)
    if not (extractor is None or hasattr(extractor, "identity")):
        raise UsageError(
            f"`extractor` must be {CLIENT}, got {type(extractor).__name__}"
        )
    if alone and (options.tools or extractor is not None):
        raise UsageError(
            "`tools` and `extractor` need a model of a backend, got "
            "a judge that is asked no prompt"
        )
    if not callable(asked) and not isinstance(asked, Baseline):
        if not hasattr(asked, "identity"):
            raise UsageError(
                f"asked must be {CLIENT}, got {type(asked).__name__}"
            )
        return QuestionJudge(
            asked,
            root,
            options.mode,
            options.retries,
            options.seed,
            options.ties,
            options.read,
            tools=_tools(asked, root, options),
            rubric=None
            if options.rubric is None
            else rubric_of(options.rubric),
            extractor=extractor,
        )
    made: Any = asked
    if isinstance(asked, Baseline):
        made = QUESTION_JUDGES.find(asked.backend)(
            asked.model,
            root,
            seed=(asked.seed if options.seed is None else options.seed),
        )
    missing = [
        name
        for name in ("describe", "aclose", "simulated")
        if not hasattr(made, name)
    ]
    if missing:
        raise UsageError(
            f"asked: a judge must have {', '.join(missing)}, got {asked!r}"
        )
    if options.rubric is not None:
        if not hasattr(made, "rubric"):
            raise UsageError(
                "`rubric` needs a model of a backend, or a judge that states "
                f"reasons, got {asked!r:.100}"
            )
        made.rubric = rubric_of(options.rubric)
    return made  # type: ignore[no-any-return]


def _tools(asked: Client, root: Path, options: JudgeOptions) -> Tools | None:
    if not options.tools:
        return None
    if options.mode not in ("auto", "text"):
        raise UsageError(
            f"`mode` must be auto or text with `tools`, got {options.mode!r}"
        )
    if batched_in(asked) is not None:
        raise UsageError(
            "`tools` cannot be used together with `batch`: a batch answers each "
            "request once, and a conversation with tools would wait for a batch at "
            "every call; ask live"
        )
    if asked.identity.backend == "transformers":
        raise UsageError(
            "`tools` needs a server with function calling, got transformers"
        )
    return Tools(root, tool_names(options.tools), options.max_tool_calls)


@contextmanager
def _display(displayed: bool) -> Iterator[Listener | None]:
    if not displayed:
        yield None
        return
    from visualjudge.runs.progress_display import Display

    with Display() as display:
        yield display.update
