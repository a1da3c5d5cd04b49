"""Inspect over a loopback server: its log opens in its own reader, and the server was
shown the images.
"""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

inspect_ai = pytest.importorskip(
    "inspect_ai",
    reason="inspect-ai is not installed: pip install visualjudge[inspect]",
)
pytest.importorskip(
    "openai", reason="openai is not installed: pip install visualjudge[inspect]"
)

from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import get_model  # noqa: E402

from apps.connectors.server import images_of, server  # noqa: E402
from runs.made_dataset import make_dataset  # noqa: E402
from visualjudge.apps.connectors.inspect_tasks import judge  # noqa: E402
from visualjudge.dataset.folder import load_dataset  # noqa: E402


def test_twenty_questions_are_judged_with_their_images_and_the_log_is_inspects(
    tmp_path: Path,
) -> None:
    root = make_dataset(tmp_path / "set", pairwise=16, ranking=2, scoring=2)
    questions = {question.id: question for question in load_dataset(root)}
    with server("Answer: A") as (url, received):
        model = get_model(
            "openai/judge", base_url=url, api_key="none", responses_api=False
        )
        (log,) = inspect_ai.eval(
            judge(str(root)),
            model=model,
            log_dir=str(tmp_path / "logs"),
            display="none",
        )
    assert len(received) == len(questions) == 20
    sent = sorted(
        b64decode(url.partition(",")[2])
        for body in received
        for url in images_of(body)
    )
    assert sent == sorted(
        (root / path).read_bytes()
        for question in questions.values()
        for path in question.images
    )
    read = read_eval_log(log.location)
    assert (
        read.status == "success"
        and read.samples is not None
        and len(read.samples) == 20
    )
    right = {
        sample.id: sample.scores["verdict"].value
        for sample in read.samples
        if sample.scores
    }
    pairs = [
        question
        for question in questions.values()
        if question.question_type == "pairwise"
    ]
    assert {question.id: right[question.id] for question in pairs} == {
        q.id: float(q.answer == "A") for q in pairs
    }
    unread = next(sample for sample in read.samples if sample.id == "ranking0")
    assert unread.scores is not None and "not read" in str(
        unread.scores["verdict"].explanation
    )
