"""Judges by name: judge modules for pipelines, and question judges for ``judge
--backend``. Backends by name are in ``clients/registry.py``.
"""

from collections.abc import Callable
from typing import Any

from visualjudge.core.registry import Registry, lacking

LOCAL = "local"
"""The backend of the local judge in ``judge --backend`` and run.json."""
PIPE_REGISTRY: Registry[str, Any] = Registry(
    "judge module",
    {
        "pairwise-judge": "visualjudge.judges.pairwise_module:PairwiseJudge",
        "viescore": "visualjudge.judges.viescore:VIEscorePipe",
    },
    home=f"{__name__}:PIPE_REGISTRY",
)
QUESTION_JUDGES: Registry[str, Callable[..., Any]] = Registry(
    "question judge",
    {
        "baseline": "visualjudge.judges.baseline:baseline_judge",
        LOCAL: "visualjudge.judges.local.judge:local_judge",
        "metric": "visualjudge.judges.image_metric:metric_judge",
        "reward": "visualjudge.judges.reward_model:reward_judge",
    },
    home=f"{__name__}:QUESTION_JUDGES",
)
"""Judges of a dataset's questions that use no backend: (model, dataset folder, *, seed)
→ Judge."""


def check_backend(name: str) -> None:
    """Check that a name is a question judge's or a client backend's.

    Raises
    ------
    UnknownName
        If it is neither; the message lists both.
    """
    # Imported here because reports ask no server.
    from visualjudge.clients.registry import CLIENT_REGISTRY, unknown_backend

    known = dict.fromkeys((*CLIENT_REGISTRY, *QUESTION_JUDGES))
    if name not in known:
        missing = lacking("backend", name) or lacking("question judge", name)
        raise unknown_backend(name, list(known), missing)
