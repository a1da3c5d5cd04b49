"""VL-RewardBench (Li et al. 2024): pairs of answers about an image, one of them
preferred.

``FOLDER/data.json`` (or the only table there, or ``[data/]*.parquet``): ``id, query,
response: [first, second], image`` (``image_path`` in the repository's
``data/data.jsonl``), ``human_ranking`` (0 = better, 1 = worse), ``models``. The parts
follow from the image's folder if it names its source, else from the ``id``. Its score
(``cal.py``) ignores unreadable replies.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
    by_part,
    unique,
)
from visualjudge.apps.adopt.files import Images, Row, first_tables, records

SOURCES = {
    **dict.fromkeys(("vlfeedback", "wildvision-battle"), "general"),
    **dict.fromkeys(("povid", "rlhf-v", "rlaif-v"), "hallucination"),
    "reasoning_tasks": "reasoning",
}
IDS = {
    **dict.fromkeys(
        ("hallucination_pair", "RLAIF-V", "RLHF-V"), "hallucination"
    ),
    **dict.fromkeys(("mathverse", "mmmu"), "reasoning"),
}
PAIRS = Pairs(
    {
        "key": ("id",),
        "truth": ("human_ranking.0",),
        "request": ("query",),
        "image": ("image", "image_path"),
        "text": ("response.{}",),
        "model": ("models.{}",),
    },
    {"0": "A", "1": "B"},
    ("0", "1"),
)


def read(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs."""
    homes = (folder, folder / "data")
    tables = first_tables(
        homes, "data.json", "*.parquet", "*.arrow", "*.jsonl", "*.json"
    )
    images = Images(*homes)
    keys = Counter[str]()
    rows = [row for path in tables for row in records(path)]
    items = [
        PAIRS.item(row, _part(row), images, unique(keys, row.need("id")))
        for row in rows
    ]
    return Study(items, images.missing + sum(not item.images for item in items))


def _part(row: Row) -> str:
    image = row.get("image") or row.get("image_path")
    folders = image.split("/") if isinstance(image, str) else []
    by_id = (
        part for start, part in IDS.items() if str(row["id"]).startswith(start)
    )
    return SOURCES.get(folders[1] if len(folders) > 2 else "") or next(
        by_id, "general"
    )


ROW = Benchmark(
    "VL-RewardBench: answers about images; general, hallucination, reasoning",
    "MIT",
    "any",
    "https://huggingface.co/datasets/MMInstruction/VL-RewardBench",
    "data.json, data/data.jsonl or *.parquet, and images/; replies/MODEL.jsonl for "
    "replies",
    read,
    by_part(
        "vl-rewardbench",
        "read",
        ("vl-rewardbench/overall", "read"),
        ("vl-rewardbench/macro", "macro"),
        digits=1,
    ),
)
