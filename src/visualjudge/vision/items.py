"""Base class of predictions that are lists of labelled items. The records are
``boxes/record.py``, ``masks/record.py`` and ``poses/record.py``.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Self

from visualjudge.vision.base import Prediction


class LabelledItems(Prediction):
    """Boxes or masks: ``items``, each with a ``label`` and ``iscrowd``."""

    __slots__ = ()
    items: tuple[Any, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(sorted({item.label for item in self.items}))

    @property
    def count(self) -> int:
        return len(self.items)

    def items_by_label(self) -> dict[str, list[Any]]:
        by_label: dict[str, list[Any]] = {}
        for item in self.items:
            by_label.setdefault(item.label, []).append(item)
        return by_label

    def only(self, labels: Collection[str]) -> Self:
        return self.with_items(
            item for item in self.items if item.label in labels
        )

    def without_crowds(self) -> Self:
        return self.with_items(item for item in self.items if not item.iscrowd)

    def with_items(self, items: Iterable[Any]) -> Self:
        """Return a copy with other items."""
        return replace(self, items=tuple(items))  # type: ignore[type-var]
