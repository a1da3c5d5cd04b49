"""Convert a dataset between JSON and Parquet without loss."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from visualjudge.core.confined_paths import confined_path, confined_target
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.image_storage import (
    Form as MediaForm,
    ShardWriter,
    media_form,
    packed_images,
    shard_files,
)
from visualjudge.core.object_stores import check_local, located
from visualjudge.dataset.folder import MEDIA, META, QuestionForm, load_dataset, open_questions
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.dataset.parquet_form import FOLDER, INDEX
from visualjudge.dataset.staging import check_target, staged
from visualjudge.dataset.write_dataset import write_questions

Tick = Callable[[int, int], None]


def convert(
    dataset: str | Path,
    out: str | Path,
    to: QuestionForm | None = None,
    *,
    media: MediaForm | None = None,
    force: bool = False,
    tick: Tick = lambda done, total: None,
) -> int:
    """Write the dataset in another form at ``out``. Return the number of questions.

    ``questions.json`` can be restored byte by byte from the Parquet form, and images from tar
    shards. All other files are hard-linked if the file system supports it, and copied otherwise.

    Parameters
    ----------
    dataset, out
        Folders. ``out`` must not exist, unless it is an older dataset and ``force`` is given.
    to, media
        How to store questions and images; None keeps their form.
    tick
        Called with the number of questions written and their total.

    Raises
    ------
    UsageError
        If there is no dataset, it already has the form, or ``out`` exists.
    DataError
        If a question or an image cannot be read or a Parquet column cannot hold a field.
    """
    root, target = Path(dataset), located(out)
    check_target(target, force)
    check_local(root, "the dataset to convert")
    _check_source(root, to, media)
    with staged(target) as stage:
        _link_others(root, stage, questions=to is not None, media=media is not None)
        if media is not None:
            _convert_media(root, stage, media)
        if to is None:
            return len(load_dataset(root))
        source = open_questions(root)
        count = len(source)
        digest = write_questions(
            stage, source.records(), to, source.ending, lambda done: tick(done, count)
        )
        if digest != source.digest:
            raise DataError(
                f"{root / INDEX}: questions_sha256 does not match the questions in the shards"
            )
        return count


def _check_source(root: Path, to: QuestionForm | None, media: MediaForm | None) -> None:
    forms: dict[QuestionForm, bool] = {
        "json": (root / QUESTIONS).is_file(),
        "parquet": (root / INDEX).is_file(),
    }
    if not (root / META).is_file() or not any(forms.values()):
        raise UsageError(
            f"{root} is not a dataset: it must contain {META} and {QUESTIONS} or {INDEX}"
        )
    if to is not None and forms[to]:
        raise UsageError(f"{root}: is already in the {to} form")
    if media is not None and media_form(root) == media:
        raise UsageError(f"{root}: already stores its images as {media}")
    if to is None and media is None:
        raise UsageError("--to or --media must be given")


def _link_others(root: Path, stage: Path, *, questions: bool, media: bool) -> None:
    """Link files that are not converted."""
    for relative in _files(root):
        top = relative.split("/", 1)[0]
        converted = (questions and (relative == QUESTIONS or top == FOLDER)) or (
            media and top == MEDIA
        )
        if not converted:
            _link(confined_path(root, relative), stage / relative)


def _files(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        yield from ((Path(folder) / name).relative_to(root).as_posix() for name in names)


def _convert_media(root: Path, stage: Path, media: MediaForm) -> None:
    """Move images from files into shards in the order of their names, or back."""
    packed = set(shard_files(root))
    loose = sorted(
        name for name in _files(root) if name.startswith(f"{MEDIA}/") and name not in packed
    )
    (stage / MEDIA).mkdir()
    if media == "shards":
        writer = ShardWriter(stage)
        for name in loose:
            writer.add(name, confined_path(root, name).read_bytes())
        writer.close()
        return
    for part in packed_images(root):
        confined_target(stage, part.relative).write_bytes(part.read_bytes())
    for name in loose:
        _link(confined_path(root, name), stage / name)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(source.resolve())
    except OSError:
        shutil.copyfile(source, target)
