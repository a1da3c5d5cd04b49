"""Lines of the results file: the results of all metrics for one row. They are written
by ``run.py`` and adopted by ``apps/adopt/logs/pipeline.py``.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Fields, Json
from visualjudge.core.records import FAILED
from visualjudge.runs.journal import read_lines

_BEGINNING = b'{"key":'
"""Beginning of each line, including one truncated by an interruption."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """Results of one row by metric: a result dict, or an error message.

    ``input`` is the checksum of the row
    (:func:`~visualjudge.apps.pipelines.rows.checksum`); None in lines of earlier
    versions. ``usage`` counts the tokens of all replies that were paid for, including
    those without a result.
    """

    key: str | int
    results: Mapping[str, Json]
    errors: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Fields] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    latency_s: float | None = None
    input: str | None = None

    @property
    def status(self) -> str:
        """Return the status of the row as a whole: ok, failed, partly failed, or
        error."""
        if self.errors:
            return "error"
        failed = [result["value"] == FAILED for result in self.results.values()]
        if all(failed):
            return "failed"
        return "partly failed" if any(failed) else "ok"

    def record(self) -> Json:
        """Return the row as stored in the file, without empty fields."""
        values = {name: getattr(self, name) for name in self.__slots__}
        always = ("key", "results")
        return {
            name: value
            for name, value in values.items()
            if name in always or value not in (None, {}, ())
        }


@dataclass
class MetricCounts:
    """Results of one metric, counted over all rows."""

    values: Counter[str] = field(default_factory=Counter)
    """Rows by winner, including "Failed"; scores are counted separately."""
    scores: int = 0
    score_sum: float = 0.0
    others: int = 0
    """Rows with a value of another type, of a judge module of your own."""
    errors: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    """Failed rows by cause; earlier versions did not record it."""
    first_failed: str | None = None
    """The first reply without a value."""

    def add(self, result: Json, cause: str | None = None) -> None:
        """Count one result; ``cause`` is the reason for a missing value."""
        value = result["value"]
        if isinstance(value, str):
            self.values[value] += 1
            if value == FAILED:
                self.causes[cause or "unknown"] += 1
                self.first_failed = self.first_failed or _reply(result)
        elif isinstance(value, int | float):
            self.scores += 1
            self.score_sum += value
        else:
            self.others += 1

    @property
    def failed(self) -> int:
        """Rows without a value."""
        return self.values[FAILED]

    @property
    def answered(self) -> int:
        """Rows with a value."""
        return self.values.total() - self.failed + self.scores + self.others

    @property
    def mean_score(self) -> float | None:
        """Return the mean over rows with a score, which have one edited image."""
        return self.score_sum / self.scores if self.scores else None


def count(row: RowResult, metrics: dict[str, MetricCounts]) -> None:
    """Count one row in ``metrics``."""
    for name, result in row.results.items():
        cause = row.details.get(name, {}).get("cause")
        metrics.setdefault(name, MetricCounts()).add(result, cause)
    for name in row.errors:
        metrics.setdefault(name, MetricCounts()).errors += 1


def _reply(result: Json) -> str | None:
    """Return the reply of a failed result; if there is one per edit, the last."""
    reply = result.get("meta", {}).get("raw_response")
    return (
        str([*reply.values()][-1])
        if isinstance(reply, Mapping) and reply
        else reply
    )


def read_results(path: Path) -> Iterator[RowResult]:
    """Yield the rows of a results file in order, without truncated lines.

    Raises
    ------
    DataError
        If a line is not a result.
    """
    for line in read_lines(path):
        if line.record is None and line.raw.startswith(_BEGINNING):
            continue
        try:
            yield _row_result(line.record or {})
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"{path}: line {line.number} is not a pipeline result; choose another "
                "`out`"
            ) from None


def _row_result(record: Fields) -> RowResult:
    known = {
        name: record[name]
        for name in RowResult.__slots__
        if record.get(name) is not None
    }
    row = RowResult(
        **{
            **known,
            "rules": tuple(record.get("rules") or ()),
            "notes": tuple(record.get("notes") or ()),
        }
    )
    for result in row.results.values():
        result["value"]
    return row
