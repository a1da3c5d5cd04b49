"""Predictions of VLMEvalKit: ``[MODEL/]MODEL_DATASET.xlsx``; both names may hold
underscores. The export for it is in ``dataset/exports/vlmevalkit.py``.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.files import log_row

BENCHMARK = re.compile(
    r"_(?=MMBench|CCBench|MME|MMStar|MMMU|MMVet|MathV|SEED|POPE|AI2D|OCRBench|HallusionBench"
    r"|RealWorldQA|ScienceQA|BLINK|ChartQA|DocVQA|TextVQA|InfoVQA|LLaVABench)"
)
"""The place before names of its data sets that hold underscores; else the last one
counts."""
READ = ("index", "prediction", "answer", "question", "category", "A", "B")


def rows(path: Path, samples: Any) -> Iterator[dict[str, Any]]:
    """Yield a row per question."""
    model, data = model_and_data(path)
    for sample in samples:
        known = {
            "item": sample.get("index"),
            "task": sample.get("category") or data,
            "judge": model,
            "truth": sample.get("answer"),
            "verdict": "",  # what it extracts is kept, if at all, as text in "log"
            "reply": str(sample.get("prediction") or ""),
            "request": sample.get("question"),
            "text_a": sample.get("A"),
            "text_b": sample.get("B"),
            "metadata": None,
        }
        yield log_row(known, {k: v for k, v in sample.items() if k not in READ})


def model_and_data(path: Path) -> tuple[str, str]:
    """Return the names of model and data set in the name of a file.

    Examples
    --------
    >>> model_and_data(Path("Claude3-5V_Sonnet_MMBench_V11.xlsx"))
    ('Claude3-5V_Sonnet', 'MMBench_V11')
    >>> model_and_data(Path("GPT4o_20240806_MyPairs.xlsx"))
    ('GPT4o_20240806', 'MyPairs')
    """
    folder = path.resolve().parent.name
    if path.stem.startswith(f"{folder}_"):
        return folder, path.stem[len(folder) + 1 :]
    model, *data = BENCHMARK.split(path.stem, maxsplit=1)
    if not data:
        model, _, last = path.stem.rpartition("_")
        data = [last]
    return model or path.stem, data[0]
