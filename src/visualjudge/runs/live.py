"""Ask live: the first question alone, the next eleven together, then all others.
Batches are in ``batches.py``; the loop over jobs, in ``job_runner.py``.

A wrong name, key or port costs one call. Replies that are cut or empty stop a run
before it is paid for. A run that another model continues is stopped after one reply.
"""

import itertools
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from visualjudge.clients.base import layers
from visualjudge.clients.retry import LONG_WAIT
from visualjudge.core.errors import RunError, UsageError
from visualjudge.core.records import Served, Verdict
from visualjudge.judges.base import Ask, Judge
from visualjudge.runs.budget import thinking_tokens, token_counts
from visualjudge.runs.job_runner import (
    FATAL_CAUSES,
    Ask as AskOne,
    Progress,
    Runner,
)

# Number of questions whose replies are looked at before all others are asked.
PREFLIGHT = 12
# Share of cut or empty replies above which the run stops.
_MOST_UNUSABLE = 0.1
# A reply cut at fewer tokens, where we set no limit, met a limit of the server's.
_LEAST_LIMIT = 256
_NO_MODEL = re.compile(
    r"model\b.{0,120}(?:not found|not exist|not supported|unknown|invalid)"
    r"|(?:unknown|invalid|no such) model",
    re.IGNORECASE | re.DOTALL,
)
_ADVICE = {
    "connection": "; `attempts=25` waits about 5 minutes for a server that starts",
    "HTTP 407": "; the proxy of HTTP_PROXY or HTTPS_PROXY asks for a name and "
    "password (http://NAME:PASSWORD@HOST); NO_PROXY=HOST leaves it out",
    LONG_WAIT: "; give the same command later, or with `resume` to continue",
}
"""What helps, by the cause of the first failure."""
_log = logging.getLogger("visualjudge.runs")

Todo = Callable[[], Iterator[Ask]]


# Does all asks, which may be iterated repeatedly; returns the progress of the runner.
Engine = Callable[
    [Todo, AskOne[Ask, Verdict], Runner[Verdict]], Awaitable[Progress]
]


@dataclass
class LiveEngine:
    """Asks each question once, at most ``concurrency`` at the same time.

    Parameters
    ----------
    known
        Who answered in earlier invocations.
    accept
        Whether another may continue.
    """

    judge: Judge
    known: Collection[Served] = ()
    accept: bool = False
    _first: list[Verdict] = field(default_factory=list)

    async def __call__(
        self,
        todo: Todo,
        ask: AskOne[Ask, Verdict],
        control: Runner[Verdict],
    ) -> Progress:
        asks = todo()
        if client_of(self.judge) is not None:
            few = (control.progress.total or 0) <= PREFLIGHT

            async def alone(item: Ask) -> Verdict | None:
                verdict = await self._noted(ask, item)
                if verdict is not None:
                    await self._check(
                        verdict, control.progress.server or "", few=few
                    )
                return verdict

            await control.run(itertools.islice(asks, 1), alone, concurrency=1)
            rest = itertools.islice(asks, PREFLIGHT - 1)
            await control.run(rest, lambda item: self._noted(ask, item))
            if not few and not self.known and (problem := self._unusable()):
                control.stop.request(problem)
        return await control.run(asks, ask)

    async def _noted(
        self, ask: AskOne[Ask, Verdict], item: Ask
    ) -> Verdict | None:
        verdict = await ask(item)
        self._first += [] if verdict is None else [verdict]
        return verdict

    async def _check(self, first: Verdict, server: str, *, few: bool) -> None:
        # Stop after the first question if no other can succeed, or if another model
        # answers than before.
        error = first.error or ""
        unknown = first.cause == "HTTP 404" or (
            first.cause == "HTTP 400" and _NO_MODEL.search(error) is not None
        )
        if first.status == "api_error" and (
            (first.cause == "connection" and not few)
            or unknown
            or first.cause in FATAL_CAUSES
        ):
            near_names = getattr(
                [*layers(client_of(self.judge))][-1], "near_names", None
            )
            advice = _ADVICE.get(first.cause or "", "")
            if unknown and near_names:
                advice = await near_names()
            raise RunError(
                f"{'' if server in error else f'{server}: '}{error}{advice}"
            )
        now = replace(first.served or Served(), provider=None)
        before = {
            Served(served.model, served.fingerprint) for served in self.known
        }
        if now != Served() and before and now not in before and not self.accept:
            was = " and ".join(sorted(map(str, before)))
            raise UsageError(
                f"the run was answered by {was}, now {now} answers. Choose another "
                "`out`, or add `accept_changes=true` to record both"
            )
        asked = str(self.judge.describe().get("model"))
        own = asked.rpartition("/")[2]
        stated = (now.model or asked).rpartition("/")[2]
        if own != stated or own.endswith("latest"):
            _log.warning(
                "%s was asked, %s answered: if it is an alias, which may move, name the "
                "snapshot to fix it; if it is another model, name it in its place",
                asked,
                stated,
            )

    def _unusable(self) -> str | None:
        # Return why the run stops if too many of the first replies are cut or empty
        # because of a limit that the user can raise.
        cut = [item for item in self._first if item.status == "truncated"]
        unread = [item for item in self._first if item.status == "unparseable"]
        empty = [
            item for item in unread if not (item.raw_response or "").strip()
        ]
        thinking = sum(
            thinking_tokens(item.tokens_paid) for item in cut + empty
        )
        if len(cut) + len(empty) <= _MOST_UNUSABLE * len(self._first):
            return None
        parameters = self.judge.describe().get("parameters") or {}
        stated = parameters.get("max_tokens")
        limit = stated or max(
            (token_counts(item.tokens_paid)[1] or 0 for item in cut), default=0
        )
        if not (stated or thinking or limit >= _LEAST_LIMIT):
            return None
        enough = 1 << (4 * max(limit, 1) - 1).bit_length()
        effort = ", or a lower `effort`" if thinking else ""
        of = f"{len(self._first)} replies are"
        return (
            f"stopped by the first questions: {len(cut)} of {of} cut at {limit} tokens "
            f"and {len(empty)} empty; `max_tokens` {enough}{effort} would do, with "
            "another `out`"
        )


def client_of(judge: Judge) -> Any:
    """Return the client that a judge asks; None if it asks none."""
    return getattr(judge, "client", None)
