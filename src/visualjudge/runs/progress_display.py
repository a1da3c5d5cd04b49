"""Show a run's progress on stderr: how far, how fast, and the number of verdicts by
status. Progress of other commands is in ``cli/console.py``.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Self

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
from visualjudge.runs.budget import Spending, money
from visualjudge.runs.job_runner import Progress

_PLAIN_EVERY_S = 10.0
# Seconds without a result after which they are shown.
_QUIET_S = 10.0


def counted(counts: Counter[str]) -> str:
    """Return counts such as ``ok 120 · unparseable 2``, most frequent first; the status
    ``refusal`` is called declined, as everywhere else."""
    return " · ".join(
        f"{'declined' if name == 'refusal' else name} {number}"
        for name, number in counts.most_common()
    )


def waiting(progress: Progress) -> str:
    """Return ``8 waiting for 30 s on URL, failed calls: connection 6`` if nothing has
    come back for a while, otherwise an empty string.
    """
    jobs = progress.budget.in_flight
    if not jobs or progress.quiet < _QUIET_S:
        return ""
    server = f" on {progress.server}" if progress.server else ""
    failed = (
        f", failed calls: {counted(progress.failed_calls)}"
        if progress.failed_calls
        else ""
    )
    return f"{jobs} waiting for {progress.quiet:.0f} s{server}{failed}"


def spent(progress: Progress) -> str:
    """Return tokens and money of this invocation so far, if any."""
    return _amounts(progress.budget.spent, progress.budget.cost)


def spent_in_all(progress: Progress, total: Spending) -> str:
    """Return the total spent by a run, and this invocation's part if different; empty
    if nothing was spent.
    """
    budget = progress.budget
    parts = (
        pluralize(budget.calls, "call") if budget.calls else "",
        spent(progress),
    )
    now = ", ".join(filter(None, parts))
    share = (
        f"; batch prices, {100 * budget.prices.share:.0f} % of the list's"
        if budget.cost and budget.prices.share < 1
        else ""
    )
    if total.tokens <= budget.tokens:
        return now + share
    return f"{_amounts(total, total.cost)}; this time {now or 'nothing'}{share}"


def _amounts(spending: Spending, cost: float | None) -> str:
    thinking = spending.tokens_thinking
    tokens = pluralize(spending.tokens, "token") if spending.tokens else ""
    tokens += f" ({thinking} of them thinking)" if thinking else ""
    return ", ".join(
        filter(None, (tokens, f"cost {money(cost)}" if cost else ""))
    )


class _Bar(Bar):
    """Shows the counts on a line of their own, because the bar fills 80 columns."""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield from (
            Text(task.fields["counts"])
            for task in self.tasks
            if task.fields["counts"]
        )


class Display:
    """A context manager whose :meth:`update` the runner calls. Terminals show a live
    bar; logs and notebooks, where rich's bar needs ipywidgets, get a line from time to
    time.
    """

    def __init__(
        self, title: str = "asking", *, console: Console | None = None
    ) -> None:
        console = console or Console(stderr=True)
        self._live = console.is_terminal and not console.is_jupyter
        self._bar = _Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            refresh_per_second=4,
            transient=True,
            disable=not self._live,
        )
        self._task = self._bar.add_task(title, total=None, counts="")
        self._printed = time.monotonic()

    def update(self, progress: Progress) -> None:
        """Show the state of the run."""
        parts = (counted(progress.statuses), spent(progress), waiting(progress))
        counts = " · ".join(filter(None, parts))
        if self._live:
            self._bar.update(
                self._task,
                completed=progress.done,
                total=progress.total,
                counts=counts,
            )
        elif time.monotonic() - self._printed > _PLAIN_EVERY_S:
            self._printed = time.monotonic()
            line = f"{progress.done} of {progress.total}: {counts}"
            print(line, file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
