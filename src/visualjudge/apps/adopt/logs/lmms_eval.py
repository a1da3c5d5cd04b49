"""Samples of lmms-eval: ``MODEL/…_samples_TASK.jsonl``, a document a line, whose replies are its
repeats.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.answers import is_answer
from visualjudge.apps.adopt.files import at
from visualjudge.apps.adopt.logs.log_rows import log_row, texts_of

OWN = frozenset(
    ("doc_id", "target", "resps", "filtered_resps", "doc", "doc_hash", "input", "arguments")
)


def rows(path: Path, samples: Any) -> list[dict[str, Any]]:
    """Return a row per document and repeat."""
    return [row for sample in samples for row in _of_sample(path, sample)]


def _of_sample(path: Path, sample: dict[str, Any]) -> list[dict[str, Any]]:
    folder = path.resolve().parent.name
    filtered = texts_of(sample.get("filtered_resps"))
    replies = texts_of(sample.get("resps")) or filtered or [""]
    asked = sample.get("input")
    known = {
        "item": str(sample["doc_id"]),
        "task": path.stem.partition("samples_")[2] or path.stem,
        "judge": folder.rpartition("__")[2] or folder,
        "truth": sample.get("target"),
        "input_tokens": at(sample, "token_counts.0.input_tokens"),
        "output_tokens": at(sample, "token_counts.0.output_tokens"),
        "request": asked if isinstance(asked, str) else None,
    }
    metrics = {name: value for name, value in sample.items() if name not in OWN}
    read = [*filtered, *[""] * len(replies)]
    return [
        log_row(
            known | {"verdict": read[k] if is_answer(read[k]) else "", "reply": reply, "repeat": k},
            sample.get("doc"),
            metrics,
        )
        for k, reply in enumerate(replies)
    ]
