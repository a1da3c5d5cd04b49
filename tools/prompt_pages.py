"""Pages that show one question of each task, encoding and type as the judge reads it,
with its images.

    python tools/prompt_pages.py DATASET docs/prompts
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import cv2

from visualjudge.core.atomic import write_bytes
from visualjudge.core.image_storage import Place
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.dataset.exports.media import answer_text
from visualjudge.dataset.folder import Dataset, load_dataset
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.tasks import TASKS

LONGEST_SIDE = 240
JPEG_QUALITY = 72
LONGEST_LINES, LONGEST_LINE = 12, 400
"""Limits on the lines shown of an option's text, which may have thousands of numbers,
and on their length. The page states what is omitted.
"""


def main() -> None:
    """Write the pages of a dataset."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset")
    parser.add_argument("out", help="folder of the pages")
    given = parser.parse_args()
    write_pages(load_dataset(given.dataset), given.out)


def write_pages(dataset: Dataset, out: str | Path) -> list[Path]:
    """Write ``out/README.md``, one page per task, and thumbnails. Return the paths of
    the pages.

    Parameters
    ----------
    dataset
        Any dataset; the first question of each (task, encoding, type) is shown.
    out
        Folder to write to.
    """
    home = Path(out)
    first: dict[tuple[str, str, str], Question] = {}
    for question in dataset:
        first.setdefault(
            (question.task, question.encoding, question.question_type), question
        )
    chosen = list(first.values())
    pages = []
    for task in dict.fromkeys(question.task for question in chosen):
        mine = [question for question in chosen if question.task == task]
        for path in dict.fromkeys(
            path for question in mine for path in question.images
        ):
            _thumbnail(dataset.image(path), home / _thumb(path))
        write_bytes(home / f"{task}.md", _page(task, mine).encode())
        pages.append(home / f"{task}.md")
    write_bytes(home / "README.md", _index(chosen).encode())
    return [home / "README.md", *pages]


def heading(question: Question) -> str:
    return f"### {question.encoding} · {question.question_type}"


def _page(task: str, questions: Sequence[Question]) -> str:
    note = (
        "Made by tools/prompt_pages.py; do not edit. Long texts are cut here."
    )
    sections = (_section(question) for question in questions)
    return "\n".join([f"# {TASKS[task].prose}\n\n{note}\n", *sections])


def _section(question: Question) -> str:
    images = " ".join(
        f'<img src="{_thumb(path)}" alt="image {k}">'
        for k, path in enumerate(question.images, 1)
    )
    return (
        f"{heading(question)}\n\n{images}\n\n```text\n{_cut(question.prompt)}\n```\n\n"
        f"Answer: `{answer_text(question.answer)}` (scores "
        f"{', '.join(map(answer_text, question.final_scores))})\n"
    )


def _cut(prompt: str) -> str:
    """Return ``prompt`` with numbered marks, and of the lines of an option's data the
    first ones, shortened.
    """
    number = itertools.count(1)
    text = re.sub(IMAGE_MARK, lambda _: f"<image>({next(number)})", prompt)
    lines: list[str] = []
    for is_data, run in itertools.groupby(
        text.splitlines(), lambda line: line[:1] in ("{", "[")
    ):
        some = [*run]
        if is_data:
            some = [
                f"{line[:LONGEST_LINE]}{' …' * (len(line) > LONGEST_LINE)}"
                for line in some
            ]
            some[LONGEST_LINES:] = (
                ["… (further lines)"] if len(some) > LONGEST_LINES else []
            )
        lines += some
    return "\n".join(lines)


def _index(questions: Sequence[Question]) -> str:
    by_task: dict[str, dict[str, None]] = {}
    for question in questions:
        by_task.setdefault(question.task, {})[f"`{question.encoding}`"] = None
    rows = [
        f"- [{TASKS[task].prose}]({task}.md): {', '.join(by_task[task])}"
        for task in by_task
    ]
    return (
        "# Prompts, as the judge reads them\n\nOne question of each task, encoding and "
        "type, with "
        "its images in the order of its `<image>` marks. Made by "
        "tools/prompt_pages.py.\n\n" + "\n".join(rows) + "\n"
    )


def _thumb(path: str) -> str:
    return f"media/{Path(path).stem}.jpg"


def _thumbnail(source: Place, target: Path) -> None:
    pixels = read_rgb(source)
    scale = min(1.0, LONGEST_SIDE / max(pixels.shape[:2]))
    small = cv2.resize(
        pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA
    )
    _, encoded = cv2.imencode(
        ".jpg", small[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY]
    )
    write_bytes(target, encoded.tobytes())


if __name__ == "__main__":
    main()
