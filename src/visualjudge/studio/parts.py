"""Questions as columns of numbers, part by part: parts of a large dataset are read at once in several processes."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from visualjudge.core.errors import DataError
from visualjudge.core.records import Question
from visualjudge.dataset.engines import Engine, InlineEngine, open_engine
from visualjudge.studio.records_on_disk import Located, QuestionsFile, Records
from visualjudge.studio.texts import Words, words_of

NONE = "(none)"
SINGLE = ("task", "encoding", "type", "error_type", "image", "answer")
"""Facets with one value a question."""
MULTIPLE = ("subset", "class", "source")
"""Facets with any number of values a question."""
STEP = 4 * 2**20
"""Bytes of a part."""
HERE: Engine = InlineEngine()
_LARGE = 32 * 2**20
"""Bytes from which other processes save more time than their start takes."""
_MOST_PROCESSES = 4
_QUESTIONS = 4000
"""Questions of a part that is not a range of bytes."""


def engine_for(files: Iterable[Path]) -> Engine:
    """Who reads these files: other processes where they are large and there are several cores."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    return HERE if size < _LARGE else open_engine("local", min(_MOST_PROCESSES, os.cpu_count() or 1))


def line_ranges(path: Path, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The bytes ``start:stop`` as ranges of about STEP bytes that end with a line."""
    with path.open("rb") as file:
        while start < stop:
            file.seek(min(start + STEP, stop))
            file.readline()
            begin, start = start, min(file.tell(), stop)
            yield begin, start


class _Codes(dict[str, int]):
    """A code for each value, in the order in which they appear."""

    def __missing__(self, value: str) -> int:
        self[value] = code = len(self)
        return code


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Some questions in the order of the dataset; codes and rows count from 0 in each part."""

    places: list[tuple[str, int, int]] = field(default_factory=list)
    """Id, start and stop."""
    images: set[str] = field(default_factory=set)
    texts: list[Words] = field(default_factory=list)
    codes: dict[str, _Codes] = field(default_factory=lambda: {name: _Codes() for name in (*SINGLE, *MULTIPLE)})
    one: dict[str, array[int]] = field(
        default_factory=lambda: {name: array("i") for name in (*SINGLE, "options", "length", "changed")}
    )
    real: dict[str, array[float]] = field(default_factory=lambda: {name: array("f") for name in ("margin", "truth")})
    many: dict[str, tuple[array[int], array[int]]] = field(
        default_factory=lambda: {name: (array("i"), array("i")) for name in MULTIPLE}
    )
    """Rows and codes."""


def parts(stored: Records, engine: Engine) -> Iterator[Part]:
    """All questions in order.

    Raises
    ------
    DataError
        If one cannot be read.
    """
    if not isinstance(stored, QuestionsFile) or not stored.one_a_line():
        scan = stored.scan()
        while (part := part_of(islice(scan, _QUESTIONS))).places:
            yield part
        return
    ranges = line_ranges(stored.path, 0, stored.path.stat().st_size)
    try:
        yield from engine.map(_part_in, ((stored.path.parent, start, stop) for start, stop in ranges))
    except DataError:
        for _ in stored.scan():  # the error names the line in the file, not in the part
            pass
        raise


def _part_in(place: tuple[Path, int, int]) -> Part:
    root, start, stop = place
    return part_of(QuestionsFile(root).scan_lines(start, stop))


def part_of(located: Iterable[Located]) -> Part:
    """Questions as columns."""
    part = Part()
    for row, (start, stop, question) in enumerate(located):
        part.places.append((question.id, start, stop))
        part.images.update(question.images)
        part.texts.append(words_of(question.prompt))
        for name, value in _single(question).items():
            part.one[name].append(part.codes[name][value])
        for name, values in _multiple(question).items():
            distinct = dict.fromkeys(values)
            rows, codes = part.many[name]
            rows.extend([row] * len(distinct))
            codes.extend(map(part.codes[name].__getitem__, distinct))
        scores = question.final_scores
        part.real["margin"].append(max(scores) - min(scores) if len(scores) > 1 else float("nan"))
        part.real["truth"].append(float("nan") if isinstance(question.answer, str) else float(question.answer))
        part.one["options"].append(len(question.annotation_ids))
        part.one["length"].append(len(question.prompt))
        part.one["changed"].append(question.probe is not None and question.probe.design != "control")
    return part


def _single(question: Question) -> dict[str, str]:
    answer = question.answer
    return {
        "task": question.task,
        "encoding": f"{question.task}/{question.encoding}",
        "type": question.question_type,
        "error_type": question.error_type or NONE,
        "image": str(question.image_id),
        "answer": answer if isinstance(answer, str) else _bin(answer),
    }


def _bin(answer: float) -> str:
    low = min(int(answer), 9)
    return f"{low} to {low + 1}"


def _multiple(question: Question) -> dict[str, tuple[str, ...]]:
    return {
        "subset": question.subset or (NONE,),
        "class": question.class_of_interest or (NONE,),
        "source": tuple(source or NONE for source in question.sources) or (NONE,),
    }
