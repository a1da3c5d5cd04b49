"""Export a dataset for other tools: Hugging Face parquet, VLMEvalKit TSV, lmms-eval,
TRL JSONL. Figures of a *run* for other sites are in ``apps/connectors/result_forms.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from visualjudge.core.errors import DataError, UsageError, one_of
from visualjudge.core.output_files import OutputFile
from visualjudge.core.registry import Registry
from visualjudge.dataset.exports.forms import export_form
from visualjudge.dataset.exports.parquet import export_parquet
from visualjudge.dataset.exports.preferences import export_trl
from visualjudge.dataset.exports.vlmevalkit import export_vlmevalkit
from visualjudge.dataset.folder import Dataset

Tick = Callable[[int, int], None]
Write = Callable[[Dataset, Path, Tick], list[Path]]


@dataclass(frozen=True)
class Format:
    write: Write
    is_folder: bool
    training: bool = False
    """Whether the format is for training: refused for evaluation-only benchmarks."""
    scores: bool = False
    """Whether replies are compared with the answers, so that questions without a right
    answer are left out."""


FORMATS: Registry[str, Format] = Registry(
    "export format",
    {
        "parquet": Format(export_parquet, is_folder=True),
        "json": Format(partial(export_form, packed=False), is_folder=True),
        "dataset-parquet": Format(
            partial(export_form, packed=True), is_folder=True
        ),
        "vlmevalkit": Format(export_vlmevalkit, is_folder=True, scores=True),
        "trl": Format(export_trl, is_folder=False, training=True, scores=True),
        "lmms-eval": "visualjudge.apps.connectors.lmms_eval_tasks:LMMS_EVAL",
    },
    home=f"{__name__}:FORMATS",
)


def export(
    dataset: Dataset,
    name: str,
    out: str | Path,
    tick: Tick = lambda done, total: None,
    *,
    force: bool = False,
) -> list[Path]:
    """Write ``dataset`` to ``out`` in the format ``name``, to tools that score replies
    only what is ``dataset.with_answers``. Return the written files.

    Parameters
    ----------
    force
        Overwrite an existing file, or write into a folder that is not empty.

    Raises
    ------
    UsageError
        If there is no such format, or ``out`` exists.
    DataError
        If an image of the dataset is missing, or it has no questions.
    """
    if name not in FORMATS:
        raise UsageError(
            f"`format` must be {one_of(name, FORMATS)}, got {name!r}"
        )
    form = FORMATS[name]
    if not dataset.questions:
        raise DataError(
            f"{dataset.root}: no question to export (of this task, if one was named)"
        )
    check_use(dataset, name, training=form.training)
    check_out(Path(out), name, is_folder=form.is_folder, force=force)
    return form.write(
        dataset.with_answers if form.scores else dataset, Path(out), tick
    )


def check_use(dataset: Dataset, name: str, *, training: bool) -> None:
    """Check that a dataset may be exported: evaluation-only benchmarks may not be
    exported for training.

    Raises
    ------
    UsageError
        If the export is not allowed; the message names the format ``name``.
    """
    if training and dataset.benchmark.get("use") == "evaluation only":
        licence = dataset.benchmark.get("licence")
        raise UsageError(
            f"{dataset.root}: may be used for evaluation only ({licence}); {name} is "
            "for training"
        )
    if training and dataset.without_truth:
        raise UsageError(
            f"{dataset.root}: holds no right answers; {name} needs them"
        )
    if training and dataset.labels_only:
        raise UsageError(
            f"{dataset.root}: contains only labels; {name} needs the labelled content"
        )


def check_out(out: Path, name: str, *, is_folder: bool, force: bool) -> None:
    """Check that ``out`` may be written: a file or folder as required, empty or absent
    unless ``force`` is given.

    Raises
    ------
    UsageError
        If ``out`` may not be written.
    """
    if not out.exists():
        return
    if out.is_dir() != is_folder:
        raise UsageError(
            f"`out` must be a {'folder' if is_folder else 'file'} for {name}, got the "
            f"{'file' if is_folder else 'folder'} {out}"
        )
    if not is_folder:
        OutputFile(out, "`out`").check()
    if not (force or (is_folder and not any(out.iterdir()))):
        raise UsageError(
            f"`out`: {out} "
            f"{'is a folder that is not empty' if is_folder else 'already exists'}; "
            "choose another, or add `force` to overwrite it"
        )
