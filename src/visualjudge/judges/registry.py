"""Judge modules by the name that pipelines give them."""

from __future__ import annotations

from visualjudge.clients.registry import Registry

PIPE_REGISTRY = Registry(
    "pipe",
    {
        "pairwise-judge": "visualjudge.judges.pairwise:PairwiseJudge",
        "viescore": "visualjudge.judges.viescore:VIEscorePipe",
    },
)
