"""The cost of a run over all its invocations, including those that were killed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core import jsons
from visualjudge.core.errors import UsageError
from visualjudge.core.records import Verdict
from visualjudge.runs.budget import Budget, Prices, token_counts
from visualjudge.runs.compacting import CompactedFile
from visualjudge.runs.journal import blocks

KINDS = {"prices": {"*": (int, float)}, "total": {"*": (int, float, None)}}
"""Types of the manifest's fields on cost, for :func:`~visualjudge.core.jsons.check_kinds`."""
PAID = "paid"
"""Field of a verdict's line with the tokens paid for, if they differ from ``usage``."""


Counts = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens paid for, and their cost; None if the price of some is unknown."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0

    @property
    def tokens(self) -> int:
        """The total of both."""
        return self.tokens_in + self.tokens_out

    def plus(self, tokens_in: int, tokens_out: int, prices: Prices) -> Spending:
        """Return the sum with additional tokens at these prices."""
        free = not tokens_in + tokens_out
        priced = free or prices.are_stated
        cost = (
            None
            if self.cost is None or not priced
            else self.cost + prices.of(tokens_in, tokens_out)
        )
        return Spending(self.tokens_in + tokens_in, self.tokens_out + tokens_out, cost)

    def and_by(self, budget: Budget) -> Spending:
        """Return the sum with an invocation's spending."""
        return self.plus(budget.tokens_in, budget.tokens_out, budget.prices)

    def as_dict(self) -> dict[str, Any]:
        """Return the form used in ``run.json``."""
        return {**asdict(self), "cost": None if self.cost is None else round(self.cost, 6)}


def priced(budget: Budget) -> dict[str, Any]:
    """Return the stated prices for a manifest, so that readers can compute the cost."""
    return {} if budget.prices == Prices() else {"prices": asdict(budget.prices)}


def paid_beside(verdict: Verdict, paid: Mapping[str, int]) -> dict[str, Any]:
    """Return the tokens paid for as stated in a verdict's line; empty if they equal those of its
    reply.
    """
    return {} if dict(paid) == dict(verdict.usage or {}) else {PAID: dict(paid)}


def spent_before(verdicts: Path, manifest: Mapping[str, Any]) -> Spending:
    """Return what earlier invocations of a run spent.

    Parameters
    ----------
    verdicts
        Verdicts of the run. Tokens beyond the total in ``manifest`` were spent by an invocation
        that was killed.
    manifest
        Contents of ``run.json``, with the prices of the last invocation.
    """
    tokens_in = tokens_out = 0
    for counts in _paid(verdicts):
        tokens_in += counts[0] or 0
        tokens_out += counts[1] or 0
    return spent_in(tokens_in, tokens_out, manifest)


def spent_in(tokens_in: int, tokens_out: int, manifest: Mapping[str, Any]) -> Spending:
    """Return what a run with these paid tokens spent, as :func:`spent_before` does."""
    stated = _stated(manifest.get("total") or {})
    more_in, more_out = max(0, tokens_in - stated.tokens_in), max(0, tokens_out - stated.tokens_out)
    return stated.plus(more_in, more_out, _prices(manifest))


def _paid(verdicts: Path) -> Iterator[Counts]:
    """Yield prompt and reply tokens of each verdict that states them."""
    return _compacted(verdicts) if verdicts.suffix == ".parquet" else _journalled(verdicts)


def _compacted(verdicts: Path) -> Iterator[Counts]:
    for part in CompactedFile(verdicts).parts("tokens_in", "tokens_out", "more"):
        for tokens_in, tokens_out, more in part.iter_rows():
            beside = orjson.loads(more) if more and f'"{PAID}":' in more else {}
            yield _counts(beside[PAID]) if PAID in beside else (tokens_in, tokens_out)


def _journalled(verdicts: Path) -> Iterator[Counts]:
    for block in blocks(verdicts):
        for line in block.content.split(b"\n"):
            if b'"usage":{' in line or b'"paid":{' in line:
                record = jsons.loads(line)
                yield paid_counts(record)


def paid_counts(record: Mapping[str, Any]) -> Counts:
    """Return the prompt and reply tokens paid for, from a verdict's line."""
    return _counts(record.get(PAID, record.get("usage")))


def _counts(stated: Any) -> Counts:
    return token_counts(stated if isinstance(stated, Mapping) else None)


def _stated(total: Mapping[str, Any]) -> Spending:
    return Spending(
        **{field.name: total[field.name] for field in fields(Spending) if field.name in total}
    )


def _prices(manifest: Mapping[str, Any]) -> Prices:
    """Return the stated prices, or no prices if the values are invalid: another program may have
    written the file.
    """
    stated = manifest.get("prices") or {}
    try:
        return Prices(
            **{field.name: stated[field.name] for field in fields(Prices) if field.name in stated}
        )
    except UsageError:
        return Prices()
