"""Evaluators of other tools over a loopback server: the judge is shown the images, a reply without
a score is none.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
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
from visualjudge.apps.connectors.grading import LONGEST_PATH, Grader, image_of
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
    unread = deepeval_metric(silent)
    assert unread.measure(case) is None and not unread.is_successful()
    assert "states no score" in unread.error
    assert metric.error is None


def test_an_unread_reply_does_not_end_deepeval_s_own_runner(
    good: Asked, silent: Grader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(
        "deepeval", reason="deepeval is not installed: pip install visualjudge[deepeval]"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    from deepeval import evaluate
    from deepeval.test_case import LLMTestCase

    cases = [LLMTestCase(input=f"What? {k}", actual_output="Noise.") for k in range(2)]
    metrics = [deepeval_metric(silent, name="silent"), deepeval_metric(good[0], name="good")]
    for result in evaluate(cases, metrics).test_results:
        unread, read = result.metrics_data
        assert (unread.score, unread.success, read.score) == (None, False, 0.8)
        assert "states no score" in unread.error


def test_images_may_be_paths_bytes_and_base64(good: Asked, image: Path) -> None:
    content = image.read_bytes()
    coded = b64encode(content).decode()
    given = [image, str(image), f"file://{image}", content, f"data:image/png;base64,{coded}"]
    given += [coded] if len(coded) > LONGEST_PATH else []
    phoenix_evaluator(good[0])(input={"text": "What?", "images": given}, output="Noise.")
    sent = images_of(good[1][0])
    assert [b64decode(uri.partition(",")[2]) for uri in sent] == [content] * len(given)
    for wrong, message in (
        ("nowhere.png", "nowhere.png does not exist"),
        ("data:image/png;base64,?", "must be a path, an address or base64"),
        ("http://127.0.0.1/a.png", "is not a public address"),
    ):
        with pytest.raises(DataError, match=message):
            image_of(wrong)
