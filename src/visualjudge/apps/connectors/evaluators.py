"""A judge as an evaluator for DeepEval, Phoenix, MLflow and Langfuse: plain functions with their
signatures.

Each takes a :class:`~visualjudge.apps.connectors.grading.Grader` and returns a function. Inputs are
a text, or an object with ``text`` and ``images`` (paths, bytes, base64 or addresses). A reply
without a score gives None with the cause, never a guess.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from visualjudge.apps.connectors.grading import Grade, Grader, image_of
from visualjudge.apps.published.reading import ImageSource
from visualjudge.core.errors import DataError

Evaluator = Callable[..., Any]


def _grade(grader: Grader, asked: Any, given: Any) -> Grade:
    request, images = _content(asked, "input")
    response, made = _content(given, "output")
    return grader(request, response, images=images, made=made)


def _content(value: Any, name: str) -> tuple[str, tuple[ImageSource, ...]]:
    """Return the text and images of an input or output."""
    if isinstance(value, str):
        return value, ()
    if not isinstance(value, Mapping):
        raise DataError(
            f"{name}: must be a text or an object with text and images, got {type(value).__name__}"
        )
    images = value.get("images") or ()
    return str(value.get("text") or ""), tuple(map(image_of, images))


def langfuse_evaluator(grader: Grader, name: str = "visualjudge") -> Evaluator:
    """Return an evaluator for Langfuse:
    ``dataset.run_experiment(evaluators=[langfuse_evaluator(grader)], …)``.
    """

    def evaluate(
        *, input: Any, output: Any, expected_output: Any = None, metadata: Any = None, **_: Any
    ) -> Any:
        from langfuse import Evaluation

        found = _grade(grader, input, output)
        # Langfuse has no missing values, so a reply without a score is omitted.
        if found.score is None:
            return []
        return Evaluation(name=name, value=found.score, comment=found.reply)

    return evaluate


def mlflow_scorer(grader: Grader, name: str = "visualjudge") -> Evaluator:
    """Return a scorer for MLflow: ``mlflow.genai.evaluate(data=…,
    scorers=[mlflow_scorer(grader)])``.
    """
    from mlflow.entities import AssessmentError, Feedback
    from mlflow.genai.scorers import scorer

    def evaluate(*, inputs: Any, outputs: Any) -> Any:
        asked = inputs.get("input", inputs) if isinstance(inputs, Mapping) else inputs
        found = _grade(grader, asked, outputs)
        if found.score is None:
            return Feedback(name=name, error=AssessmentError("not_read", found.cause or "no score"))
        return Feedback(name=name, value=found.score, rationale=found.reply)

    return scorer(evaluate, name=name)  # type: ignore[no-any-return]


def phoenix_evaluator(grader: Grader, name: str = "visualjudge") -> Evaluator:
    """Return an evaluator for Phoenix: ``run_experiment(dataset, task,
    evaluators=[phoenix_evaluator(grader)])``.
    """

    def evaluate(input: Any, output: Any) -> dict[str, Any]:
        found = _grade(grader, input, output)
        return {"score": found.score, "label": found.cause or "read", "explanation": found.reply}

    evaluate.__name__ = name
    return evaluate


def deepeval_metric(grader: Grader, threshold: float = 0.5, name: str = "visualjudge") -> Any:
    """Return a ``BaseMetric`` for DeepEval, for test cases whose input and output may contain
    ``MLLMImage``.

    A reply without a score becomes the metric's ``error``, and its score is None.
    """
    from deepeval.metrics import BaseMetric

    class VisualJudge(BaseMetric):  # type: ignore[misc]
        def __init__(self) -> None:
            self.threshold, self.async_mode = threshold, False

        def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float | None:
            (request, images), (response, made) = (
                _deepeval(v) for v in (test_case.input, test_case.actual_output)
            )
            found = grader(request, response, images=images, made=made)
            self.score, self.reason = found.score, found.reply
            self.success = found.score is not None and found.score >= threshold
            # DeepEval shows a metric with an error as one without a score; raising would end
            # evaluate() for all cases.
            self.error = found.cause and f"the judge's reply states no score: {found.cause}"
            return found.score

        async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float | None:
            return await asyncio.to_thread(self.measure, test_case)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return name

    return VisualJudge()


def _deepeval(value: Any) -> tuple[str, tuple[ImageSource, ...]]:
    """Read an input of DeepEval, which writes image ids into texts; a list of texts and images is
    read too.
    """
    from deepeval.test_case import MLLMImage

    parts = (
        value if isinstance(value, list) else MLLMImage.parse_multimodal_string(str(value or ""))
    )
    images = [
        image_of(f"data:,{part.dataBase64}" if part.dataBase64 else part.url)
        for part in parts
        if isinstance(part, MLLMImage)
    ]
    return "".join(part for part in parts if isinstance(part, str)).strip(), tuple(images)
