"""Judges: the judge that asks a dataset's questions (``question_judge.py``), those that
need no language model, and judge modules for edited images. Their names are in
``registry.py``. How a judge is run is in ``visualjudge.runs``.

The names below are imported when first used.
"""

from visualjudge.on_first_use import on_first_use

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
__getattr__ = on_first_use(__name__, _HOMES)
