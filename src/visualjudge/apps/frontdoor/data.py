"""From predictions to a dataset: open a data folder, import predictions into it, and
build a dataset. The work is done in ``visualjudge.data`` and ``visualjudge.dataset``.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.arguments import checked
from visualjudge.core.errors import DataError, Problem, summarized
from visualjudge.core.records import Annotation
from visualjudge.data.folder import DataFolder
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.options import BuildOptions, keywords

if TYPE_CHECKING:
    import polars as pl


Progress = Callable[[str, int, int], None]
_SHOWN = 3


class Data:
    """A data folder: predictions with their scores, and images. Nothing is read before
    it is needed.

    Parameters
    ----------
    path
        A folder with ``annotations/<task>_annotations.json`` and
        ``images/<task>.json``.
    """

    @checked
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._folder = DataFolder(path)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks with annotations."""
        return self._folder.tasks

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems of the records that were left out so far."""
        return tuple(self._folder.problems)

    @checked
    def annotations(self, task: str) -> Iterator[Annotation]:
        """Yield each valid annotation of a task with its prediction, sorted by
        ``annotation_id``.

        Raises
        ------
        DataError
            If the folder has no annotations of the task, or their file cannot be read.
        """
        return self._folder.annotations(task)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per annotation, without its prediction, which is not read."""
        import polars as pl

        names = (
            "task",
            "annotation_id",
            "image_id",
            "source",
            "error_type",
            "prompt",
            "final_score",
            "class_of_interest",
        )
        rows = [
            [getattr(note, name) for name in names]
            for task in self.tasks
            for note in self._folder.entries(task)
        ]
        return pl.DataFrame(
            rows, names, orient="row", strict=False, infer_schema_length=None
        )

    def __repr__(self) -> str:
        return f"Data({str(self.path)!r}, tasks: {', '.join(self.tasks)})"


def open_data(path: str | Path) -> Data:
    """Open a data folder.

    Raises
    ------
    UsageError
        If ``path`` is not a data folder.

    Examples
    --------
    >>> import visualjudge as vj
    >>> data = vj.open_data(example.data)
    >>> data.tasks
    ('object_detection',)
    >>> data.to_polars().height > 10
    True
    """
    return Data(path)


def import_samples(
    task: str,
    samples: Iterable[Any],
    out: str | Path,
    *,
    source: str,
    classes: Sequence[str] = ("each",),
    min_score: float | None = None,
    top_k: int | None = None,
    replace: bool = False,
    **options: Any,
) -> Data:
    """Score samples and add them to a data folder, as the command ``visualjudge
    import`` does.

    Parameters
    ----------
    samples
        Images with a prediction and its ground truth, as samples, mappings with a
        sample's fields or a data frame with such columns. Images may be paths, H×W×3
        uint8 arrays or PIL images; predictions records, payloads, arrays in the forms
        listed in docs/python.md, or objects of supervision.
    out
        Data folder to create or extend.
    source
        Name of the model.
    classes
        Classes of interest: ``("each",)``, ``("all",)`` or labels.
    min_score, top_k
        Which predictions count; by default those above the threshold with the best F1,
        if all have a confidence.
    replace
        Whether to replace existing records of the source.
    options
        Options of :func:`score`.

    Raises
    ------
    UsageError
        If the task is not known, or an option is invalid.
    DataError
        If a record contradicts one in the folder, or no sample can be imported.

    Examples
    --------
    >>> import visualjudge as vj
    >>> from visualjudge.vision.predictions import Detection, Detections
    >>> truth = Detections((Detection("dog", (4, 5, 30, 40)),))
    >>> found = Detections((Detection("dog", (6, 5, 30, 40), 0.9),))
    >>> image = example.data / "images" / "photo0.png"
    >>> sample = vj.Sample("photo0", image, found, truth)
    >>> vj.import_samples("object_detection", [sample], example.out / "mine", source="detr").tasks
    ('object_detection',)
    """
    from visualjudge.data.importing import (
        Intake,
        doubts,
        import_source,
    )
    from visualjudge.formats.python_samples import samples_of
    from visualjudge.vision.tasks import task_named

    task_named(task)
    with tempfile.TemporaryDirectory() as scratch:
        done = import_source(
            out,
            task,
            samples_of(task, samples, Path(scratch)),
            replace=replace,
            source=source,
            classes=tuple(classes),
            intake=Intake(min_score=min_score, top_k=top_k),
            **options,
        )
    message = (
        "; ".join(summarized(done.problems))
        or "samples: none has a class to ask about"
    )
    if not done.annotations and (done.problems or not Path(out).is_dir()):
        raise DataError(f"no sample can be imported: {message}")
    if done.problems:
        warnings.warn(
            f"invalid records left out: {len(done.problems)}: {message}",
            stacklevel=2,
        )
    for doubt in doubts(task, done):
        warnings.warn(doubt, stacklevel=2)
    return Data(out)


@keywords(BuildOptions)
def build(
    data: Data | str | Path,
    out: str | Path,
    *,
    options: BuildOptions,
    skip_invalid: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """Build a judge dataset from a data folder, and open it.

    Parameters
    ----------
    data
        A data folder, or its path.
    out
        Folder of the dataset; must not exist, unless ``force`` is true and it is an
        older dataset.
    tasks, subsets
        Tasks and subsets to build; empty = all.
    encodings, types, where
        Questions to build, as ``visualjudge judge`` chooses them; empty = all.
    seed
        Seed of every draw. The same data, seed and options give the same bytes.
    judge_groups, judge_pairs, encoding_groups, encoding_pairs, scoring_groups,
    ranking_groups
        Maximum number of groups and pairs of a task to draw; ``caps`` holds all of
        them.
    per_group, min_margin
        Maximum number of annotations of a ranking, and smallest difference of scores in
        a pair.
    prompts, prompt_version
        A version of the prompts (``"v1"``, the default, or ``"v2"``, which names the
        form of the answer), or a folder with your own prompts, and their version.
    max_side
        Maximum length of the longer side of images, in pixels; None = unchanged.
    score_range
        Range of the data's scores, which become 0 to 10.
    form
        ``"json"`` for ``questions.json`` and ``media/``, ``"parquet"`` for one Parquet
        file; None chooses by the number of questions.
    workers, engine
        Number of processes, and who runs them: ``"local"`` or ``"ray"``; more than 1
        needs ``if __name__ == "__main__":`` in a script.
    skip_invalid
        Whether to leave out invalid records without a warning.
    progress
        Called with the stage, the number of items done, and their total.

    Raises
    ------
    UsageError
        If ``data`` is not a data folder, ``out`` exists, or an option is invalid.
    DataError
        If a file cannot be read at all, or no question can be asked.

    Examples
    --------
    >>> import visualjudge as vj
    >>> dataset = vj.build(example.data, example.out / "dataset", seed=42)
    >>> dataset
    Dataset(..., ... questions)
    """
    from visualjudge.dataset.build import build as build_dataset

    built = build_dataset(
        data.path if isinstance(data, Data) else data,
        out,
        options,
        progress=progress or _unseen,
    )
    if built.problems and not skip_invalid:
        first = "; ".join(map(str, built.problems[:_SHOWN]))
        warnings.warn(
            f"{len(built.problems)} invalid records were left out: "
            f"{first}{'; …' if len(built.problems) > _SHOWN else ''}",
            stacklevel=2,
        )
    return load_dataset(out)


def _unseen(stage: str, done: int, total: int) -> None:
    """Show no progress."""
