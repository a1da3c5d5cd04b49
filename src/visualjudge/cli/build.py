"""``visualjudge build``: convert a data folder into a judge dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.options import BuildingOptions, FormName, with_groups
from visualjudge.cli.output import following, say, stages, tell
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import plural, pluralize

if TYPE_CHECKING:
    from visualjudge.dataset.build import Built

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

EPILOG = (
    "Examples:\n\n"
    "visualjudge build data --out dataset\n\n"
    "visualjudge build data --out dataset --task keypoint --subset encoding_analysis --workers "
    "4\n\n"
    "visualjudge build data --out dataset --prompts v2"
)


@app.command(epilog=EPILOG)
@with_groups
def build(
    building: BuildingOptions,
    data: Annotated[
        Path,
        typer.Argument(help="Data folder: annotations/<task>_annotations.json, images/<task>.json"),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder of the new dataset; must not exist."),
    ],
    subset: Annotated[
        list[str] | None,
        typer.Option(
            "--subset", help="encoding_analysis or judge_analysis; may be repeated; default: both."
        ),
    ] = None,
    skip_invalid: Annotated[
        bool,
        typer.Option("--skip-invalid", help="Exit with status 0 even if records were left out."),
    ] = False,
    encoding_groups: Annotated[
        int, typer.Option(help="encoding_analysis: maximum groups per task.")
    ] = 10,
    encoding_pairs: Annotated[
        int, typer.Option(help="encoding_analysis: maximum pairs per task.")
    ] = 10,
    judge_groups: Annotated[
        int, typer.Option(help="judge_analysis: maximum groups per task for pairs.")
    ] = 20,
    judge_pairs: Annotated[int, typer.Option(help="judge_analysis: maximum pairs per task.")] = 50,
    scoring_groups: Annotated[
        int, typer.Option(help="judge_analysis: maximum groups per task for scoring.")
    ] = 20,
    ranking_groups: Annotated[
        int, typer.Option(help="judge_analysis: maximum groups per task for ranking.")
    ] = 20,
    per_group: Annotated[
        int, typer.Option(help="Number of annotations to score or rank per group; at most 5.")
    ] = 5,
    min_margin: Annotated[
        float, typer.Option(help="Leave out pairs whose scores differ by less than this.")
    ] = 0.0,
    form: Annotated[
        FormName | None,
        typer.Option(
            help="questions.json and media/, or one Parquet file; default: by size.",
            show_default=False,
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", help="Take task, seed and limits from a plan (`visualjudge plan --json`)."
        ),
    ] = None,
) -> None:
    """Build a judge dataset from a data folder.

    Every record is checked. Invalid records are reported on stderr and skipped, and the command
    then ends with status 1 (0 with --skip-invalid). The same data, seed and options give the same
    bytes for any number of workers.
    """
    from visualjudge.dataset.build import build as build_dataset
    from visualjudge.dataset.sampling import JUDGE_ANALYSIS, SUBSETS, Caps

    caps = Caps(
        encoding_groups,
        encoding_pairs,
        judge_groups,
        judge_pairs,
        scoring_groups,
        ranking_groups,
        per_group,
        min_margin,
    )
    options = replace(building.options, subsets=tuple(subset or SUBSETS), caps=caps)
    asked = ["--swap"]
    if plan is not None:
        from visualjudge.apps.planning.study_designs import read_build

        if building.task or subset:
            raise UsageError("--plan determines what is built; leave out --task and --subset")
        task, seed, caps, asked = read_build(plan)
        options = replace(options, seed=seed, tasks=(task,), subsets=(JUDGE_ANALYSIS,), caps=caps)
    with stages() as progress:
        built = build_dataset(
            data,
            out,
            options,
            **building.work,
            force=building.force,
            form=form.value if form else None,
            progress=progress,
        )
    tell(built.problems)
    for line in _left_out(built):
        print(line)
    if not built.compared:
        why = "; ".join(built.equal) or (
            "no image has annotations of two sources or of two scores; import another source for "
            "pairs and rankings"
        )
        print(f"nothing is compared: {why}")
    print(
        f"{pluralize(built.questions, 'question')} and {pluralize(built.images, 'image')} in {out}"
    )
    following("judge", out, *asked, "--model", "MODEL", "--out", "RUN")
    local = ("--backend", "local", "--model", "default")
    following("judge", out, *asked, *local, "--out", "RUN", title="or")
    if built.problems:
        say(f"{pluralize(len(built.problems), 'invalid record')} left out")
        raise typer.Exit(0 if skip_invalid else 1)


def _left_out(built: Built) -> Iterator[str]:
    """List the questions left out because an encoding shows the options alike, one encoding per
    line.
    """
    for task, by_stem in built.undecidable.items():
        for stem, counts in by_stem.items():
            hidden = ", ".join(built.unseen_error_types.get(task, {}).get(stem, ()))
            told = f"; it does not show: {hidden}" if hidden else ""
            asked = " and ".join(f"{count} {name}" for name, count in counts.items() if count)
            asked = f"{asked} {plural(sum(counts.values()), 'question')}"
            yield f"{task}/{stem}: {asked} not asked, their options look the same{told}"
