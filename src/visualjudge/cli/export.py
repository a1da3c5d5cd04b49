"""``visualjudge export``: write a dataset, or the figures of a run, in the format of
another tool. The formats are in ``dataset/exports`` and ``apps/connectors/result_forms.py``.
"""

from pathlib import Path
from typing import Annotated

import typer

from visualjudge.cli.console import following, remark, stages
from visualjudge.core.errors import UsageError
from visualjudge.core.registry import added
from visualjudge.options import Choice

FORMATS = ", ".join(
    [
        "parquet, vlmevalkit, lmms-eval, trl, json, dataset-parquet; of a run: eee, hf",
        *added("export format"),
    ]
)


def export(
    dataset: Annotated[
        Path,
        typer.Argument(
            help="Dataset, or a run for eee and hf.", metavar="DATASET"
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="File or folder to write.", metavar="PATH")
    ],
    choice: Choice,
    form: Annotated[
        str,
        typer.Option("--format", help=f"Such as {FORMATS}.", metavar="NAME"),
    ] = "parquet",
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Overwrite a file; write into a full folder."
        ),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Only the first N questions.", metavar="N"),
    ] = None,
) -> None:
    """Write a dataset, or the questions chosen from it, in the format of another tool.

    eee is a record of Every Eval Ever with the figures of a run, hf a model card's
    model-index.

    Example: visualjudge export dataset --format vlmevalkit --out LMUData
    """
    from visualjudge.apps.connectors.result_forms import (
        RUN_FORMATS,
        export_results,
    )

    if form in RUN_FORMATS:
        if choice != Choice() or limit is not None:
            raise UsageError(
                f"--format {form} must be of a whole run, got a choice of it"
            )
        print(export_results(dataset, form, out, force=force))
        return
    from visualjudge.dataset.exports import (
        FORMATS as FORMS,
        export as export_dataset,
    )
    from visualjudge.dataset.folder import load_dataset

    read = load_dataset(dataset).choose(choice)[:limit]
    with stages() as progress:
        files = export_dataset(
            read,
            form,
            out,
            lambda done, total: progress(f"writing {form}", done, total),
            force=force,
        )
    print("\n".join(map(str, files)))
    lost = len(read) - len(read.with_answers) if FORMS[form].scores else 0
    remark({f"questions without a right answer, left out: {lost}": lost})
    if not read.labels_only:
        following("judge", dataset, "--model", "MODEL", "--out", "RUN")
