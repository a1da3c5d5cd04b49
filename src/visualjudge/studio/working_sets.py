"""Stars, tags, notes and saved views of one dataset, in two JSON files in a folder next to
it.

``marks.json`` maps the id of a question to ``{"star": true, "tags": ["…"], "note": "…"}``;
``views.json`` maps a name to the query string of the grid's address. Both may be edited by hand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from visualjudge.core import jsons
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import DataError
from visualjudge.core.locks import FileLock
from visualjudge.core.untrusted import read_file

T = TypeVar("T")
LONGEST_TAG, LONGEST_NOTE, LONGEST_NAME, LONGEST_QUERY = 40, 4000, 80, 4000
MOST_TAGS = 20
MOST_UNDONE = 20
"""Number of changes that can be undone."""


@dataclass(frozen=True, slots=True)
class Marked:
    """The notes on one question."""

    star: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""

    def wire(self) -> dict[str, Any]:
        """Return the content of the file entry, without empty fields."""
        held = {"star": self.star, "tags": list(self.tags), "note": self.note}
        return {name: value for name, value in held.items() if value}


UNMARKED = Marked()


@dataclass(frozen=True, slots=True)
class Change:
    """A change to some questions; None leaves a field unchanged.

    Attributes
    ----------
    add
        A tag.
    remove
        A tag.
    """

    star: bool | None = None
    add: str | None = None
    remove: str | None = None
    note: str | None = None

    @property
    def said(self) -> str:
        """Describe the change in words."""
        parts = {
            "star": self.star,
            "no star": self.star is False,
            f"tag {self.add}": self.add,
            f"no tag {self.remove}": self.remove,
            "note": self.note is not None,
        }
        return ", ".join(name for name, done in parts.items() if done)

    def applied(self, before: Marked) -> Marked:
        """Return the notes after the change.

        Raises
        ------
        DataError
            If a question would have too many tags.
        """
        tags = {**dict.fromkeys(before.tags), **({self.add: None} if self.add else {})}
        if self.remove:
            tags.pop(self.remove, None)
        if len(tags) > MOST_TAGS:
            raise DataError(f"tags must be at most {MOST_TAGS} per question, got {len(tags)}")
        return Marked(
            before.star if self.star is None else self.star,
            tuple(sorted(tags)),
            before.note if self.note is None else self.note,
        )


@dataclass(frozen=True, slots=True)
class Undo:
    """A change that can be undone: its description, and the previous marks or views."""

    said: str
    marks: Mapping[str, Marked]
    views: Mapping[str, str] | None = None


def read_change(raw: Mapping[str, Any]) -> Change:
    """Parse a change from the body of a request.

    Raises
    ------
    DataError
        If it is not valid; the message names the field.
    """
    star = raw.get("star")
    if star is not None and not isinstance(star, bool):
        raise DataError(f"star must be true or false, got {star!r}")
    return Change(star, _tag(raw, "add"), _tag(raw, "remove"), _text(raw, "note", LONGEST_NOTE))


def _tag(raw: Mapping[str, Any], field: str) -> str | None:
    tag = _text(raw, field, LONGEST_TAG)
    if tag is not None and (not tag or not tag.isprintable()):
        raise DataError(f"{field} must be a printable tag, got {tag!r}")
    return tag


def _text(raw: Mapping[str, Any], field: str, longest: int) -> str | None:
    value = raw.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > longest:
        raise DataError(f"{field} must be a text of at most {longest} characters")
    return value.strip()


class WorkingSets:
    """The files of one dataset; safe for several threads and several studios."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generation = 0
        """Increases whenever a mark changes."""
        self._marks: dict[str, Marked] = {}
        self._views: dict[str, str] = {}
        self._stamps: dict[str, tuple[int, int, int] | None] = {}
        self._undone: list[Undo] = []
        self._lock = threading.RLock()

    # ---------------------------------------------------------------- reading

    def marks(self) -> Mapping[str, Marked]:
        """Return every question with notes."""
        with self._lock:
            found = self._read("marks.json", partial(_marked, self.folder / "marks.json"))
            if found is not None:
                self._marks, self.generation = found, self.generation + 1
            return self._marks

    def views(self) -> Mapping[str, str]:
        """Return the query string of each saved view, by name."""
        with self._lock:
            found = self._read("views.json", partial(_query, self.folder / "views.json"))
            self._views = self._views if found is None else found
            return self._views

    def _read(self, name: str, read: Callable[[str, Any], T]) -> dict[str, T] | None:
        """Return the content of the file, or None if it is unchanged since the last read."""
        stamp, path = self._stamp(name), self.folder / name
        if name in self._stamps and self._stamps[name] == stamp:
            return None
        raw: Any = {}
        if stamp is not None:
            try:
                raw = jsons.loads(read_file(path, "manifest"))
            except ValueError as error:
                raise DataError(f"{path}: must be JSON: {error}") from None
        if not isinstance(raw, dict):
            raise DataError(f"{path}: must be an object")
        found = {key: read(key, value) for key, value in raw.items()}
        self._stamps[name] = stamp  # only now: an unreadable file must not be overwritten
        return found

    def _stamp(self, name: str) -> tuple[int, int, int] | None:
        try:
            stat = (self.folder / name).stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    # ---------------------------------------------------------------- writing

    def change(self, identities: Iterable[str], change: Change) -> int:
        """Apply a change and return the number of questions changed.

        Raises
        ------
        DataError
            If a question would have too many tags; nothing is changed then.
        RunError
            If the file cannot be written.
        """

        def act() -> dict[str, Marked]:
            marks = self.marks()
            after = {name: change.applied(marks.get(name, UNMARKED)) for name in identities}
            return {name: mark for name, mark in after.items() if mark != marks.get(name, UNMARKED)}

        before = self._write_marks(act)
        if before:
            said = f"{change.said} of {len(before)} question{'s' if len(before) > 1 else ''}"
            self._keep(Undo(said, before))
        return len(before)

    @property
    def undoable(self) -> str | None:
        """Describe what :meth:`undo` would revert; None if there is nothing."""
        return self._undone[-1].said if self._undone else None

    def undo(self) -> str | None:
        """Undo the last change that has not been undone and return its description."""
        with self._lock:
            if not self._undone:
                return None
            last = self._undone.pop()
            if last.views is None:
                self._write_marks(lambda: last.marks)
            else:
                views = last.views
                self._write_views(lambda: views)
            return last.said

    def _keep(self, undo: Undo) -> None:
        self._undone = [*self._undone[1 - MOST_UNDONE :], undo]

    def _write_marks(self, act: Callable[[], Mapping[str, Marked]]) -> dict[str, Marked]:
        """Write the changes; return the previous marks of those questions."""
        with self._locked("marks.json"):
            changed = act()
            before = {name: self._marks.get(name, UNMARKED) for name in changed}
            if changed:
                every = {**self._marks, **changed}
                self._marks = {name: mark for name, mark in every.items() if mark != UNMARKED}
                wire = {name: self._marks[name].wire() for name in sorted(self._marks)}
                write_json(self.folder / "marks.json", wire)
                self._stamps["marks.json"] = self._stamp("marks.json")
                self.generation += 1
            return before

    def save_view(self, name: str, query: str | None) -> None:
        """Save a view, or remove it if ``query`` is None.

        Raises
        ------
        DataError
            If the name cannot be used.
        RunError
            If the file cannot be written.
        """
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or "/" in name:
            raise DataError(
                f"name must be 1 to {LONGEST_NAME} printable characters without '/', got {name!r}"
            )
        if query is not None and len(query) > LONGEST_QUERY:
            raise DataError(f"query must be at most {LONGEST_QUERY} characters")

        def act() -> Mapping[str, str]:
            kept = {key: held for key, held in self.views().items() if key != name}
            return kept if query is None else {**kept, name: query}

        before = self._write_views(act)
        done = "removal" if query is None else "change" if name in before else "saving"
        self._keep(Undo(f"{done} of the view {name}", {}, before))

    def _write_views(self, act: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
        """Write the views; return the previous ones."""
        with self._locked("views.json"):
            before, after = self.views(), dict(sorted(act().items()))
            write_json(self.folder / "views.json", after)
            self._stamps["views.json"] = self._stamp("views.json")
            self._views = after
            return before

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        with self._lock:
            lock = FileLock(self.folder / name)
            try:
                yield
            finally:
                lock.release()


def _query(path: Path, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise DataError(f"{path}: {name}: must be a query string")
    return value


def _marked(path: Path, name: str, value: Any) -> Marked:
    if not isinstance(value, dict) or not isinstance(value.get("tags", []), list):
        raise DataError(f"{path}: {name}: must be an object with star, tags and note")
    try:
        change = read_change({"star": value.get("star"), "note": value.get("note")})
        tags: Sequence[str | None] = [_tag({"tags": tag}, "tags") for tag in value.get("tags", [])]
    except DataError as error:
        raise DataError(f"{path}: {name}: {error}") from None
    found = tuple(sorted({tag for tag in tags if tag}))
    return replace(UNMARKED, star=bool(change.star), tags=found, note=change.note or "")
