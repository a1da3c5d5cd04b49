"""Stand-ins for photographs in questions, to test whether a judge needs the photograph.
Probes change questions in ``apps/probes/question_edits.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from visualjudge.core.records import ImageRecord, Pixels, Size
from visualjudge.vision.raster.images import read_rgb, resized_rgb

GREY = 128


@dataclass(frozen=True, slots=True)
class StandIn:
    """Another photograph of the same task if ``records`` (by task) has one, otherwise
    uniform grey.

    ``name`` is the suffix of the names of images drawn with it. Predictions, legends
    and prompts are unchanged and drawn over the stand-in.
    """

    name: str
    records: Mapping[str, ImageRecord] = field(default_factory=dict)

    def pixels(
        self,
        task: str,
        field: Literal["file", "control"],
        size: Size,
        root: Path,
    ) -> Pixels:
        """Return the stand-in for an image, with its (height, width): H×W×3 uint8
        RGB."""
        path = (
            getattr(self.records[task], field) if task in self.records else None
        )
        if path is None:
            return np.full((*size, 3), GREY, dtype=np.uint8)
        return resized_rgb(read_rgb(root / path), size)
