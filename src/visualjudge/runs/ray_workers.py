"""Workers as actors of a Ray cluster. All nodes must see the dataset's folder under the same
path.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from visualjudge.clients.base import Diagnostics
from visualjudge.core.errors import RunError
from visualjudge.dataset.engines import RayEngine
from visualjudge.judges.base import Judge
from visualjudge.runs.process_workers import Bench, packed
from visualjudge.runs.questions_left import Todo
from visualjudge.runs.runner import Outcome
from visualjudge.runs.worker_engine import WorkerLost

RESTARTS = 10
"""How often an actor that was lost, with its process or its node, is begun anew; what it was asked
is asked again.
"""
_AT_ONCE = 10_000


@asynccontextmanager
async def open_actors(judge: Judge, todo: Todo, *, count: int) -> AsyncIterator[list[ActorWorker]]:
    """Start ``count`` actors with one core each, on the running cluster or else a local one. They
    end with the context.

    Raises
    ------
    UsageError
        If Ray is not installed, or the judge cannot be sent to other processes.
    RunError
        If Ray cannot be started.
    """
    work = packed(judge, todo)
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what matters is raised here
    with RayEngine(count):
        import ray

        options = {
            "max_restarts": RESTARTS,
            "max_task_retries": RESTARTS,
            "max_concurrency": _AT_ONCE,
            "num_cpus": 1,
        }
        make, sent = ray.remote(Bench).options(**options), ray.put(work)
        workers = [ActorWorker(f"actor {number + 1}", make.remote(sent)) for number in range(count)]
        try:
            yield workers
        finally:
            for worker in workers:
                ray.kill(worker.actor)


@dataclass
class ActorWorker:
    """One actor, as used by the process that writes the journal."""

    name: str
    actor: Any

    async def answer(self, numbers: Sequence[int]) -> list[Outcome]:
        """Return the outcomes, in the order of ``numbers``."""
        found: list[Outcome] = await _result(self.name, self.actor.answer.remote(list(numbers)))
        return found

    async def finish(self) -> Diagnostics:
        """Return what happened to its client."""
        found: Diagnostics = await _result(self.name, self.actor.finish.remote())
        return found


async def _result(name: str, reference: Any) -> Any:
    import ray

    try:
        return await reference
    except ray.exceptions.RayActorError as error:
        raise WorkerLost(f"{name} has ended ({' '.join(str(error).split())[:200]})") from None
    except ray.exceptions.RayTaskError as error:
        raise RunError(f"{name}: {error.cause or error}") from None
