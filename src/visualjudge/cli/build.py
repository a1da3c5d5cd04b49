"""``visualjudge build``: convert a data folder into a judge dataset. The work is done
in ``dataset/build.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.console import as_options, following, say, stages, tell
from visualjudge.cli.options import SkipInvalid, settings, with_settings
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import plural, pluralize
from visualjudge.options import JUDGE_ANALYSIS, BuildOptions

if TYPE_CHECKING:
    from visualjudge.dataset.build import Built


def build(
    data: Annotated[Path, typer.Argument(help="Data folder.", metavar="DATA")],
    out: Annotated[
        Path, typer.Option(help="Folder of the new dataset.", metavar="DATASET")
    ],
    options: BuildOptions,
    set: Annotated[
        list[str] | None,
        typer.Option(
            help="form, max_side, min_margin, per_group, …", metavar="NAME=…"
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Build what `plan --json` wrote.", metavar="FILE"),
    ] = None,
    skip_invalid: SkipInvalid = False,
) -> None:
    """Build a dataset of judge questions. Invalid records are reported on stderr and
    left out, and the status is then 1. The same data, seed and options give the same
    bytes.

    Example: visualjudge build data --out dataset --task keypoint --workers 4
    """
    from visualjudge.dataset.build import build as build_dataset
    from visualjudge.judges.local.judge import shipped

    options = with_settings(options, settings(set), alone=True)
    scores = options.types == ("scoring",)
    asked = [] if scores else ["--swap"]
    if plan is not None:
        if options.tasks or options.subsets:
            raise UsageError(
                "--plan determines what is built; leave out --task and --subset"
            )
        from visualjudge.apps.planning.study_designs import read_build

        name, seed, caps, asked = read_build(plan)
        options = replace(
            options,
            seed=seed,
            tasks=(name,),
            subsets=(JUDGE_ANALYSIS,),
            caps=caps,
        )
    with stages() as progress:
        built = build_dataset(data, out, options, progress=progress)
    say(
        *(f"warning: {message}" for message in built.other_ranges),
        *(
            f"warning: {path}: changes nothing; it must be the newest version of an "
            "asset such as questions/layout/v3.yaml"
            for path in options.prompts.unused()
        ),
    )
    for line in (*_left_out(built), *_not_drawn(built, options)):
        print(line)
    if not built.compared and not scores:
        why = (
            "; ".join(built.equal)
            or "no image has two models or scores; import another model"
        )
        print(as_options(f"nothing is compared: {why}"))
    print(
        f"{pluralize(built.questions, 'question')} and "
        f"{pluralize(built.images, 'image')} in {out}"
    )
    following("judge", out, *asked, "--model", "MODEL", "--out", "RUN")
    if not scores and shipped().tasks.keys() & built.drawn.keys():
        following(
            "judge",
            out,
            *asked,
            "--backend",
            "local",
            "--model",
            "default",
            "--out",
            "RUN",
            title="or",
        )
    tell(built.problems, skip=skip_invalid)


def _not_drawn(built: Built, options: BuildOptions) -> Iterator[str]:
    """Say for each task how many of its pairs and images are asked about, and which
    limit holds."""
    few = (
        (k, drawn)
        for k, drawn in built.drawn.items()
        if 0 < drawn.pairs < drawn.of_pairs
    )
    for task, drawn in few:
        caps = options.caps
        limits = {
            " ".join(
                f"--where {text}" for text in options.where
            ): options.where,
            f"--judge-pairs {caps.judge_pairs}": drawn.pairs
            >= caps.judge_pairs,
            f"--judge-groups {caps.judge_groups}": True,
        }
        limit = next(name for name, holds in limits.items() if holds)
        # there are at most as many groups as pairs
        every = (
            f"--judge-groups {drawn.of_pairs} --judge-pairs {drawn.of_pairs}"
        )
        yield (
            f"{task}: {drawn.pairs} of {pluralize(drawn.of_pairs, 'pair')}, "
            f"{drawn.images} of {pluralize(drawn.of_images, 'image')} ({limit}"
            f"{f'; {every} ask all' if limit.startswith('--judge') else ''})"
        )


def _left_out(built: Built) -> Iterator[str]:
    """List the questions left out because an encoding shows the options alike, one
    encoding per line.
    """
    for task, by_stem in built.undecidable.items():
        for stem, counts in by_stem.items():
            hidden = ", ".join(
                built.unseen_error_types.get(task, {}).get(stem, ())
            )
            asked = " and ".join(
                f"{count} {name}" for name, count in counts.items() if count
            )
            yield (
                f"{task}/{stem}: {asked} {plural(sum(counts.values()), 'question')} "
                "not asked, their options look the same"
                + (f"; it does not show: {hidden}" if hidden else "")
            )
