"""Progress on stderr for commands that take longer than a second."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from visualjudge.core.errors import RunError

if TYPE_CHECKING:
    from visualjudge.runs.runner import Stop

Result = TypeVar("Result")


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A function to be told (stage, done, total); each stage gets a bar of its own, where stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = progress.add_task(stage, total=total)
            progress.update(bars[stage], completed=done)

        yield tell


def interruptible(title: str, work: Callable[..., Awaitable[Result]], kept: str) -> Result:
    """The result of ``work(on_event=listener, stop=stop)``, with a bar; the first Ctrl-C lets calls in flight finish.

    Raises
    ------
    RunError
        If a second Ctrl-C cancels it; ``kept`` says what there is by then.
    """
    from visualjudge.runs.progress import Display
    from visualjudge.runs.runner import run_until_stopped

    async def main(stop: Stop) -> Result:
        with Display(title) as display:
            return await work(on_event=display.update, stop=stop)

    try:
        return run_until_stopped(main)
    except KeyboardInterrupt:
        raise RunError(f"cancelled; {kept}") from None
