"""ImageReward (Xu et al. 2023, zai-org/ImageReward): people's ranks of images of one
prompt.

``FOLDER/[data/]test.json``: ``id, prompt, generations`` (paths), ``ranking`` (1 is
best; equal ranks are ties, which its score leaves out). Each two images of different
ranks are a pair; the key determines which comes first. Images are below ``FOLDER``,
``data`` or ``data/test_images``. Its score is the share of pairs in people's order.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Study,
    by_part,
)
from visualjudge.apps.adopt.files import Images, Row, first_tables, records
from visualjudge.apps.adopt.items import Item, Option, dealt


def read(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return all pairs of images of different ranks."""
    data = folder / "data"
    images = Images(folder, data, folder / "test_images", data / "test_images")
    rows = [
        row
        for path in first_tables((folder, data), "test.*")[:1]
        for row in records(path)
    ]
    return Study(
        [item for row in rows for item in _pairs(row, images)], images.missing
    )


def _pairs(row: Row, images: Images) -> Iterator[Item]:
    prompt, ranks, paths = (
        row.need(name) for name in ("prompt", "ranking", "generations")
    )
    if len(ranks) != len(paths):
        raise row.fault(
            "ranking", f"must rank {len(paths)} generations, got {len(ranks)}"
        )
    options = [Option(images=images.all(path), id=str(path)) for path in paths]
    for i, j in combinations(range(len(ranks)), 2):
        if ranks[i] != ranks[j]:
            better, worse = (i, j) if ranks[i] < ranks[j] else (j, i)
            key = f"{row.need('id')}/{i}/{j}"
            pair, answer = dealt(key, options[better], options[worse])
            yield Item(
                key, "generation", str(row["id"]), str(prompt), pair, answer
            )


ROW = Benchmark(
    "ImageReward: people's ranks of generated images, as pairs",
    "Apache-2.0",
    "any",
    "https://github.com/zai-org/ImageReward",
    "data/test.json and data/test_images/; replies/MODEL.jsonl for replies",
    read,
    by_part("imagereward", "exact"),
)
