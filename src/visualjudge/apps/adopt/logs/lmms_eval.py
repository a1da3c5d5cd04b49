"""Samples of lmms-eval: ``MODEL/…_samples_TASK.jsonl``, a document a line, whose
replies are its repeats. Tasks for lmms-eval are in
``apps/connectors/lmms_eval_tasks.py``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.cell_spellings import is_answer
from visualjudge.apps.adopt.files import at, log_row, texts_of

OWN = frozenset(
    (
        "doc_id",
        "target",
        "resps",
        "filtered_resps",
        "doc",
        "doc_hash",
        "input",
        "arguments",
    )
)


def rows(path: Path, samples: Any) -> Iterator[dict[str, Any]]:
    """Yield a row per document and repeat."""
    folder = path.resolve().parent.name
    for sample in samples:
        filtered = texts_of(sample.get("filtered_resps"))
        replies = texts_of(sample.get("resps")) or filtered or [""]
        asked = sample.get("input")
        target = sample.get("target")
        known = {
            "item": str(sample["doc_id"]),
            "task": path.stem.partition("samples_")[2] or path.stem,
            "judge": folder.rpartition("__")[2] or folder,
            "truth": " ".join(texts_of(target)) or target,
            "input_tokens": at(sample, "token_counts.0.input_tokens"),
            "output_tokens": at(sample, "token_counts.0.output_tokens"),
            "request": asked if isinstance(asked, str) else None,
        }
        metrics = {
            name: value for name, value in sample.items() if name not in OWN
        }
        for k, reply in enumerate(replies):
            read = (
                filtered[k]
                if k < len(filtered) and is_answer(filtered[k])
                else ""
            )
            yield log_row(
                (known | {"verdict": read, "reply": reply, "repeat": k}),
                sample.get("doc"),
                metrics,
            )
