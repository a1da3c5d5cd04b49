"""MLLM-as-a-Judge (Chen et al. 2024, Dongping-Chen/MLLM-Judge): answers about images, as scores,
pairs and batches.

``FOLDER/[Dataset/]Benchmark/{score,pair,batch}.jsonl`` (or ``…_lite.jsonl``, .json, .parquet):
``instruction``, ``image_path``, ``original_dataset``; a score has ``score_id, name, answer, human``
(1 to 5), a pair ``pair_id, answer1, answer2, human_answer`` ("A", "B", "C" for a tie), a batch
``id, answers, human_answer`` ("CDAB", best first). Replies: ``{mode}_{MODEL}.jsonl``, the same
records with ``mllm_judge``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.adopt.benchmarks.layout import Benchmark, Pairs, unique
from visualjudge.apps.adopt.files import Images, Row, at, first_tables, records
from visualjudge.apps.adopt.items import Item, Option, Reply, Study, on_ten
from visualjudge.core.errors import DataError
from visualjudge.core.records import LETTERS

IDS = {"score": "score_id", "pair": "pair_id", "batch": "id"}
HOMES = (
    "Benchmark_Lite",
    "",
    "Benchmark",
    "Dataset/Benchmark",
    "Datasets/Benchmark",
    "Dataset/Benchmark_Lite",
)
IMAGES = ("", "image", "Images", "Dataset", "Dataset/image", "Datasets/Images")
SCALE = (1.0, 5.0)
PAIRS = Pairs(
    key="pair_id",
    truth=("human_answer", "human"),
    answers={"A": "A", "B": "B", "C": "tie"},
    sides=("1", "2"),
    request=("instruction",),
    image=("image_path", "image"),
    text=("answer{}.answer", "answer{}"),
    model=("answer{}.name",),
    ties=("tie",),
)
_REPLIES = re.compile(r"(?P<mode>score|pair|batch)_(?!lite\.)(?P<model>.+)\.jsonl")
_RULES = (
    ("pair", "pair", "exact"),
    ("pair without ties", "pair", "no_tie_label"),
    ("score", "score", "pearson"),
    ("batch", "batch", "levenshtein"),
)


def read(folder: Path) -> Study:
    """Return the three kinds of question, with their images if the copy has all of them."""
    homes = [folder / home for home in HOMES]
    tables = {
        mode: paths[0]
        for mode in IDS
        if (paths := first_tables(homes, f"{mode}.*", f"{mode}_lite.*", f"{mode.capitalize()}.*"))
    }
    if not tables:
        raise DataError(
            f"{folder}: must hold Dataset/Benchmark/score.jsonl, pair.jsonl or batch.jsonl, "
            "found none"
        )
    beside = (path.parent.parent / "image" for path in tables.values())
    images = Images(*(folder / name for name in IMAGES), *beside)
    items, left_out = [], []
    for mode, path in tables.items():
        for key, row in _keyed(mode, path):
            item = _item(mode, key, row, images)
            if item is None:
                left_out.append(f"{path}: record {row.number}: has no label that can be used")
            else:
                items.append(item)
    files: dict[str, list[tuple[str, Path]]] = defaultdict(list)
    for path in sorted(folder.rglob("*.jsonl")):
        if match := _REPLIES.fullmatch(path.name):
            files[match["model"]].append((match["mode"], path))
    known = {item.key for item in items}
    judges = {model: partial(_replies, paths, known) for model, paths in files.items()}
    return Study(items, images.missing > 0, judges, left_out)


def _keyed(mode: str, path: Path) -> Iterator[tuple[str, Row]]:
    keys = Counter[str]()
    for row in records(path):
        name = row[IDS[mode]] if row.get(IDS[mode]) is not None else row.number
        yield unique(keys, f"{mode}/{name}"), row


def _item(mode: str, key: str, row: Row, images: Images) -> Item | None:
    """Return the question of a record; None if people gave no label that can be used."""
    part = f"{mode}/{row.get('original_dataset') or 'all'}"
    label = str(at(row, "human_answer", "human", "human_score")).removesuffix(".0")
    if mode == "pair":
        return PAIRS.item(row, part, images, key) if label in PAIRS.answers else None
    blank = PAIRS.item(Row(row | {"human_answer": "C"}, row.path, row.number), part, images, key)
    if mode == "score":
        option = Option(str(row.get("answer") or ""), source=row.get("name"))
        score = on_ten(float(label), SCALE) if label in ("1", "2", "3", "4", "5") else None
        made = replace(blank, options=(option,), answer=score or 0.0, kind="scoring", scale=SCALE)
        return None if score is None else replace(made, ties=())
    answers = [one if isinstance(one, dict) else {"answer": one} for one in row.need("answers")]
    options = tuple(Option(str(one.get("answer") or ""), source=one.get("name")) for one in answers)
    if sorted(label) != sorted(LETTERS[: len(options)]) or len(options) < 2:
        return None
    return replace(blank, options=options, answer=label, kind="ranking", ties=())


def _replies(files: list[tuple[str, Path]], known: set[str]) -> Iterator[Reply]:
    for mode, path in files:
        for key, row in _keyed(mode, path):
            if key in known:
                yield Reply(key, text=str(row.get("mllm_judge") or ""))


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    scores: list[Score] = []
    for name, mode, rule in _RULES:
        tasks = tuple(part for part in parts if part.startswith(f"{mode}/"))
        cells = [("", tasks), *((part.removeprefix(mode), (part,)) for part in tasks)]
        made = (Score(f"mllm-as-a-judge/{name}{end}", rule, of, 1.0, 3) for end, of in cells if of)
        scores += made
    return tuple(scores)


ROW = Benchmark(
    "MLLM-as-a-Judge: answers about images; scores, pairs with ties, rankings",
    "MIT",
    "any",
    "https://github.com/Dongping-Chen/MLLM-Judge",
    "Dataset/Benchmark/{score,pair,batch}.jsonl and Dataset/image/; {mode}_MODEL.jsonl for replies",
    read,
    _scores,
    {"C": "tie"},
)
