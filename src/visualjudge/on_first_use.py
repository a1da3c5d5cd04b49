"""Names that a package imports when they are first used, and import paths of earlier
versions, which work with a warning. The public names of all are in ``__init__.py``.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any
from warnings import warn


def on_first_use(
    module: str, homes: Mapping[str, str], until: str = ""
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose names are in ``homes``, by name.

    If the module goes with a version, ``until``, its use warns.
    """

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if until:
            warn(
                f"{module}.{name} is in {homes[name]}; {module} goes with {until}",
                DeprecationWarning,
                stacklevel=2,
            )
        return getattr(import_module(homes[name]), name)

    return attribute
