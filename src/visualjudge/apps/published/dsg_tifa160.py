"""TIFA160 with the Likert scores of DSG (Cho et al. 2024, j-min/DSG; also carried by
linzhiqiu/t2v_metrics).

``FOLDER/**/tifa160-likert-anns.csv`` or ``dsg_tifa160_anns.csv``: ``item_id, source_id, t2i_model``
(or ``model_type``), ``worker_id, answer`` (1 to 5); the answer is the mean over workers. Texts come
from ``tifa160-dev-anns.csv``, ``dsg-1k-anns.csv`` or ``tifa160.json``, images from
``tifa160/SOURCE_MODEL.jpg``. Replies: ``vqa_answers_release/VQA_QG.csv``: a model's score of an
image is the share of its questions answered "yes"; those whose parent was not answered "yes" count
as no.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    Item,
    Option,
    PublishedReply,
    Row,
    document,
    on_ten,
    records,
)
from visualjudge.core.errors import DataError

SCALE = (1.0, 5.0)
LIKERT = ("tifa160-likert-anns.csv", "dsg_tifa160_anns.csv")
TEXTS = ("tifa160-dev-anns.csv", "dsg-1k-anns.csv")
MODELS = {
    "mini-dalle": "mini_dalle",
    "vq-diffusion": "vq_diffusion",
    "sd1dot1": "stable_diffusion_v1_1",
    "sd1dot5": "stable_diffusion_v1_5",
    "sd2dot1": "stable_diffusion_v2_1",
}


def read(folder: Path) -> Copy:
    """Return one scoring question per image."""
    path = next((found for name in LIKERT for found in sorted(folder.rglob(name))), None)
    if path is None:
        raise DataError(f"{folder}: must hold {LIKERT[0]} or {LIKERT[1]}, found neither")
    rated: dict[tuple[str, str, str], list[float]] = {}
    for row in records(path):
        model = str(row.get("t2i_model") or row.need("model_type"))
        names = (str(row.need("item_id")), str(row.get("source_id") or ""), model)
        rated.setdefault(names, []).append(row.number_of("answer"))
    texts, images = _texts(folder), Images(folder, folder / "tifa160", folder / "images")
    items = tuple(_item(*names, answers, texts, images) for names, answers in rated.items())
    answers = sorted(folder.rglob("vqa_answers_release/*.csv"))
    known = {item.key for item in items}
    judges = {
        found.stem: partial(_replies, found, known)
        for found in answers
        if found.stem.endswith("_dsg")
    }
    return Copy(items, images.missing > 0, judges)


def _item(
    name: str, source: str, model: str, answers: list[float], texts: dict[str, str], images: Images
) -> Item:
    request = texts.get(name) or texts.get(source) or ""
    shown = images.all(f"{source}_{MODELS.get(model, model)}.jpg")
    score = on_ten(sum(answers) / len(answers), SCALE)
    option = Option(images=shown, source=model)
    return Item(
        f"{name}/{model}", "tifa160", name, request, (option,), score, kind="scoring", scale=SCALE
    )


def _texts(folder: Path) -> dict[str, str]:
    """Return the prompts by the names that the files use."""
    found: dict[str, str] = {}
    for path in (path for name in TEXTS for path in sorted(folder.rglob(name))):
        found.update(
            (str(row["item_id"]), str(row["text"])) for row in records(path) if row.get("text")
        )
    for path in sorted(folder.rglob("tifa160.json")):
        found.update(
            (str(row["text_id"]), str(row["text"]))
            for row in document(path).values()
            if "text_id" in row
        )
    return found


def _replies(path: Path, known: set[str]) -> Iterator[PublishedReply]:
    asked: dict[str, list[Row]] = {}
    for row in records(path):
        name = f"{row.need('item_id')}/{row.need('t2i_model')}"
        if name in known:
            asked.setdefault(name, []).append(row)
    for name in sorted(known):
        low, high = SCALE
        yield PublishedReply(name, "AB", low + _share(asked.get(name, [])) * (high - low))


def _share(rows: list[Row]) -> float:
    """Return DSG's score: the share of questions answered yes. A question counts as no if its
    parent was not answered yes. 0 without questions.
    """
    yes = {
        str(row.get("question_id") or k): row.get("answer") == "yes"
        for k, row in enumerate(rows, 1)
    }
    parents = {str(row.get("question_id") or k): _parents(row) for k, row in enumerate(rows, 1)}
    right = [
        answer and all(yes.get(parent, True) for parent in parents[name])
        for name, answer in yes.items()
    ]
    return sum(right) / len(right) if right else 0.0


def _parents(row: Row) -> list[str]:
    return [
        name.strip()
        for name in str(row.get("dependency_id") or "0").split(",")
        if name.strip() not in ("", "0")
    ]


ROW = Benchmark(
    "dsg-tifa160",
    "TIFA160 with DSG's Likert scores: how well a generated image fits its prompt",
    "none stated",
    "evaluation only",
    "https://github.com/j-min/DSG",
    read,
    lambda parts: tuple(
        Score(f"dsg-tifa160/{rule}", rule, None, 1.0, 3)
        for rule in ("spearman", "kendall", "pearson")
    ),
    "tifa160-likert-anns.csv, tifa160/ for images, vqa_answers_release/*_dsg.csv for replies",
)
