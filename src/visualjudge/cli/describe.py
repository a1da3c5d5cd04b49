"""``visualjudge describe``: summarize a data folder, or check a dataset. The work is
done in ``dataset/describe.py`` and ``dataset/validate.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from visualjudge.cli.console import (
    end_with,
    following,
    say,
    stages,
    tell,
    write,
)
from visualjudge.cli.options import JsonFile
from visualjudge.core.errors import UsageError, one_of
from visualjudge.core.output_files import OutputFile
from visualjudge.core.plurals import pluralize
from visualjudge.core.text_tables import Table
from visualjudge.options import Selection

if TYPE_CHECKING:
    from visualjudge.dataset.describe import Description, Slice

COLUMNS = (
    "Task",
    "Model / error",
    "Annotations",
    "Images",
    "Groups",
    "Pairs",
    "Q1",
    "Median",
    "Q3",
    "Margin",
)


def describe(
    folder: Annotated[
        Path, typer.Argument(help="Data folder or dataset.", metavar="FOLDER")
    ],
    part: Selection,
    json: JsonFile = None,
) -> None:
    """Summarize a data folder: annotations, images, groups, scores and margins by task,
    model and error type. Check a dataset: checksums, rules, and faults as a benchmark
    (status 1 if any).

    Example: visualjudge describe data --json description.json
    """
    from visualjudge.dataset.folder import META

    if (folder / META).is_file():
        _describe_dataset(folder, json, part)
    elif part.encodings or part.types or part.where:
        raise UsageError(
            f"{folder} is a data folder: --encoding, --type and --where are for datasets"
        )
    else:
        _describe_data(folder, json, part.tasks)


def _describe_dataset(
    folder: Path, json: OutputFile | None, part: Selection
) -> None:
    from visualjudge.apps.planning.dataset_audit import audit
    from visualjudge.dataset.validate import validate

    dataset, problems = validate(folder)
    tell(problems)
    end_with(
        [f"{pluralize(len(problems), 'rule')} broken in {folder}"]
        if problems
        else []
    )
    print(
        f"{folder}: {pluralize(len(dataset), 'question')}, all checksums and rules hold"
    )
    dataset = dataset.choose(part)
    with stages() as progress:
        audited = audit(
            dataset,
            tick=lambda done, total: progress("reading images", done, total),
        )
    write(json, audited.json())
    print(audited)
    if not dataset.labels_only:
        following(
            *("judge", folder, "--swap"),
            *("--model", "MODEL", "--out", "RUN"),
        )
    if audited.findings:
        raise typer.Exit(1)


def _describe_data(
    folder: Path, json: OutputFile | None, chosen: tuple[str, ...]
) -> None:
    from visualjudge.data.folder import DataFolder
    from visualjudge.data.import_mistakes import by_source, equal_sources
    from visualjudge.dataset.describe import describe as describe_task

    data = DataFolder(folder)
    for name in chosen:
        if name not in data.tasks:
            raise UsageError(
                f"--task must be {one_of(name, data.tasks)}, got {name!r}"
            )
    tasks = [name for name in data.tasks if not chosen or name in chosen]
    described = [describe_task(name, data.entries(name)) for name in tasks]
    equal = [
        reason
        for name in tasks
        for reason in equal_sources(data, by_source(data, name))
    ]
    problems = list(data.problems)
    write(
        json,
        {
            "tasks": [each.to_json() for each in described],
            "invalid_records": len(problems),
        },
    )
    if described:
        print(_table(described).text())
    compared = [each.task for each in described if each.whole.pairs]
    warnings = [*data.other_ranges(tasks), *(equal if compared else ())]
    say(*(f"warning: {warning}" for warning in warnings))
    if described and not compared:
        why = (
            "; ".join(equal)
            or "import a second --source, or run `visualjudge perturb`"
        )
        print(
            f"no two predictions can be compared: {why}; single scores can be asked"
        )
        following("build", folder, "--out", "DATASET")
    else:
        named = ("--task", compared[0]) if len(compared) > 1 else ()
        alone = all(len(each.by_source) <= 1 for each in described)
        following(
            "plan",
            folder,
            *named,
            *(("--goal", "right") if alone else ()),
            "--json",
            "plan.json",
        )
    tell(problems, skip=False)


def _table(described: list[Description]) -> Table:
    rows = []
    notes = []
    for each in described:
        parts = {"all": each.whole}
        for heading, slices in (
            ("source", each.by_source),
            ("error", each.by_error_type),
        ):
            parts |= {
                f"{heading} {part.name}": part
                for part in slices
                if len(slices) > 1
            }
        rows += [
            (each.task, name, *_cells(part)) for name, part in parts.items()
        ]
        notes += [
            f"{each.task}: shown and scored: {threshold}"
            for threshold in each.thresholds
        ]
    return Table(COLUMNS, tuple(rows), tuple(notes), keys=2)


def _cells(part: Slice) -> Iterator[str]:
    for value in astuple(part)[1:]:
        if isinstance(value, float):
            yield f"{value:.2f}"
        else:
            yield "–" if value is None else str(value)
