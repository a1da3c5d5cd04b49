"""Small copies of benchmarks, in the form of their own files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from visualjudge.vision.raster.images import write_png


def write(path: Path, value: Any) -> Path:
    """JSON, JSON lines, CSV, TSV, Parquet or an Arrow stream, by the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _WRITERS.get(path.suffix, _json)(path, value)
    return path


def _json(path: Path, value: Any) -> None:
    path.write_bytes(orjson.dumps(value))


def _lines(path: Path, value: Any) -> None:
    path.write_bytes(b"\n".join(orjson.dumps(row) for row in value))


def _csv(path: Path, value: Any) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(
            file,
            list(value[0]),
            delimiter="\t" if path.suffix == ".tsv" else ",",
        )
        writer.writeheader()
        writer.writerows(value)


def _parquet(path: Path, value: Any) -> None:
    pq.write_table(pa.Table.from_pylist(value), path)


def _arrow(path: Path, value: Any) -> None:
    table = pa.Table.from_pylist(value)
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as writer,
    ):
        writer.write_table(table)


_WRITERS: dict[str, Callable[[Path, Any], None]] = {
    ".jsonl": _lines,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
}


def pixels(level: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.full((20, 24, 3), level, np.uint8)


def image(path: Path, level: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        write_png(path, pixels(level))
    else:
        Image.fromarray(pixels(level)).save(path)
    return path


def png(level: int) -> dict[str, Any]:
    """An image as the datasets library keeps it in a row."""
    buffer = io.BytesIO()
    Image.fromarray(pixels(level)).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": f"{level}.png"}


def mllm_judge(folder: Path) -> Path:
    about = {
        "instruction": "What is it?",
        "image_path": "image/1.jpg",
        "original_dataset": "coco",
    }
    image(folder / "Dataset" / "image" / "1.jpg", 90)
    texts = [
        {"name": name, "answer": f"It is {name}."}
        for name in ("gpt4", "llava", "gemini")
    ]
    scores = [
        {"score_id": k, "name": "gpt4", "answer": "A cat.", "human": h, **about}
        for k, h in enumerate([1, "3", 5])
    ]
    scores.append(
        {
            "score_id": 3,
            "name": "gpt4",
            "answer": "A cat.",
            "human": None,
            **about,
        }
    )
    pairs = [
        {
            "pair_id": k,
            "answer1": texts[0],
            "answer2": texts[1],
            "human_answer": label,
            **about,
        }
        for k, label in enumerate("ABC")
    ]
    batches = [{"id": 7, "answers": texts, "human_answer": "BAC", **about}]
    said = {
        "score": (scores, ["[[1]]", "Judgement: [[4]]", "[[5]]", "[[2]]"]),
        "pair": (pairs, ["[[A]]", "[[A]]", "so [[C]]"]),
        "batch": (batches, ["[[A]], [[C]], [[B]]"]),
    }
    for mode, (rows, replies) in said.items():
        write(folder / "Dataset" / "Benchmark" / f"{mode}.jsonl", rows)
        judged = [
            {**row, "mllm_judge": text}
            for row, text in zip(rows, replies, strict=True)
        ]
        write(folder / "benchmark_result" / f"{mode}_gpt-4o.jsonl", judged)
    return folder


def editreward(folder: Path, *, images: bool) -> Path:
    base = "s3://store/editreward_bench"
    rows = []
    for k, winner in enumerate(["Image A", "Image B", "Image B"]):
        names = [
            f"{part}/{k}.png"
            for part in ("input", "candidate_1", "candidate_2")
        ]
        rows.append(
            {
                "key": f"k{k}",
                "instruction": "Add a hat.",
                "source_image_path": f"{base}/{names[0]}",
                "winner": winner,
            }
            | {"edited_image_paths": [f"{base}/{name}" for name in names[1:]]}
        )
        for level, name in enumerate(names) if images else ():
            image(
                folder / "data/z_reward_bench/editreward_bench_images" / name,
                60 * level + k,
            )
    write(
        folder / "data/z_reward_bench/editreward_bench_visual_quality.jsonl",
        rows,
    )
    said = [
        {"id": "k0", "value": "A"},
        {"id": "k1", "value": "A"},
        {"id": "k2", "value": "Failed"},
    ]
    write(folder / "replies" / "pvc.jsonl", said)
    return folder


def editscore(folder: Path, *, rows: bool) -> Path:
    home = folder / "data/z_reward_bench"
    turned = {"a_vs_b_task_color_alter": True, "a_vs_c_task_color_alter": False}
    write(home / "shuffled_editscore_bench_consistency.json", turned)
    table = [
        {
            "key": ["a", other],
            "instruction": "Make it red.",
            "input_image": png(10),
            "task_type": "color_alter",
        }
        | {"output_images": [png(100), png(200)], "dimension": "consistency"}
        for other in "bc"
    ]
    if rows:
        write(home / "EditReward-Bench" / "data-00000-of-00001.arrow", table)
    said = [{"id": f"consistency/{name}", "value": "B"} for name in turned]
    write(folder / "replies" / "pvc.jsonl", said)
    return folder


def imagenhub(folder: Path) -> Path:
    """Two models, five images, two people; the judge of the second model has one image
    without PQ.
    """
    task = "Text-Guided_IG"
    for rater in (1, 2):
        rows = [
            {
                "uid": f"s{k}.jpg",
                "SD": f"[{k / 8},{1 - k / 8}]",
                "SDXL": f"[{(k * 3 % 5) / 4}, {k / 4}]",
            }
            for k in range(5)
        ]
        write(folder / "human" / task / f"Text-To-Image_rater{rater}.tsv", rows)
    said = {
        "SD": ([1, 2, 4, 3, 9], [5, 4, 3, 2, 1]),
        "SDXL": ([[3, 9], 8, 4.5, 9, 2], [1, 2, 3, 4, None]),
    }
    for model, parts in said.items():
        for part, values in zip(("SC", "PQ"), parts, strict=True):
            held = {
                f"s{k}.jpg": {"score": v if isinstance(v, list) else [v]}
                for k, v in enumerate(values)
                if v
            }
            write(
                folder
                / "results_gpt4o"
                / f"ImagenHub_{task}"
                / model
                / f"{part}.json",
                held,
            )
    return folder


def mmrb2(folder: Path) -> Path:
    """A complete copy: prompts and images are there. The sample judge says the first
    response in either order.
    """
    rows = []
    for k, chosen in enumerate("AABA"):
        names = [f"images/{k}{side}.jpg" for side in ("in", "a", "b")]
        for level, name in enumerate(names):
            image(folder / "benchmark" / name, 70 * level + k)
        a, b = (
            {
                "model_name": "m",
                "response_content": [["image", name], ["text", "Done."]],
            }
            for name in names[1:]
        )
        prompt = [["text", "Add a hat."], ["image", names[0]]]
        rows.append(
            {
                "id": f"p{k}",
                "prompt_content": prompt,
                "response_a": a,
                "response_b": b,
                "chosen": chosen,
            }
        )
    write(folder / "benchmark" / "edit.json", {"pairs": rows})
    said = {
        row["id"]: {
            "forward": [{"judgement": "A"}],
            "reverse": [{"judgement": "B"}],
        }
        for row in rows
    }
    write(folder / "outputs" / "sample_task2_edit.json", said)
    return folder


def genai_splits(part: str) -> dict[str, list[dict[str, Any]]]:
    """A part of GenAI-Bench as the Hub has it: the votes that were published, and later
    ones."""
    about: dict[str, Any] = {"left_model": "x", "right_model": "y"}
    if part == "image_generation":
        about |= {
            "prompt": "a cat",
            "left_image": png(10),
            "right_image": png(200),
        }
    else:
        about |= {
            "source_prompt": "a cat",
            "target_prompt": "a cat in a hat",
            "instruct_prompt": "add a hat",
        }
        about |= {
            "source_image": png(90),
            "left_output_image": png(10),
            "right_output_image": png(200),
        }
    votes = [
        {**about, "vote_type": vote} for vote in ("leftvote", "bothbad_vote")
    ]
    return {"test": [*votes, *votes], "test_v1": votes}


def genai_hub(folder: Path) -> Path:
    for part in ("image_generation", "image_edition"):
        for split, rows in genai_splits(part).items():
            write(folder / part / f"{split}-00000-of-00001.parquet", rows)
    return folder


def imagereward(folder: Path) -> Path:
    """Three images of a prompt, two of which are equally good, and a judge that says
    A."""
    names = [f"images/0/{k}.webp" for k in range(3)]
    for k, name in enumerate(names):
        image(folder / "data/test_images" / name, 60 * k)
    rows = [
        {
            "id": "p0",
            "prompt": "a cat",
            "generations": names,
            "ranking": [2, 1, 2],
        }
    ]
    write(folder / "data" / "test.json", rows)
    said = [
        {"id": f"p0/{pair}", "response": "[[A]]"} for pair in ("0/1", "1/2")
    ]
    write(folder / "replies" / "mine.jsonl", said)
    return folder
