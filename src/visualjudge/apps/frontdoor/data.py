"""Open and inspect a data folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.core.errors import Problem
from visualjudge.core.records import Annotation
from visualjudge.core.showing import as_pandas, html_table
from visualjudge.data.folder import DataFolder

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Data:
    """A data folder: predictions with their scores, and images. Nothing is read before it is needed.

    Parameters
    ----------
    path
        A folder with ``annotations/<task>_annotations.json`` and ``images/<task>.json``.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._folder = DataFolder(path)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that have annotations."""
        return self._folder.tasks

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why records were left out, for those read so far."""
        return tuple(self._folder.problems)

    def annotations(self, task: str) -> Iterator[Annotation]:
        """Each valid annotation of a task with its prediction, sorted by ``annotation_id``.

        Raises
        ------
        DataError
            If the folder has no annotations of the task, or their file cannot be read.
        """
        return self._folder.annotations(task)

    def to_polars(self) -> pl.DataFrame:
        """One row per annotation, without its prediction, which is not read."""
        import polars as pl

        notes = [entry.annotation for task in self.tasks for entry in self._folder.entries(task)]
        names = ("task", "annotation_id", "image_id", "source", "error_type", "prompt", "final_score")
        columns = {name: [getattr(note, name) for note in notes] for name in names}
        classes = [None if note.class_of_interest is None else list(note.class_of_interest) for note in notes]
        return pl.DataFrame({**columns, "class_of_interest": classes}, strict=False)

    def to_pandas(self) -> pd.DataFrame:
        """Like :meth:`to_polars`, as a pandas data frame."""
        return as_pandas(self.to_polars())

    def _repr_html_(self) -> str:
        rows = [(task, *self._counts(task)) for task in self.tasks]
        return html_table(f"Data folder {self.path}", ("task", "annotations", "images", "sources"), rows)

    def _counts(self, task: str) -> tuple[int, int, int]:
        notes = [entry.annotation for entry in self._folder.entries(task)]
        return len(notes), len(Counter(n.image_id for n in notes)), len(Counter(n.source for n in notes))

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
