"""Import predictions from Python into a data folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualjudge.apps.frontdoor.data import Data
from visualjudge.core.errors import summarized

if TYPE_CHECKING:
    from visualjudge.core.errors import Problem
    from visualjudge.formats.sample import Sample


def import_samples(
    task: str,
    samples: Iterable[Sample | Problem],
    out: str | Path,
    *,
    source: str,
    classes: Sequence[str] = ("each",),
    min_score: float | None = None,
    top_k: int | None = None,
    replace: bool = False,
    **options: Any,
) -> Data:
    """Score samples and add them to a data folder, as the command ``visualjudge import`` does.

    Parameters
    ----------
    samples
        Images with a prediction and its ground truth; :func:`from_fiftyone` makes them, and :func:`from_supervision`
        makes predictions.
    out
        Data folder to create or extend.
    source
        Name of the model.
    classes
        Classes of interest: ``("each",)``, ``("all",)`` or labels.
    min_score, top_k
        Which predictions count; by default those above the threshold with the best F1, if all have a confidence.
    replace
        Whether to replace existing records of the source.
    options
        Options of :func:`score`.

    Raises
    ------
    UsageError
        If the task is not known, or an option is invalid.
    DataError
        If a record contradicts one in the folder.

    Examples
    --------
    >>> import visualjudge as vj
    >>> from visualjudge.vision.predictions import Detection, Detections
    >>> truth = Detections((Detection("dog", (4, 5, 30, 40)),))
    >>> found = Detections((Detection("dog", (6, 5, 30, 40), 0.9),))
    >>> image = example.data / "images" / "photo0.png"
    >>> sample = vj.Sample("photo0", image, found, truth, labels=truth.labels)
    >>> vj.import_samples("object_detection", [sample], example.out / "mine", source="detr").tasks
    ('object_detection',)
    """
    from visualjudge.data.importing import Imported, Intake
    from visualjudge.data.importing import import_samples as scored
    from visualjudge.data.writer import FolderWriter

    done, intake = Imported(), Intake(min_score=min_score, top_k=top_k)
    with FolderWriter(out, task, replace=replace) as writer:
        for state in scored(writer, samples, source=source, classes=tuple(classes), intake=intake, **options):
            done = state
        if len(writer):
            writer.commit()
    if done.problems:
        told = "; ".join(summarized(done.problems))
        warnings.warn(f"invalid records left out: {len(done.problems)}: {told}", stacklevel=2)
    return Data(out)
