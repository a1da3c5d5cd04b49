"""What the pages take for granted: files with the names that their commands use."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from making import make_folder, photograph
from visualjudge.vision.raster.images import write_png

ROOT = Path(__file__).parents[2]
IMAGES = 12
DEGRADED = ("blurred", "rainy", "snowy", "small", "noisy", "degraded")
RESTORERS = ["mprnet", "restormer", "snowformer", "esrgan", "swinir", "dncnn"]
SIZE = (72, 96)
Run = Callable[[str], object]


def make_workspace(home: Path, run: Run) -> None:
    """Files to import, and a study: data folder, dataset, and runs of three judges and
    of people.

    ``run`` runs a command in ``home``.
    """
    files_to_import(home)
    make_folder(home / "data", tasks=["object_detection", "keypoint"], images=3)
    notes = home / "data/annotations/object_detection_annotations.json"
    notes.write_text(
        notes.read_text("utf-8").replace("model-0", "yolo"), "utf-8"
    )
    run("visualjudge build data --out dataset --judge-pairs 12")
    judge = "visualjudge judge dataset --swap --backend baseline"
    for name, model in (
        ("gpt-4o-mini", "oracle:0.9"),
        ("qwen", "oracle:0.7"),
        ("local", "first"),
    ):
        run(f"{judge} --model {model} --set name={name} --out runs/{name}")
    _people(home)
    questions = json.loads((home / "dataset/questions.json").read_text("utf-8"))
    pairs = [q for q in questions if q["question_type"] == "pairwise"]
    (home / "questions.txt").write_text(
        "".join(f"{q['id']}\n" for q in pairs[:3])
    )
    shutil.copy(home / "dataset/questions.json", home)
    shutil.copytree(home / "dataset/media", home / "images/media")
    columns = "item,image,model_a,model_b,verdict,truth,judge"
    rows = [
        f"{k},{k % 5},detr,yolo,{'AB'[k % 3 == 0]},A,gpt-4o" for k in range(40)
    ]
    (home / "verdicts.csv").write_text("\n".join([columns, *rows]))
    scored = [
        f"{k},{k % 30},{1 + k % 5},{1 + (k + k // 9) % 5},gpt-4o"
        for k in range(60)
    ]
    header = "item,image,score,truth,judge"
    (home / "scores.csv").write_text("\n".join([header, *scored]))
    rated = [
        f"{i},{source},{rater},detection,{(i + 3 * k + len(source)) % 10}"
        for i in range(8)
        for source in ("yolo", "detr")
        for k, rater in enumerate(("anna", "ben", "gpt-4o"))
    ]
    (home / "people.csv").write_text(
        "\n".join(["item,source,rater,dimension,score", *rated])
    )
    _rows_of_edits(home)


def files_to_import(home: Path) -> None:
    """Ground truth, predictions and images in the formats that the pages import."""
    _coco(home)
    for k in range(2):
        picture = photograph(k, SIZE)
        for folder in (
            "leftImg8bit/val",
            "gtFine/val",
            "outputs",
            "rgb",
            "train2014",
        ):
            (home / folder).mkdir(parents=True, exist_ok=True)
        write_png(home / f"leftImg8bit/val/{k}_leftImg8bit.png", picture)
        write_png(home / f"rgb/{k}.png", picture)
        write_png(home / f"train2014/{k}.png", picture)
        classes = np.repeat(
            np.array([[1, 2]], np.uint8), SIZE[1] // 2, axis=1
        ).repeat(SIZE[0], 0)
        _grey(home / f"gtFine/val/{k}_gtFine_labelIds.png", classes)
        for shift, source in enumerate(("out", "segformer", "pspnet")):
            moved = np.roll(classes, 5 + k + shift, axis=1)
            _grey(home / f"{source}/{k}.png", moved)
        for clean in ("sharp", "clean", "original"):
            write_png(home / f"{clean}/{k}.png", picture)
        for bad in DEGRADED:
            write_png(home / f"{bad}/{k}.png", cv2.blur(picture, (9, 9)))
        if k == 0:
            write_png(home / "photos/0.png", picture)
        for width, source in enumerate(RESTORERS, start=3):
            write_png(
                home / f"{source}/{k}.png",
                cv2.blur(picture, (width + 2 * k, 3)),
            )
        for width, name in enumerate(("in", "control", "sdxl", "flux")):
            output = cv2.blur(picture, (1 + 2 * width, 1))
            write_png(home / f"outputs/{k}-{name}.png", output)
        depth = np.linspace(2, 20, SIZE[1], dtype=np.float32)
        depth = np.tile(depth, (SIZE[0], 1))
        _grey(home / f"depth/{k}.png", (depth * 256).astype(np.uint16))
        for error, source in enumerate(("midas", "dpt")):
            (home / source).mkdir(exist_ok=True)
            np.save(home / f"{source}/{k}.npy", 1 / (depth + k + error))
        _grey(home / f"outputs/{k}-mask.png", (classes == 1) * np.uint8(255))
    (home / "cityscapes.csv").write_text("id,name\n1,road\n2,sky\n")
    votes = [
        f"{k}-{source}.png,a red cube {k},{source},{int(source == 'flux')}"
        for k in range(2)
        for source in ("sdxl", "flux")
    ]
    (home / "votes.csv").write_text(
        "\n".join(["output,prompt,source,score", *votes])
    )
    _table(home / "outputs.csv", (1, 0.5))
    _table(home / "ratings.csv", (2, 4.5))
    _expressions(home)
    _imagenhub(home)


def one_task(home: Path, run: Run) -> None:
    """A plan is for one task: that of the data folder, and of the dataset of its
    pilot."""
    for path in (home / "data").glob("*/keypoint*.json"):
        path.unlink()
    run(
        "visualjudge build data --out dataset --force --subset encoding_analysis"
    )


def multiple_choice(home: Path) -> None:
    """The table of the page's script."""
    text = (ROOT / "docs/routes/multiple-choice.md").read_text("utf-8")
    [script] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for k, name in enumerate(("cup", "cat")):
        write_png(home / f"{name}.png", photograph(k, (16, 16)))
    exec(script, {})


def _coco(home: Path) -> None:
    rng = np.random.default_rng(0)
    people = {
        "images": [],
        "annotations": [],
        "categories": [{"id": 1, "name": "person"}],
    }
    things: dict[str, list[Any]] = {"images": [], "annotations": []}
    things["categories"] = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    found: dict[str, list[Any]] = {
        "detr": [],
        "yolo": [],
        "mask_rcnn": [],
        "cascade": [],
        "vitpose": [],
        "hrnet": [],
    }
    for k in range(IMAGES):
        write_png(home / f"val2017/{k}.png", photograph(k, (120, 160)))
        image = {"id": k, "file_name": f"{k}.png", "width": 160, "height": 120}
        things["images"].append(image)
        people["images"].append(image)
        points = [
            c
            for x, y in rng.integers(20, 100, (17, 2))
            for c in (float(x), float(y), 2)
        ]
        person = {"image_id": k, "category_id": 1, "keypoints": points}
        box = {
            "bbox": [15.0, 15.0, 90.0, 90.0],
            "area": 8100.0,
            "iscrowd": 0,
            "num_keypoints": 17,
        }
        people["annotations"].append({"id": k, **person, **box})
        for source, error in (("vitpose", 2.0), ("hrnet", 3.0)):
            moved = [v + error * (i % 3 < 2) for i, v in enumerate(points)]
            found[source].append({**person, "keypoints": moved, "score": 0.9})
        for label in (1, 2):
            corner = [float(rng.integers(5, 60)), float(rng.integers(5, 40))]
            thing = {"image_id": k, "category_id": label}
            things["annotations"].append(
                {
                    "id": 2 * k + label,
                    **thing,
                    **_shape(corner),
                    "area": 2000.0,
                    "iscrowd": 0,
                }
            )
            for source, error in (
                ("detr", 2.0),
                ("yolo", 9.0),
                ("mask_rcnn", 4.0),
                ("cascade", 7.0),
            ):
                shape = _shape(
                    [value + rng.uniform(0, error) for value in corner]
                )
                if source in ("detr", "yolo"):
                    del shape["segmentation"]
                found[source].append({**thing, **shape, "score": 0.9})
    _json(home / "instances_val.json", things)
    _json(home / "person_keypoints_val.json", people)
    for source, rows in found.items():
        _json(home / f"{source}.json", rows)


def _shape(corner: Sequence[float]) -> dict[str, Any]:
    x, y = corner
    outline = [x, y, x + 50, y, x + 50, y + 40, x, y + 40]
    return {"bbox": [x, y, 50.0, 40.0], "segmentation": [outline]}


def _expressions(home: Path) -> None:
    images = [
        {"id": k, "file_name": f"{k}.png", "width": 96, "height": 72}
        for k in range(2)
    ]
    regions = [
        {
            "id": k,
            "image_id": k,
            "category_id": 1,
            **_shape((10 + k, 10)),
            "iscrowd": 0,
        }
        for k in range(2)
    ]
    truth = {
        "images": images,
        "annotations": regions,
        "categories": [{"id": 1, "name": "cat"}],
    }
    _json(home / "instances.json", truth)
    sentences = [
        {
            "sent_id": 0,
            "raw": "the cat on the left",
            "sent": "the cat on the left",
        }
    ]
    refs = [
        {
            "ref_id": k,
            "ann_id": k,
            "image_id": k,
            "sentences": [{**sentences[0], "sent_id": k}],
        }
        for k in range(2)
    ]
    _json(home / "refs.json", refs)
    for source, corner in (("lavt", (14, 12)), ("lisa", (24, 12))):
        polygon = _shape(corner)["segmentation"]
        rows = [{"key": str(k), "segmentation": polygon} for k in range(2)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (home / f"{source}.jsonl").write_text(lines)


def _imagenhub(home: Path) -> None:
    root = home / "results/ImagenHub_Text-Guided_IE"
    for folder in ("input", "Edited"):
        for k in range(2):
            write_png(root / folder / f"{k}.png", photograph(k, SIZE))
    for rater in (1, 2):
        lines = [
            "uid\tEdited",
            *(f"{k}.png\t[{rater / 2}, 0.5]" for k in range(2)),
        ]
        (home / f"Text-Guided_IE_rater{rater}.tsv").write_text("\n".join(lines))
    prompts = {f"{k}.png": {"prompt": "remove the leash"} for k in range(2)}
    _json(root / "dataset_lookup.json", prompts)
    _json(home / "dataset_lookup.json", prompts)


def _people(home: Path) -> None:
    """Two raters who were asked half of the pairs of the dataset, in one order each."""
    manifest = json.loads((home / "runs/local/run.json").read_text("utf-8"))
    lines = (home / "runs/qwen/verdicts.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    (home / "runs/people").mkdir()
    with (home / "runs/people/verdicts.jsonl").open(
        "w", encoding="utf-8"
    ) as file:
        for row in rows[:60]:
            for repeat, rater in enumerate(("anna", "ben")):
                extra = {
                    "rater": rater,
                    "purpose": "question",
                    "repeat": repeat,
                }
                file.write(json.dumps({**row, **extra}) + "\n")
    _json(
        home / "runs/people/run.json",
        {**manifest, "backend": "people", "judge": "people"},
    )


def _rows_of_edits(home: Path) -> None:
    for k, name in enumerate(("in.png", "a.png", "b.png")):
        write_png(home / name, photograph(k, (16, 16)))
    text = (ROOT / "docs/judge-modules.md").read_text("utf-8")
    [config] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (home / "judges.yaml").write_text(config, "utf-8")
    row = {
        "key": "cup-1",
        "instruction": "make the cup blue",
        "input_image": "in.png",
    }
    _lines = json.dumps({**row, "edited_images": ["a.png", "b.png"]})
    (home / "rows.jsonl").write_text(_lines + "\n")


def _table(path: Path, scores: Sequence[float]) -> None:
    rows = [
        f"{k}-{source}.png,{score},{k}-in.png,{k}-control.png,{k}-mask.png,"
        f"a red cube,{k},{source}"
        for k in range(2)
        for source, score in zip(("sdxl", "flux"), scores, strict=True)
    ]
    header = "output,score,image,control,mask,prompt,image_id,source"
    path.write_text("\n".join([header, *rows]))


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), "utf-8")


def _grey(path: Path, pixels: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), np.ascontiguousarray(pixels))
