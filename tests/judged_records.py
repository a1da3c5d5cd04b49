"""Small questions and verdicts for the analysis's tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from visualjudge.core.records import OptionFeatures, Question, Verdict


def pair(i: int, scores: tuple[float, float], **changes: Any) -> Question:
    """A pairwise question on image ``i % 12``; the better score is right."""
    base: dict[str, Any] = {
        "id": f"q{i}",
        "task": "object_detection",
        "encoding": "text_xyxy",
        "question_type": "pairwise",
        "subset": ("judge_analysis",),
        "image_id": f"image{i % 12}",
        "class_of_interest": None,
        "error_type": "missed",
        "annotation_ids": (f"a{i}", f"b{i}"),
        "final_scores": scores,
        "sources": ("one", "two"),
        "prompt": "Which is better, A or B?",
        "images": (),
        "answer": "A" if scores[0] > scores[1] else "B",
    }
    return Question(**{**base, **changes})


def ranking(i: int, scores: Sequence[float], **changes: Any) -> Question:
    """A ranking question; the answer is the letters by falling score."""
    order = sorted(range(len(scores)), key=lambda k: -scores[k])
    ids = tuple(f"r{i}-{k}" for k in range(len(scores)))
    fields = {
        "question_type": "ranking",
        "annotation_ids": ids,
        "final_scores": tuple(scores),
        "sources": (None,) * len(scores),
        "answer": "".join("ABCDE"[k] for k in order),
    }
    return pair(i, (1.0, 0.0), **{"id": f"r{i}", **fields, **changes})


def scoring(i: int, score: float, **changes: Any) -> Question:
    """A scoring question."""
    fields = {
        "question_type": "scoring",
        "annotation_ids": (f"s{i}",),
        "final_scores": (score,),
        "sources": ("one",),
    }
    return pair(
        i, (1.0, 0.0), **{"id": f"s{i}", **fields, "answer": score, **changes}
    )


def said(
    question: Question,
    value: Any,
    order: str = "AB",
    status: str = "ok",
    **more: Any,
) -> Verdict:
    """A verdict; "Failed" where the status is not ok."""
    return Verdict(
        question.id,
        order,
        value if status == "ok" else "Failed",
        status,
        str(value),
        **more,
    )  # type: ignore[arg-type]


def features(*chars: int) -> tuple[OptionFeatures, ...]:
    """Options that differ in the length of their text alone."""
    return tuple(OptionFeatures(text_chars=n) for n in chars)


def _digest(dataset: Path) -> str:
    return hashlib.sha256((dataset / "questions.json").read_bytes()).hexdigest()


def write_dataset(root: Path, questions: Sequence[Question]) -> Path:
    """A dataset folder without images."""
    root.mkdir(parents=True)
    (root / "questions.json").write_bytes(
        orjson.dumps(list(questions), option=orjson.OPT_SERIALIZE_NUMPY)
    )
    files = {"questions.json": _digest(root)}
    (root / "dataset.json").write_text(
        json.dumps({"version": "2.1", "files": files})
    )
    return root


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_run(
    root: Path, dataset: Path, verdicts: Sequence[Verdict], **info: Any
) -> Path:
    """A run folder as the judge command leaves it."""
    root.mkdir(parents=True)
    base = {
        "judge": root.name,
        "simulated": False,
        "dataset": {"path": str(dataset), "checksum": _digest(dataset)},
    }
    (root / "run.json").write_text(json.dumps({**base, **info}))
    (root / "verdicts.jsonl").write_bytes(
        b"".join(
            orjson.dumps(v, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n"
            for v in verdicts
        )
    )
    return root
