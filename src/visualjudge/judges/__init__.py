"""Judges: judge modules for edited images, and the judge that asks a dataset's
questions.

The names below are imported when first used.
"""

import importlib
from typing import Any

_HOMES = {
    "ClientPipe": "visualjudge.judges.judge_module",
    "Judgement": "visualjudge.judges.judge_module",
    "PairwiseJudge": "visualjudge.judges.pairwise_module",
    "VIEscorePipe": "visualjudge.judges.viescore",
    "PIPE_REGISTRY": "visualjudge.judges.registry",
    "PairJudgeInput": "visualjudge.judges.module_schemas",
    "VIEScoreInput": "visualjudge.judges.module_schemas",
    "build_client": "visualjudge.clients.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(
            f"module 'visualjudge.judges' has no attribute {name!r}"
        )
    return getattr(importlib.import_module(_HOMES[name]), name)
