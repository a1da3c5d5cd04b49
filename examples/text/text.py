"""Lines of text that RapidOCR finds, whose models are in its wheel: two sources on
pages with truth.

    pip install -r examples/text/requirements.txt
    python examples/text/text.py OUT [PAGES]

OUT gets ``images``, ``truth.json`` (COCO, one box a line) and two results files:
``full.json``, and ``third.json``, for which the model sees pages of a third of the
size.
"""

from __future__ import annotations

import json
import random  # noqa: TID251  visualjudge need not be installed beside RapidOCR
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapidocr import RapidOCR

PAGES = 20
SIZE = (640, 480)
WORDS = "the judge sees two pages and says which lines of text are found better".split()  # noqa: SIM905
Box = list[float]


def page(seed: int) -> tuple[Image.Image, list[Box]]:
    """A page of lines in several sizes, and the box of each line: x, y, width,
    height."""
    draw_lots = random.Random(seed)  # noqa: S311
    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    boxes: list[Box] = []
    top = 20
    while top < SIZE[1] - 60:
        font = ImageFont.load_default(draw_lots.choice((12, 16, 22, 30)))
        text = " ".join(draw_lots.choices(WORDS, k=draw_lots.randint(2, 5)))
        place = (draw_lots.randint(10, 120), top)
        left, upper, right, lower = draw.textbbox(place, text, font)
        if right < SIZE[0]:
            draw.text(place, text, "black", font)
            boxes.append([left, upper, right - left, lower - upper])
        top = int(lower) + draw_lots.randint(12, 30)
    return image, boxes


def lines(
    model: RapidOCR, image: Image.Image, factor: float
) -> list[tuple[Box, float]]:
    """The lines that the model finds in the page shrunk by ``factor``, in pixels of the
    page."""
    small = image.resize(
        (round(image.width * factor), round(image.height * factor))
    )
    found = model(np.asarray(small)[:, :, ::-1])
    out: list[tuple[Box, float]] = []
    if found.boxes is None:
        return out
    for corners, score in zip(found.boxes, found.scores, strict=True):
        left, top = np.min(corners, axis=0) / factor
        right, bottom = np.max(corners, axis=0) / factor
        box = [
            float(left),
            float(top),
            float(right - left),
            float(bottom - top),
        ]
        out.append((box, float(score)))
    return out


def main() -> None:
    """Write pages, truth and the results of both sources."""
    out = Path(sys.argv[1])
    pages = int(sys.argv[2]) if len(sys.argv) > 2 else PAGES
    (out / "images").mkdir(parents=True)
    model = RapidOCR()
    truth: dict[str, list[Any]] = {
        "images": [],
        "annotations": [],
        "categories": [{"id": 1, "name": "line"}],
    }
    sources: dict[str, list[Any]] = {"full": [], "third": []}
    for number in range(pages):
        image, boxes = page(number)
        name = f"page{number}.png"
        image.save(out / "images" / name)
        size = {"width": image.width, "height": image.height}
        truth["images"].append({"id": number, "file_name": name, **size})
        for box in boxes:
            row = {
                "id": len(truth["annotations"]) + 1,
                "image_id": number,
                "iscrowd": 0,
            }
            area = box[2] * box[3]
            truth["annotations"].append(
                row | {"category_id": 1, "bbox": box, "area": area}
            )
        for source, factor in (("full", 1.0), ("third", 1 / 3)):
            for box, score in lines(model, image, factor):
                row = {
                    "image_id": number,
                    "category_id": 1,
                    "bbox": box,
                    "score": score,
                }
                sources[source].append(row)
    (out / "truth.json").write_text(json.dumps(truth), "utf-8")
    for source, rows in sources.items():
        (out / f"{source}.json").write_text(json.dumps(rows), "utf-8")
        print(
            f"{out / source}.json: {len(rows)} lines of {len(truth['annotations'])}"
        )


if __name__ == "__main__":
    main()
