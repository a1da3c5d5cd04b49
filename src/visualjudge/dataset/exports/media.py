"""What exports share: images as bytes, URIs and paths, and answers as text. The formats
are beside it.
"""

import io
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import Place, bytes_of
from visualjudge.core.records import Question
from visualjudge.dataset.folder import Dataset
from visualjudge.vision.raster.images import check_image


def image_place(dataset: Dataset, relative: str) -> Place:
    """Return where the image is that a question names.

    Raises
    ------
    DataError
        If it does not exist, or lies outside of the dataset.
    """
    try:
        return dataset.image(relative)
    except DataError as error:
        raise DataError(f"{dataset.root}: {error}") from None


def image_bytes(dataset: Dataset, relative: str) -> bytes:
    """Return the bytes of the image that a question names.

    Raises
    ------
    DataError
        If it does not exist, lies outside of the dataset, or is damaged.
    """
    content = bytes_of(image_place(dataset, relative))
    check_image(io.BytesIO(content), f"{dataset.root}: {relative}")
    return content


def answer_text(answer: str | float) -> str:
    return (
        answer
        if isinstance(answer, str)
        else f"{answer:.4f}".rstrip("0").rstrip(".")
    )


def truth_columns(question: Question) -> dict[str, Any]:
    """Return the columns that a reward reads; the answer is text, so that a column has
    one type."""
    return {
        "question_type": question.question_type,
        "answer": answer_text(question.answer),
        "final_scores": list(question.final_scores),
        "ties": list(question.ties or ()),
    }
