"""Stars, tags and notes on the questions of one dataset, in ``marks.json`` in a folder
next to it. What a filter chooses is in ``selection.py``.

The file maps the id of a question to ``{"star": true, "tags": ["…"], "note": "…"}`` and
may be edited by hand.
"""

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    StrictBool,
    StringConstraints,
)

from visualjudge.core.atomic import write_json
from visualjudge.core.errors import DataError
from visualjudge.core.locks import locked
from visualjudge.core.typed_records import record_of
from visualjudge.core.untrusted import read_file

MOST_TAGS = 20
Tag = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=40, pattern=r"^\PC+$"
    ),
]
Note = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4000)]


def _in_order(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(tags)))


class Marked(BaseModel, frozen=True):
    """The notes on one question."""

    star: StrictBool = False
    tags: Annotated[tuple[Tag, ...], AfterValidator(_in_order)] = ()
    note: Note = ""


class Change(BaseModel, frozen=True):
    """A change to some questions; ``add`` and ``remove`` are tags, None changes
    nothing."""

    star: StrictBool | None = None
    add: Tag | None = None
    remove: Tag | None = None
    note: Note | None = None

    def applied(self, before: Marked) -> Marked:
        """Return the notes after the change.

        Raises
        ------
        DataError
            If a question would have too many tags.
        """
        tags = [
            tag
            for tag in (*before.tags, self.add)
            if tag and tag != self.remove
        ]
        if len({*tags}) > MOST_TAGS:
            raise DataError(
                f"tags must be at most {MOST_TAGS} per question, got {len({*tags})}"
            )
        return Marked(
            star=before.star if self.star is None else self.star,
            tags=tuple(tags),
            note=before.note if self.note is None else self.note,
        )


class Asked(Change, frozen=True):
    """A change of the questions with these ids, or of those that the query of a grid
    selects."""

    ids: list[str] | None = None
    query: str | None = None


UNMARKED = Marked()


class WorkingSets:
    """The file of one dataset; safe for several threads and several studios."""

    def __init__(self, dataset: Path) -> None:
        # beside the dataset, as a build replaces its contents
        self.path = dataset.with_name(f"{dataset.name}.studio") / "marks.json"
        self.generation = 0
        """Increases whenever a mark changes."""
        self._marks: Mapping[str, Marked] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._lock = threading.RLock()

    def marks(self) -> Mapping[str, Marked]:
        """Return every question with notes.

        Raises
        ------
        DataError
            If the file is not valid.
        """
        with self._lock:
            stat = self.path.stat() if self.path.is_file() else None
            stamp = (
                (stat.st_mtime_ns, stat.st_size, stat.st_ino) if stat else None
            )
            if stamp != self._stamp:
                self._marks = self._read() if stamp else {}
                self._stamp = stamp
                self.generation += 1
            return self._marks

    def _read(self) -> dict[str, Marked]:
        return record_of(
            dict[str, Marked], read_file(self.path, "manifest"), self.path
        )

    def change(self, identities: Iterable[str], change: Change) -> int:
        """Apply a change and return the number of questions changed.

        Raises
        ------
        DataError
            If a question would have too many tags; nothing is changed then.
        RunError
            If the file cannot be written.
        """
        with self._lock:
            lock = locked(self.path)
            try:
                before = self.marks()
                after = {
                    name: change.applied(before.get(name, UNMARKED))
                    for name in identities
                }
                changed = {
                    n: mark
                    for n, mark in after.items()
                    if mark != before.get(n, UNMARKED)
                }
                if changed:
                    every = sorted({**before, **changed}.items())
                    write_json(
                        self.path,
                        {
                            n: m.model_dump(exclude_defaults=True)
                            for n, m in every
                            if m != UNMARKED
                        },
                    )
                return len(changed)
            finally:
                lock.release()
