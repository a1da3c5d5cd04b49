"""Copies that keep a benchmark's tables in another format, or under another of its documented
names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apps.published import copies
from visualjudge.analysis.analysing import analyse
from visualjudge.apps.published.importing import import_benchmark
from visualjudge.apps.published.reading import document, records
from visualjudge.dataset.folder import load_dataset

Look = list[tuple[str, str | float, int, str]]


def judgebench(folder: Path) -> Path:
    pair = {"question": "2 + 2?", "response_A": "4", "response_B": "5", "source": "mmlu-pro-math"}
    rows = [{"pair_id": f"p{k}", **pair, "label": label} for k, label in enumerate(["A>B", "B>A"])]
    copies.write(folder / "data.jsonl", rows)
    copies.write(folder / "config.json", {"a": 1})
    return folder


def multimodal(folder: Path) -> Path:
    copies.image(folder / "data" / "1.png", 90)
    row = {
        "Category": "vqa",
        "Image": "1.png",
        "Text": "?",
        "Output1": "one",
        "Output2": "two",
        "Better": "Output2",
    }
    copies.write(folder / "data" / "all_data.json", [{"ID": f"x{k}", **row} for k in range(2)])
    return folder


def mllm(folder: Path) -> Path:
    """Labels of one type, as a column has them."""
    copies.mllm_judge(folder)
    path = folder / "Dataset" / "Benchmark" / "score.jsonl"
    rows = [
        row | {"human": None if row["human"] is None else float(row["human"])}
        for row in records(path)
    ]
    copies.write(path, rows)
    return folder


def vl(folder: Path) -> Path:
    row = {"id": "mmmu_1", "query": "What?", "response": ["one", "two"], "human_ranking": [1, 0]}
    copies.write(folder / "data" / "test.parquet", [row | {"image": copies.png(40)}])
    return folder


MLLM = "Dataset/Benchmark"
CASES: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "mllm-as-a-judge": (mllm, (f"{MLLM}/score.jsonl", f"{MLLM}/pair.jsonl", f"{MLLM}/batch.jsonl")),
    "mj-bench": (
        lambda folder: copies.mj_bench(folder, [0, 1, 0]),
        ("data/test-00000-of-00001.parquet",),
    ),
    "editreward-bench": (
        lambda folder: copies.editreward(folder, images=True),
        ("data/z_reward_bench/editreward_bench_visual_quality.jsonl",),
    ),
    "editscore-bench": (
        lambda folder: copies.editscore(folder, rows=True),
        ("data/z_reward_bench/EditReward-Bench/data-00000-of-00001.arrow",),
    ),
    "rewardbench-2": (copies.rewardbench2, ("data/test-00000-of-00001.parquet",)),
    "vision-judge": (
        lambda folder: copies.vision_judge(folder, images=True),
        ("final_format/instance_seg_pairwise_encoded.json",),
    ),
    "mmrb2": (copies.mmrb2, ("benchmark/edit.json",)),
    "genai-bench": (
        copies.genai_hub,
        tuple(
            f"{part}/{split}-00000-of-00001.parquet"
            for part in ("image_generation", "image_edition")
            for split in ("test_v1", "test")
        ),
    ),
    "vl-rewardbench": (vl, ("data/test.parquet",)),
    "judgebench": (judgebench, ("data.jsonl",)),
    "multimodal-rewardbench": (multimodal, ("data/all_data.json",)),
}


def on_disk(value: Any, home: Path, *, as_dict: bool) -> Any:
    """A value of a row with its pixels in files, named by a path or by the datasets library's
    object of one.
    """
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        name = f"pixels/{len(list(home.rglob('*.png')))}.png"
        (home / "pixels").mkdir(exist_ok=True)
        (home / name).write_bytes(value["bytes"])
        return {"path": name, "bytes": None} if as_dict else name
    if isinstance(value, dict):
        return {name: on_disk(inner, home, as_dict=as_dict) for name, inner in value.items()}
    return (
        [on_disk(inner, home, as_dict=as_dict) for inner in value]
        if isinstance(value, list)
        else value
    )


def shown(folder: Path) -> Look:
    return [(one.task, one.answer, len(one.images), one.prompt) for one in load_dataset(folder)]


@pytest.mark.parametrize(
    ("suffix", "as_dict"),
    [(".json", False), (".json", True), (".jsonl", False), (".parquet", False)],
)
@pytest.mark.parametrize("name", CASES)
def test_a_table_is_read_in_each_format(
    tmp_path: Path, name: str, suffix: str, as_dict: bool
) -> None:
    make, files = CASES[name]
    copy = make(tmp_path / "copy")
    before = import_benchmark(name, copy, tmp_path / "before" / "set")
    for path in (copy / file for file in files):
        held = document(path) if path.suffix == ".json" else records(path)
        rows = held["pairs"] if isinstance(held, dict) else held
        path.unlink()
        rows = rows if suffix == ".parquet" else on_disk(rows, path.parent, as_dict=as_dict)
        copies.write(path.with_suffix(suffix), rows)
    after = import_benchmark(name, copy, tmp_path / "after" / "set")
    assert shown(tmp_path / "after" / "set") == shown(tmp_path / "before" / "set")
    assert not after.labels_only and after.questions == before.questions > 0


# ---------------------------------------------------------------- MMRB2

HUB = {
    "prompt_source": "wise",
    "prompt_metadata": '{"id": 7}',
    "response_a_model": "x",
    "response_b_model": "y",
    "prompt_text": "Look: <image_1> and tell a story.",
    "response_a_text": "Once <image_1> upon <image_2>",
    "response_b_text": "",
}


def hub_row(name: str, chosen: str) -> dict[str, Any]:
    images = {
        "prompt_images": [copies.png(10)],
        "response_a_images": [copies.png(90), copies.png(120)],
    }
    return {
        "pair_id": name,
        "chosen": chosen,
        **HUB,
        **images,
        "response_b_images": [copies.png(200)],
    }


def judgements(folder: Path, name: str, said: dict[str, tuple[Any, Any]]) -> None:
    rows = {
        key: {
            way: [{"judgement": one, "evaluator": "e", "metadata": {}}]
            for way, one in zip(("forward", "reverse"), both, strict=True)
        }
        for key, both in said.items()
    }
    copies.write(folder / "evaluate/generate_judgements/outputs" / name, rows)


def test_mmrb2_reads_the_rows_of_the_hub(tmp_path: Path) -> None:
    copies.write(
        tmp_path / "copy" / "interleaved" / "test-00000-of-00001.parquet",
        [hub_row("p0", "a"), hub_row("p1", "B")],
    )
    done = import_benchmark("mmrb2", tmp_path / "copy", tmp_path / "out" / "set")
    first, second = load_dataset(tmp_path / "out" / "set")
    assert not done.labels_only and (first.answer, second.answer) == ("A", "B")
    assert first.image_id == second.image_id == "wise/7" and first.sources == ("x", "y")
    assert "Response A:\nOnce\n<image>\nupon\n<image>\n\nResponse B:\n<image>" in first.prompt


@pytest.mark.parametrize(
    "names",
    [
        ("sample_task1_image.json", "sample_task2_edit.json"),
        ("task1_sample.json", "task2_sample.json"),
    ],
)
def test_mmrb2_counts_each_task_and_all_as_its_script_does(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    """The same id in two tasks, and twice in one; a pair that is not judged; a judgement that was
    not read.
    """
    copy = tmp_path / "copy"
    side = {"model": "m", "response_content": [["image", "images/1.jpg"]]}
    pair = {"response_a": side, "response_b": side, "prompt_source": "wise", "prompt_metadata": {}}
    t2i = [
        {"pair_id": name, "human_preference": label, **pair}
        for name, label in zip("abcc", "ABAB", strict=True)
    ]
    edit = [{"id": name, "chosen": label, **pair} for name, label in zip("axy", "BAA", strict=True)]
    copies.write(copy / "benchmark" / "t2i_response_only.json", {"pairs": t2i})
    copies.write(copy / "benchmark" / "edit_response_only.jsonl", edit)
    judgements(
        copy,
        names[0],
        {"a": ("A", "B"), "b": ("B", None), "c": ("A", "A"), "of another release": ("A", "A")},
    )
    judgements(copy, names[1], {"a": ("B", "B"), "x": ("tie", "B")})
    done = import_benchmark("mmrb2", copy, tmp_path / "out" / "set", replies=["sample"])
    found = dict(analyse([done.runs[0][0]]).results.judges[0].as_published)
    # t2i: a 2 of 2, b 1 of 1, c 1 of 2 twice; edit: a 1 of 2, x 1 of 2.
    assert found == {"mmrb2": 63.64, "mmrb2/t2i": 71.43, "mmrb2/edit": 50.0}
    assert done.questions == 7 and done.labels_only
