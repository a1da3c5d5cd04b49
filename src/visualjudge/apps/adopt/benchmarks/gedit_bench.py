"""The reward bench of GEditBench v2 (ZhangqiJiang07/GEditBench_v2,
``data/z_reward_bench``): pairs of edits, from EditReward-Bench and from EditScore's.

EditReward: ``editreward_bench_visual_quality.jsonl``: ``key, instruction,
source_image_path, edited_image_paths, winner`` ("Image A" or "Image B"); images below
``editreward_bench_images/``. EditScore: ``EditReward-Bench/*.arrow`` (or .parquet):
``key`` (two), ``instruction, input_image, output_images`` (the better one first),
``task_type, dimension``, and ``shuffled_editscore_bench_{dimension}.json``: which pairs
are shown in reversed order. Without the Arrow files, the labels come from those maps
alone. Replies: ``replies/MODEL.jsonl``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from visualjudge.analysis.figures.published import Score
from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
)
from visualjudge.apps.adopt.files import (
    Images,
    Row,
    contents,
    first_tables,
    records,
)
from visualjudge.apps.adopt.items import Item, Option, dealt

QUALITY = "editreward_bench_visual_quality"
SHUFFLED = "shuffled_editscore_bench_"
PAIRS = Pairs(
    {
        "key": ("key",),
        "truth": ("winner",),
        "request": ("instruction",),
        "image": ("source_image_path",),
        "made": ("edited_image_paths.{}",),
    },
    {"Image A": "A", "Image B": "B"},
    ("0", "1"),
)


def _home(folder: Path) -> Path:
    inner = folder / "data" / "z_reward_bench"
    return inner if inner.is_dir() else folder


def read_editreward(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs judged for visual quality."""
    home = _home(folder)
    images = Images(home, home / "editreward_bench_images")
    tables = first_tables((home,), f"{QUALITY}.*")[:1]
    rows = [row for path in tables for row in records(path)]
    return Study(
        [PAIRS.item(row, "visual_quality", images) for row in rows],
        images.missing,
    )


def read_editscore(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs of every dimension whose map or rows the copy has."""
    home = _home(folder)
    maps = {
        path.stem.removeprefix(SHUFFLED): contents(path)
        for path in sorted(home.glob(f"{SHUFFLED}*.json"))
    }
    homes = (home / "EditReward-Bench", home, home / "data")
    tables = first_tables(
        homes, "*.arrow", "*.parquet", "EditReward-Bench.*", "test*.*"
    )
    if not tables:
        return Study(
            [
                _label(part, *pair)
                for part in maps
                for pair in maps[part].items()
            ]
        )
    images = Images(home, *(path.parent for path in tables))
    items = [
        _rated(row, maps, images) for path in tables for row in records(path)
    ]
    return Study(items, images.missing)


def _label(dimension: str, name: str, swapped: bool) -> Item:
    task = name.rpartition("_task_")[2]
    source = name.partition("_vs_")[0]
    options = (Option(), Option())
    answer = "B" if swapped else "A"
    return Item(
        f"{dimension}/{name}",
        f"{dimension}/{task}",
        source,
        "",
        options,
        answer,
    )


def _rated(
    row: Row, maps: Mapping[str, Mapping[str, bool]], images: Images
) -> Item:
    dimension, task = (
        str(row.need(name)) for name in ("dimension", "task_type")
    )
    name = "_task_".join(("_vs_".join(row.need("key")), task))
    key = f"{dimension}/{name}"
    better, worse = (
        Option(images=images.all(image)) for image in row.need("output_images")
    )
    options, answer = dealt(key, better, worse)
    if name in maps.get(dimension, {}):
        swapped = maps[dimension][name]
        options, answer = (
            ((worse, better), "B") if swapped else ((better, worse), "A")
        )
    source = images.all(row.get("input_image"))
    request = str(row.get("instruction") or "")
    return Item(
        key,
        f"{dimension}/{task}",
        request or key,
        request,
        options,
        answer,
        images=source,
    )


def _by_dimension(parts: tuple[str, ...]) -> tuple[Score, ...]:
    dimensions = dict.fromkeys(part.partition("/")[0] for part in parts)
    whole = [
        (name, tuple(p for p in parts if p.startswith(f"{name}/")))
        for name in dimensions
    ]
    every = (*whole, *((part, (part,)) for part in parts))
    return tuple(
        Score(f"editscore-bench/{name}", "read", tasks, 1.0, 4)
        for name, tasks in every
    )


EDITREWARD = Benchmark(
    "EditReward-Bench, visual quality, as GEditBench v2 carries it: pairs of edited "
    "images",
    "none stated (GEditBench v2); Apache-2.0 (TIGER-Lab/EditReward-Bench)",
    "evaluation only",
    "https://github.com/ZhangqiJiang07/GEditBench_v2",
    f"{QUALITY}.jsonl and editreward_bench_images/; replies/MODEL.jsonl for replies",
    read_editreward,
    lambda _: (
        Score("editreward-bench/visual_quality", "read", scale=1.0, digits=4),
    ),
)
EDITSCORE = Benchmark(
    "EditScore's EditReward-Bench as GEditBench v2 carries it: pairs of edited images; "
    "consistency, prompt following",
    "Apache-2.0",
    "any",
    "https://huggingface.co/datasets/EditScore/EditReward-Bench",
    f"EditReward-Bench/*.arrow, {SHUFFLED}*.json; replies/MODEL.jsonl for replies",
    read_editscore,
    _by_dimension,
)
