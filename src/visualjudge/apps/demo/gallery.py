"""The page that shows every encoding on a photograph, with its description and legend."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from visualjudge.apps.demo.examples import examples
from visualjudge.core.atomic import write_bytes
from visualjudge.prompts.question_text import QuestionScene, format_text
from visualjudge.vision.encode import encode, encodings
from visualjudge.vision.encodings import encoding_title
from visualjudge.vision.tasks import TASKS

if TYPE_CHECKING:
    from visualjudge.core.records import Pixels
    from visualjudge.vision.encode import Encoded
    from visualjudge.vision.rows import Encoding

SIDE = 400
QUALITY = 82
LONGEST_TEXT = 700
PAGE = "README.md"


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
        return None if self.encoded.image is None else f"{self.row.task}-{self.row.stem}.jpg"


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
                encode(row.task, row.stem, prediction, image, expression=expression),
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
        f"All {final} encodings and {len(shown) - final} extended ones, each on a photograph "
        "with its ground truth as "
        "the prediction: what the prompt says of it, and its legend. Images are "
        "shrunk and saved as "
        "JPEG for this page; a judge gets the PNG. Written by `visualjudge show gallery`.",
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
    yield f"`{row.task}` `{row.stem}` ({row.kind}{'' if row.is_final else ', extended'})"
    if exhibit.image is not None:
        yield f"![{title}]({exhibit.image})"
    if exhibit.description:
        yield "\n".join(f"> {line}".rstrip() for line in exhibit.description.splitlines())
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
    return [f"{name} is missing" for name in names if not (out / name).is_file()]
