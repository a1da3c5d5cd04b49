"""All exceptions that visualjudge raises deliberately. What servers state as an error
is read in ``clients/server_errors.py``; errors of *predictions* are in
``vision/errors``.

::

    VisualJudgeError                 shown as one line with an exit status
    ├── UsageError                   the call itself is wrong                              (exit 2)
    │   └── UnknownName              a name that is in no registry; a ValueError too
    └── RunError                     the data or the run failed                            (exit 1)
        ├── DataError                a file, record or field cannot be used
        │   ├── InvalidRecord        one record of a file: file, record, field, reason
        │   └── PluginError          what a plug-in registered failed: plug-in, row, reason
        ├── PromptError              a prompt asset is missing or has an unfilled placeholder
        │   └── UnknownPrompt        no asset of that id and version; a LookupError too
        └── ClientError              a model could not be asked
            ├── Pending              no reply yet: the request goes into a batch
            ├── TransportError       no reply: refused, reset, timed out, not JSON       (retryable)
            └── ApiError             the server answered with an HTTP error status
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

EXAMPLES = 3
# Maximum number of characters of a record's and a field's name in a problem.
LONGEST_NAME = 200
# Maximum number of names that a message lists.
MOST_NAMES = 24
_LINE = re.compile(r":\d+$")
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|\S*\d\S*")
RETRYABLE_STATUS = frozenset({408, 409, 429})


class VisualJudgeError(Exception):
    """Base class of all errors that name their cause in one line; of a word without end
    it has the beginning."""

    def __str__(self) -> str:
        return " ".join(word[:1000] for word in super().__str__().split())


class UsageError(VisualJudgeError):
    """The call is wrong, such as an unknown name or conflicting options."""


class UnknownName(UsageError, ValueError):
    """A backend, judge module or model is in no registry; the message lists the known
    names."""


class RunError(VisualJudgeError):
    """The call was correct, but the data or the run failed."""


class DataError(RunError):
    """Data cannot be used; the message names the file and how to correct it."""


@contextmanager
def in_field(name: str) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def of_format(error: Exception) -> str:
    """Return in words what a reader of another program's file ran into."""
    if isinstance(error, KeyError):
        return f"the field {error} is missing"
    if isinstance(error, IndexError):
        return "a list is too short"
    return "a field has another type than in the format"


@dataclass(frozen=True)
class Problem:
    """Why one record was skipped: its position, the field, and the reason."""

    file: str
    record: str
    field: str
    reason: str

    @classmethod
    def of(
        cls, error: DataError, file: str, record: str, field: str = "record"
    ) -> Problem:
        """Create a problem from an error whose message begins with its field, or else
        with ``field``.
        """
        stated, colon, reason = str(error).partition(": ")
        return (
            cls(file, record, stated, reason)
            if colon
            else cls(file, record, field, stated)
        )

    def __str__(self) -> str:
        return (
            f"{self.file}: {self.record[:LONGEST_NAME]}: "
            f"{self.field[:LONGEST_NAME]}: {self.reason}"
        )


def one_of(value: object, known: Collection[object]) -> str:
    """Return ``one of a, b, c (did you mean b?)``; if there are many names, list those
    close to ``value`` or the first ones.
    """
    names = [str(name) for name in known]
    close = get_close_matches(str(value)[:LONGEST_NAME], names, n=5, cutoff=0.5)
    if len(names) <= MOST_NAMES:
        hint = (
            f" (did you mean {close[0]}?)" if close and len(names) > 1 else ""
        )
        return f"one of {', '.join(names)}{hint}"
    return f"one of {len(names)} names, such as {', '.join(close or names[:EXAMPLES])}"


def check_score_range(limits: tuple[float, float] | None) -> None:
    """Refuse limits of scores that are not finite, or of which the first is not lower;
    None is 0 to 10.

    Raises
    ------
    UsageError
    """
    low, high = limits or (0, 10)
    if not -math.inf < low < high < math.inf:
        raise UsageError(
            f"`score_range` must be a lower and a higher number, got {low:g} {high:g}"
        )


def summarized(problems: Iterable[Problem]) -> list[str]:
    """Return one line per kind of problem. Kinds with up to three problems are listed
    in full; others as a count with three examples.

    Problems are of one kind if file and field are equal and the reasons differ only in
    numbers, quoted values and paths. A line number after a file's name (``data.tsv:7``)
    is ignored. Of more than three files with the same problem, each has one record.
    """
    causes: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        reason = _VARYING.sub("…", problem.reason)
        causes.setdefault((problem.field, reason), []).append(problem)
    kinds: dict[tuple[str, ...], list[Problem]] = {}
    for cause, alike in causes.items():
        files = [_LINE.sub("", problem.file) for problem in alike]
        if (many := len(set(files))) > EXAMPLES:
            files = [f"{files[0]} and {many - 1} other files"] * len(files)
        for file, problem in zip(files, alike, strict=True):
            kinds.setdefault((file, *cause), []).append(problem)
    lines: list[str] = []
    for (file, field, _), same in kinds.items():
        if len(same) <= EXAMPLES:
            lines += map(str, same)
        else:
            records = ", ".join(
                problem.record[:LONGEST_NAME] for problem in same[:EXAMPLES]
            )
            rest = f"{records} and {len(same) - EXAMPLES} more"
            differ = len({problem.reason for problem in same}) > 1
            whose = " (the first)" if differ else ""
            lines.append(f"{file}: {rest}: {field}: {same[0].reason}{whose}")
    return [" ".join(line.split()) for line in lines]


class InvalidRecord(DataError):
    """One record of a file cannot be used."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class PluginError(DataError):
    """A function registered by a plug-in raised an exception that is not
    visualjudge's."""


class PromptError(RunError):
    """A prompt asset is missing, malformed, or a placeholder was left unfilled."""


class UnknownPrompt(PromptError, LookupError):
    """There is no asset with that id and version; the message lists the existing
    ones."""


class ClientError(RunError):
    """A model could not be asked. ``usage`` holds the tokens that the server counted
    and bills anyway.
    """

    retryable = False
    usage: Mapping[str, int] = MappingProxyType({})


class Pending(ClientError):
    """There is no reply yet because the request went into a batch. Not a failure: the
    question is asked again later.
    """


class TransportError(ClientError):
    """No usable reply arrived: connection refused or reset, time-out, body not JSON.

    ``reached`` is False if no connection was made.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: str = "connection",
        retryable: bool = True,
        usage: Mapping[str, int] | None = None,
        reached: bool = True,
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.reached = reached
        self.usage = usage or {}
        self.retryable = retryable


class ApiError(ClientError):
    """The server answered with an HTTP error status.

    ``retry_after`` is the waiting time in seconds that the server asked for, if any.
    """

    def __init__(
        self, status: int, message: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status = status
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:  # type: ignore[override]
        return self.status in RETRYABLE_STATUS or self.status >= 500


def must_end_in(
    name: str, path: Path | None, suffixes: Sequence[str], *, bare: bool = False
) -> None:
    """Check the suffix of a file; ``bare`` accepts a file without a suffix.

    Raises
    ------
    UsageError
        If ``path`` has none of ``suffixes``, ignoring case.
    """
    if (
        path is not None
        and path.suffix.lower() not in suffixes
        and not (bare and not path.suffix)
    ):
        raise UsageError(
            f"{name} must end in {' or '.join(suffixes)}, got {path}"
        )
