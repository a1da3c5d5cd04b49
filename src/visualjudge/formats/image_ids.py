"""Image ids: from the file name or folder and file name, with or without a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from visualjudge.core.errors import Problem, UsageError
from visualjudge.formats.sample import Found, Sample

KINDS = ("name", "folder")


@dataclass(frozen=True, slots=True)
class Ids:
    """Rules for naming images. ``image_id`` is ``prefix`` and the image's file name without its
    suffix; if ``source`` is "folder", the folder's name and ``_`` come between them. An id from the
    input itself (a table column) only gets the prefix.
    """

    prefix: str = ""
    source: str = "name"

    def __post_init__(self) -> None:
        if self.source not in KINDS:
            raise UsageError(f"--id-from must be one of {', '.join(KINDS)}, got {self.source!r}")

    def of(self, sample: Sample) -> str:
        """Return the ``image_id`` of a sample."""
        name = sample.image_id
        if self.source == "folder" and sample.image is not None and not sample.named:
            name = f"{sample.image.resolve().parent.name}_{sample.image.stem}"
        return f"{self.prefix}{name}"


def renamed(found: Found, ids: Ids) -> Iterator[Sample | Problem]:
    """Yield the samples with the image ids given by ``ids``."""
    for item in found:
        yield replace(item, image_id=ids.of(item)) if isinstance(item, Sample) else item
