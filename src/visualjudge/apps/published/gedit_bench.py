"""EditReward-Bench and EditScore-Bench as included in GEditBench v2 (ZhangqiJiang07/GEditBench_v2):
pairs of edits.

EditReward: ``FOLDER/[data/z_reward_bench/]editreward_bench_visual_quality.jsonl``: ``key,
instruction, source_image_path, edited_image_paths, winner`` ("Image A" or "Image B"); images below
``editreward_bench_images/``. EditScore: ``EditReward-Bench/*.arrow`` (or .parquet): ``key`` (two),
``instruction, input_image, output_images`` (the better one first), ``task_type, dimension``, and
``shuffled_editscore_bench_{dimension}.json``: which pairs are shown in reversed order. Without the
Arrow files, the labels come from those maps alone. Replies: ``replies/MODEL.jsonl``. GEditBench's
prompts for pairs are read from ``FOLDER/src/prompts/assets`` because they have no stated licence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from visualjudge.analysis.benchmark_scores import Score
from visualjudge.apps.published.prompts import file_of, of_copy, own_prompt
from visualjudge.apps.published.reading import (
    Benchmark,
    Copy,
    Images,
    Item,
    Option,
    Row,
    dealt,
    document,
    name_of,
    records,
    table_of,
    tables,
)
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate

HOME = "data/z_reward_bench"
WINNERS = {"Image A": "A", "Image B": "B"}
QUALITY = "editreward_bench_visual_quality"
SHUFFLED = "shuffled_editscore_bench_"
PROMPTS = "src/prompts/assets"
CRITERIA = {"consistency": "visual_consistency", "prompt_following": "instruction_following"}


def _home(folder: Path) -> Path:
    return folder / HOME if (folder / HOME).is_dir() else folder


def read_editreward(folder: Path) -> Copy:
    """Return the pairs judged for visual quality."""
    home = _home(folder)
    path = table_of((home,), QUALITY)
    if path is None:
        raise DataError(f"{folder}: must hold {QUALITY}.jsonl, found none")
    images = Images(home, home / "editreward_bench_images")
    items = (_quality(row, images) for row in records(path))
    asset = _prompt(folder, "visual_quality")
    return Copy(tuple(_asked(item, asset) for item in items), images.missing > 0)


def _prompt(folder: Path, criterion: str) -> PromptTemplate | None:
    """Return GEditBench's prompt for a pair if the copy has it: source, first and second edit, in
    this order.
    """
    name = f"vlm/assessment/{criterion}/pairwise"
    if file_of(folder, f"{PROMPTS}/{name}/v1.yaml") is None:
        return None
    asset = PromptAssetStore(folder / PROMPTS).get_prompt(name)
    texts = "\n\n".join(text for text in (asset.system, asset.user) if text).split(IMAGE_MARK)
    if len(texts) != 4:
        return None
    return of_copy(
        f"gedit-bench/{name}", "{}{{{{image}}}}{}{{{{a}}}}{}{{{{b}}}}{}".format(*texts), {}
    )


def _asked(item: Item, asset: PromptTemplate | None) -> Item:
    if asset is None or not item.images:
        return item
    about = Option(images=item.images)
    return replace(item, own=own_prompt(asset, {"instruction": item.request}, item.options, about))


def _quality(row: Row, images: Images) -> Item:
    key = str(row.need("key"))
    edited = row.need("edited_image_paths")
    options = tuple(Option(images=images.all(_local(name))) for name in edited)
    if len(options) != 2:
        raise row.fault("edited_image_paths", f"must name two images, got {len(options)}")
    source = images.all(_local(row.get("source_image_path")))
    cluster = name_of(row.get("source_image_path"), key)
    answer = row.one_of("winner", WINNERS)
    return Item(
        key,
        "visual_quality",
        cluster,
        str(row.get("instruction") or ""),
        options,
        answer,
        images=source,
    )


def _local(name: object) -> object:
    """Convert a name in the authors' storage to a path below the images; keep others."""
    return (
        name.partition("editreward_bench/")[2]
        if isinstance(name, str) and name.startswith("s3://")
        else name
    )


def read_editscore(folder: Path) -> Copy:
    """Return the pairs of every dimension whose map or rows the copy has."""
    home = _home(folder)
    maps = {
        path.stem.removeprefix(SHUFFLED): document(path)
        for path in sorted(home.glob(f"{SHUFFLED}*.json"))
    }
    files = tables(home / "EditReward-Bench", ("*.arrow", "*.parquet", "*.jsonl", "*.json"))
    files = files or tables(folder, ("*.arrow", "*.parquet", "*.jsonl"))
    if not files and not maps:
        raise DataError(
            f"{folder}: must hold EditReward-Bench/*.arrow or {SHUFFLED}*.json, found neither"
        )
    if not files:
        return Copy(tuple(_labels(maps)), True)
    images = Images(home, *(path.parent for path in files))
    assets = {dimension: _prompt(folder, criterion) for dimension, criterion in CRITERIA.items()}
    items = (_rated(row, maps, images) for path in files for row in records(path))
    asked = tuple(_asked(item, assets.get(item.task.partition("/")[0])) for item in items)
    return Copy(asked, images.missing > 0)


def _labels(maps: dict[str, dict[str, bool]]) -> Iterator[Item]:
    for dimension, turned in maps.items():
        for name, swapped in turned.items():
            task, source = name.rpartition("_task_")[2], name.partition("_vs_")[0]
            options, answer = (Option(), Option()), "B" if swapped else "A"
            yield Item(f"{dimension}/{name}", f"{dimension}/{task}", source, "", options, answer)


def _rated(row: Row, maps: dict[str, dict[str, bool]], images: Images) -> Item:
    dimension, task = (str(row.need(name)) for name in ("dimension", "task_type"))
    name = "_task_".join(("_vs_".join(row.need("key")), task))
    key = f"{dimension}/{name}"
    better, worse = (Option(images=images.all(image)) for image in row.need("output_images"))
    if name in maps.get(dimension, {}):
        swapped = maps[dimension][name]
        options, answer = ((worse, better), "B") if swapped else ((better, worse), "A")
    else:
        options, answer = dealt(key, better, worse)
    source, request = images.all(row.get("input_image")), str(row.get("instruction") or "")
    cluster = str(request or key)
    return Item(key, f"{dimension}/{task}", cluster, request, options, answer, images=source)


def _editscore(parts: tuple[str, ...]) -> tuple[Score, ...]:
    dimensions = tuple(dict.fromkeys(part.partition("/")[0] for part in parts))
    overall = ((name, tuple(p for p in parts if p.startswith(f"{name}/"))) for name in dimensions)
    every = (*overall, *((part, (part,)) for part in parts))
    return tuple(Score(f"editscore-bench/{name}", "read", tasks, 1.0, 4) for name, tasks in every)


EDITREWARD = Benchmark(
    "editreward-bench",
    "EditReward-Bench, visual quality, as GEditBench v2 carries it: pairs of edited images",
    "none stated (GEditBench v2); Apache-2.0 (TIGER-Lab/EditReward-Bench)",
    "evaluation only",
    "https://github.com/ZhangqiJiang07/GEditBench_v2",
    read_editreward,
    lambda parts: (Score("editreward-bench/visual_quality", "read", scale=1.0, digits=4),),
    f"{QUALITY}.jsonl and editreward_bench_images/; replies/MODEL.jsonl for replies",
    own=f"{PROMPTS}/vlm/assessment/visual_quality/pairwise/v1.yaml",
)
EDITSCORE = Benchmark(
    "editscore-bench",
    "EditScore's EditReward-Bench as GEditBench v2 carries it: pairs of edited images; "
    "consistency, prompt following",
    "Apache-2.0",
    "any",
    "https://huggingface.co/datasets/EditScore/EditReward-Bench",
    read_editscore,
    _editscore,
    f"EditReward-Bench/*.arrow, {SHUFFLED}*.json; replies/MODEL.jsonl for replies",
    own=f"{PROMPTS}/vlm/assessment/{{visual_consistency,instruction_following}}/pairwise/v1.yaml",
    hub="EditScore/EditReward-Bench",
)
