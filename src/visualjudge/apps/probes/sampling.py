"""The questions that probes start from: pairs and staircases of a data folder, drawn and rendered as a build does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import orjson

from visualjudge.apps.probes.kinds import Base, Pool
from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.core.seeding import seed_for
from visualjudge.data.folder import DataFolder
from visualjudge.dataset.build import BuildOptions
from visualjudge.dataset.engines import Engine
from visualjudge.dataset.json_form import question_from_wire
from visualjudge.dataset.plan import read_tasks, sample_tasks, units_of
from visualjudge.dataset.predictions_file import PREDICTIONS
from visualjudge.dataset.render import Job, render
from visualjudge.dataset.sampling import JUDGE_ANALYSIS, Caps, Item, Stems, deal
from visualjudge.vision.encode import encodings
from visualjudge.vision.predictions import type_of
from visualjudge.vision.rows import Encoding

T = TypeVar("T")
SPARE = 2
"""Pairs that are drawn for each that is needed: an encoding may show the options of some alike."""
FEWEST_STEPS = 3


@dataclass(frozen=True, slots=True)
class Chosen:
    """The encodings of one task that probes use."""

    image: str | None
    other_image: str | None
    text: str | None

    @property
    def stems(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(stem for stem in (self.image, self.other_image, self.text) if stem is not None)


def chosen(task: str) -> Chosen:
    """Two encodings as images and one as text; without drawn labels where there is one, so that it can be mirrored."""
    rows = [row for row in encodings(task) if row.is_final]
    images = sorted((row for row in rows if row.kind == "pixel"), key=_tagged)
    texts = [row for row in rows if row.kind == "text" and not type_of(task).is_image]
    first, second = ([row.stem for row in images] + [None, None])[:2]
    return Chosen(first, second, texts[0].stem if texts else None)


def _tagged(row: Encoding) -> bool:
    return bool(getattr(row.style, "tags", False))


def pools(
    folder: DataFolder, stage: Path, names: Sequence[str], wanted: int, options: BuildOptions, engine: Engine
) -> Mapping[Pool, Sequence[Base]]:
    """Bases for up to ``wanted`` questions a probe, each pool dealt over the tasks ``names``; images go to ``stage``.

    Raises
    ------
    DataError
        If no question can be asked.
    """
    each = SPARE * -(-wanted // len(names)) + SPARE
    caps = Caps(0, 0, each, each, -(-each // FEWEST_STEPS), 0)
    questions = _rendered(folder, stage, names, replace(options, caps=caps), engine)
    if not questions:
        raise DataError(f"{folder.name}: no question can be asked")
    pairs, seed = [question for question in questions if question.question_type == "pairwise"], options.seed
    given = options.prompts.asset("layout").part("given")
    out: dict[Pool, Sequence[Base]] = {
        "image": _pairs(pairs, {name: chosen(name).image for name in names}, given, seed),
        "other_image": _pairs(pairs, {name: chosen(name).other_image for name in names}, given, seed),
        "text": _pairs(pairs, {name: chosen(name).text for name in names}, given, seed),
        "steps": _staircases(questions, given, seed),
    }
    asked_as_image = {base.group for base in out["image"]}
    out["other_image"] = [base for base in out["other_image"] if base.group in asked_as_image]
    return out


def _rendered(
    folder: DataFolder, stage: Path, names: Sequence[str], options: BuildOptions, engine: Engine
) -> list[Question]:
    tasks, seed = read_tasks(folder, names, engine, lambda count: None), options.seed
    items = sample_tasks(tasks, (JUDGE_ANALYSIS,), options.caps, seed, lambda name: Stems((), chosen(name).stems))
    forms: dict[int, tuple[bytes, bytes | None]] = {}
    jobs = (
        Job(str(folder.root), str(stage), unit, options.prompts, options.max_side) for unit in units_of(items, tasks)
    )
    shown: dict[bytes, None] = {}
    for piece in engine.map(render, jobs):
        forms.update({place: (first, turned) for place, first, turned in piece.questions})
        shown.update(dict.fromkeys(piece.predictions))
    (stage / PREDICTIONS).write_bytes(b"".join(shown))
    places = sorted(forms)
    asked = [items[place] for place in places]
    turns = _alike(asked, deal(asked, seed))
    return [
        question_from_wire(orjson.loads((forms[place][1] if turn else None) or forms[place][0]), place)
        for place, turn in zip(places, turns, strict=True)
    ]


def _alike(items: Sequence[Item], turns: Sequence[bool]) -> list[bool]:
    """The same order of options in both encodings as images: else a judge of places would seem to see a difference."""
    first = {
        (item.task, item.annotation_ids): turn
        for item, turn in zip(items, turns, strict=True)
        if item.stem == chosen(item.task).image
    }
    return [first.get((item.task, item.annotation_ids), turn) for item, turn in zip(items, turns, strict=True)]


def _pair_key(question: Question) -> str:
    return "|".join((question.task, *sorted(question.annotation_ids)))


def _pairs(pairs: Iterable[Question], stems: Mapping[str, str | None], given: str, seed: int) -> list[Base]:
    found = [Base((q,), _pair_key(q), given) for q in pairs if stems.get(q.task) == q.encoding]
    return _in_turn(found, seed)


def _staircases(questions: Iterable[Question], given: str, seed: int) -> list[Base]:
    """Scoring questions about one image and one type of error, from the best to the worst, each score once."""
    groups: dict[tuple[object, ...], dict[float, Question]] = defaultdict(dict)
    for q in questions:
        if q.question_type == "scoring" and q.encoding == chosen(q.task).image:
            groups[q.task, q.image_id, q.class_of_interest, q.error_type].setdefault(q.final_scores[0], q)
    found = []
    for steps in groups.values():
        if len(steps) >= FEWEST_STEPS:
            ordered = tuple(steps[score] for score in sorted(steps, reverse=True))
            key = "|".join((ordered[0].task, *(q.annotation_ids[0] for q in ordered)))
            found.append(Base(ordered, key, given))
    return _in_turn(found, seed)


def _in_turn(bases: Sequence[Base], seed: int) -> list[Base]:
    """Task by task in turn, and within a task image by image, in an order that the seed draws."""
    drawn = sorted(bases, key=lambda base: seed_for(seed, "probe", base.group))
    by_image = in_turn(drawn, lambda base: (base.pair.task, base.pair.image_id))
    return in_turn(by_image, lambda base: base.pair.task)


def in_turn(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """The first item of each key, then the second of each, …; within such a round in their order."""
    seen: Counter[Hashable] = Counter()
    rounds = []
    for item in items:
        rounds.append((seen[key(item)], item))
        seen[key(item)] += 1
    return [item for _, item in sorted(rounds, key=itemgetter(0))]
