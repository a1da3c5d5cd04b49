"""Judges: judge modules for edited images, and the judge that asks a dataset's questions.

The names below are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualjudge.clients.registry import build_client as build_client
    from visualjudge.judges.judge_module import ClientPipe as ClientPipe
    from visualjudge.judges.module_schemas import (
        PairJudgeInput as PairJudgeInput,
        VIEScoreInput as VIEScoreInput,
    )
    from visualjudge.judges.pairwise_module import PairwiseJudge as PairwiseJudge
    from visualjudge.judges.registry import PIPE_REGISTRY as PIPE_REGISTRY
    from visualjudge.judges.viescore import VIEscorePipe as VIEscorePipe

_HOMES = {
    "ClientPipe": "visualjudge.judges.judge_module",
    "PairwiseJudge": "visualjudge.judges.pairwise_module",
    "VIEscorePipe": "visualjudge.judges.viescore",
    "PIPE_REGISTRY": "visualjudge.judges.registry",
    "PairJudgeInput": "visualjudge.judges.module_schemas",
    "VIEScoreInput": "visualjudge.judges.module_schemas",
    "build_client": "visualjudge.clients.registry",
}

__all__ = tuple(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'visualjudge.judges' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
