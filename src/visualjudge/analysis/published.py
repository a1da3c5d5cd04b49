"""The share right of pairwise questions as well-known benchmarks count it, each under its name.

====================== =================================================================================
mmrb2                  both orders; replies that could not be used are left out (Multimodal RewardBench 2)
vl_rewardbench_micro   one order, failed replies wrong, all questions (VL-RewardBench, "overall")
vl_rewardbench_macro   the same, mean over tasks (VL-RewardBench, "macro")
multimodal_rewardbench one order, a failed reply is tossed: ½ in expectation (Multimodal RewardBench)
judgebench             net over both orders: right if right once more often than wrong; ties and failures count for
                       neither side (JudgeBench)
====================== =================================================================================
"""

from __future__ import annotations

import polars as pl

from visualjudge.analysis.cells import image_sums, macro, share_of
from visualjudge.analysis.figures import NO_SHARE, Published, Share


def _share(table: pl.DataFrame, top: pl.Expr, *, whole: bool = True) -> Share:
    if table.is_empty():
        return NO_SHARE
    return share_of(
        image_sums(table, [], {"top": top, "n": pl.col("cluster").is_not_null()}).shares("top", "n", whole=whole)
    )


def net(table: pl.DataFrame) -> pl.DataFrame:
    """One row a question: ``net`` of its orders and repeats, right as +1, wrong as -1, a tie or a failed reply as 0."""
    chosen = pl.col("parsed") & pl.col("text").is_in(["A", "B"])
    point = pl.when(~chosen).then(0).when(pl.col("right")).then(1).otherwise(-1)
    return table.group_by("question", maintain_order=True).agg(pl.col("cluster").first(), net=point.sum())


def as_published(pairs: pl.DataFrame) -> Published:
    """All of them; the one-order figures are from the order that was stored ("AB")."""
    pairs = pairs.select("question", "order", "cluster", "task", "parsed", "right", "text")
    swapped = pairs.filter(pl.col("order").n_unique().over("question") > 1) if pairs.height else pairs
    one = pairs.filter(pl.col("order") == "AB")
    tossed = pl.when(pl.col("parsed")).then(pl.col("right").cast(pl.Float64)).otherwise(0.5)
    return Published(
        mmrb2=_share(swapped.filter(pl.col("parsed")), pl.col("right")),
        vl_rewardbench_micro=_share(one, pl.col("right")),
        vl_rewardbench_macro=macro(one, "task"),
        multimodal_rewardbench=_share(one, tossed, whole=False),
        judgebench=_share(net(swapped), pl.col("net") > 0) if swapped.height else NO_SHARE,
    )
