"""lmms-eval: a dataset as a task with our questions as documents and our reading as the
score. Its logs are read in ``apps/adopt/logs/lmms_eval.py``.

``visualjudge export DATASET --format lmms-eval --out TASKS`` writes
``TASKS/visualjudge_NAME.yaml``, ``utils.py``, which names the functions here, and the
questions. ``lmms_eval --include_path TASKS --tasks visualjudge_NAME`` runs it. Metrics:
``right`` (a score counts 1 − |error| / 10; an unreadable reply counts 0) and
``unread``. lmms-eval passes replies without their finish reason, so a reply truncated
at ``max_new_tokens`` is read like any other.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from PIL import Image

from visualjudge.apps.connectors.training_rewards import reward
from visualjudge.core.output_files import OutputFile
from visualjudge.dataset.exports import Format, Tick
from visualjudge.dataset.exports.media import truth_columns
from visualjudge.dataset.exports.vlmevalkit import numbered
from visualjudge.dataset.folder import Dataset
from visualjudge.prompts.spans import interleaved
from visualjudge.vision.raster.images import read_rgb

Doc = Mapping[str, Any]
FUNCTIONS = (
    "doc_to_messages",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "process_results",
)
_TASK = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {questions}
test_split: test
output_type: generate_until
{functions}
generation_kwargs:
  max_new_tokens: 1024
  temperature: 0
  do_sample: false
metric_list:
  - metric: right
    aggregation: mean
    higher_is_better: true
  - metric: unread
    aggregation: mean
    higher_is_better: false
metadata:
  version: 0
"""


def write_lmms_eval(dataset: Dataset, out: Path, tick: Tick) -> list[Path]:
    """Write the task, its functions, and its questions with images by absolute path."""
    name = f"visualjudge_{dataset.root.resolve().name}"
    questions = (out / f"{name}.jsonl").resolve()
    lines = []
    for done, question in enumerate(dataset.questions, 1):
        line = {
            "id": question.id,
            "task": question.task,
            "encoding": question.encoding,
            "prompt": question.prompt,
            "images": [
                str(dataset.image_path(path).resolve())
                for path in question.images
            ],
            **truth_columns(question),
        }
        lines.append(orjson.dumps(line))
        tick(done, len(dataset.questions))
    files = {
        questions: b"\n".join(lines) + b"\n",
        out
        / "utils.py": f"from {__name__} import {', '.join(FUNCTIONS)}  # noqa: F401\n".encode(),
        out / f"{name}.yaml": _TASK.format(
            name=name,
            questions=orjson.dumps(str(questions)).decode(),
            functions="\n".join(
                f"{function}: !function utils.{function}"
                for function in FUNCTIONS
            ),
        ).encode(),
    }
    for path, content in files.items():
        OutputFile(path, "`out`").write(content)
    return list(files)


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Any = None) -> str:
    """Return the prompt with numbered image marks, for models that take the images
    first."""
    return numbered(doc["prompt"])


def doc_to_visual(doc: Doc) -> list[Image.Image]:
    """Return the images in the order of their marks, as RGB."""
    return [_image(path) for path in doc["images"]]


def doc_to_messages(
    doc: Doc, lmms_eval_specific_kwargs: Any = None
) -> list[dict[str, Any]]:
    """Return the prompt with each image at its mark."""
    content = [
        {"type": "image", "url": _image(text)}
        if is_image
        else {"type": "text", "text": text}
        for text, is_image in interleaved(doc["prompt"], doc["images"])
    ]
    return [{"role": "user", "content": content}]


def doc_to_target(doc: Doc) -> str:
    """Return the answer."""
    return str(doc["answer"])


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, float]:
    """Return ``right`` and ``unread`` of a reply."""
    value = reward(results[0], doc)
    return {"right": max(0.0, value), "unread": float(value < 0)}


def _image(path: str) -> Image.Image:
    return Image.fromarray(read_rgb(path))


LMMS_EVAL = Format(write_lmms_eval, is_folder=True, scores=True)
