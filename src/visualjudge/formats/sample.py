"""Where the names that 1.1 had here are now: samples and their records' errors in
:mod:`~visualjudge.formats.samples`, pairs of files in
:mod:`~visualjudge.formats.pairing`, tables and class names in
:mod:`~visualjudge.formats.tables`. An import from here goes on until 1.3, with a
warning.
"""

from importlib import import_module
from typing import Any
from warnings import warn


def __getattr__(name: str) -> Any:
    for home in ("samples", "pairing", "tables"):
        module = import_module(f"visualjudge.formats.{home}")
        if hasattr(module, name) and not name.startswith("_"):
            warn(
                f"visualjudge.formats.sample.{name} is in {module.__name__}",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(module, name)
    raise AttributeError(f"visualjudge.formats.sample has no {name!r}")
