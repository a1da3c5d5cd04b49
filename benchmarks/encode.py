"""Time and memory of all encodings beside supervision's annotators, Pillow's and
OpenCV's PNG, and a naive blend.

Run: python benchmarks/encode.py [--rounds 7] [--memory] [--cpu]
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import io
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import skimage.data
from PIL import Image

import visualjudge
from visualjudge.vision.predictions import (
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    Person,
    WholeImage,
)
from visualjudge.vision.raster.images import png_bytes, write_png
from visualjudge.vision.raster.masks import mask_from_array

CLOCK = time.perf_counter
LABELS = [
    "person",
    "dog",
    "cup",
    "bench",
    "traffic light",
    "bird",
    "car",
    "chair",
    "bottle",
    "cat",
]


def photograph(width: int, height: int) -> np.ndarray:
    return cv2.resize(
        skimage.data.astronaut(), (width, height), interpolation=cv2.INTER_CUBIC
    )


def boxes(width: int, height: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 0.75 * width, 10), rng.uniform(0, 0.7 * height, 10)
    return np.stack(
        [
            x,
            y,
            x + rng.uniform(0.08, 0.24, 10) * width,
            y + rng.uniform(0.1, 0.28, 10) * height,
        ],
        axis=1,
    )


def ellipses(width: int, height: int) -> list[np.ndarray]:
    masks = []
    for x1, y1, x2, y2 in boxes(width, height):
        mask = np.zeros((height, width), np.uint8)
        center, axes = (
            (int((x1 + x2) / 2), int((y1 + y2) / 2)),
            (int((x2 - x1) / 2), int((y2 - y1) / 2)),
        )
        cv2.ellipse(mask, center, axes, 15, 0, 360, 1, -1)
        masks.append(mask > 0)
    return masks


def classes_map(width: int, height: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    noise = [
        cv2.resize(
            rng.random((9, 12), dtype=np.float32),
            (width, height),
            interpolation=cv2.INTER_CUBIC,
        )
        for _ in range(count)
    ]
    return np.stack(noise).argmax(0).astype(np.uint8) + 1


def people(width: int, height: int) -> People:
    rng = np.random.default_rng(2)
    persons = []
    for x1, y1, x2, y2 in boxes(width, height):
        xy = rng.uniform((x1, y1), (x2, y2), (17, 2))
        persons.append(Person(np.column_stack([xy, np.full(17, 2.0)])))
    return People(tuple(persons))


def predictions(width: int, height: int) -> dict[str, Any]:
    masks = [mask_from_array(mask) for mask in ellipses(width, height)]
    size = height, width
    label_map = classes_map(width, height, 10)
    segments = tuple(
        Instance(LABELS[k], mask_from_array(label_map == k + 1))
        for k in range(10)
    )
    rows, cols = np.mgrid[0:height, 0:width]
    depth = (
        (1 + rows / height + np.sin(cols / 40.0) * 0.2)
        .astype(np.float32)
        .astype(np.float64)
    )
    detections = tuple(
        Detection(label, tuple(box))
        for label, box in zip(
            LABELS, boxes(width, height).tolist(), strict=True
        )
    )
    return {
        "object_detection": Detections(detections),
        "instance_segmentation": Masks(
            size, tuple(map(Instance, LABELS, masks))
        ),
        "semantic_segmentation": Masks(size, segments),
        "referring_segmentation": Masks(
            size, (Instance("the left one", masks[0]),)
        ),
        "keypoint": people(width, height),
        "depth_estimation": DepthMap(depth),
        "lowlevel-deblur": WholeImage(photograph(width, height)),
        "generation_t2i": WholeImage(photograph(width, height)),
    }


def best(work: Callable[[], object], rounds: int) -> float:
    """Least time of ``rounds``, in ms, by CLOCK."""
    times = []
    for _ in range(rounds):
        start = CLOCK()
        work()
        times.append(CLOCK() - start)
    return min(times) * 1000


def table(rounds: int, folder: Path) -> None:
    image = photograph(640, 480)
    total = 0.0
    print(
        f"{'640×480, 10 objects':<60}{'drawing':>9}{'with file':>11}   (ms, best of "
        f"{rounds})"
    )
    for task, prediction in predictions(640, 480).items():
        for row in visualjudge.encodings(task):
            if not row.is_final:
                continue

            def draw(row: Any = row, prediction: Any = prediction) -> Any:
                return visualjudge.encode(
                    row.task,
                    row.stem,
                    prediction,
                    image,
                    expression="the left one",
                )

            def write(draw: Any = draw) -> None:
                shown = draw()
                if shown.image is not None:
                    write_png(folder / "shown.png", shown.image)

            drawn, written = best(draw, rounds), best(write, rounds)
            total += written
            print(
                f"{row.task + ' ' + row.stem:<60}{drawn:>9.2f}{written:>11.2f}"
            )
    print(f"{'all 53, files included (goal: 150)':<69}{total:>11.1f}\n")


def semantic(rounds: int, folder: Path) -> None:
    image, label_map = photograph(640, 480), classes_map(640, 480, 20)
    payload = {
        "label_map": label_map,
        "classes": {k: f"class {k:02d}" for k in range(1, 21)},
    }

    def work() -> None:
        shown = visualjudge.encode(
            "semantic_segmentation", "pixel_ss1_m0_o0_l1_c0", payload, image
        )
        write_png(folder / "shown.png", shown.image)

    parsed = Masks(
        (480, 640),
        tuple(
            Instance(f"{k}", mask_from_array(label_map == k))
            for k in range(1, 21)
        ),
    )
    draw = best(
        lambda: visualjudge.encode(
            "semantic_segmentation", "pixel_ss1_m0_o0_l1_c0", parsed, image
        ),
        rounds,
    )
    print(
        f"semantic overlay, 20 classes (goal: 6): {draw:.2f} ms; from label map to "
        f"file {best(work, rounds):.2f}"
    )
    masks = predictions(640, 480)["instance_segmentation"]
    rle = best(
        lambda: visualjudge.encode(
            "instance_segmentation", "text_rle", masks, image
        ),
        rounds,
    )
    print(f"text_rle of 10 masks (goal: 2): {rle:.2f} ms\n")


def beside_supervision(  # noqa: C901 (seven small closures, no branch)
    rounds: int, folder: Path
) -> None:
    import supervision as sv

    image, scene = photograph(640, 480), predictions(640, 480)
    dense = np.array(ellipses(640, 480))
    tight = np.array(
        [item.mask.xyxy for item in scene["instance_segmentation"].items],
        dtype=float,
    )
    found = sv.Detections(xyxy=boxes(640, 480), class_id=np.arange(10))
    masked = sv.Detections(xyxy=tight, mask=dense, class_id=np.arange(10))
    fill, box, text = sv.MaskAnnotator(), sv.BoxAnnotator(), sv.LabelAnnotator()

    def sv_boxes() -> np.ndarray:
        return text.annotate(
            box.annotate(image.copy(), found), found, labels=LABELS
        )

    def sv_masks() -> np.ndarray:
        return text.annotate(
            fill.annotate(image.copy(), masked), masked, labels=LABELS
        )

    def our_boxes() -> np.ndarray:
        return visualjudge.encode(
            "object_detection", "pixel_s1_m0", scene["object_detection"], image
        ).image

    def our_masks() -> np.ndarray:
        return visualjudge.encode(
            "instance_segmentation",
            "pixel_ss1_m0_o0_l1_c0_b0",
            scene["instance_segmentation"],
            image,
        ).image

    def naive() -> np.ndarray:
        out = image.astype(np.float64)
        for k, mask in enumerate(dense):
            weight = mask[:, :, None] * 0.5
            out = (
                out * (1 - weight)
                + np.array(visualjudge.vision.drawing.palette.color_at(k))
                * weight
            )
        return out.astype(np.uint8)

    def pillow(drawn: np.ndarray) -> None:
        buffer = io.BytesIO()
        Image.fromarray(drawn).save(buffer, "PNG")
        (folder / "pillow.png").write_bytes(buffer.getvalue())

    def opencv(drawn: np.ndarray) -> None:
        cv2.imwrite(str(folder / "opencv.png"), drawn[:, :, ::-1])

    figures = {
        name: best(work, rounds)
        for name, work in (
            ("boxes drawn, ours", our_boxes),
            ("boxes drawn, supervision", sv_boxes),
            (
                "boxes to file, ours",
                lambda: write_png(folder / "ours.png", our_boxes()),
            ),
            ("boxes to file, supervision + Pillow", lambda: pillow(sv_boxes())),
            ("masks drawn, ours", our_masks),
            ("masks drawn, supervision", sv_masks),
            ("masks drawn, naive blend", naive),
            (
                "masks to file, ours",
                lambda: write_png(folder / "ours.png", our_masks()),
            ),
            ("masks to file, supervision + OpenCV", lambda: opencv(sv_masks())),
        )
    }
    for name, value in figures.items():
        print(f"{name:<60}{value:>9.2f} ms")
    for what, ours, theirs, goal in (
        (
            "boxes with file, over supervision + Pillow",
            "boxes to file, ours",
            "boxes to file, supervision + Pillow",
            40,
        ),
        (
            "boxes drawn, over supervision",
            "boxes drawn, ours",
            "boxes drawn, supervision",
            1,
        ),
        (
            "masks with file, over supervision + OpenCV",
            "masks to file, ours",
            "masks to file, supervision + OpenCV",
            6,
        ),
        (
            "masks drawn, over supervision",
            "masks drawn, ours",
            "masks drawn, supervision",
            1.5,
        ),
        (
            "masks drawn, over the naive blend",
            "masks drawn, ours",
            "masks drawn, naive blend",
            15,
        ),
    ):
        print(
            f"{what:<60}{figures[theirs] / figures[ours]:>8.1f}× (goal: {goal}×)"
        )
    sizes = {"ours": len(png_bytes(our_masks()))}
    sizes |= {
        name: (folder / f"{name}.png").stat().st_size
        for name in ("opencv", "pillow")
    }
    print(f"PNG bytes: {sizes}\n")


def large(memory: bool) -> None:
    width, height = 4000, 3000
    image = photograph(width, height)
    slowest, fattest = (0.0, ""), (0.0, "")
    for task, prediction in predictions(width, height).items():
        for row in visualjudge.encodings(task):

            def draw(row: Any = row, prediction: Any = prediction) -> Any:
                return visualjudge.encode(
                    row.task,
                    row.stem,
                    prediction,
                    image,
                    expression="the left one",
                )

            slowest = max(slowest, (best(draw, 1), f"{row.task} {row.stem}"))
            if memory:
                tracemalloc.start()
                draw()
                fattest = max(
                    fattest,
                    (
                        tracemalloc.get_traced_memory()[1] / 1e6,
                        f"{row.task} {row.stem}",
                    ),
                )
                tracemalloc.stop()
    print(
        f"4000×3000, slowest encoding (goal: 1000): {slowest[0]:.0f} ms, {slowest[1]}"
    )
    if memory:
        goal = 4 * image.nbytes / 1e6 + 50
        print(
            f"4000×3000, highest peak of NumPy's memory (goal: {goal:.0f}): "
            f"{fattest[0]:.0f} MB, {fattest[1]}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--memory",
        action="store_true",
        help="also measure peak memory at 4000×3000",
    )
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="count CPU time, not wall time: on a machine shared with others",
    )
    options = parser.parse_args()
    if options.cpu:
        global CLOCK
        CLOCK = time.process_time
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        table(options.rounds, Path(folder))
        semantic(options.rounds, Path(folder))
        beside_supervision(options.rounds, Path(folder))
    large(options.memory)


if __name__ == "__main__":
    main()
