"""Records of a data folder, as ``build`` reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corpus.workspace import (
    HEIGHT,
    POSE,
    WIDTH,
    Case,
    Json,
    dump,
    gray,
    photo,
    region,
    rle,
    truncated,
)

Change = Callable[[Json, Json, Path], Any]
"""``change(record, image index, folder)`` edits the record ``bad`` or the index of its task."""
WORDS = ("build", "{}/data", "--out", "{}/dataset", "--workers", "1")


def cases() -> Iterator[Case]:
    for task, changes in TABLES.items():
        for name, change in changes.items():
            yield Case(f"build {task}: {name}", _folder(task, change), WORDS)
    for name, more in OPTIONS.items():
        yield Case(
            f"build options: {name}",
            _folder("object_detection", lambda a, i, r: None),
            (*WORDS, *more),
        )
    for name, change in FILES.items():
        yield Case(
            f"build files: {name}", _folder("object_detection", lambda a, i, r: None, change), WORDS
        )


def _folder(
    task: str, change: Change, after: Callable[[Path], Any] = lambda root: None
) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        data = root / "data"
        photo(data / "a.png")
        photo(data / "b.png", seed=1)
        index: Json = {"a": {"file": "a.png"}, "b": {"file": "b.png"}}
        records: list[Json] = [
            {
                "annotation_id": name,
                "image_id": "b" if name == "bad" else "a",
                "task": task,
                "prompt": "the cat",
                "prediction": PREDICTION[task],
                "final_score": float(score),
            }
            for score, name in enumerate(("one", "two", "bad"), 1)
        ]
        records[0] = {**records[0], "prediction": OTHER[task]}
        if task in ("depth_estimation", "generation_t2i"):
            for k, file in enumerate(("p.npy", "q.npy")):
                np.save(
                    data / file,
                    np.linspace(1 + k, 5, WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)[:, :: 1 - 2 * k],
                )
            for k, file in enumerate(("p.png", "q.png")):
                photo(data / file, seed=5 + k)
        bad = records[2]
        bad["prediction"] = dict(bad["prediction"])
        change(bad, index, data)
        dump(data / f"images/{task}.json", index)
        dump(data / f"annotations/{task}_annotations.json", records)
        after(data)

    return make


def boxes(*items: Json) -> Json:
    return {"detections": list(items)}


def box(**fields: Any) -> Json:
    return {"label": "cat", "bbox": [1, 1, 9, 8], **fields}


PREDICTION: dict[str, Json] = {
    "object_detection": boxes(box()),
    "instance_segmentation": {"instances": [{"label": "cat", "segmentation": rle(region())}]},
    "semantic_segmentation": {"segments": [{"label": "road", "segmentation": rle(region())}]},
    "referring_segmentation": {"segmentation": rle(region())},
    "keypoint": {"persons": [{"keypoints": POSE}]},
    "depth_estimation": {"depth": "p.npy"},
    "generation_t2i": {"image": "p.png"},
}
OTHER: dict[str, Json] = {
    "object_detection": boxes(box(bbox=[8, 2, 18, 9])),
    "instance_segmentation": {
        "instances": [{"label": "cat", "segmentation": rle(region(8, 0, 20, 10))}]
    },
    "semantic_segmentation": {
        "segments": [{"label": "road", "segmentation": rle(region(8, 0, 20, 10))}]
    },
    "referring_segmentation": {"segmentation": rle(region(8, 0, 20, 10))},
    "keypoint": {"persons": [{"keypoints": [v + (k % 3 != 2) * 3 for k, v in enumerate(POSE)]}]},
    "depth_estimation": {"depth": "q.npy"},
    "generation_t2i": {"image": "q.png"},
}


def field(**values: Any) -> Change:
    return lambda a, i, r: a.update(values)


def predicted(**values: Any) -> Change:
    return lambda a, i, r: a.update(prediction=values)


def items(name: str, **values: Any) -> Change:
    return lambda a, i, r: a.update(prediction={name: [{**a["prediction"][name][0], **values}]})


RECORDS: dict[str, Change] = {
    "id is a number": field(annotation_id=7),
    "id is empty": field(annotation_id=""),
    "id occurs twice": field(annotation_id="one"),
    "id is too long": field(annotation_id="x" * 181),
    "id holds the image mark": field(annotation_id="a<image>"),
    "no score": lambda a, i, r: a.pop("final_score"),
    "score is a text": field(final_score="7"),
    "score is null": field(final_score=None),
    "score is true": field(final_score=True),
    "score is above 10": field(final_score=10.5),
    "score is below 0": field(final_score=-0.1),
    "score is NaN": field(final_score=float("nan")),
    "no image": lambda a, i, r: a.pop("image_id"),
    "image is unknown": field(image_id="z"),
    "image is a number": field(image_id=3),
    "task is another": field(task="keypoint"),
    "task is unknown": field(task="flying"),
    "classes are a text": field(class_of_interest="cat"),
    "class is a number": field(class_of_interest=[3]),
    "class is empty": field(class_of_interest=[""]),
    "error type is a number": field(error_type=3),
    "prompt is a list": field(prompt=["a"]),
    "prompt holds the image mark": field(prompt="see <image>"),
    "metadata is a text": field(metadata="none"),
    "no prediction": lambda a, i, r: a.pop("prediction"),
    "prediction is a list": field(prediction=[]),
    "prediction is of another task": predicted(persons=[]),
    "detections are a text": predicted(detections="none"),
    "detection is a number": predicted(detections=[3]),
    "box is missing": items("detections", bbox=None),
    "box has three numbers": items("detections", bbox=[1, 2, 3]),
    "box is turned": items("detections", bbox=[9, 8, 1, 1]),
    "box has a text": items("detections", bbox=["1", 2, 3, 4]),
    "box is infinite": items("detections", bbox=[0, 0, float("inf"), 4]),
    "label is missing": items("detections", label=None),
    "label is empty": items("detections", label=" "),
    "label is a number": items("detections", label=3),
    "label has two lines": items("detections", label="a\nb"),
    "label holds the image mark": items("detections", label="<image>"),
    "confidence is a text": items("detections", score="high"),
    "image record is a text": lambda a, i, r: i.update(b="b.png"),
    "image record has no file": lambda a, i, r: i.update(b={}),
    "image record has a url alone": lambda a, i, r: i.update(b={"url": "http://x/y.png"}),
    "image file is not there": lambda a, i, r: i.update(b={"file": "z.png"}),
    "image file leaves the folder": lambda a, i, r: i.update(b={"file": "../b.png"}),
    "image file is absolute": lambda a, i, r: i.update(b={"file": "/etc/passwd"}),
    "image file is a text": lambda a, i, r: dump(r / "b.png", "no"),
    "image file is cut short": lambda a, i, r: truncated(r / "b.png"),
    "image width is another": lambda a, i, r: i.update(b={"file": "b.png", "width": 5}),
    "image width is a text": lambda a, i, r: i.update(b={"file": "b.png", "width": "20"}),
    "image mask is of another size": lambda a, i, r: [
        gray(r / "m.png", np.ones((4, 4), np.uint8) * 255),
        i.update(b={"file": "b.png", "mask": "m.png"}),
    ],
    "image control is not there": lambda a, i, r: i.update(b={"file": "b.png", "control": "c.png"}),
}
TABLES: dict[str, dict[str, Change]] = {
    "object_detection": RECORDS,
    "instance_segmentation": {
        "mask is missing": items("instances", segmentation=None),
        "mask is of another size": items("instances", segmentation=rle(np.ones((4, 4)))),
        "mask file is not there": items("instances", segmentation="m.png"),
        "mask file leaves the folder": items("instances", segmentation="../m.png"),
        "mask file is a photograph": items("instances", segmentation="a.png"),
        "mask counts are nonsense": items(
            "instances", segmentation={"size": [10, 20], "counts": "~~"}
        ),
    },
    "semantic_segmentation": {
        "neither segments nor map": predicted(),
        "map without classes": predicted(label_map="a.png"),
        "map class is a text": predicted(label_map="a.png", classes={"road": "1"}),
        "map is not there": predicted(label_map="z.png", classes={"1": "road"}),
    },
    "referring_segmentation": {
        "no region": predicted(),
        "no expression": field(prompt=None),
        "expression is empty": field(prompt="  "),
    },
    "keypoint": {
        "fifty numbers": items("persons", keypoints=POSE[:-1]),
        "numbers as texts": items("persons", keypoints=["1"] * 51),
        "a number is NaN": items("persons", keypoints=[float("nan"), *POSE[1:]]),
        "persons are missing": predicted(),
    },
    "depth_estimation": {
        "no map": predicted(),
        "map is not there": predicted(depth="z.npy"),
        "map is a colour image": predicted(depth="a.png"),
        "scale is nought": predicted(depth="p.npy", scale=0),
        "scale is a text": predicted(depth="p.npy", scale="1"),
        "map is a number": predicted(depth=3),
    },
    "generation_t2i": {
        "no image": predicted(),
        "image is not there": predicted(image="z.png"),
        "image is a number": predicted(image=3),
        "image leaves the folder": predicted(image="/etc/hosts"),
    },
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "unknown task": ("--task", "flying"),
    "task without records": ("--task", "keypoint"),
    "unknown subset": ("--subset", "all"),
    "no workers": ("--workers", "0"),
    "unknown engine": ("--engine", "cloud"),
    "too many ranked": ("--per-group", "6"),
    "negative count": ("--judge-pairs", "-1"),
    "negative margin": ("--min-margin", "-1"),
    "margin that no pair has": (
        "--min-margin",
        "11",
        "--scoring-groups",
        "0",
        "--ranking-groups",
        "0",
    ),
}


def annotations(text: str) -> Callable[[Path], Any]:
    return lambda data: dump(data / "annotations/object_detection_annotations.json", text)


FILES: dict[str, Callable[[Path], Any]] = {
    "annotations are empty": annotations(""),
    "annotations are an object": annotations("{}"),
    "annotations are cut short": annotations('[{"annotation_id": "one"'),
    "annotations are an empty array": annotations("[]"),
    "annotations are numbers": annotations("[1, 2]"),
    "images are an array": lambda data: dump(data / "images/object_detection.json", "[]"),
    "images are not JSON": lambda data: dump(data / "images/object_detection.json", "{"),
    "no annotations folder": lambda data: (data / "annotations").rename(data / "notes"),
    "two files of a task": lambda data: dump(
        data / "annotations/object_detection_annotations.jsonl", ""
    ),
    "parquet is a text": lambda data: [
        dump(data / "annotations/object_detection_annotations.parquet", "no"),
        (data / "annotations/object_detection_annotations.json").unlink(),
    ],
}
