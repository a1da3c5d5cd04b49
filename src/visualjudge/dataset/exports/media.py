"""What the exports share: a dataset's images as bytes."""

from __future__ import annotations

from visualjudge.dataset.folder import Dataset
from visualjudge.errors import DataError


def image_bytes(dataset: Dataset, relative: str) -> bytes:
    """The PNG file that a question names.

    Raises
    ------
    DataError
        If it is not there, or leads out of the dataset.
    """
    try:
        return dataset.image_path(relative).read_bytes()
    except DataError as error:
        raise DataError(f"{dataset.root}: {error}") from None
    except OSError as error:
        raise DataError(f"{dataset.root}: {relative}: cannot be read: {error.strerror}") from None


def answer_text(answer: str | float) -> str:
    """The answer as a judge would write it: letters, or a score without trailing zeros."""
    return answer if isinstance(answer, str) else f"{answer:.4f}".rstrip("0").rstrip(".")
