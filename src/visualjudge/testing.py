"""Checks for the tests of a plug-in. Registering rows is in ``plugins.py``.

>>> from visualjudge.testing import check_type
>>> check_type("detection")
"""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from visualjudge.prompts.question_text import (
    Option,
    QuestionScene,
    question_prompt,
)
from visualjudge.vision.encode import encode
from visualjudge.vision.encodings import encodings
from visualjudge.vision.error_types import error_types, perturbed
from visualjudge.vision.errors.levels import ErrorScene
from visualjudge.vision.metrics import metrics_of
from visualjudge.vision.predictions import TYPES, payload_of, read_prediction
from visualjudge.vision.rows import Encoding, PredictionType
from visualjudge.vision.score import score
from visualjudge.vision.tasks import TASKS

LEVELS = 5


def check_type(name: str) -> None:
    """Try a registered prediction type on its example.

    Its record is written, read again and resized; its metrics give the truth 1; its
    errors lower the score; its encodings are drawn identically twice and have a prompt.

    Raises
    ------
    AssertionError
        If something is wrong; the message names it.
    """
    kind = TYPES.find(name)
    tasks = [task.name for task in TASKS.values() if task.type == name]
    assert tasks, f"type {name}: must have a task"
    assert kind.example is not None, f"type {name}: example: must be given"
    for task in tasks:
        _check_record(kind, task)
        _check_scores(kind, task)
        for row in encodings(task):
            _check_encoding(kind, task, row)


def _check_record(kind: PredictionType, task: str) -> None:
    assert kind.example is not None
    image, truth, expression = kind.example()
    size = (image.shape[0], image.shape[1])
    truth.check(size)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        payload = payload_of(
            task, truth, root=root, stem="example", digits=None
        )
        again = read_prediction(
            task, payload, size=size, root=root, expression=expression
        )
        assert type(again) is type(truth), (
            f"read: must return a {type(truth).__name__}"
        )
        assert again.labels == truth.labels and again.count == truth.count, (
            f"write: must keep labels {truth.labels} and count {truth.count}, got "
            f"{again.labels} and {again.count}"
        )
        written = payload_of(
            task, again, root=root, stem="example", digits=None
        )
        assert written == payload, (
            "write: must give the same payload when it is read and written"
        )
    if not kind.is_image:
        half = (size[0] // 2, size[1] // 2)
        truth.scaled(size, half).check(half)


def _check_scores(kind: PredictionType, task: str) -> None:
    assert kind.example is not None
    image, truth, _ = kind.example()
    for metric in metrics_of(kind.name):
        value = score(task, truth, truth, metric=metric)
        assert value == 10, (
            f"metric {metric}: must be 1 for the truth, got {value / 10}"
        )
    scene = ErrorScene(
        (image.shape[0], image.shape[1]), tuple(truth.labels), LEVELS
    )
    for error in error_types(task):
        worse = perturbed(task, error, truth, scene, seed=0, key="example")
        scores = [
            10.0,
            *(score(task, prediction, truth) for _, prediction in worse),
        ]
        falling = all(later <= earlier for earlier, later in pairwise(scores))
        assert falling and scores[-1] < 10, (
            f"error type {error}: must lower the score as its severity rises, got "
            f"{scores[1:]}"
        )


def _check_encoding(kind: PredictionType, task: str, row: Encoding) -> None:
    assert kind.example is not None
    image, truth, expression = kind.example()
    before = image.copy()
    what = f"encoding {row.stem}"
    first, second = (
        encode(task, row.stem, truth, image, expression=expression)
        for _ in range(2)
    )
    assert np.array_equal(before, image), f"{what}: must not write to the image"
    assert (first.image is None) == (row.kind == "text"), (
        f"{what}: image: must fit its kind"
    )
    assert (first.text is None) == (row.kind == "pixel"), (
        f"{what}: text: must fit its kind"
    )
    same = first.text == second.text and first.legend == second.legend
    if first.image is not None and second.image is not None:
        same &= np.array_equal(first.image, second.image)
    assert same, f"{what}: must draw the same prediction identically each time"
    scene = QuestionScene(
        TASKS[task],
        row.stem,
        (image.shape[0], image.shape[1]),
        TASKS[task].sourced,
        combo=row.kind == "combo",
    )
    text = None if row.kind == "pixel" else "text"
    question_prompt(
        "pairwise",
        scene,
        [Option(None if row.kind == "text" else "option.png", text)] * 2,
    )
