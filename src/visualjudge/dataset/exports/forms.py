"""A dataset in its other form: ``questions.json`` and ``media/``, or one Parquet file.
Parquet for the ``datasets`` library is in ``parquet.py``.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from visualjudge.core.image_storage import PACKED
from visualjudge.core.untrusted import confined_path, confined_target
from visualjudge.dataset.exports.media import image_bytes
from visualjudge.dataset.folder import MEDIA, META, Dataset
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.dataset.predictions_file import PREDICTIONS
from visualjudge.dataset.write_dataset import (
    check_target,
    pack,
    staged,
    write_dataset,
)


def export_form(
    dataset: Dataset,
    out: Path,
    tick: Callable[[int, int], None],
    *,
    packed: bool,
) -> list[Path]:
    check_target(out, force=True)
    with staged(out) as stage:
        (stage / MEDIA).mkdir()
        for done, question in enumerate(dataset, 1):
            for name in question.images:
                target = confined_target(stage, name)
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(image_bytes(dataset, name))
            tick(done, len(dataset))
        if (dataset.root / PREDICTIONS).is_file():
            shutil.copyfile(
                confined_path(dataset.root, PREDICTIONS), stage / PREDICTIONS
            )
        write_dataset(stage, dataset.questions, dataset.meta)
        if packed:
            pack(stage)
    return [out / (PACKED if packed else QUESTIONS), out / META]
