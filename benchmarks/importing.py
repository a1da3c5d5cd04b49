"""What ``visualjudge import coco`` costs beside another source tree and beside
pycocotools' evaluation, in CPU seconds.

usage: python benchmarks/importing.py [--images 5000] [--against SRC ...] [--rounds 1]
[--workers 1]

Makes a ground truth of 7.3 boxes an image and results of 18 an image (90,000 on 5,000
images) in 80 classes, and JPEG files of 640×480. Each tree imports into a folder of its
own by the command, in turn with pycocotools' ``evaluate``, ``accumulate`` and
``summarize`` with its default areas and numbers of detections; the least of all rounds
is compared. The folders are removed at the end only: for a minute after thousands of
files are removed, ext4 takes five times as long to make a file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
import skimage.data

RUN = "from visualjudge.cli.main import run; run()"
PEER = """
import sys
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
truth = COCO(sys.argv[1])
one = COCOeval(truth, truth.loadRes(sys.argv[2]), "bbox")
one.evaluate(); one.accumulate(); one.summarize()
print("AP", one.stats[0])
"""
CLASSES = 80
FILES = 100
WIDTH, HEIGHT = 640, 480


def make(work: Path, images: int) -> None:
    """``gt.json``, ``pred.json`` and ``images/`` in ``work``; :data:`FILES` photographs
    are linked many times.
    """
    rng = np.random.default_rng(0)
    (work / "images").mkdir(parents=True)
    whole = cv2.resize(
        skimage.data.astronaut()[:, :, ::-1],
        (1280, 960),
        interpolation=cv2.INTER_CUBIC,
    )
    for k in range(images):
        path = work / "images" / f"{k:012d}.jpg"
        if k < FILES:
            x, y = rng.integers(0, WIDTH), rng.integers(0, HEIGHT)
            cv2.imwrite(str(path), whole[y : y + HEIGHT, x : x + WIDTH])
        else:
            os.link(work / "images" / f"{k % FILES:012d}.jpg", path)
    share = 1 / np.arange(1, CLASSES + 1) ** 0.8
    truths, found = [], []
    for image in range(images):
        count = 1 + rng.poisson(6.3)
        labels = rng.choice(CLASSES, size=count, p=share / share.sum())
        sides = np.exp(rng.uniform(np.log(10), np.log(300), (count, 2)))
        corner = rng.uniform(0, 1, (count, 2)) * (
            np.array([WIDTH, HEIGHT]) - sides
        )
        boxes = np.concatenate([corner, sides], axis=1).round(2)
        crowds = rng.random(count) < 0.01
        for label, box, crowd in zip(
            labels.tolist(), boxes.tolist(), crowds.tolist(), strict=True
        ):
            area = box[2] * box[3]
            row = {
                "id": len(truths) + 1,
                "image_id": image,
                "category_id": label + 1,
                "bbox": box,
                "area": area,
            }
            truths.append(row | {"iscrowd": int(crowd)})
        for _ in range(18):
            k = int(rng.integers(count))
            right = rng.random() < 0.6
            box = boxes[k] + rng.normal(0, 0.05 if right else 0.4, 4) * np.tile(
                sides[k], 2
            )
            box[2:] = np.abs(box[2:])
            label = labels[k] if rng.random() < 0.85 else rng.integers(CLASSES)
            row = {
                "image_id": image,
                "category_id": int(label) + 1,
                "bbox": box.round(2).tolist(),
            }
            found.append(
                row
                | {
                    "score": round(
                        float(rng.beta(5, 2) if right else rng.beta(1, 3)), 4
                    )
                }
            )
    listed = [
        {
            "id": k,
            "file_name": f"{k:012d}.jpg",
            "width": WIDTH,
            "height": HEIGHT,
        }
        for k in range(images)
    ]
    names = [{"id": k + 1, "name": f"class {k:02d}"} for k in range(CLASSES)]
    (work / "gt.json").write_text(
        json.dumps(
            {"images": listed, "annotations": truths, "categories": names}
        )
    )
    (work / "pred.json").write_text(json.dumps(found))


def seconds(words: list[str], tree: Path | None = None) -> tuple[float, str]:
    """CPU seconds of a command with its processes, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = {} if tree is None else {"PYTHONPATH": str(tree)}
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=os.environ | path,
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"{words[:4]} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        done.stdout + done.stderr,
    )


def main() -> None:
    """Print a line a run, and the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument(
        "--against",
        type=Path,
        nargs="*",
        default=[],
        help="other trees' src, each imports in turn",
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--no-peer", action="store_true", help="leave pycocotools out"
    )
    options = parser.parse_args()
    trees = {str(path): path.resolve() for path in options.against}
    trees["this tree"] = Path(__file__).resolve().parent.parent / "src"
    work = Path(tempfile.mkdtemp(prefix="bench-import-"))
    cost: dict[str, list[float]] = {}
    try:
        make(work, options.images)
        for number in range(options.rounds):
            for place, (name, tree) in enumerate(trees.items()):
                out = work / f"out-{number}-{place}"
                words = [
                    sys.executable,
                    "-c",
                    RUN,
                    "import",
                    "coco",
                    "--task",
                    "object_detection",
                    "--source",
                    "one",
                ]
                words += [
                    "--gt",
                    str(work / "gt.json"),
                    "--pred",
                    str(work / "pred.json"),
                ]
                spent, said = seconds(
                    [
                        *words,
                        "--images",
                        str(work / "images"),
                        "--out",
                        str(out),
                    ],
                    tree,
                )
                _line(cost, name, spent, said)
            if not options.no_peer:
                words = [
                    sys.executable,
                    "-c",
                    PEER,
                    str(work / "gt.json"),
                    str(work / "pred.json"),
                ]
                _line(cost, "pycocotools", *seconds(words))
    finally:
        shutil.rmtree(work)
    for name in cost.keys() - {"this tree"}:
        print(
            f"this tree over {name}: {min(cost['this tree']) / min(cost[name]):.2f}"
        )


def _line(
    cost: dict[str, list[float]], name: str, spent: float, said: str
) -> None:
    cost.setdefault(name, []).append(spent)
    told = " ".join(re.findall(r".*\bAP\b.*", said)[-1:])
    print(f"{name:<40}{spent:>8.1f} s CPU   {told.strip()}", flush=True)


if __name__ == "__main__":
    main()
