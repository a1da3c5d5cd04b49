"""Questions from which probes start: pairs and staircases of a data folder, drawn and
rendered as in a build. The sampling of ordinary datasets is in ``dataset/sampling.py``.
"""

from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import orjson

from visualjudge.apps.probes.kinds import Base, Pool
from visualjudge.apps.probes.question_edits import option_images
from visualjudge.core.errors import DataError
from visualjudge.core.records import ImageRecord, Question
from visualjudge.core.seeding import seed_for
from visualjudge.core.workers import Workers
from visualjudge.data.folder import DataFolder
from visualjudge.dataset.json_form import question_from_wire
from visualjudge.dataset.photograph_stand_in import StandIn
from visualjudge.dataset.plan import (
    Job,
    TaskRecords,
    jobs_of,
    read_tasks,
    sample_tasks,
)
from visualjudge.dataset.predictions_file import PREDICTIONS
from visualjudge.dataset.question_identity import turned
from visualjudge.dataset.render import Renderer
from visualjudge.dataset.sampling import Stems, deal
from visualjudge.options import JUDGE_ANALYSIS, Caps, WorkOptions
from visualjudge.vision.encode import encodings
from visualjudge.vision.predictions import type_of

T = TypeVar("T")
SPARE = 2
"""Number of pairs to draw per pair needed, since some encodings show two options
alike."""
FEWEST_STEPS = 3


@dataclass(frozen=True, slots=True)
class Chosen:
    """Encodings of one task that probes use."""

    image: str | None
    other_image: str | None
    text: str | None


def chosen(task: str) -> Chosen:
    """Return two image encodings and one text encoding, without drawn labels if
    possible, so that they can be mirrored.
    """
    rows = [row for row in encodings(task) if row.is_final]
    images = sorted(
        (row for row in rows if row.kind == "pixel"),
        key=lambda row: bool(getattr(row.style, "tags", False)),
    )
    written = [
        row for row in rows if row.kind == "text" and not type_of(task).is_image
    ]
    first, second = ([row.stem for row in images] + [None, None])[:2]
    return Chosen(first, second, written[0].stem if written else None)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The sample of a data folder, and how it is rendered into the folder ``stage``."""

    root: Path
    stage: Path
    tasks: Sequence[TaskRecords]
    items: Sequence[Question]
    options: WorkOptions
    workers: Workers

    def forms(
        self,
        items: Sequence[Question],
        stand_in: Callable[[Job], StandIn] | None = None,
    ) -> tuple[dict[int, bytes], dict[bytes, None]]:
        """Return each of ``items`` that can be asked, by index, as JSON, and the
        predictions shown.
        """
        options = self.options
        collected = dict[int, bytes]()
        displayed: dict[bytes, None] = {}
        jobs = (
            job if stand_in is None else replace(job, stand_in=stand_in(job))
            for job in jobs_of(items, self.tasks)
        )
        render = Renderer(
            self.root, self.stage, options.prompts, options.max_side
        )
        for piece in self.workers.map(render, jobs):
            collected.update(piece.questions)
            displayed.update(dict.fromkeys(piece.predictions))
        return collected, displayed


def pools(
    folder: DataFolder,
    stage: Path,
    names: Sequence[str],
    wanted: int,
    options: WorkOptions,
    workers: Workers,
    blind: Collection[Pool] = (),
) -> Mapping[Pool, Sequence[Base]]:
    """Return bases for up to ``wanted`` questions per probe, each pool balanced over
    the tasks ``names``; images go to ``stage``.

    The pools ``grey`` and ``other`` are made if ``blind`` names them.

    Raises
    ------
    DataError
        If no question can be asked.
    """
    each = SPARE * -(-wanted // len(names)) + SPARE
    caps = Caps(0, 0, each, each, -(-each // FEWEST_STEPS), 0)
    tasks = read_tasks(folder, names, workers, lambda *progress: None)
    displayed = {name: chosen(name) for name in names}
    stems = {
        name: Stems(
            (), tuple(filter(None, (item.image, item.other_image, item.text)))
        )
        for name, item in displayed.items()
    }
    items = sample_tasks(
        tasks, (JUDGE_ANALYSIS,), caps, options.seed, stems.__getitem__
    )
    drawn = _Drawn(folder.root, stage, tasks, items, options, workers)
    questions = _rendered(drawn)
    if not questions:
        raise DataError(f"{folder.name}: no question can be asked")
    pairs = [
        question
        for question in questions
        if question.question_type == "pairwise"
    ]
    stated = options.prompts.asset("layout").part("given")
    seed = options.seed
    out: dict[Pool, Sequence[Base]] = {
        "image": _pairs(
            pairs,
            {name: item.image for name, item in displayed.items()},
            stated,
            seed,
        ),
        "other_image": _pairs(
            pairs,
            {name: item.other_image for name, item in displayed.items()},
            stated,
            seed,
        ),
        "text": _pairs(
            pairs,
            {name: item.text for name, item in displayed.items()},
            stated,
            seed,
        ),
        "steps": _staircases(questions, stated, seed),
    }
    asked_as_image = {base.group for base in out["image"]}
    out["other_image"] = [
        base for base in out["other_image"] if base.group in asked_as_image
    ]
    for name in sorted(blind):
        out[name] = _over(
            name,
            drawn,
            [
                base
                for base in out["image"][:wanted]
                if option_images(base.pair, 0).start
            ],
        )
    return out


def _rendered(drawn: _Drawn) -> list[Question]:
    forms, displayed = drawn.forms(drawn.items)
    (drawn.stage / PREDICTIONS).write_bytes(b"".join(displayed))
    places = sorted(forms)
    asked = [drawn.items[place] for place in places]
    turns = _alike(asked, deal(asked, drawn.options.seed))
    return [
        _read(forms[place], turn, place)
        for place, turn in zip(places, turns, strict=True)
    ]


def _read(form: bytes, turn: bool, place: int) -> Question:
    question = question_from_wire(orjson.loads(form), place)
    return turned(question) if turn else question


def _over(name: str, drawn: _Drawn, bases: Sequence[Base]) -> list[Base]:
    """Return the pairs of ``bases`` with a substitute for the photograph, in the same
    order of options. The substitute is grey, or for ``other`` another photograph of the
    task; a task with one photograph has no such pairs."""
    others = _other_records(drawn) if name == "other" else {}
    wanted = {base.group: (k, base) for k, base in enumerate(bases)}
    items = [
        item
        for item in drawn.items
        if _pair_key(item) in wanted
        and item.question_type == "pairwise"
        and item.encoding == chosen(item.task).image
        and (name != "other" or (item.task, item.image_id) in others)
    ]

    def stand_in(job: Job) -> StandIn:
        known = (
            (task, others.get((task, job.image_id))) for task in job.images
        )
        return StandIn(
            name, {task: record for task, record in known if record is not None}
        )

    collected = {}
    for place, form in drawn.forms(items, stand_in)[0].items():
        k, base = wanted[_pair_key(items[place])]
        turn = items[place].annotation_ids != base.pair.annotation_ids
        collected[k] = replace(base, questions=(_read(form, turn, place),))
    return [collected[k] for k in sorted(collected)]


def _other_records(drawn: _Drawn) -> dict[tuple[str, str], ImageRecord]:
    """Return another image of the task for each image: the next one with a different
    file, in random order."""
    collected = {}
    for task in drawn.tasks:
        used = {note.image_id for note in task.entries} & task.images.keys()
        ring = sorted(
            used,
            key=lambda image: seed_for(
                drawn.options.seed, "other", task.name, image
            ),
        )
        for k, image in enumerate(ring):
            rest = (task.images[name] for name in ring[k + 1 :] + ring[:k])
            other = next(
                (row for row in rest if row.file != task.images[image].file),
                None,
            )
            if other is not None:
                collected[task.name, image] = other
    return collected


def _alike(items: Sequence[Question], turns: Sequence[bool]) -> list[bool]:
    """Use the same order of options in both image encodings; otherwise a judge with
    position bias would seem to see a difference."""
    first = {
        (item.task, item.annotation_ids): turn
        for item, turn in zip(items, turns, strict=True)
        if item.encoding == chosen(item.task).image
    }
    return [
        first.get((item.task, item.annotation_ids), turn)
        for item, turn in zip(items, turns, strict=True)
    ]


def _pair_key(pair: Question) -> str:
    return "|".join((pair.task, *sorted(pair.annotation_ids)))


def _pairs(
    pairs: Iterable[Question],
    stems: Mapping[str, str | None],
    text: str,
    seed: int,
) -> list[Base]:
    collected = [
        Base((q,), _pair_key(q), text)
        for q in pairs
        if stems.get(q.task) == q.encoding
    ]
    return _in_turn(collected, seed)


def _staircases(
    questions: Iterable[Question], text: str, seed: int
) -> list[Base]:
    """Return scoring questions about one image and one error type, from best to worst,
    each score once."""
    groups: dict[tuple[object, ...], dict[float, Question]] = defaultdict(dict)
    for q in questions:
        if q.question_type == "scoring" and q.encoding == chosen(q.task).image:
            groups[
                q.task, q.image_id, q.class_of_interest, q.error_type
            ].setdefault(q.final_scores[0], q)
    collected = []
    for steps in groups.values():
        if len(steps) >= FEWEST_STEPS:
            ordered = tuple(
                steps[score] for score in sorted(steps, reverse=True)
            )
            key = "|".join(
                (ordered[0].task, *(q.annotation_ids[0] for q in ordered))
            )
            collected.append(Base(ordered, key, text))
    return _in_turn(collected, seed)


def _in_turn(bases: Sequence[Base], seed: int) -> list[Base]:
    """Alternate between tasks, and within a task between images, in random order."""
    drawn = sorted(bases, key=lambda base: seed_for(seed, "probe", base.group))
    by_image = in_turn(drawn, lambda base: (base.pair.task, base.pair.image_id))
    return in_turn(by_image, lambda base: base.pair.task)


def in_turn(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Return the first item of each key, then the second of each, …, in their original
    order within each round.
    """
    seen: Counter[Hashable] = Counter()
    rounds = []
    for item in items:
        rounds.append((seen[key(item)], item))
        seen[key(item)] += 1
    return [item for _, item in sorted(rounds, key=itemgetter(0))]
