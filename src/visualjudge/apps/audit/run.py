"""Audit one dataset for all faults, as JSON, text and one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from visualjudge.analysis.decisions.card_page import style
from visualjudge.analysis.figure_text import percent, percents
from visualjudge.apps.audit import label_faults, visible_faults
from visualjudge.apps.audit.blind_solver import Blind, blind_accuracy, gives_away
from visualjudge.apps.audit.files import file_leaks
from visualjudge.apps.audit.findings import Finding
from visualjudge.apps.audit.image_digests import images
from visualjudge.core.text_tables import Table
from visualjudge.dataset.folder import Dataset, load_dataset

Tick = Callable[[int, int], None]
BLIND_NOTE = (
    "A shallow solver that sees the predictions alone, on images it was not fitted to. Above 60 "
    "%, with an interval "
    "above 50 %, a judge can be right without the photograph."
)


@dataclass(frozen=True)
class Audit:
    """The checks made (``checked``, one entry per kind), and those that found faults
    (``findings``).
    """

    dataset: str
    questions: int
    checked: tuple[Finding, ...]
    blind: tuple[Blind, ...] = ()
    """Accuracy of a shallow solver without the photograph, by task, error type and margin."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The kinds with at least one fault."""
        return tuple(row for row in self.checked if row.count)

    def json(self) -> dict[str, Any]:
        """Return ``{"findings": [{"kind", "count", "total", "examples"}], "checked": {kind: total},
        "blind": [{"task", "error_type", "margin", "accuracy", "interval", "pairs", "images",
        "local"}]}``.
        """
        return {
            "dataset": self.dataset,
            "questions": self.questions,
            "findings": [{**asdict(row), "examples": list(row.examples)} for row in self.findings],
            "checked": {row.kind: row.total for row in self.checked},
            "blind": [asdict(row) for row in self.blind],
        }

    @property
    def table(self) -> Table:
        """Return one row per kind."""
        rows = tuple((row.kind, str(row.count), str(row.total)) for row in self.checked)
        notes = tuple(f"{row.kind}: {line}" for row in self.findings for line in row.examples)
        return Table(("Kind", "Found", "Looked at"), rows, notes, f"Audit of {self.dataset}")

    @property
    def blind_table(self) -> Table | None:
        """Return the accuracy without the photograph, one row per task, error type and margin; None
        if nothing was measured.
        """
        if not self.blind:
            return None
        rows = tuple(
            (
                row.task,
                row.error_type,
                row.margin,
                percent(row.accuracy),
                percents(row.interval),
                "–" if row.local is None else percent(row.local),
                str(row.pairs),
                str(row.images),
            )
            for row in self.blind
        )
        titles = (
            "Task",
            "Error type",
            "Margin",
            "Right without the photograph",
            "95 %",
            "Local judge on grey",
            "Pairs",
            "Images",
        )
        return Table(titles, rows, (BLIND_NOTE,), "What the predictions give away", keys=3)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return all tables."""
        return tuple(table for table in (self.table, self.blind_table) if table is not None)

    def __str__(self) -> str:
        return "\n".join(table.text() for table in self.tables)

    def markdown(self) -> str:
        """Return one Markdown page."""
        return "\n".join(table.markdown() for table in self.tables)

    def html(self) -> str:
        """Return one HTML page; all names are escaped, and nothing is loaded."""
        head = f"<head><meta charset=utf-8><title>Audit</title><style>{style()}</style></head>"
        body = "".join(table.html() for table in self.tables)
        return f'<!doctype html><html lang="en">{head}<body>{body}</body></html>\n'


def audit(
    dataset: Dataset | str | Path,
    *,
    against: Sequence[Dataset | str | Path] = (),
    tick: Tick = lambda done, total: None,
) -> Audit:
    """Look for faults that invalidate a dataset's figures.

    Parameters
    ----------
    dataset
        A dataset that ``build`` or ``adopt --benchmark`` wrote.
    against
        Other datasets, such as a benchmark, whose images must not occur in this one.
    tick
        Receives the number of images read.

    Raises
    ------
    UsageError, DataError
        If a dataset cannot be read.
    """
    read, *others = (
        one if isinstance(one, Dataset) else load_dataset(one) for one in (dataset, *against)
    )
    seen = images(read, tick)
    blind = () if read.labels_only else blind_accuracy(read)
    found = (
        visible_faults.identical_options(read, seen),
        label_faults.contradictory_metrics(read),
        label_faults.answer_contradicts_scores(read),
        visible_faults.near_duplicates(read, seen, others),
        label_faults.leaks(read),
        file_leaks(read, seen),
        label_faults.imbalance(read),
        visible_faults.unreadable(read, seen),
        gives_away(blind),
    )
    return Audit(str(read.root), len(read), found, blind)
