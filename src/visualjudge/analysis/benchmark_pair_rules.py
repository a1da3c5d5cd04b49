"""The accuracy on pairwise questions as well-known benchmarks define it. Each definition is one
function and one row of RULES.

A row here becomes a figure in all outputs: under its key in ``metrics.json`` and the CSV tables,
under its title in the reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from visualjudge.analysis.accuracy_cells import image_sums, macro, share_of
from visualjudge.analysis.value_and_interval import NO_SHARE, Share


@dataclass(frozen=True)
class Rule:
    """A definition of accuracy; ``share`` takes the pairwise verdicts of one judge."""

    key: str
    title: str
    share: Callable[[pl.DataFrame], Share]


def _share(table: pl.DataFrame, top: pl.Expr) -> Share:
    if table.is_empty():
        return NO_SHARE
    values = {"top": top, "n": pl.col("cluster").is_not_null()}
    return share_of(image_sums(table, [], values).shares("top", "n"))


def net(table: pl.DataFrame) -> pl.DataFrame:
    """Return one row per question, with ``net`` summed over its orders and repeats: +1 for a right
    answer, -1 for a wrong one, 0 for a tie or a failed reply.
    """
    point = pl.when(pl.col("chosen").is_null()).then(0).when(pl.col("right")).then(1).otherwise(-1)
    return table.group_by("question", maintain_order=True).agg(
        pl.col("cluster").first(), net=point.sum()
    )


def _stored_order(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("order") == "AB")


def _both_orders(pairs: pl.DataFrame) -> pl.DataFrame:
    return pairs.filter(pl.col("order").n_unique().over("question") > 1) if pairs.height else pairs


def _read_in_both_orders(pairs: pl.DataFrame) -> Share:
    """Both orders; replies that could not be used are left out (Multimodal RewardBench 2)."""
    return _share(_both_orders(pairs).filter(pl.col("usable")), pl.col("right"))


def _one_order(pairs: pl.DataFrame) -> Share:
    """One order, failed replies wrong, all questions (VL-RewardBench, "overall")."""
    return _share(_stored_order(pairs), pl.col("right"))


def _mean_over_tasks(pairs: pl.DataFrame) -> Share:
    """The same, mean over tasks (VL-RewardBench, "macro")."""
    return macro(_stored_order(pairs), "task")


def _tossed(pairs: pl.DataFrame) -> Share:
    """One order, a failed reply is decided by a coin toss: ½ in expectation (Multimodal
    RewardBench).

    The interval treats tossed cases as either right or wrong.
    """
    right = pl.when(pl.col("usable")).then(pl.col("right").cast(pl.Float64)).otherwise(0.5)
    return _share(_stored_order(pairs), right)


def _net_right(pairs: pl.DataFrame) -> Share:
    """Right once more often than wrong over both orders; ties and failures count for neither side
    (JudgeBench).
    """
    swapped = _both_orders(pairs)
    return _share(net(swapped), pl.col("net") > 0) if swapped.height else NO_SHARE


RULES = (
    Rule("mmrb2", "MMRB2: both orders, unusable left out", _read_in_both_orders),
    Rule("vl_rewardbench_micro", "VL-RewardBench: one order, failures wrong, micro", _one_order),
    Rule("vl_rewardbench_macro", "VL-RewardBench: macro over tasks", _mean_over_tasks),
    Rule(
        "multimodal_rewardbench", "Multimodal RewardBench: failures decided by a coin toss", _tossed
    ),
    Rule("judgebench", "JudgeBench: net over both orders", _net_right),
)


def as_published(pairs: pl.DataFrame) -> Mapping[str, Share]:
    """Return every rule's share by its key; the one-order figures are from the order that was
    stored ("AB").
    """
    needed = pairs.select("question", "order", "cluster", "task", "usable", "right", "chosen")
    return {rule.key: rule.share(needed) for rule in RULES}
