"""`visualjudge init FOLDER`: what it prints can be run, and it writes into no folder of
data."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest

from commanding import command
from visualjudge.apps.starting.folder_contents import look

BOX = {"image_id": 1, "category_id": 1, "bbox": [2, 2, 8, 8]}


def image(path: Path, pixels: np.ndarray | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rgb = np.random.default_rng(0).integers(0, 255, (24, 32, 3), np.uint8)
    cv2.imwrite(str(path), rgb if pixels is None else pixels)


def coco(folder: Path) -> None:
    image(folder / "images/a.png")
    truth = {
        "images": [{"id": 1, "file_name": "a.png", "width": 32, "height": 24}],
        "annotations": [{**BOX, "id": 1, "area": 64, "iscrowd": 0}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    (folder / "gt.json").write_text(json.dumps(truth))
    (folder / "detr.json").write_text(json.dumps([{**BOX, "score": 0.9}]))


def yolo(folder: Path) -> None:
    image(folder / "images/a.png")
    for name, line in {
        "labels": "0 0.5 0.5 0.4 0.4",
        "runs/v8/labels": "0 0.5 0.5 0.4 0.5 0.9",
    }.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "a.txt").write_text(f"{line}\n")
    (folder / "data.yaml").write_text("names: [cat]\n")


def votes(folder: Path) -> None:
    rows = [f"{k},detr,yolo,{'AB'[k % 2]},{'AB'[k % 2]}" for k in range(12)]
    header = "item,model_a,model_b,verdict,human"
    (folder / "votes.csv").write_text("\n".join([header, *rows]) + "\n")


def voc(folder: Path) -> None:
    image(folder / "JPEGImages/a.jpg")
    box = "<xmin>2</xmin><ymin>2</ymin><xmax>12</xmax><ymax>12</ymax>"
    item = f"<object><name>cat</name><bndbox>{box}</bndbox></object>"
    size = "<size><width>32</width><height>24</height><depth>3</depth></size>"
    (folder / "Annotations").mkdir()
    (folder / "Annotations/a.xml").write_text(
        f"<annotation><filename>a.jpg</filename>{size}{item}</annotation>"
    )


def depth(folder: Path) -> None:
    image(folder / "rgb/a.png")
    for name, scale in {"midas": 1100, "truth": 1000}.items():
        deep = np.full((24, 32), scale, np.uint16)
        image(folder / name / "a.png", deep + np.arange(32, dtype=np.uint16))


def label_maps(folder: Path) -> None:
    image(folder / "photos/a.png")
    for name in ("a_model", "gt"):
        image(folder / name / "a.png", np.eye(24, 32, dtype=np.uint8))
    (folder / "classes.csv").write_text("id,name\n0,wall\n1,line\n")


def panoptic(folder: Path) -> None:
    image(folder / "val/a.png")
    ids = np.zeros((24, 32, 3), np.uint8)
    ids[:12, :, 2] = 1
    part = {"id": 1, "category_id": 1, "area": 384, "iscrowd": 0}
    entry = {"image_id": 1, "file_name": "a.png", "segments_info": [part]}
    size = {"id": 1, "file_name": "a.png", "width": 32, "height": 24}
    truth = {
        "images": [size],
        "annotations": [entry],
        "categories": [{"id": 1, "name": "cat", "isthing": 1}],
    }
    for name, content in {"gt": truth, "net": {"annotations": [entry]}}.items():
        image(folder / name / "a.png", ids)
        (folder / f"{name}.json").write_text(json.dumps(content))


def restored(folder: Path) -> None:
    for k, name in enumerate(("clean", "net", "noisy")):
        rgb = np.random.default_rng(k).integers(0, 255, (24, 32, 3), np.uint8)
        image(folder / name / "a.png", rgb)


def generated(folder: Path) -> None:
    rows = ["output,prompt,source,score"]
    for k, name in enumerate(("flux", "sdxl")):
        image(folder / name / "a.png")
        rows.append(f"{name}/a.png,a red cube,{name},{3 + 4 * k}")
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")


def generated_below(folder: Path) -> None:
    generated(folder)
    (folder / "outputs").mkdir()
    for name in ("flux", "sdxl"):
        (folder / name).rename(folder / "outputs" / name)


def image_folder(folder: Path) -> None:
    rows = []
    for k in range(2):
        image(folder / f"train/{k}.png")
        row = {"file_name": f"{k}.png", "text": "a red cube", "score": 3 + k}
        rows.append(json.dumps(row))
    (folder / "train/metadata.jsonl").write_text("\n".join(rows) + "\n")


def told_by_endings(folder: Path) -> None:
    for k, end in enumerate(("gt", "rain", "net")):
        rgb = np.random.default_rng(k).integers(0, 255, (24, 32, 3), np.uint8)
        image(folder / f"1_{end}.png", rgb)
        image(folder / f"2_{end}.png", rgb)


def label_studio(folder: Path) -> None:
    image(folder / "images/a.png")
    box = {"x": 10, "y": 10, "width": 30, "height": 30, "rotation": 0}
    size = {"original_width": 32, "original_height": 24}
    result = {
        "type": "rectanglelabels",
        **size,
        "value": {**box, "rectanglelabels": ["cat"]},
        "from_name": "label",
        "to_name": "image",
    }
    task = {
        "id": 1,
        "data": {"image": "/data/upload/1/ab12cd34-a.png"},
        "annotations": [{"id": 1, "result": [result]}],
    }
    (folder / "export.json").write_text(json.dumps([task]))


def upscaled(folder: Path) -> None:
    for name, end, side in (("HR", "", 32), ("LR", "x4", 8), ("net", "", 32)):
        rgb = np.random.default_rng(side).integers(0, 255, (side, side, 3))
        image(folder / name / f"0{end}.png", rgb.astype(np.uint8))


def cvat(folder: Path) -> None:
    image(folder / "images/default/a.png")
    box = {"id": 0, "type": "bbox", "label_id": 0, "bbox": [2, 2, 8, 8]}
    size = {"path": "a.png", "size": [24, 32]}
    content = {
        "info": {},
        "categories": {"label": {"labels": [{"name": "cat"}]}},
        "items": [{"id": "a", "annotations": [box], "image": size}],
    }
    (folder / "annotations").mkdir()
    (folder / "annotations/default.json").write_text(json.dumps(content))


def labelme(folder: Path) -> None:
    image(folder / "a.png")
    ring = {"shape_type": "polygon", "points": [[2, 2], [9, 2], [9, 9]]}
    content = {
        "imagePath": "a.png",
        "imageHeight": 24,
        "imageWidth": 32,
        "shapes": [{"label": "cat", **ring}],
    }
    (folder / "a.json").write_text(json.dumps(content))


def parquet(folder: Path) -> None:
    image(folder / "a.png")
    picture = {"bytes": (folder / "a.png").read_bytes(), "path": "a.png"}
    (folder / "a.png").unlink()
    objects = {"bbox": [[2.0, 2.0, 8.0, 8.0]], "category": ["cat"]}
    (folder / "data").mkdir()
    pl.DataFrame(
        [{"image": picture, "image_id": 1, "objects": objects}]
    ).write_parquet(folder / "data/train-0.parquet")


def splits(folder: Path) -> None:
    for name in ("train", "val"):
        image(folder / "images" / name / f"{name}.png")
        (folder / "labels" / name).mkdir(parents=True)
        (folder / "labels" / name / f"{name}.txt").write_text("0 .5 .5 .4 .4\n")
    (folder / "data.yaml").write_text("names: [cat]\n")


def ultralytics(folder: Path) -> None:
    """The folder of `val` with `save_json`, `save_txt` and `save_conf`."""
    image(folder / "images/val/1.png")
    (folder / "labels/val").mkdir(parents=True)
    (folder / "labels/val/1.txt").write_text("0 .5 .5 .4 .4\n")
    (folder / "data.yaml").write_text("names: [cat]\n")
    for name in ("v8n", "v8s"):
        run = folder / "runs/detect" / name
        (run / "labels").mkdir(parents=True)
        (run / "labels/1.txt").write_text("0 .5 .5 .4 .5 .9\n")
        box = {**BOX, "file_name": "1.png", "score": 0.9}
        (run / "predictions.json").write_text(json.dumps([box]))
        image(run / "val_batch0_pred.jpg")


def results_of_one_name(folder: Path) -> None:
    coco(folder)
    text = (folder / "detr.json").read_text()
    (folder / "detr.json").unlink()
    for name in ("val", "val2"):
        (folder / "runs" / name).mkdir(parents=True)
        (folder / "runs" / name / "predictions.json").write_text(text)


def scenes_of_pairs(folder: Path) -> None:
    for scene in ("GOPR0384", "GOPR0385"):
        restored(folder / "test" / scene)
        for k, name in enumerate(("blur", "sharp")):
            rgb = np.random.default_rng(k).integers(0, 255, (24, 32, 3))
            image(
                folder / "test" / scene / name / "a.png", rgb.astype(np.uint8)
            )
            other = ("noisy", "clean")[k]
            shutil.rmtree(folder / "test" / scene / other)


def scenes_of_depth(folder: Path) -> None:
    for scene in ("kitchen_1", "office_2"):
        for k in range(2):
            image(folder / scene / f"rgb_{k}.jpg")
            deep = np.full((24, 32), 1000, np.uint16)
            deep += np.arange(32, dtype=np.uint16)
            image(folder / scene / f"sync_depth_{k}.png", deep)


def middlebury(folder: Path) -> None:
    for scene in ("Adirondack", "Jadeplant"):
        for name in ("im0", "im1"):
            image(folder / scene / f"{name}.png")
        disparity = np.linspace(9, 20, 24 * 32, dtype="<f4").tobytes()
        header = b"Pf\n32 24\n-1.0\n"
        (folder / scene / "disp0GT.pfm").write_bytes(header + disparity)


def split_sizes(folder: Path) -> None:
    image(
        folder / "HR/DIV_valid_HR/0801.png",
        np.eye(32, dtype=np.uint8)[..., None].repeat(3, 2) * 99,
    )
    image(
        folder / "LR_bicubic/X4/0801x4.png",
        np.eye(8, dtype=np.uint8)[..., None].repeat(3, 2) * 99,
    )


def captioned(folder: Path) -> None:
    image(folder / "0.png")
    (folder / "0.txt").write_text("a photo of a dog\n")


def arena(folder: Path) -> None:
    battle = {"model_a": "gpt", "model_b": "llava", "conversation_a": []}
    rows = [
        {
            "question_id": k,
            **battle,
            "winner": winner,
            "judge": f"arena_user_{k}",
        }
        for k, winner in enumerate(("model_a", "model_b", "tie"))
    ]
    (folder / "clean_battle.json").write_text(json.dumps(rows))


def turkers(folder: Path) -> None:
    rows = [
        f"H{k % 4},W{k // 4},Approved,a.png,{'AB'[k % 2]}" for k in range(12)
    ]
    header = "HITId,WorkerId,AssignmentStatus,Input.image,Answer.choice"
    (folder / "Batch_1.csv").write_text("\r\n".join([header, *rows]) + "\r\n")


def logged(folder: Path) -> None:
    rows = [
        {"doc_id": k, "target": "A", "doc": {}, "resps": [["A"]]}
        | {"filtered_resps": ["A"]}
        for k in range(3)
    ]
    (folder / "llava").mkdir()
    (folder / "llava/1_samples_bench.jsonl").write_text(
        "\n".join(map(json.dumps, rows))
    )
    (folder / "llava/1_results.json").write_text('{"results": {}, "config": 1}')


def ratings(folder: Path) -> None:
    """As ImagenHub publishes them."""
    (folder / "human/T2I").mkdir(parents=True)
    for k in (1, 2, 3):
        (folder / f"human/T2I/Text-To-Image_rater{k}.tsv").write_text(
            "uid\tSD\tSDXL\na.jpg\t[1, 0.5]\t[0.5, 1]\nb.jpg\t[0, 0.5]\t[1, 1]\n"
        )


@pytest.mark.parametrize(
    "make",
    [
        ultralytics,
        results_of_one_name,
        scenes_of_pairs,
        scenes_of_depth,
        middlebury,
        split_sizes,
        captioned,
        arena,
        turkers,
        logged,
        ratings,
        cvat,
        labelme,
        parquet,
        splits,
        coco,
        yolo,
        votes,
        voc,
        depth,
        label_maps,
        label_studio,
        panoptic,
        restored,
        upscaled,
        generated,
        generated_below,
        image_folder,
        told_by_endings,
    ],
)
def test_the_first_command_runs_as_printed(
    make: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    make(Path("mine"))
    before = sorted(Path().rglob("*"))
    printed = command("init", "mine").stdout
    assert sorted(Path().rglob("*")) == before
    own = (
        "next: visualjudge ",
        "then: visualjudge perturb",
        "then: visualjudge import",
    )
    lines = [line for line in printed.splitlines() if line.startswith(own)]
    assert lines
    for line in lines:
        words = shlex.split(line.partition("visualjudge ")[2])
        done = command(*words)
        assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize("make", [captioned, told_by_endings, scenes_of_pairs])
def test_the_folder_may_be_where_one_is(
    make: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert "next: visualjudge" in command("init").stdout


def test_every_scene_is_read(tmp_path: Path) -> None:
    scenes_of_pairs(tmp_path)
    first = look(tmp_path, lambda _header: False)[0]
    scenes = {"GOPR0384", "GOPR0385"}
    commands = (first.command, *first.then)
    assert scenes == {str(words[-3]).rstrip("_") for words in commands}


def test_a_model_is_named_by_what_its_path_has_alone(tmp_path: Path) -> None:
    ultralytics(tmp_path)
    printed = command("init", tmp_path).stdout
    assert "--source v8n" in printed
    assert f"--gt {tmp_path / 'labels/val'}" in printed
    assert f"--images {tmp_path / 'images/val'}" in printed


def test_labels_of_models_alone_are_no_ground_truth(tmp_path: Path) -> None:
    ultralytics(tmp_path)
    shutil.rmtree(tmp_path / "labels")
    sights = look(tmp_path, lambda _header: False)
    assert {sight.command for sight in sights} == {()}


def test_annotations_of_many_images_are_known_by_both_ends(
    tmp_path: Path,
) -> None:
    coco(tmp_path)
    truth = json.loads((tmp_path / "gt.json").read_text())
    size = truth["images"][0]
    truth["images"] = [
        {**size, "id": k, "file_name": f"{k}.png"} for k in range(3000)
    ]
    (tmp_path / "gt.json").write_text(json.dumps(truth))
    del truth["annotations"]
    (tmp_path / "a_test_info.json").write_text(json.dumps(truth))
    first = look(tmp_path, lambda _header: False)[0]
    assert first.path == tmp_path / "gt.json"


def test_images_by_class_are_photographs(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        image(tmp_path / "train" / name / "0001.jpg")
    first = look(tmp_path, lambda _header: False)[0]
    assert "by class" in first.text
    assert first.command[0] == "perturb"


def test_parts_of_a_data_set_are_no_models(tmp_path: Path) -> None:
    splits(tmp_path)
    command_of_labels = look(tmp_path, lambda _header: False)[0].command
    assert "--pred" not in command_of_labels
    assert tmp_path / "images/val" in command_of_labels
    assert tmp_path / "labels/val" in command_of_labels


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "samples.json",
            b'{"samples": [{"filepath": "data/a.png", "ground_truth": '
            b'{"_cls": "Detections", "detections": []}}]}',
            "FiftyOne",
        ),
        ("annotations.xml", b"<annotations><image/></annotations>", "CVAT"),
        ("data.zip", b"PK\x03\x04", "unpack"),
        ("gt/gt.txt", b"1,1,912,484,97,109,0,7,1\n", "MOTChallenge"),
        ("a.txt", b"4,5,20,15,1,4,0,0\r\n", "VisDrone"),
        ("a.txt", b"2. 2. 9. 2. 9. 9. 2. 9. plane 0\n", "DOTA"),
        ("a.txt", b"Car 0.00 0" + b" 1.5" * 12 + b"\n", "KITTI"),
        ("a.jpg.json", b'{"objects": [{"classTitle": "cat"}]}', "Supervisely"),
        ("train.csv", b"image_id,bbox\na,[1 2 3 4]\n", "arrays"),
        ("s.csv", b"image_id,PredictionString\na,1 0 0 5 5\n", "arrays"),
        (
            "p.csv",
            b"prompt,image_a,image_b,winner\np,a.png,b.png,A\n",
            "import outputs",
        ),
        (
            "p.jsonl",
            b'{"prompt": "p", "images": ["a", "b"]}\n',
            "a row for each",
        ),
        ("form.csv", b"Timestamp,Is it?\n2024/05/01,yes\n", "transpose"),
        ("m.csv", b"image,flux,sdxl\na.png,3,4.5\n", "unpivot(index='image'"),
        ("t_rater1.tsv", b"uid\tSD\na.jpg\t[1, 0.5]\n", "imagenhub"),
    ],
)
def test_what_is_to_be_written_otherwise_is_named(
    tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    image(tmp_path / "data/a.png")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    sights = look(tmp_path, lambda _header: False)
    [sight] = [sight for sight in sights if sight.path == tmp_path / name]
    assert told in sight.text
    assert sight.command == ()


def test_captions_are_not_what_detectors_are_compared_with(
    tmp_path: Path,
) -> None:
    coco(tmp_path)
    truth = json.loads((tmp_path / "gt.json").read_text())
    truth["annotations"] = [{"id": 1, "image_id": 1, "caption": "a cat"}]
    (tmp_path / "captions.json").write_text(json.dumps(truth))
    first = look(tmp_path, lambda _header: False)[0]
    assert first.path == tmp_path / "gt.json"


def test_masks_and_photographs_are_told_apart(tmp_path: Path) -> None:
    image(tmp_path / "photos/a.png")
    image(tmp_path / "masks/a.png", np.zeros((24, 32), np.uint8))
    first = look(tmp_path, lambda _header: False)[0]
    assert first.path == tmp_path / "masks"
    assert first.command[:3] == ("perturb", "--task", "semantic_segmentation")


@pytest.mark.parametrize(
    ("folder", "task"),
    [("sdxl", "generation_t2i"), ("lr", "lowlevel-super-resolution")],
)
def test_images_of_one_name_may_be_outputs_of_models(
    tmp_path: Path, folder: str, task: str
) -> None:
    for place in ("flux", folder):
        image(tmp_path / place / "0.png")
    sight = look(tmp_path, lambda _header: False)[0]
    assert sight.path == tmp_path
    assert sight.command[:4] == ("import", "outputs", "--task", task)


def test_images_of_one_folder_are_told_apart_by_how_their_names_end(
    tmp_path: Path,
) -> None:
    told_by_endings(tmp_path)
    printed = command("init", tmp_path).stdout
    assert "import pairs --task lowlevel-derain" in printed
    assert "--source net" in printed


def test_controlled_errors_are_planned_for_a_right_judge(
    tmp_path: Path,
) -> None:
    image(tmp_path / "a.png")
    assert "plan data --goal right" in command("init", tmp_path).stdout


def test_questions_with_options_are_asked_as_they_are(tmp_path: Path) -> None:
    header = "index,question,A,B,answer,image"
    (tmp_path / "data.csv").write_text(f"{header}\n0,q,a,b,A,none\n")
    assert f"mmbench infer {tmp_path}" in command("init", tmp_path).stdout


def test_a_table_alone_is_looked_at(tmp_path: Path) -> None:
    votes(tmp_path)
    assert "adopt" in command("init", tmp_path / "votes.csv").stdout
    assert command("init", tmp_path / "absent").returncode == 2


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert "nothing" in command("init", str(tmp_path)).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_table_is_verdicts_where_adopt_reads_its_columns(
    tmp_path: Path,
) -> None:
    tables = {
        "boxes.csv": "filename,x1,y1,x2,y2,label,score\na.png,1,1,2,2,cat,.5\n",
        "pairs.csv": "prompt,image_a,image_b,winner\np,a.png,b.png,A\n",
        "answers.csv": "question,choice,gold\nq,A,A\nr,B,A\n",
    }
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
    printed = command("init", tmp_path).stdout
    assert "adopt" in printed
    for name in tables:
        adopted = command(
            "adopt", tmp_path / name, "--out", tmp_path / f"out-{name}"
        )
        assert (adopted.returncode == 0) == (
            f"adopt {tmp_path / name}" in printed
        ), name


HALF = np.repeat(np.uint8([[0], [255]]), 12, axis=0).repeat(32, axis=1)
DEEP = np.ones((24, 32), np.uint16)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (
            ("gt.png", "lq_x4.png", "restored_net.png"),
            ("import", "pairs", "--task", "lowlevel-restore", "--gt", "gt.png"),
        ),
        (
            ("a_hr.png", "a_lr_x4.png", "b_hr.png", "b_lr_x4.png"),
            ("perturb", "--task", "lowlevel-super-resolution", "--gt"),
        ),
        (
            ("blurry.png", "restored_net.png"),
            ("import", "outputs", "--task", "lowlevel-deblur"),
        ),
        (
            (
                "masked_0.png",
                "masked_1.png",
                "restored_0.png",
                "restored_1.png",
            ),
            ("import", "outputs", "--task", "generation_inpainting_low_level"),
        ),
        (
            ("gt_disparity.png", "left.png", "pred_net.png"),
            ("import", "depth", "--task", "depth_estimation", "--gt"),
        ),
        (("high_tower.png", "tide_low.png"), ("perturb", "--task")),
    ],
)
def test_names_say_what_images_of_one_folder_are(
    tmp_path: Path, names: Sequence[str], words: Sequence[str]
) -> None:
    for name in names:
        deep = {"gt_disparity.png", "pred_net.png"} & {name}
        image(tmp_path / name, *([DEEP] if deep else []))
    if "masked_0.png" in names:
        image(tmp_path / "mask_0.png", HALF)
        image(tmp_path / "mask_1.png", HALF)
    first = look(tmp_path, lambda _header: False)[0]
    found = [
        word.name if isinstance(word, Path) else word for word in first.command
    ]
    assert found[: len(words)] == [*words]


@pytest.mark.parametrize(
    ("columns", "task"),
    [
        ("source,edited,instruction,model", "generation_editing"),
        ("image,mask,result,prompt", "generation_inpainting_high_level"),
        ("image,prompt", "generation_t2i"),
    ],
)
def test_a_table_of_images_is_imported_by_its_columns(
    tmp_path: Path, columns: str, task: str
) -> None:
    names = columns.split(",")
    for name in names:
        image(tmp_path / f"{name}.png", *([HALF] if name == "mask" else []))
    cells = ",".join(
        "text" if name in ("instruction", "prompt", "model") else f"{name}.png"
        for name in names
    )
    (tmp_path / "index.csv").write_text(f"{columns},votes\n{cells},3\n")
    line = command("init", tmp_path).stdout.partition("next: visualjudge ")[2]
    line = line.partition("\n")[0].replace(
        "--score-column NAME", "--score-column votes"
    )
    words = shlex.split(line.replace("--source NAME", "--source net"))
    assert task in words
    done = command(*words[:-1], tmp_path / "data")
    assert done.returncode == 0, done.stderr
