"""A run in Python, finished or not. Starting one is in ``judge.py``; its files are in
``runs/folder.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.arguments import checked
from visualjudge.core.errors import UsageError
from visualjudge.runs.budget import token_counts
from visualjudge.runs.folder import Manifest, RunFolder

if TYPE_CHECKING:
    import polars as pl

    from visualjudge.core.records import Verdict
    from visualjudge.dataset.folder import Dataset
    from visualjudge.judges.base import Key
    from visualjudge.runs.judge_dataset import RunReport


class Run:
    """The verdicts of one judge on one dataset.

    Parameters
    ----------
    path
        The run's folder.
    dataset
        The dataset that was judged; None if the run was opened from disk.
    report
        How the last invocation ended; None if the run was opened from disk.
    """

    @checked
    def __init__(
        self,
        path: str | Path,
        dataset: Dataset | None = None,
        report: RunReport | None = None,
    ) -> None:
        self.path = Path(path)
        self.dataset = dataset
        self.report = report
        self._folder = RunFolder(path)

    @cached_property
    def manifest(self) -> Manifest:
        """Content of ``run.json``: judge, dataset and settings."""
        return self._folder.manifest()

    @cached_property
    def verdicts(self) -> dict[Key, Verdict]:
        """Verdicts by question id, order ("AB" or "BA") and repeat, counted from 0."""
        return self._folder.verdicts()

    @property
    def judge(self) -> str:
        """The judge's name."""
        return str(self.manifest.get("judge") or self.path.name)

    @property
    def statuses(self) -> Counter[str]:
        """Number of verdicts by status."""
        return Counter(verdict.status for verdict in self.verdicts.values())

    @property
    def missing(self) -> int:
        """Number of verdicts that are missing, such as after an interruption."""
        asked = self.manifest.get("asked")
        return 0 if asked is None else max(0, asked - len(self.verdicts))

    def __len__(self) -> int:
        return len(self.verdicts)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per verdict: ``value`` as text, and ``score`` as a number if
        the question asked for one.
        """
        import polars as pl

        schema = {
            "id": pl.String,
            "order": pl.String,
            "status": pl.String,
            "cause": pl.String,
            "raw_response": pl.String,
            "value": pl.String,
            "probability_a": pl.Float64,
            "expected_score": pl.Float64,
            "latency_s": pl.Float64,
            "score": pl.Float64,
            "repeat": pl.Int64,
            "tokens_in": pl.Int64,
            "tokens_out": pl.Int64,
        }
        rows = [
            (
                row.id,
                row.order,
                row.status,
                row.cause,
                row.raw_response,
                str(row.value),
                row.probability_a,
                row.expected_score,
                row.latency_s,
                None if isinstance(row.value, str) else float(row.value),
                row.repeat,
                *token_counts(row.usage),
            )
            for row in self.verdicts.values()
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def __repr__(self) -> str:
        missing = f", {self.missing} missing" if self.missing else ""
        return f"Run({str(self.path)!r}, {self.judge}, {len(self)} verdicts{missing})"


Runs = Run | str | Path | Sequence[Run | str | Path]


def folders_of(runs: Runs) -> list[str | Path]:
    """Return the folders of runs, given as paths or as runs.

    Raises
    ------
    UsageError
        If there are none.
    """
    stated = [runs] if isinstance(runs, Run | str | Path) else runs
    if not stated:
        raise UsageError("runs must name at least one run, got none")
    return [folder_of(run) for run in stated]


def folder_of(run: Run | str | Path) -> str | Path:
    """Return the folder of a run, given as a path or as a run."""
    return run.path if isinstance(run, Run) else run


def open_run(path: str | Path) -> Run:
    """Open a run folder that ``judge`` wrote.

    Raises
    ------
    DataError
        If there is no run at ``path``.

    Examples
    --------
    >>> import visualjudge as vj
    >>> vj.open_run(example.run).statuses
    Counter({'ok': ...})
    """
    run = Run(path)
    _ = run.verdicts
    return run
