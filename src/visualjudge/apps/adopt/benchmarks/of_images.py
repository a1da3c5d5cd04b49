"""Benchmarks of images that models made or edited: each with its layout below its row.
Answers are in ``of_answers.py``.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from visualjudge.analysis.figures.published_scores import Score
from visualjudge.apps.adopt.adopted_question import Item, Option, Reply, dealt
from visualjudge.apps.adopt.benchmarks.layout import (
    Benchmark,
    JudgeFile,
    Pairs,
    Study,
    by_part,
)
from visualjudge.apps.adopt.files import (
    Images,
    Row,
    at,
    contents,
    first_tables,
    records,
)
from visualjudge.core import jsons
from visualjudge.core.records import FAILED, TIES

# -------------------------------------------------------------- genai_bench

GENAI_BENCH_PARTS = ("image_generation", "image_edition", "video_generation")
GENAI_BENCH_MARKS = {
    "A>B": "A",
    "A>>B": "A",
    "B>A": "B",
    "B>>A": "B",
    "A=B": "tie",
    "A=B=Good": "tie",
}
GENAI_BENCH_MARKS |= {"A=B=Bad": "both_bad"}
GENAI_BENCH_LABELS = Pairs(
    {
        "key": ("idx",),
        "truth": ("human_vote", "vote_type"),
        "request": (
            "instruct_prompt",
            "prompt",
            "target_prompt",
            "source_prompt",
        ),
        "model": ("{}_model",),
    },
    {
        "leftvote": "A",
        "rightvote": "B",
        "tievote": "tie",
        "bothbad_vote": "both_bad",
    },
    ("left", "right"),
    TIES,
)
GENAI_BENCH_SHOWN = {
    "image": ("source_image",),
    "made": ("{}_image", "{}_output_image"),
}
GENAI_BENCH_PAIRS = replace(
    GENAI_BENCH_LABELS,
    fields={**GENAI_BENCH_LABELS.fields, **GENAI_BENCH_SHOWN},
)


def read_genai_bench(folder: Path, files: Sequence[JudgeFile]) -> Study:
    """Return the votes of every part, one cluster for each prompt."""
    home = folder / "results" if (folder / "results").is_dir() else folder
    images = Images(home, *(home / part for part in GENAI_BENCH_PARTS))
    items: dict[str, Item] = {}
    for part in GENAI_BENCH_PARTS:
        splits = first_tables((home / part,), "test_v1*.parquet", "*.parquet")
        for idx, row in enumerate(
            row for path in splits for row in records(path)
        ):
            items[f"{part}/{idx}"] = GENAI_BENCH_PAIRS.item(
                row, part, images, f"{part}/{idx}"
            )
    for path, match in sorted(
        files, key=lambda file: GENAI_BENCH_PARTS.index(file[1]["part"])
    ):
        for row in records(path):
            key = f"{match['part']}/{row.need('idx')}"
            item = GENAI_BENCH_LABELS.item(row, match["part"], images, key)
            before = items.setdefault(key, item)
            if before.answer != item.answer:
                raise row.fault(
                    "human_vote", "differs from another model's file"
                )
            # Files of some models lack the prompts.
            items[key] = replace(before, request=before.request or item.request)
    first: dict[tuple[str, str], str] = {}
    for key, item in items.items():
        if item.request:
            cluster = first.setdefault((item.task, item.request), key)
            items[key] = replace(item, cluster=cluster)
    return Study(list(items.values()), images.missing)


def genai_bench_replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the votes of a model on one part."""
    for row in records(path):
        right = row.get("correct")
        yield Reply(
            f"{match['part']}/{row.need('idx')}",
            value=GENAI_BENCH_MARKS.get(
                str(row.get("model_vote")).strip("[]"), FAILED
            ),
            text=None if row.get("response") is None else str(row["response"]),
            right=right if isinstance(right, bool) else None,
        )


GENAI_BENCH = Benchmark(
    "GenAI-Bench: generated and edited images, generated videos; people's votes with "
    "ties",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/GenAI-Bench",
    "{image_generation,image_edition,video_generation}/MODEL/pairwise.json, "
    "{image_generation,image_edition}/*.parquet",
    read_genai_bench,
    by_part("genai-bench", "exact"),
    (
        rf"(?:results/)?(?P<part>{'|'.join(GENAI_BENCH_PARTS)})/(?P<judge>[^/]+)/pairwise\.jsonl?",
    ),
    genai_bench_replies,
)
"""GenAI-Bench (Jiang et al. 2024, TIGER-AI-Lab/GenAI-Bench): votes of people on pairs
of generated images and videos.

``FOLDER/{image_generation,image_edition,video_generation}/MODEL/pairwise.json``:
``idx``, the text fields of the prompt, ``response``, ``model_vote``, ``human_vote``,
``correct``. Its score is the share of ``correct`` over all votes, including both kinds
of ties. These files have no images;
``FOLDER/{image_generation,image_edition}/*.parquet``, as on the Hub, do: ``idx`` is the
position of a row there. Of several splits ``test_v1`` is read, to which the published
votes belong, or else the first.
"""


# -------------------------------------------------------------- imagenhub

IMAGENHUB_PARTS = ("SC", "PQ", "O")
IMAGENHUB_PREFIX = "ImagenHub_"


def read_imagenhub(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return one question per image and part (SC, PQ, O); the answer is the mean of
    people's scores, 0 to 10.
    """
    tables = sorted(folder.rglob("*_rater*.tsv"))
    tasks = dict.fromkeys(
        path.parent for path in tables if "human" in path.as_posix()
    )
    return Study([item for task in tasks for item in _imagenhub_items(task)])


def _imagenhub_items(folder: Path) -> Iterator[Item]:
    name = folder.name.removeprefix(IMAGENHUB_PREFIX)
    ratings: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for path in sorted(folder.glob("*_rater*.tsv")):
        for row in records(path):
            for model, cell in row.items():
                if model != "uid" and cell:
                    ratings[str(row.need("uid")), model].append(
                        _imagenhub_rating(row, model)
                    )
    for (uid, model), shares in ratings.items():
        for part, values in zip(
            IMAGENHUB_PARTS, zip(*shares, strict=True), strict=True
        ):
            score = sum(values) / len(values) * 10
            key = f"{name}/{part}/{model}/{uid}"
            task = f"{name}/{part}"
            yield Item(
                key,
                task,
                f"{name}/{uid}",
                "",
                (Option(source=model),),
                score,
                kind="scoring",
            )


def _imagenhub_rating(row: Row, model: str) -> tuple[float, ...]:
    try:
        first, second = map(float, jsons.loads(row[model]))
    except (ValueError, TypeError):
        raise row.fault(
            model, f"must be [SC, PQ], got {row[model]!r}"
        ) from None
    return first, second, math.sqrt(first * second)


def imagenhub_replies(path: Path, match: re.Match[str]) -> Iterator[Reply]:
    """Yield the scores of a judge for the images of one model."""
    task = match["task"]
    model = match["model"]
    beside = path.with_name("PQ.json")
    both = [contents(file) if file.is_file() else {} for file in (path, beside)]
    for uid in both[0] | both[1]:
        lists = [at(held, uid) for held in both]
        least = [
            min(_imagenhub_numbers(answer), default=-1.0) for answer in lists
        ]
        shares = [_imagenhub_share(answer) for answer in lists]
        whole = _imagenhub_with_root(
            [share * 10 for share in shares],
            math.sqrt(abs(math.prod(shares))) * 10,
        )
        values = _imagenhub_with_root(least, math.sqrt(abs(math.prod(least))))
        for part, value, score in zip(
            IMAGENHUB_PARTS, values, whole, strict=True
        ):
            counted = FAILED if min(shares) < 0 else score
            if counted != FAILED or part != "O":
                yield Reply(
                    f"{task}/{part}/{model}/{uid}",
                    value=value if 0 <= value <= 10 else FAILED,
                    counted=counted,
                )


def _imagenhub_numbers(answer: Any) -> list[float]:
    """Return a judge's scores; empty if one of them is not a number."""
    values = answer.get("score") if isinstance(answer, dict) else None
    listed = values if isinstance(values, list) else [values]
    numbers = [
        float(v)
        for v in listed
        if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    return numbers if len(numbers) == len(listed) else []


def _imagenhub_share(answer: Any) -> float:
    """Return the score in their table as a share of 10, −1 if there is none."""
    numbers = _imagenhub_numbers(answer)
    if numbers and isinstance(answer["score"], list):
        numbers = [float(int(number)) for number in numbers]
    return min(max(min(numbers) / 10, 0.0), 1.0) if numbers else -1.0


def _imagenhub_with_root(
    scores: list[float], root: float
) -> tuple[float, float, float]:
    """Return SC, PQ and O; O is −1 if one of them is no score from 0 to 10."""
    return (
        scores[0],
        scores[1],
        root if all(0 <= score <= 10 for score in scores) else -1.0,
    )


def _imagenhub_scores(parts: tuple[str, ...]) -> tuple[Score, ...]:
    return tuple(
        Score(f"viescore/{part}", "viescore", (part,), 1.0, 4) for part in parts
    )


IMAGENHUB = Benchmark(
    "VIEScore on ImagenHub: scores of generated and edited images by people and judges",
    "MIT",
    "any",
    "https://github.com/TIGER-AI-Lab/VIEScore",
    "human/TASK/*_rater1.tsv …; JUDGE/TASK/MODEL/{SC,PQ}.json for replies",
    read_imagenhub,
    _imagenhub_scores,
    (
        rf"(?:.*/)?(?:results_)?(?P<judge>[^/]+)/(?:{IMAGENHUB_PREFIX})?(?P<task>[^/]+)/(?P<model>[^/]+)"
        r"/SC\.json",
    ),
    imagenhub_replies,
)
"""VIEScore on ImagenHub (Ku et al. 2024, TIGER-AI-Lab/VIEScore): scores of generated
images by people and judges.

``FOLDER/{human,_human_annotations}/[…/][ImagenHub_]TASK/*_rater{1,2,3}.tsv``: ``uid``
and one column per model with ``[SC, PQ]``, each 0, 0.5 or 1. Replies:
``FOLDER/[_answers/][results_]JUDGE/[ImagenHub_]TASK/MODEL/{SC,PQ}.json``: ``{uid:
{"score": […]}}``. A judge's list counts as its minimum; O is √(SC · PQ), for people
computed per person and then averaged. The files contain no images.

The scores in their table (``counted``) are computed as in the authors' notebook
(analyze_json.ipynb, ``map_to_nearest_higher``): scores in lists are truncated to
integers and clipped to 0 to 10, and means and roots are not rounded, which would
introduce ties. Images without both scores are left out.
"""


# -------------------------------------------------------------- imagereward


def read_imagereward(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return all pairs of images of different ranks."""
    data = folder / "data"
    images = Images(folder, data, folder / "test_images", data / "test_images")
    rows = [
        row
        for path in first_tables((folder, data), "test.*")[:1]
        for row in records(path)
    ]
    return Study(
        [item for row in rows for item in _imagereward_pairs(row, images)],
        images.missing,
    )


def _imagereward_pairs(row: Row, images: Images) -> Iterator[Item]:
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


IMAGEREWARD = Benchmark(
    "ImageReward: people's ranks of generated images, as pairs",
    "Apache-2.0",
    "any",
    "https://github.com/zai-org/ImageReward",
    "data/test.json and data/test_images/; replies/MODEL.jsonl for replies",
    read_imagereward,
    by_part("imagereward", "exact"),
)
"""ImageReward (Xu et al. 2023, zai-org/ImageReward): people's ranks of images of one
prompt.

``FOLDER/[data/]test.json``: ``id, prompt, generations`` (paths), ``ranking`` (1 is
best; equal ranks are ties, which its score leaves out). Each two images of different
ranks are a pair; the key determines which comes first. Images are below ``FOLDER``,
``data`` or ``data/test_images``. Its score is the share of pairs in people's order.
"""


# -------------------------------------------------------------- gedit

GEDIT_QUALITY = "editreward_bench_visual_quality"
GEDIT_SHUFFLED = "shuffled_editscore_bench_"
GEDIT_PAIRS = Pairs(
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


def _gedit_home(folder: Path) -> Path:
    inner = folder / "data" / "z_reward_bench"
    return inner if inner.is_dir() else folder


def read_editreward(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs judged for visual quality."""
    home = _gedit_home(folder)
    images = Images(home, home / "editreward_bench_images")
    tables = first_tables((home,), f"{GEDIT_QUALITY}.*")[:1]
    rows = [row for path in tables for row in records(path)]
    return Study(
        [GEDIT_PAIRS.item(row, "visual_quality", images) for row in rows],
        images.missing,
    )


def read_editscore(folder: Path, _: Sequence[JudgeFile]) -> Study:
    """Return the pairs of every dimension whose map or rows the copy has."""
    home = _gedit_home(folder)
    maps = {
        path.stem.removeprefix(GEDIT_SHUFFLED): contents(path)
        for path in sorted(home.glob(f"{GEDIT_SHUFFLED}*.json"))
    }
    homes = (home / "EditReward-Bench", home, home / "data")
    tables = first_tables(
        homes, "*.arrow", "*.parquet", "EditReward-Bench.*", "test*.*"
    )
    if not tables:
        return Study(
            [
                _gedit_label(part, *pair)
                for part in maps
                for pair in maps[part].items()
            ]
        )
    images = Images(home, *(path.parent for path in tables))
    items = [
        _gedit_rated(row, maps, images)
        for path in tables
        for row in records(path)
    ]
    return Study(items, images.missing)


def _gedit_label(dimension: str, name: str, swapped: bool) -> Item:
    task = name.rpartition("_task_")[2]
    source = name.partition("_vs_")[0]
    options = (Option(), Option())
    return Item(
        f"{dimension}/{name}",
        f"{dimension}/{task}",
        source,
        "",
        options,
        ("B" if swapped else "A"),
    )


def _gedit_rated(
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


def _gedit_by_dimension(parts: tuple[str, ...]) -> tuple[Score, ...]:
    dimensions = dict.fromkeys(part.partition("/")[0] for part in parts)
    every = (
        *[
            (name, tuple(p for p in parts if p.startswith(f"{name}/")))
            for name in dimensions
        ],
        *((part, (part,)) for part in parts),
    )
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
    f"{GEDIT_QUALITY}.jsonl and editreward_bench_images/; replies/MODEL.jsonl for replies",
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
    f"EditReward-Bench/*.arrow, {GEDIT_SHUFFLED}*.json; replies/MODEL.jsonl for replies",
    read_editscore,
    _gedit_by_dimension,
)
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
