"""``visualjudge probe``: build a dataset of probe questions from a data folder. The
probes are in ``kinds.py``; ordinary datasets are built in ``dataset/build.py``.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import orjson

from visualjudge.apps.probes.kinds import PROBES, Base, Pool, ProbeKind
from visualjudge.apps.probes.probe_questions import pools
from visualjudge.apps.probes.question_edits import Edit, Paint
from visualjudge.core.errors import DataError, Problem, UsageError
from visualjudge.core.records import Probe, Question
from visualjudge.data.folder import DataFolder
from visualjudge.dataset.build import asked_tasks, open_workers, own_prompts
from visualjudge.dataset.folder import CHANGED, MEDIA
from visualjudge.dataset.render import file_name
from visualjudge.dataset.write_dataset import (
    check_target,
    staged,
    write_dataset,
)
from visualjudge.options import WorkOptions
from visualjudge.vision.raster.images import read_rgb, write_png

CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Probed:
    """Result: the number of questions of each probe, and of unchanged ones as
    ``control``."""

    asked: Mapping[str, int]
    problems: tuple[Problem, ...]

    @property
    def questions(self) -> int:
        """Total number of questions."""
        return sum(self.asked.values())

    @property
    def empty(self) -> tuple[str, ...]:
        """Probes that match no record of the data folder."""
        return tuple(name for name, count in self.asked.items() if not count)


def build_probes(
    data: str | Path,
    out: str | Path,
    options: WorkOptions | None = None,
    *,
    only: Sequence[str] | None = None,
    number: int = 200,
) -> Probed:
    """Write the probe questions of the data folder ``data`` as a dataset at ``out``.

    Parameters
    ----------
    data, out
        Folders; ``out`` must not exist, or be an older dataset and ``force`` be given.
    options
        Seed, tasks, prompts and the longer side of images, as in a build. Processes and
        engine do not affect the result: the same data, seed and options give the same
        bytes.
    only
        Names of probes; None = all.
    number
        Maximum number of questions per probe, in addition to the unchanged ones that
        some probes compare with.

    Raises
    ------
    UsageError
        If a probe is unknown, ``number`` is below 2, ``data`` is not a data folder,
        ``out`` exists, or an option is invalid.
    DataError
        If no question can be asked.
    """
    kinds = {name: PROBES.find(name) for name in dict.fromkeys(only or PROBES)}
    if number < 2:
        raise UsageError(f"`n` must be at least 2, got {number}")
    target = Path(out)
    chosen = options or WorkOptions()
    check_target(target, chosen.force)
    folder = DataFolder(data)
    tasks = asked_tasks(folder, chosen)
    with (
        staged(target, Path(data)) as stage,
        open_workers(folder, tasks, chosen) as opened,
    ):
        (stage / MEDIA).mkdir()
        blind = {kind.pool for kind in kinds.values()} & {"grey", "other"}
        result = pools(folder, stage, tasks, number, chosen, opened, blind)
        made = {
            name: _questions(kind, result, number, partial(_edit, stage))
            for name, kind in kinds.items()
        }
        compared = [
            q
            for name, kind in kinds.items()
            if kind.compared
            for q in made[name]
        ]
        made = {CONTROL: _controls(compared, result["image"]), **made}
        if not any(made.values()):
            raise DataError(
                f"{data}: no record fits a probe of: {', '.join(kinds)}"
            )
        write_dataset(
            stage,
            [q for questions in made.values() for q in questions],
            _meta(chosen, kinds, number),
        )
        return Probed(
            {name: len(questions) for name, questions in made.items()},
            tuple(folder.problems),
        )


def _meta(
    options: WorkOptions, kinds: Mapping[str, ProbeKind], number: int
) -> Mapping[str, object]:
    tasks = sorted(set(options.tasks)) or None
    asked = {
        "probes": list(kinds),
        "about": {name: kind.about for name, kind in kinds.items()},
        "questions_a_probe": number,
        "tasks": tasks,
        "max_side": options.max_side,
    }
    prompts = {
        "prompts": options.prompts.used(),
        **own_prompts(options.prompts),
    }
    return {"seed": options.seed, "options": asked, **prompts}


def _edit(stage: Path, path: str, name: str, paint: Paint) -> str:
    """Apply ``paint`` to the image at ``path`` and return the path of the result; each
    change is written once.
    """
    relative = f"{MEDIA}/{file_name(CHANGED + name, Path(path).stem)}.png"
    if not (stage / relative).exists():
        write_png(stage / relative, paint(read_rgb(stage / path)))
    return relative


def _questions(
    kind: ProbeKind,
    result: Mapping[Pool, Sequence[Base]],
    number: int,
    edit: Edit,
) -> list[Question]:
    """Return up to ``number`` questions of the probe; a base contributes all of its
    questions or none.
    """
    out: list[Question] = []
    used = 0
    for base in result[kind.pool]:
        if len(out) >= number:
            break
        made = [
            _named(question)
            for question in kind.make(replace(base, number=used), edit)
        ]
        if made and len(out) + len(made) <= number:
            out += made
            used += 1
    return out


def _controls(
    compared: Sequence[Question], bases: Sequence[Base]
) -> list[Question]:
    groups = {
        question.probe.group
        for question in compared
        if question.probe is not None
    }
    note = Probe(CONTROL, "control", "", "nothing", "answer")
    return [
        _named(replace(b.pair, probe=replace(note, group=b.group)))
        for b in bases
        if b.group in groups
    ]


def _named(question: Question) -> Question:
    """Give the question an id: 80 bits of the SHA-256 of the question and its probe."""
    asked = orjson.dumps(
        [
            question.id,
            question.prompt,
            question.images,
            question.answer,
            question.probe,
        ]
    )
    return replace(question, id=hashlib.sha256(asked).hexdigest()[:20])
