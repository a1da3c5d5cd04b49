"""``visualjudge tune``: find the best encoding, prompt version and mode for a judge, with an
unbiased accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from visualjudge.cli.options import CacheOptions, ClientOptions, with_groups
from visualjudge.cli.output import AsJson, following, print_json, say
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import DataError, UsageError
from visualjudge.judges.judge_options import Mode

if TYPE_CHECKING:
    from visualjudge.apps.frontdoor.judge import Asked
    from visualjudge.apps.tuning.successive_halving import Arm

MODES: tuple[str, ...] = get_args(Mode)

app = typer.Typer(add_completion=False)


@app.command(
    epilog="Example:\n\nvisualjudge tune DATASET --task keypoint --backend vllm --model "
    "Qwen2.5-VL-7B --out tuned"
)
@with_groups
def tune(
    dataset: Annotated[
        Path, typer.Argument(help="Dataset from `visualjudge build`.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for the runs and tuned.json.", show_default=False)
    ],
    client: ClientOptions,
    cache: CacheOptions,
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task; may be repeated. Default: all.")
    ] = None,
    budget: Annotated[int, typer.Option(min=4, help="Maximum number of calls per task.")] = 2000,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            help="Mode to try; may be repeated; default: text and json.",
            metavar=f"<list[{'|'.join(MODES)}]>",
        ),
    ] = None,
    prompts: Annotated[
        list[str] | None,
        typer.Option(help="Version of the final question to try; may be repeated; default: all."),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Maximum concurrent calls.")] = 16,
    seed: Annotated[int, typer.Option(help="Seed of the split of the images.")] = 42,
    as_json: AsJson = False,
) -> None:
    """Find the best encoding, prompt version and mode for a judge: chosen on half of the images,
    tested on the rest.
    """
    from visualjudge.apps.tuning import tune as find, versions
    from visualjudge.dataset.folder import load_dataset, selected
    from visualjudge.judges.registry import QUESTION_JUDGES

    def ask() -> Asked:
        return client.asked(cache, concurrency)

    read = selected(load_dataset(dataset), task)
    modes = mode or ["text", "json"]
    tried, found, failed = tuple(prompts or versions()), [], 0
    _check_known("--prompts", tried, versions())
    _check_known("--mode", modes, MODES)
    if client.backend in QUESTION_JUDGES:  # a judge without a model sees no prompt
        modes, tried = modes[:1], ()
    for name in dict.fromkeys(question.task for question in read):
        try:
            done = find(
                read,
                name,
                ask,
                out / name,
                budget=budget,
                modes=cast(list[Mode], modes),
                prompts=tried,
                seed=seed,
            )
        except DataError as error:  # a task with too few images must not stop the others
            say(error)
            failed += 1
            continue
        found.append(done.json())
        if not as_json:
            typer.echo(done.answer)
            _next(dataset, name, done.recommended)
    write_json(out / "tuned.json", {"tasks": found})
    if as_json:
        print_json(found)
    if failed:
        raise typer.Exit(1)


def _check_known(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    if unknown := set(given) - set(known):
        raise UsageError(
            f"{option} must be among {', '.join(known)}, got {', '.join(sorted(unknown))}"
        )


def _next(dataset: Path, task: str, best: Arm) -> None:
    if best.prompts is not None:
        following("build", "DATA", "--task", task, "--prompts", best.prompts, "--out", "OTHER")
    place = dataset if best.prompts is None else "OTHER"
    chosen = ("--task", task, "--encoding", best.encoding, "--mode", best.mode)
    following("judge", place, *chosen, "--out", "RUN")
