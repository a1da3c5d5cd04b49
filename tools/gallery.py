"""Write docs/gallery: every encoding on a photograph, with its description and legend.

python tools/gallery.py [--check]
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from visualjudge.apps.demo.photographs import photographs, stereo_disparity
from visualjudge.core.atomic import write_bytes
from visualjudge.core.records import Pixels
from visualjudge.prompts.question_text import QuestionScene, format_text
from visualjudge.vision.encode import Encoded, encode, encodings
from visualjudge.vision.encodings import encoding_title
from visualjudge.vision.predictions import (
    TYPES,
    DepthMap,
    Detection,
    Detections,
    Instance,
    Masks,
    People,
    WholeImage,
)
from visualjudge.vision.rows import Encoding
from visualjudge.vision.tasks import TASKS

SIDE = 400
QUALITY = 82
LONGEST_TEXT = 700
PAGE = "README.md"
GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
SUBJECT = "astronaut"

Example = tuple[Pixels, Any, str | None]
"""A photograph, a prediction for it, and an expression."""


@dataclass(frozen=True)
class Exhibit:
    """One encoding and its image; ``tasks`` are all tasks that share it."""

    row: Encoding
    tasks: tuple[str, ...]
    description: str
    encoded: Encoded

    @property
    def image(self) -> str | None:
        """Return the file name of its image."""
        return (
            None
            if self.encoded.image is None
            else f"{self.row.task}-{self.row.stem}.jpg"
        )


def exhibits() -> Iterator[Exhibit]:
    """Yield each encoding of each type, on the example of the type."""
    sharing: dict[str, list[str]] = {}
    for task in TASKS.values():
        sharing.setdefault(task.type, []).append(task.name)
    subjects = examples()
    for type_name, names in sharing.items():
        if type_name not in subjects:
            continue
        image, prediction, expression = subjects[type_name]
        for row in encodings(names[0]):
            scene = QuestionScene(
                TASKS[row.task],
                row.stem,
                (image.shape[0], image.shape[1]),
                original=True,
                combo=row.kind == "combo",
            )
            text = format_text(scene) if row.is_final else ""
            yield Exhibit(
                row,
                tuple(names),
                text or "The predicted image itself." * (row.kind == "pixel"),
                encode(
                    row.task, row.stem, prediction, image, expression=expression
                ),
            )


def write_gallery(out: Path, shown: list[Exhibit]) -> None:
    """Write the page and its images, and remove images that it no longer shows."""
    for exhibit in shown:
        if exhibit.encoded.image is not None and exhibit.image is not None:
            write_bytes(out / exhibit.image, _jpeg(exhibit.encoded.image))
    kept = {exhibit.image for exhibit in shown}
    for old in out.glob("*.jpg"):
        if old.name not in kept:
            old.unlink()
    write_bytes(out / PAGE, _page(shown).encode())


def _jpeg(pixels: Pixels) -> bytes:
    """Return a JPEG shrunk for the page; judges see the full-size PNG."""
    image = Image.fromarray(pixels)
    image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return buffer.getvalue()


def _page(shown: list[Exhibit]) -> str:
    final = sum(exhibit.row.is_final for exhibit in shown)
    blocks = [
        "# Gallery of encodings",
        f"All {final} encodings and {len(shown) - final} extended ones, each on a "
        "photograph with its ground truth as the prediction: what the prompt says of "
        "it, and its legend. Images are shrunk and saved as JPEG for this page; a "
        "judge gets the PNG. Written by `python tools/gallery.py`.",
    ]
    task = ""
    for exhibit in shown:
        if exhibit.row.task != task:
            task = exhibit.row.task
            blocks.append("## " + ", ".join(exhibit.tasks))
        blocks += _section(exhibit)
    return "\n\n".join(blocks) + "\n"


def _section(exhibit: Exhibit) -> Iterator[str]:
    row, encoded = exhibit.row, exhibit.encoded
    title = encoding_title(row.task, row.stem)
    yield f"### {title}"
    yield (
        f"`{row.task}` `{row.stem}` "
        f"({row.kind}{'' if row.is_final else ', extended'})"
    )
    if exhibit.image is not None:
        yield f"![{title}]({exhibit.image})"
    if exhibit.description:
        yield "\n".join(
            f"> {line}".rstrip() for line in exhibit.description.splitlines()
        )
    if encoded.legend:
        yield encoded.legend
    if encoded.text is not None:
        cut = (
            encoded.text
            if len(encoded.text) <= LONGEST_TEXT
            else encoded.text[:LONGEST_TEXT] + " …"
        )
        yield f"```json\n{cut}\n```"
    text, legend = len(encoded.text or ""), len(encoded.legend or "")
    yield f"Text {text} characters, legend {legend}."


def faults(out: Path, shown: list[Exhibit]) -> list[str]:
    """Return what a written page lacks."""
    page = out / PAGE
    if not page.is_file() or page.read_text("utf-8") != _page(shown):
        return [f"{PAGE} is missing or is not what the catalogue gives"]
    names = [exhibit.image for exhibit in shown if exhibit.image is not None]
    return [
        f"{name} is missing" for name in names if not (out / name).is_file()
    ]


def examples() -> dict[str, Example]:
    """Return the examples by type name: those of the demo, and those of plug-ins
    (``PredictionType.example``).
    """
    brought = {
        row.name: row.example()
        for row in TYPES.values()
        if row.example is not None
    }
    return {**_of_photographs(), **brought}


def _of_photographs() -> dict[str, Example]:
    named = {photo.name: photo for photo in photographs()}
    photo = named[SUBJECT]
    pixels = photo.pixels
    boxes = tuple(
        Detection(item.label, item.mask.xyxy) for item in photo.objects
    )
    expression, region = photo.expressions[0]
    pair, disparity = stereo_disparity()
    return {
        "detection": (pixels, Detections(boxes), None),
        "instance": (pixels, Masks(photo.size, photo.objects), None),
        "semantic": (pixels, Masks(photo.size, photo.segments), None),
        "referring": (
            pixels,
            Masks(photo.size, (Instance(expression, region),)),
            expression,
        ),
        "keypoint": (pixels, People(photo.people), None),
        "depth": (named[pair].pixels, DepthMap(disparity, inverse=True), None),
        "restoration": (pixels, WholeImage(pixels), None),
        "generation": (pixels, WholeImage(pixels), None),
    }


def main() -> None:
    """Write the page, or check that it is complete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if it is not complete"
    )
    shown = list(exhibits())
    if not parser.parse_args().check:
        write_gallery(GALLERY, shown)
    elif problems := faults(GALLERY, shown):
        parser.exit(
            1,
            f"{GALLERY}: {'; '.join(problems)}: run python tools/gallery.py\n",
        )
    print(f"{GALLERY}: complete, {len(shown)} encodings")


if __name__ == "__main__":
    main()
