"""A judge that sees images as the evaluator of Langfuse, MLflow, Phoenix or DeepEval.

python examples/connectors/evaluators.py http://127.0.0.1:8000/v1 my-model cat.png "What is on the
image?" "A cat."
"""

from __future__ import annotations

import sys
from pathlib import Path

import visualjudge as vj
from visualjudge.apps.connectors.evaluators import phoenix_evaluator
from visualjudge.apps.connectors.grading import Grader


def main(url: str, model: str, image: str, request: str, answer: str) -> None:
    """Print what Phoenix would store: score, label and explanation; langfuse_evaluator and the
    others likewise.
    """
    grader = Grader(vj.client("api", model=model, base_url=url))
    print(phoenix_evaluator(grader)({"text": request, "images": [str(Path(image))]}, answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
