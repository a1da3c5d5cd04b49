"""Show a run's progress on stderr: how far, how fast, and the number of verdicts by status."""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from visualjudge.core.plurals import pluralize
from visualjudge.runs.budget import money
from visualjudge.runs.job_runner import Progress
from visualjudge.runs.spending import Spending

_PLAIN_EVERY_S = 10.0
_CELL_EVERY_S = 0.25
_QUIET_S = 10.0
"""Seconds without a result after which they are shown."""


def _notebook_output(title: str) -> Any:
    """Return the handle of a line below the running notebook cell, or None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if not hasattr(shell, "kernel"):
        return None
    display: Any = importlib.import_module("IPython.display").display
    return display({"text/plain": title}, raw=True, display_id=True)


def counted(counts: Counter[str]) -> str:
    """Return counts such as ``ok 120 · unparseable 2``, most frequent first."""
    return " · ".join(f"{name} {number}" for name, number in counts.most_common())


def waiting(progress: Progress) -> str:
    """Return ``8 waiting for 30 s on URL, failed calls: connection 6`` if nothing has come back for
    a while, otherwise an empty string.
    """
    jobs = progress.budget.in_flight
    if not jobs or progress.quiet < _QUIET_S:
        return ""
    server = f" on {progress.server}" if progress.server else ""
    failed = f", failed calls: {counted(progress.failed_calls)}" if progress.failed_calls else ""
    return f"{jobs} waiting for {progress.quiet:.0f} s{server}{failed}"


def line(progress: Progress) -> str:
    """Return the progress as one line of a log."""
    how_far = f"{progress.done} of {progress.total}"
    told = " · ".join(filter(None, (counted(progress.statuses), waiting(progress))))
    return (
        f"{how_far}: {told}"
        if progress.statuses
        else ", ".join(filter(None, (f"{how_far} done", told)))
    )


def spent(progress: Progress) -> str:
    """Return tokens and money of this invocation so far, if any."""
    budget = progress.budget
    return _amounts(budget.tokens, budget.cost)


def spent_in_all(progress: Progress, total: Spending) -> str:
    """Return the total spent by a run, and this invocation's part if different; empty if nothing
    was spent.
    """
    budget = progress.budget
    now = (
        pluralize(budget.calls, "call") + (f", {spent(progress)}" if spent(progress) else "")
        if budget.calls
        else ""
    )
    share = (
        f"; batch prices, {100 * budget.prices.share:.0f} % of the list's"
        if budget.cost and budget.prices.share < 1
        else ""
    )
    if total.tokens <= budget.tokens:
        return now + share
    return f"{_amounts(total.tokens, total.cost)}; this time {now or 'nothing'}{share}"


def _amounts(tokens: int, cost: float | None) -> str:
    parts = [pluralize(tokens, "token")] if tokens else []
    parts += [f"cost {money(cost)}"] if cost else []
    return ", ".join(parts)


class _Bar(Bar):
    """Show the counts on a separate line, because the bar fills 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield from (Text(task.fields["counts"]) for task in self.tasks if task.fields["counts"])


class Display:
    """A context manager whose :meth:`update` the runner calls. Terminals show a live bar; logs get
    a line from time to time.
    """

    def __init__(self, title: str = "asking", *, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live = self._console.is_terminal
        self._bar = _Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            refresh_per_second=4,
            disable=not self._live,
        )
        self._task = self._bar.add_task(title, total=None, rate="", counts="")
        self._said = time.monotonic()
        self._cell = _notebook_output(title)

    def update(self, progress: Progress) -> None:
        """Show the state of the run."""
        if self._cell is not None:
            self._update_cell(progress)
        elif self._live:
            rate = f"{progress.done / max(progress.seconds, 1e-9):.1f}/s"
            told = (counted(progress.statuses), spent(progress), waiting(progress))
            counts = " · ".join(filter(None, told))
            self._bar.update(
                self._task, completed=progress.done, total=progress.total, rate=rate, counts=counts
            )
        elif time.monotonic() - self._said > _PLAIN_EVERY_S:
            self._said = time.monotonic()
            print(line(progress), file=sys.stderr, flush=True)

    def _update_cell(self, progress: Progress) -> None:
        over = progress.total is not None and progress.done >= progress.total
        if over or time.monotonic() - self._said > _CELL_EVERY_S:
            self._said = time.monotonic()
            self._cell.update({"text/plain": line(progress)}, raw=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
