"""Pages that show one question of each task, encoding and type as the judge reads it, with its
images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import cv2

from visualjudge.core.atomic import write_bytes, write_text
from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import Place
from visualjudge.core.records import IMAGE_MARK, Question
from visualjudge.dataset.exports.media import answer_text
from visualjudge.dataset.folder import Dataset
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.tasks import TASKS

LONGEST_SIDE = 240
JPEG_QUALITY = 72
LONGEST_LINES, LONGEST_LINE = 12, 400
"""Limits on the lines shown of an option's text, which may have thousands of numbers, and on their
length. The page states what is omitted.
"""


def write_pages(dataset: Dataset, out: str | Path, tick: Callable[[int, int], None]) -> list[Path]:
    """Write ``out/README.md``, one page per task, and thumbnails. Return the paths of the pages.

    Parameters
    ----------
    dataset
        Any dataset; the first question of each (task, encoding, type) is shown.
    out
        Folder to write to.
    """
    home = Path(out)
    chosen = _first_of_each(dataset.questions)
    if not chosen:
        raise DataError(f"{dataset.root}: has no question to show")
    pages = []
    for done, task in enumerate(dict.fromkeys(question.task for question in chosen), start=1):
        mine = [question for question in chosen if question.task == task]
        for path in dict.fromkeys(path for question in mine for path in question.images):
            _thumbnail(dataset.image(path), home / _thumb(path))
        write_text(home / f"{task}.md", _page(task, mine))
        pages.append(home / f"{task}.md")
        tick(done, len(TASKS))
    write_text(home / "README.md", _index(chosen))
    return [home / "README.md", *pages]


def heading(question: Question) -> str:
    """Return the heading for a question's encoding and type, which the completeness check searches
    for.
    """
    return f"### {question.encoding} · {question.question_type}"


def _first_of_each(questions: Sequence[Question]) -> list[Question]:
    first: dict[tuple[str, str, str], Question] = {}
    for question in questions:
        first.setdefault((question.task, question.encoding, question.question_type), question)
    return list(first.values())


def _page(task: str, questions: Sequence[Question]) -> str:
    note = (
        "Made by `visualjudge prompts`; do not edit. Long texts are cut here, not in the dataset."
    )
    head = f"# {TASKS[task].prose}\n\n{note}\n"
    return "\n".join([head, *(_section(question) for question in questions)])


def _section(question: Question) -> str:
    images = " ".join(
        f'<img src="{_thumb(path)}" alt="image {k}">' for k, path in enumerate(question.images, 1)
    )
    return (
        f"{heading(question)}\n\n{images}\n\n```text\n{_cut(question.prompt)}\n```\n\n"
        f"Answer: `{answer_text(question.answer)}` (scores "
        f"{', '.join(map(answer_text, question.final_scores))})\n"
    )


def _cut(prompt: str) -> str:
    """Return ``prompt`` with numbered marks and with runs of JSON-like lines shortened."""
    numbered = prompt.split(IMAGE_MARK)
    text = numbered[0] + "".join(f"<image>({k}){part}" for k, part in enumerate(numbered[1:], 1))
    lines: list[str] = []
    run = 0
    for line in text.splitlines():
        run = run + 1 if line.startswith(("{", "[")) else 0
        if run <= LONGEST_LINES:
            lines.append(
                line if len(line) <= LONGEST_LINE or run == 0 else f"{line[:LONGEST_LINE]} …"
            )
        elif run == LONGEST_LINES + 1:
            lines.append("… (further lines)")
    return "\n".join(lines)


def _index(questions: Sequence[Question]) -> str:
    rows = [
        "# Prompts, as the judge reads them",
        "",
        "One question of each task, encoding and type, with its images in the order of its "
        "`<image>` marks. Made by "
        "`visualjudge prompts DATASET --out docs/prompts`.",
        "",
    ]
    for task in dict.fromkeys(question.task for question in questions):
        stems = dict.fromkeys(question.encoding for question in questions if question.task == task)
        rows.append(
            f"- [{TASKS[task].prose}]({task}.md): {', '.join(f'`{stem}`' for stem in stems)}"
        )
    return "\n".join(rows) + "\n"


def _thumb(path: str) -> str:
    return f"media/{Path(path).stem}.jpg"


def _thumbnail(source: Place, target: Path) -> None:
    pixels = read_rgb(source)
    scale = min(1.0, LONGEST_SIDE / max(pixels.shape[:2]))
    small = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    _, encoded = cv2.imencode(".jpg", small[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    write_bytes(target, encoded.tobytes())
