"""Poses of MediaPipe, whose model is in its wheel, as a COCO results file.

    pip install -r examples/poses/requirements.txt
    python examples/poses/poses.py person_keypoints.json IMAGES mediapipe.json

Each annotated person is cut out with a margin, and its 33 landmarks become COCO's 17
keypoints. A person whom the model does not find has no result.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mediapipe
import numpy as np
from PIL import Image

LANDMARKS = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
"""Of MediaPipe's 33, those that are COCO's 17 keypoints, in COCO's order."""
MARGIN = 0.25
"""Of the longer side of the box, on each side."""


def cut_out(
    image: Image.Image, box: list[float]
) -> tuple[Image.Image, int, int]:
    """The person's part of the image, and its left and upper edge in pixels."""
    x, y, width, height = box
    margin = MARGIN * max(width, height)
    left = max(0, int(x - margin))
    top = max(0, int(y - margin))
    right = min(image.width, int(x + width + margin))
    bottom = min(image.height, int(y + height + margin))
    return image.crop((left, top, right, bottom)), left, top


def results(annotations: Path, images: Path) -> Iterator[dict[str, Any]]:
    """One COCO keypoint result a person: x, y in pixels and the visibility as
    confidence."""
    truth = json.loads(annotations.read_text("utf-8"))
    names = {image["id"]: image["file_name"] for image in truth["images"]}
    model = mediapipe.solutions.pose.Pose(
        static_image_mode=True, model_complexity=1
    )
    for person in truth["annotations"]:
        image = Image.open(images / names[person["image_id"]]).convert("RGB")
        part, left, top = cut_out(image, person["bbox"])
        found = model.process(np.asarray(part)).pose_landmarks
        if found is None:
            continue
        points = [found.landmark[place] for place in LANDMARKS]
        yield {
            "image_id": person["image_id"],
            "category_id": person["category_id"],
            "keypoints": [
                round(value, 2)
                for point in points
                for value in (
                    left + point.x * part.width,
                    top + point.y * part.height,
                    point.visibility,
                )
            ],
            "score": round(sum(point.visibility for point in points) / 17, 4),
        }


def main() -> None:
    """Write the results of all annotated persons."""
    annotations, images, out = map(Path, sys.argv[1:])
    found = list(results(annotations, images))
    out.write_text(json.dumps(found), "utf-8")
    print(f"{out}: {len(found)} poses")


if __name__ == "__main__":
    main()
