"""Module names documented in version 0.2. Importing one works, with a warning that states the new
name.

``visualjudge.__all__`` does not depend on this table, which will be removed according to the
deprecation rule in CONTRIBUTING.
"""

from __future__ import annotations

import importlib
import importlib.abc
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "atomic": "core.atomic",
    "connectors": "apps.connectors",
    "connectors.annotating": "apps.connectors.annotating",
    "connectors.evaluators": "apps.connectors.evaluators",
    "connectors.grading": "apps.connectors.grading",
    "connectors.inspect_tasks": "apps.connectors.inspect_tasks",
    "connectors.lmms_eval_tasks": "apps.connectors.lmms_eval_tasks",
    "connectors.verifiers_endless": "apps.connectors.verifiers_endless",
    "connectors.verifiers_tasks": "apps.connectors.verifiers_tasks",
    "data.importers": "formats",
    "data.importers.in_memory": "formats.in_memory",
    "data.importers.sample": "formats.sample",
    "demo": "apps.demo",
    "demo.data": "apps.demo.data",
    "encoding": "vision.encode",
    "encoding.canvas": "vision.drawing.canvas",
    "encoding.encoded": "vision.drawing.encoded",
    "encoding.grid": "vision.drawing.grid",
    "errors": "core.errors",
    "judges.asks": "judges.base",
    "metrics": "vision.score",
    "metrics.average_precision": "vision.scoring.average_precision",
    "perturb": "vision.errors",
    "perturb.fields": "vision.errors.random_fields",
    "perturb.levels": "vision.errors.levels",
    "predictions": "vision.predictions",
    "predictions.base": "vision.base",
    "predictions.fields": "vision.fields",
    "probes": "apps.probes",
    "probes.catalogue": "apps.probes.kinds",
    "probes.shown": "apps.probes.question_edits",
    "raster": "vision.raster",
    "raster.images": "vision.raster.images",
    "records": "core.records",
    "seeding": "core.seeding",
    "training": "apps.training",
    "training.endless": "apps.training.endless_questions",
}
"""Old name → new name, both below ``visualjudge``."""

ROOT = "visualjudge."


class Moved(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder for the old names. It comes first in ``sys.meta_path``, because Python would treat an
    old folder with only ``__pycache__`` as a namespace package.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for an old name, else None."""
        if not fullname.startswith(ROOT) or fullname[len(ROOT) :] not in MOVED:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Copy the attributes of the replacement to the module."""
        new = ROOT + MOVED[module.__name__[len(ROOT) :]]
        warnings.warn(f"{module.__name__} has moved to {new}", DeprecationWarning, stacklevel=2)
        home = importlib.import_module(new)
        module.__doc__ = home.__doc__
        module.__dict__["__getattr__"] = lambda name: getattr(home, name)


def install() -> None:
    """Make the old names importable, once per process."""
    if not any(isinstance(finder, Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, Moved())
