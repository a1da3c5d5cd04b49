"""Stand-ins for photographs in questions, to test whether a judge needs the photograph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from visualjudge.core.records import ImageRecord, Pixels, Size
from visualjudge.vision.raster.images import read_rgb, resized_rgb

GREY = 128


@dataclass(frozen=True, slots=True)
class StandIn:
    """Another photograph of the same task if ``records`` (by task) has one, otherwise uniform grey.

    ``name`` is the suffix of the names of images drawn with it. Predictions, legends and prompts
    are unchanged and drawn over the stand-in.
    """

    name: str
    records: Mapping[str, ImageRecord] = field(default_factory=dict)

    def image(self, task: str, size: Size, root: Path) -> Pixels:
        """Return the stand-in for the photograph, with its (height, width): H×W×3 uint8 RGB."""
        return self._shown(self.records[task].file if task in self.records else None, size, root)

    def control(self, task: str, size: Size, root: Path) -> Pixels:
        """Return the stand-in for the control image."""
        return self._shown(self.records[task].control if task in self.records else None, size, root)

    def _shown(self, path: str | None, size: Size, root: Path) -> Pixels:
        if path is None:
            return np.full((*size, 3), GREY, dtype=np.uint8)
        return resized_rgb(read_rgb(root / path), size)
