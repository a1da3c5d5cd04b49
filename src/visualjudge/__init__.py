"""How far can a vision-language model be trusted as a judge of what vision models produce?

Data flows from top to bottom, one package a step::

    records      Annotation, Question, Verdict: what travels between the steps
    raster                    image files and masks as arrays
    predictions               what a prediction is: record, reading, writing, checks; a file a type
    data         PREDICTIONS  data folders; importers
    metrics      SCORE        a prediction against its ground truth, 0..10
    perturb                   controlled errors of a named type from ground truth alone
    encoding     ENCODE       a prediction as a picture or a text: 53 encodings, each decodable
    prompts      PROMPT       versioned assets; the only place where prompt text lives
    dataset      SAMPLE       groups, pairs, rankings; the dataset on disk; exports
    clients      ASK          OpenAI-compatible, Gemini, vLLM, …; retry, cache, limits
    judges       JUDGE        a question or a pair of edited images, and the reply read without guessing
    runs         VERDICTS     one judge over one dataset, journalled and resumable
    analysis     ANALYSE      how right, how biased, how consistent; report
    studio, mmbench, pipelines, demo, cli

The names below are imported when first used, so that ``import visualjudge`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualjudge.dataset.folder import load_dataset as load_dataset
    from visualjudge.encoding import Encoded as Encoded
    from visualjudge.encoding import encode as encode
    from visualjudge.encoding import encodings as encodings
    from visualjudge.metrics import score as score

__version__ = "0.1.0"

_HOMES = {
    "score": "visualjudge.metrics",
    "encode": "visualjudge.encoding",
    "encodings": "visualjudge.encoding",
    "Encoded": "visualjudge.encoding",
    "load_dataset": "visualjudge.dataset.folder",
}

__all__ = ["Encoded", "__version__", "encode", "encodings", "load_dataset", "score"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'visualjudge' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
