"""MLLM-as-a-Judge (Chen et al. 2024, Dongping-Chen/MLLM-Judge): answers about images,
as scores, pairs and batches.

``FOLDER/[Dataset/]Benchmark/{score,pair,batch}.jsonl`` (or ``…_lite.jsonl``, .json,
.parquet): ``instruction``, ``image_path``, ``original_dataset``; a score has
``score_id, name, answer, human`` (1 to 5), a pair ``pair_id, answer1, answer2,
human_answer`` ("A", "B", "C" for a tie), a batch ``id, answers, human_answer`` ("CDAB",
best first). Replies: ``{mode}_{MODEL}.jsonl``, the same records with ``mllm_judge``.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from visualjudge.analysis.figures.published import Score
from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
    unique,
)
from visualjudge.apps.adopt.files import Images, Row, at, first_tables, records
from visualjudge.apps.adopt.items import Item, Option, Reply, on_ten
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
    {
        "key": ("pair_id",),
        "truth": ("human_answer", "human"),
        "request": ("instruction",),
        "image": ("image_path", "image"),
        "text": ("answer{}.answer", "answer{}"),
        "model": ("answer{}.name",),
    },
    {"A": "A", "B": "B", "C": "tie"},
    ("1", "2"),
    ("tie",),
)
RULES = (
    ("pair", "pair", "exact"),
    ("pair without ties", "pair", "no_tie_label"),
    ("score", "score", "pearson"),
    ("batch", "batch", "levenshtein"),
)


def read(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the three kinds of question."""
    homes = [folder / home for home in HOMES]
    images = Images(*(folder / name for name in IMAGES))
    items = []
    left_out = []
    for mode in IDS:
        names = (f"{mode}.*", f"{mode}_lite.*", f"{mode.capitalize()}.*")
        for path in first_tables(homes, *names)[:1]:
            images.homes = (*images.homes, path.parent.parent / "image")
            for key, row in _keyed(mode, path):
                item = _item(mode, key, row, images)
                items += [] if item is None else [item]
                left_out += (
                    [f"{row.place}: has no label that can be used"]
                    if item is None
                    else []
                )
    return Study(items, images.missing, left_out)


def _keyed(mode: str, path: Path) -> Iterator[tuple[str, Row]]:
    keys = Counter[str]()
    for number, row in enumerate(records(path), 1):
        name = row[IDS[mode]] if row.get(IDS[mode]) is not None else number
        yield unique(keys, f"{mode}/{name}"), row


def _item(mode: str, key: str, row: Row, images: Images) -> Item | None:
    """Return the question of a record; None if people gave no label that can be
    used."""
    part = f"{mode}/{row.get('original_dataset') or 'all'}"
    label = str(at(row, "human_answer", "human", "human_score")).removesuffix(
        ".0"
    )
    if mode == "pair":
        return (
            PAIRS.item(row, part, images, key)
            if label in PAIRS.answers
            else None
        )
    answers = [row] if mode == "score" else row.need("answers")
    answers = [
        answer if isinstance(answer, dict) else {"answer": answer}
        for answer in answers
    ]
    options = tuple(
        Option(str(answer.get("answer") or ""), source=answer.get("name"))
        for answer in answers
    )
    blank = PAIRS.item(
        Row({**row, "human_answer": "C"}, row.place, {}), part, images, key
    )
    blank = replace(blank, options=options, ties=())
    if mode == "score" and label in ("1", "2", "3", "4", "5"):
        return replace(
            blank,
            answer=on_ten(float(label), SCALE),
            kind="scoring",
            scale=SCALE,
        )
    if len(options) > 1 and sorted(label) == sorted(LETTERS[: len(options)]):
        return replace(blank, answer=label, kind="ranking")
    return None


def replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the replies of a judge to the questions of one kind."""
    for key, row in _keyed(match["mode"], path):
        yield Reply(key, text=str(row.get("mllm_judge") or ""))


def _scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    scores: list[Score] = []
    for name, mode, rule in RULES:
        tasks = tuple(part for part in parts if part.startswith(f"{mode}/"))
        cells = [
            ("", tasks),
            *((part.removeprefix(mode), (part,)) for part in tasks),
        ]
        made = (
            Score(f"mllm-as-a-judge/{name}{end}", rule, of, 1.0, 3)
            for end, of in cells
            if of
        )
        scores += made
    return tuple(scores)


ROW = Benchmark(
    "MLLM-as-a-Judge: answers about images; scores, pairs with ties, rankings",
    "MIT",
    "any",
    "https://github.com/Dongping-Chen/MLLM-Judge",
    "Dataset/Benchmark/{score,pair,batch}.jsonl and Dataset/image/; {mode}_MODEL.jsonl "
    "for replies",
    read,
    _scores,
    (r"(?:.*/)?(?P<mode>score|pair|batch)_(?!lite\.)(?P<judge>[^/]+)\.jsonl",),
    replies,
    {"C": "tie"},
)
