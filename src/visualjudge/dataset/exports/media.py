"""Helpers shared by the exports: images as bytes and URIs, and answers as text."""

from __future__ import annotations

from base64 import b64encode

from visualjudge.core.errors import DataError
from visualjudge.dataset.folder import Dataset


def image_bytes(dataset: Dataset, relative: str) -> bytes:
    """Return the bytes of the PNG file that a question names.

    Raises
    ------
    DataError
        If it does not exist, or lies outside of the dataset.
    """
    try:
        return dataset.image(relative).read_bytes()
    except DataError as error:
        raise DataError(f"{dataset.root}: {error}") from None
    except OSError as error:
        raise DataError(f"{dataset.root}: {relative}: cannot be read: {error.strerror}") from None


def image_uri(dataset: Dataset, relative: str) -> str:
    """Return the image as a data URI."""
    return f"data:image/png;base64,{b64encode(image_bytes(dataset, relative)).decode()}"


def answer_text(answer: str | float) -> str:
    """Return the answer as a judge would write it: letters, or a score without trailing zeros."""
    return answer if isinstance(answer, str) else f"{answer:.4f}".rstrip("0").rstrip(".")
