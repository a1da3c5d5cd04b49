"""Registries of rows, and plug-ins that add rows to them. The rows of a prediction type
are in ``vision/rows.py``; functions that register, in ``visualjudge/plugins.py``.

A plug-in is an installed distribution with an entry point in the group
``visualjudge.plugins``: a module that registers rows when imported, or a function
without arguments that registers rows when called. Plug-ins are loaded when a table is
first read, so the command line, Python and every worker process see the same rows; no
table is read while a module of visualjudge is imported. A plug-in that fails is
reported in one line, and none of its rows are kept; a function of a row that fails
later names the plug-in and the row.
"""

from __future__ import annotations

import functools
import importlib
import logging
import re
import threading
import traceback
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from typing_extensions import TypedDict

from visualjudge.core.errors import (
    PluginError,
    UnknownName,
    UsageError,
    VisualJudgeError,
    one_of,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "visualjudge.plugins"

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point: its origin, the rows it registered, or why it was skipped."""

    name: str
    distribution: str
    version: str
    registered: tuple[str, ...] = ()
    problem: str | None = None


class Registry(Mapping[K, T], Generic[K, T]):
    """Rows by name: the built-in rows, then the registered ones. Reading a registry
    loads the plug-ins.

    Parameters
    ----------
    what
        Kind of row, for messages.
    rows
        Built-in rows; an entry ``"module:Name"`` is imported on first use.
    home
        ``"module:NAME"`` of the registry, if scripts may add rows: other processes find
        it by that.
    """

    def __init__(
        self, what: str, rows: Mapping[K, T | str], home: str = ""
    ) -> None:
        self.what = what
        self.home = home
        self._like: tuple[object, object] = next(iter(rows.items()), ("", ""))
        self._rows: dict[K, Any] = dict(rows)
        self._own = tuple(rows)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return _at, (self.home,)

    @property
    def own(self) -> dict[K, T]:
        return {key: self._resolved(key) for key in self._own}

    def __getitem__(self, key: K) -> T:
        load_plugins()
        return self._resolved(key)

    def __iter__(self) -> Iterator[K]:
        load_plugins()
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        load_plugins()
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        load_plugins()
        return isinstance(key, Hashable) and key in self._rows

    def find(self, name: object) -> T:
        """Return the row of this name.

        Raises
        ------
        UnknownName
            If there is no such row; the message lists the known names.
        """
        if name not in self:
            known = one_of(name, list(map(_displayed, self)))
            raise UnknownName(
                f"unknown {self.what} {name!r}{lacking(self.what, name)}; must be "
                f"{known}"
            )
        return self._resolved(name)  # type: ignore[arg-type]

    def register(self, key: K, entry: T | str) -> None:
        """Add a row.

        Raises
        ------
        UsageError
            If the name is taken, or name or row are of another kind than the built-in
            ones.
        """
        name, row = map(type, self._like)
        if not isinstance(key, name) or not (
            isinstance(entry, row) or (row is str and callable(entry))
        ):
            raise UsageError(
                f"{self.what} {_displayed(key)}: must be a {row.__name__} named by a "
                f"{name.__name__}, got a {type(entry).__name__} named by a "
                f"{type(key).__name__}"
            )
        if key in self._rows:
            raise UsageError(
                f"{self.what} {_displayed(key)} is already registered"
            )
        self._rows[key] = entry
        _STATE.added.append((self, key, _STATE.loading))

    def remove(self, key: K) -> None:
        del self._rows[key]
        _STATE.added = [
            row
            for row in _STATE.added
            if not (row[0] is self and row[1] == key)
        ]

    def _resolved(self, key: K) -> T:
        entry = self._rows[key]
        if isinstance(entry, str) and ":" in entry:
            entry = self._rows[key] = _at(entry)
        return entry  # type: ignore[no-any-return]


def _at(place: str) -> Any:
    """Return what ``"module:name"`` names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


class _State:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.begun = self.done = False
        self.loading: str | None = None
        self.plugins: list[Plugin] = []
        # The table and the name of each row, and its plug-in; None if a script added
        # it.
        self.added: list[tuple[Registry[Any, Any], Any, str | None]] = []
        # Name, distribution and version of the plug-in of each row, as the files read
        # state.
        self.stated: dict[str, list[str]] = {}


_STATE = _State()


def load_plugins() -> None:
    """Load every plug-in, once per process. A plug-in that reads a registry while
    loading sees the rows registered so far.
    """
    if _STATE.done:
        return
    with _STATE.lock:
        if _STATE.begun:
            return
        _STATE.begun = True
        from importlib.metadata import entry_points

        for point in sorted(
            entry_points(group=GROUP), key=lambda point: point.name
        ):
            _STATE.plugins.append(_loaded(point))
        _STATE.done = True


def plugins() -> tuple[Plugin, ...]:
    load_plugins()
    return tuple(_STATE.plugins)


def plugins_with_rows() -> list[str]:
    return sorted(
        {plugin for _, _, plugin in _STATE.added if plugin is not None}
    )


def added(what: str) -> tuple[Any, ...]:
    """Return the names of the rows added to a table, without importing the table."""
    load_plugins()
    return tuple(key for table, key, _ in _STATE.added if table.what == what)


def in_use(rows: Collection[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return the plug-ins that added any of these (table, key), with their versions;
    "script" for rows that a script added.

    ``rows`` of each plug-in lists those in use, such as "task optical_flow".
    """
    used: dict[str | None, list[str]] = {}
    for table, key, plugin in _STATE.added:
        if (table.what, key) in rows:
            used.setdefault(plugin, []).append(
                f"{table.what} {_displayed(key)}"
            )
    stated: list[dict[str, Any]] = [
        {
            "name": item.name,
            "distribution": item.distribution,
            "version": item.version,
            "rows": sorted(used[item.name]),
        }
        for item in plugins()
        if item.name in used
    ]
    return stated + (
        [{"name": "script", "rows": sorted(used[None])}] if None in used else []
    )


_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,99}")


class MadeWith(TypedDict, total=False):
    """A plug-in with which a file was made, and its rows in use."""

    name: str
    distribution: str
    version: str
    rows: list[str]


def note_made_with(stated: Iterable[MadeWith]) -> None:
    """Remember which plug-ins a file was made with (:func:`in_use`), for the message if
    a row is missing.

    The file may be untrusted, so only plain names and versions, which are safe in a
    message, are kept.
    """
    for item in stated:
        words = [
            str(item.get(name, "?"))
            for name in ("name", "distribution", "version")
        ]
        if all(map(_WORD.fullmatch, words)):
            _STATE.stated.update(dict.fromkeys(item.get("rows", ()), words))


def lacking(what: str, key: object) -> str:
    """Return which plug-in provides a missing row, according to the files read, and how
    to install it; empty if unknown.
    """
    if (words := _STATE.stated.get(f"{what} {_displayed(key)}")) is None:
        return ""
    name, distribution, version = words
    return (
        f", of the plug-in {name} ({distribution} {version}), which is not installed "
        "or was skipped (show plugins); if you trust its makers: pip install "
        f"{distribution}=={version}"
    )


def registrations() -> tuple[tuple[Registry[Any, Any], Any, Any], ...]:
    """Return (table, name, row) of the rows that a script or notebook registered and
    worker processes lack.
    """
    return tuple(
        (table, key, table._rows[key])
        for table, key, plugin in _STATE.added
        if plugin is None
    )


def restore(rows: Iterable[tuple[Registry[Any, Any], Any, Any]]) -> None:
    """Register the result of :func:`registrations` from another process, keeping
    existing rows."""
    load_plugins()
    for table, key, entry in rows:
        if key not in table:
            table.register(key, entry)


def _loaded(point: EntryPoint) -> Plugin:
    source = (
        (point.dist.name, point.dist.version)
        if point.dist is not None
        else ("unknown", "unknown")
    )
    _STATE.loading = point.name
    try:
        result = point.load()
        if callable(result):
            result()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped while the plug-in {point.name} was loaded"
        ) from None
    except BaseException as error:  # whatever it does, the program goes on
        for table, key, plugin in list(_STATE.added):
            if plugin == point.name:
                table.remove(key)
        # str(error) may raise
        message = traceback.format_exception_only(error)[-1]
        words = message.removeprefix(f"{type(error).__module__}.").split()
        problem = "".join(filter(str.isprintable, " ".join(words)))[:300]
        import multiprocessing

        if multiprocessing.parent_process() is None:
            logging.getLogger("visualjudge").warning(
                "visualjudge: plug-in %s skipped: %s", point.name, problem
            )
        return Plugin(point.name, *source, problem=problem)
    finally:
        _STATE.loading = None
    rows = tuple(
        f"{table.what} {_displayed(key)}"
        for table, key, plugin in _STATE.added
        if plugin == point.name
    )
    return Plugin(point.name, *source, registered=rows)


def _displayed(key: object) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


# ---------------------------------------------------------------- functions of plug-ins


class Guarded:
    """Call ``call``, and raise :class:`~visualjudge.core.errors.PluginError` for any
    exception that is not visualjudge's, also for ``sys.exit``.

    Exceptions of visualjudge, such as ``DataError("field: reason")``, propagate
    unchanged. An iterator that ``call`` returns is guarded too.
    """

    def __init__(self, call: Callable[..., Any], name: str) -> None:
        functools.update_wrapper(self, call)
        self._call = call
        self._name = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        with _faults_of(self._name):
            result = self._call(*args, **named)
        return self._each(result) if isinstance(result, Iterator) else result

    def _each(self, results: Iterator[Any]) -> Iterator[Any]:
        with _faults_of(self._name):
            yield from results


@contextmanager
def _faults_of(name: str) -> Iterator[None]:
    try:
        yield
    except VisualJudgeError:
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped in {name}") from None
    except (Exception, SystemExit) as error:  # plug-ins may raise anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise PluginError(f"{name}: {reason}") from error


def guarded(call: Callable[..., Any], what: str) -> Guarded:
    """Return ``call``, guarded for the plug-in that is registering; ``what`` names the
    row, such as "encoding text_quad".
    """
    source = "script" if _STATE.loading is None else f"plug-in {_STATE.loading}"
    return Guarded(call, f"{source}, {what}")


def guarded_row(row: T, what: str) -> T:
    """Return a copy of a row, a frozen dataclass, with each function guarded; classes
    are left unchanged.
    """
    if not is_dataclass(row) or isinstance(row, type):
        raise UsageError(
            f"{what} must be a row of its table, got {type(row).__name__}"
        )
    calls = {
        field.name: guarded(value, what)
        for field in fields(row)
        if callable(value := getattr(row, field.name))
        and not isinstance(value, type | Guarded)
    }
    return replace(row, **calls)
