"""``visualjudge build``: convert a data folder into a judge dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visualjudge.cli.options import BuildingOptions, SkipInvalid, settings
from visualjudge.cli.output import following, say, stages, tell
from visualjudge.core.errors import UsageError
from visualjudge.core.plurals import plural, pluralize

if TYPE_CHECKING:
    from visualjudge.dataset.build import BuildOptions, Built
    from visualjudge.dataset.sampling import Caps


def build(
    data: Annotated[Path, typer.Argument(help="Data folder.", metavar="DATA")],
    out: Annotated[Path, typer.Option(help="Folder of the new dataset.", metavar="DATASET")],
    building: BuildingOptions,
    subset: Annotated[
        list[str] | None,
        typer.Option(help="encoding_analysis or judge_analysis; repeatable.", metavar="NAME"),
    ] = None,
    judge_pairs: Annotated[
        int, typer.Option(help="Pairs of a task in judge_analysis.", metavar="N")
    ] = 50,
    judge_groups: Annotated[int, typer.Option(help="Images of these pairs.", metavar="N")] = 20,
    set: Annotated[
        list[str] | None,
        typer.Option(help="form, max_side, min_margin, per_group, …", metavar="NAME=…"),
    ] = None,
    score_range: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Range of the data's scores, which become 0 to 10.", metavar="LOW HIGH"),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Build what `plan --json` wrote.", metavar="FILE")
    ] = None,
    skip_invalid: SkipInvalid = False,
) -> None:
    """Build a dataset of judge questions. Invalid records are reported on stderr and left out, and
    the status is then 1. The same data, seed and options give the same bytes.

    Example: visualjudge build data --out dataset --task keypoint --workers 4
    """
    from visualjudge.dataset.build import build as build_dataset
    from visualjudge.dataset.sampling import JUDGE_ANALYSIS, SUBSETS

    more = {"judge_pairs": judge_pairs, "judge_groups": judge_groups, **settings(set)}
    form = more.pop("form", None)
    options = _options(building.options, more)
    options = replace(options, subsets=tuple(subset or SUBSETS), score_range=score_range)
    asked = ["--swap"]
    if plan is not None:
        if building.task or subset:
            raise UsageError("--plan determines what is built; leave out --task and --subset")
        from visualjudge.apps.planning.study_designs import read_build

        name, seed, caps, asked = read_build(plan)
        options = replace(options, seed=seed, tasks=(name,), subsets=(JUDGE_ANALYSIS,), caps=caps)
    with stages() as progress:
        built = build_dataset(
            data,
            out,
            options,
            workers=building.workers,
            engine=building.engine,
            force=building.force,
            form=form,
            progress=progress,
        )
    say(*(f"warning: {told}" for told in built.other_ranges))
    for line in (*_left_out(built), *_not_drawn(built, options.caps)):
        print(line)
    if not built.compared:
        other = "no image has annotations of two sources or of two scores; import another source"
        print(f"nothing is compared: {'; '.join(built.equal) or other}")
    print(
        f"{pluralize(built.questions, 'question')} and {pluralize(built.images, 'image')} in {out}"
    )
    following("judge", out, *asked, "--model", "MODEL", "--out", "RUN")
    local = ("--backend", "local", "--model", "default")
    following("judge", out, *asked, *local, "--out", "RUN", title="or")
    tell(built.problems, skip=skip_invalid)


def _options(options: BuildOptions, more: dict[str, Any]) -> BuildOptions:
    """Return the options with the limits and settings of ``more``."""
    from pydantic import TypeAdapter, ValidationError

    from visualjudge.core.pydantic_messages import first_problem
    from visualjudge.dataset.sampling import Caps

    known = ("form", "max_side", *(field.name for field in fields(Caps)))
    if unknown := sorted(set(more) - set(known)):
        raise UsageError(f"--set: must be one of {', '.join(known)}, got {unknown[0]!r}")
    side = more.pop("max_side", None)
    try:
        side = TypeAdapter(int | None).validate_python(side)
        caps = TypeAdapter(Caps).validate_python(more)
    except ValidationError as error:
        place, reason = first_problem(error)
        raise UsageError(f"--set {'.'.join(place) or 'max_side'}: {reason}") from None
    return replace(options, caps=caps, max_side=side)


def _not_drawn(built: Built, caps: Caps) -> Iterator[str]:
    """Say for each task how many of its pairs and images are asked about, and which limit holds."""
    for task, drawn in built.drawn.items():
        if drawn.pairs == drawn.of_pairs:
            continue
        limit = f"--judge-groups {caps.judge_groups}"
        if drawn.pairs >= caps.judge_pairs:
            limit = f"--judge-pairs {caps.judge_pairs}"
        pairs = f"{drawn.pairs} of {pluralize(drawn.of_pairs, 'pair')}"
        images = f"{drawn.images} of {pluralize(drawn.of_images, 'image')}"
        yield f"{task}: {pairs}, {images} ({limit})"


def _left_out(built: Built) -> Iterator[str]:
    """List the questions left out because an encoding shows the options alike, one encoding per
    line.
    """
    for task, by_stem in built.undecidable.items():
        for stem, counts in by_stem.items():
            hidden = ", ".join(built.unseen_error_types.get(task, {}).get(stem, ()))
            reason = f"; it does not show: {hidden}" if hidden else ""
            asked = " and ".join(f"{count} {name}" for name, count in counts.items() if count)
            asked = f"{asked} {plural(sum(counts.values()), 'question')}"
            yield f"{task}/{stem}: {asked} not asked, their options look the same{reason}"
