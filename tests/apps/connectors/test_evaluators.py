"""Evaluators of other tools over a loopback server: the judge is shown the images, a reply without
a score is none.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import visualjudge as vj
from apps.connectors.server import images_of, server
from runs.made_dataset import make_dataset
from visualjudge.apps.connectors.evaluators import (
    deepeval_metric,
    langfuse_evaluator,
    mlflow_scorer,
    phoenix_evaluator,
)
from visualjudge.apps.connectors.grading import Grader
from visualjudge.core.errors import DataError

Asked = tuple[Grader, list[dict[str, Any]]]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return next(iter((make_dataset(tmp_path / "set") / "media").iterdir()))


def grader(url: str) -> Grader:
    client = vj.client("api", model="judge", base_url=url, cache=False, api_key="none")
    return Grader(client)  # type: ignore[arg-type]


@pytest.fixture
def good() -> Iterator[Asked]:
    with server("It fits. Answer: 8") as (url, received):
        yield grader(url), received


@pytest.fixture
def silent() -> Iterator[Grader]:
    with server("I would rather not say.") as (url, _):
        yield grader(url)


def test_a_grader_shows_request_images_and_response_in_order(good: Asked, image: Path) -> None:
    judge, received = good
    found = judge("Draw noise.", "", made=[image])
    assert (found.score, found.cause) == (0.8, None)
    assert [b64decode(uri.partition(",")[2]) for uri in images_of(received[0])] == [
        image.read_bytes()
    ]
    with pytest.raises(DataError, match="response: must have a text or an image"):
        judge("Draw noise.", "")


def test_phoenix_calls_a_plain_function_of_input_and_output(
    good: Asked, silent: Grader, image: Path
) -> None:
    judge, received = good
    evaluate = phoenix_evaluator(judge)
    assert evaluate(input={"text": "What?", "images": [image]}, output="Noise.")["score"] == 0.8
    assert len(images_of(received[0])) == 1
    missing = phoenix_evaluator(silent)(input="What?", output="Noise.")
    assert missing["score"] is None and missing["label"] != "read"


def test_langfuse_gets_an_evaluation_or_none(good: Asked, silent: Grader, image: Path) -> None:
    pytest.importorskip(
        "langfuse", reason="langfuse is not installed: pip install visualjudge[langfuse]"
    )
    found = langfuse_evaluator(good[0])(
        input={"text": "What?", "images": [str(image)]}, output="Noise.", metadata={}
    )
    assert (found.name, found.value) == ("visualjudge", 0.8)
    assert langfuse_evaluator(silent)(input="What?", output="Noise.") == []


def test_mlflow_gets_feedback_or_an_error(good: Asked, silent: Grader, image: Path) -> None:
    pytest.importorskip(
        "mlflow.genai", reason="mlflow is not installed: pip install visualjudge[mlflow]"
    )
    inputs = {"input": {"text": "What?", "images": [str(image)]}}
    assert mlflow_scorer(good[0])(inputs=inputs, outputs="Noise.").value == 0.8
    assert mlflow_scorer(silent)(inputs=inputs, outputs="Noise.").error is not None


def test_deepeval_measures_a_case_with_images(good: Asked, silent: Grader, image: Path) -> None:
    pytest.importorskip(
        "deepeval", reason="deepeval is not installed: pip install visualjudge[deepeval]"
    )
    from deepeval.test_case import LLMTestCase, MLLMImage

    case = LLMTestCase(input=f"What? {MLLMImage(url=str(image))}", actual_output="Noise.")
    metric = deepeval_metric(good[0])
    assert metric.measure(case) == 0.8 and metric.is_successful()
    assert len(images_of(good[1][0])) == 1
    with pytest.raises(DataError, match="states no score"):
        deepeval_metric(silent).measure(case)
