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
            file, list(value[0]), delimiter="\t" if path.suffix == ".tsv" else ","
        )
        writer.writeheader()
        writer.writerows(value)


def _parquet(path: Path, value: Any) -> None:
    pq.write_table(pa.Table.from_pylist(value), path)


def _arrow(path: Path, value: Any) -> None:
    table = pa.Table.from_pylist(value)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
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
    about = {"instruction": "What is it?", "image_path": "image/1.jpg", "original_dataset": "coco"}
    image(folder / "Dataset" / "image" / "1.jpg", 90)
    texts = [{"name": name, "answer": f"It is {name}."} for name in ("gpt4", "llava", "gemini")]
    scores = [
        {"score_id": k, "name": "gpt4", "answer": "A cat.", "human": h, **about}
        for k, h in enumerate([1, "3", 5])
    ]
    scores.append({"score_id": 3, "name": "gpt4", "answer": "A cat.", "human": None, **about})
    pairs = [
        {"pair_id": k, "answer1": texts[0], "answer2": texts[1], "human_answer": label, **about}
        for k, label in enumerate("ABC")
    ]
    batches = [{"id": 7, "answers": texts, "human_answer": "CAB", **about}]
    said = {
        "score": (scores, ["[[1]]", "Judgement: [[4]]", "[[5]]", "[[2]]"]),
        "pair": (pairs, ["[[A]]", "[[A]]", "so [[C]]"]),
        "batch": (batches, ["[[A]], [[C]], [[B]]"]),
    }
    for mode, (rows, replies) in said.items():
        write(folder / "Dataset" / "Benchmark" / f"{mode}.jsonl", rows)
        judged = [{**row, "mllm_judge": text} for row, text in zip(rows, replies, strict=True)]
        write(folder / "benchmark_result" / f"{mode}_gpt-4o.jsonl", judged)
    return folder


def mj_bench(folder: Path, labels: list[int]) -> Path:
    rows = [
        {
            "caption": f"a cat {k}",
            "image0": png(40),
            "image1": png(200),
            "label": label,
            "category": "quality",
        }
        for k, label in enumerate(labels)
    ]
    write(folder / "data" / "test-00000-of-00001.parquet", rows)
    said = ["0", "1", "tie"]
    judged = [{"caption": row["caption"], "vlm_pred": said[k % 3]} for k, row in enumerate(rows)]
    write(folder / "results" / "gpt_quality.json", judged)
    return folder


def editreward(folder: Path, *, images: bool) -> Path:
    base = "s3://store/editreward_bench"
    rows = []
    for k, winner in enumerate(["Image A", "Image B", "Image B"]):
        names = [f"{part}/{k}.png" for part in ("input", "candidate_1", "candidate_2")]
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
            image(folder / "data/z_reward_bench/editreward_bench_images" / name, 60 * level + k)
    write(folder / "data/z_reward_bench/editreward_bench_visual_quality.jsonl", rows)
    said = [{"id": "k0", "value": "A"}, {"id": "k1", "value": "A"}, {"id": "k2", "value": "Failed"}]
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
    """Two models, five images, two people; the judge of the second model has one image without
    PQ.
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
            write(folder / "results_gpt4o" / f"ImagenHub_{task}" / model / f"{part}.json", held)
    return folder


def dsg_tifa160(folder: Path) -> Path:
    likert = [
        {
            "item_id": f"tifa160_{k}",
            "source_id": f"coco_{k}",
            "t2i_model": "sd1dot5",
            "worker_id": w,
            "answer": score,
        }
        for k, score in enumerate([1, 2, 4, 5])
        for w in range(2)
    ]
    write(folder / "dsg/data/tifa160-likert-anns.csv", likert)
    texts = [
        {"item_id": f"coco_{k}", "text": f"A cat {k}.", "proposition_id": 1, "dependency": 0}
        for k in range(4)
    ]
    write(folder / "dsg/data/tifa160-dev-anns.csv", texts)
    for k in range(4):
        image(folder / "tifa160" / f"coco_{k}_stable_diffusion_v1_5.jpg", 50 * k)
    # Image 0: no; 1: the child of a question answered no; 2: half; 3: all.
    answers = [("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes")]
    said = [
        {
            "qg_model": "dsg",
            "t2i_model": "sd1dot5",
            "item_id": f"tifa160_{k}",
            "question": "Is there a cat?",
        }
        | {"question_id": number, "dependency_id": number - 1, "answer": answer}
        for k, both in enumerate(answers)
        for number, answer in enumerate(both, 1)
    ]
    write(folder / "vqa_answers_release" / "mplug_dsg.csv", said)
    return folder


def t2vscore(folder: Path) -> Path:
    votes = {"gen2": [1.0, 4.0], "pika": [2.0, 5.0]}
    for part in ("alignment", "quality"):
        held = {
            str(k): {"prompt": f"a pig {k}", "models": {m: [v[k]] for m, v in votes.items()}}
            for k in range(2)
        }
        write(folder / "datasets" / f"t2vscore_{part}_score.json", held)
    metrics = {"CLIP Score": 20.0, "X-CLIP Score": 9.0, "BLIP-BLEU": 0.1}
    given = {("gen2", 0): 0.2, ("gen2", 1): 0.6, ("pika", 0): 0.4, ("pika", 1): 1.0}
    rows = [
        {
            "model_name": m,
            "video_id": k,
            "prompt": f"a pig {k}",
            **metrics,
            "T2VScore-A (GPT-4V)": value,
        }
        for (m, k), value in given.items()
    ]
    write(folder / "datasets" / "t2vscore_results.csv", rows)
    return folder


def rewardbench2(folder: Path) -> Path:
    rows = [
        {
            "id": f"p{k}",
            "prompt": "2 + 2?",
            "chosen": ["4"],
            "rejected": ["3", "5", "6"],
            "num_correct": 1,
        }
        | {"num_incorrect": 3, "models": ["a", "b", "c", "d"], "subset": "Math"}
        for k in range(3)
    ]
    write(folder / "data" / "test-00000-of-00001.parquet", rows)
    return folder


def vision_judge(folder: Path, *, images: bool) -> Path:
    head = (
        "This is an instance segmentation task. Given the original image <image>, which "
        "prediction result is better?\n"
    )
    end = "\nPlease answer with A or B directly."
    text = '{"instance_id":0,"label":"car","polygon":[[1.0,2.0]]}'
    about = {
        "task": "instance_segmentation",
        "image_id": "coco_1",
        "coi": ["car"],
        "model_name_a": "synthetic",
    }
    scores = {"final_score_a": 0.5, "final_score_b": 0.75, "model_name_b": "gt"}
    rows = [
        {
            "id": "0",
            "media": ["instance_seg/1.jpg", "media/a.jpg", "media/b.jpg"],
            "choices": ["A", "B"],
            "answer": "B",
        }
        | {
            "prompt": f"{head}A. <image>\nB. <image>{end}",
            "metadata": {**about, **scores, "encoding": "1"},
        },
        {"id": "1", "media": ["instance_seg/1.jpg"], "choices": ["A", "B"], "answer": "B"}
        | {
            "prompt": f"{head}A.\n{text}\n\nB.\n{text}{end}",
            "metadata": {**about, **scores, "encoding": "7"},
        },
    ]
    write(folder / "final_format" / "instance_seg_pairwise_encoded.json", rows)
    if images:
        image(folder / "final_format/final_images/instance_seg/1.jpg", 90)
        for k, name in enumerate("ab"):
            image(folder / "final_format/media" / f"{name}.jpg", 40 + 60 * k)
    return folder


def mmrb2(folder: Path) -> Path:
    """A complete copy: prompts and images are there. The sample judge says the first response in
    either order.
    """
    rows = []
    for k, chosen in enumerate("AABA"):
        names = [f"images/{k}{side}.jpg" for side in ("in", "a", "b")]
        for level, name in enumerate(names):
            image(folder / "benchmark" / name, 70 * level + k)
        a, b = (
            {"model_name": "m", "response_content": [["image", name], ["text", "Done."]]}
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
        row["id"]: {"forward": [{"judgement": "A"}], "reverse": [{"judgement": "B"}]}
        for row in rows
    }
    write(folder / "outputs" / "sample_task2_edit.json", said)
    return folder


def genai_splits(part: str) -> dict[str, list[dict[str, Any]]]:
    """A part of GenAI-Bench as the Hub has it: the votes that were published, and later ones."""
    about: dict[str, Any] = {"left_model": "x", "right_model": "y"}
    if part == "image_generation":
        about |= {"prompt": "a cat", "left_image": png(10), "right_image": png(200)}
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
    votes = [{**about, "vote_type": vote} for vote in ("leftvote", "bothbad_vote")]
    return {"test": [*votes, *votes], "test_v1": votes}


def genai_hub(folder: Path) -> Path:
    for part in ("image_generation", "image_edition"):
        for split, rows in genai_splits(part).items():
            write(folder / part / f"{split}-00000-of-00001.parquet", rows)
    return folder


def vision_judge_with_faults(folder: Path) -> Path:
    """Forty pairs of texts. A is always right, and longer; one pair is of identical texts, one has
    the wrong answer, one annotation has two scores, two images are the same, one is tiny.
    """
    rng = np.random.default_rng(7)
    rows = []
    for k in range(40):
        a, b = ("x" * 30, "x" * 30) if k == 1 else ("x" * (20 + k), "x" * (10 + k))
        scores = (0.25, 0.75) if k == 2 else (0.75, 0.25)
        about = {"encoding": "7", "image_id": f"coco_{k}", "ann_id_a": f"a{k}", "ann_id_b": f"b{k}"}
        if k == 4:  # an annotation of the pair before, with another score
            about |= {"image_id": "coco_3", "ann_id_a": "a3"}
            scores = (0.8, 0.25)
        rows.append(
            {
                "id": str(k),
                "media": [f"{k}.png"],
                "answer": "A",
                "metadata": {**about, "final_score_a": scores[0]},
            }
            | {
                "prompt": f"Original: <image>\nA.\n{a}\n\nB.\n{b}\nPlease answer with A or B "
                "directly."
            }
        )
        rows[-1]["metadata"]["final_score_b"] = scores[1]
        image_file = folder / f"{k}.png"
        side = 8 if k == 5 else 48
        image_file.parent.mkdir(parents=True, exist_ok=True)
        seen = rng if k != 7 else np.random.default_rng(6)
        drawn = (np.random.default_rng(6) if k == 6 else seen).integers(
            0, 255, (side // 8, side // 8, 3)
        )
        write_png(image_file, np.kron(drawn, np.ones((8, 8, 1))).astype(np.uint8))
    write(folder / "instance_seg_pairwise_encoded.json", rows)
    return folder
