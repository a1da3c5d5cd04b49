"""The samples of a table of multiple-choice questions, with the fields that MMBench
documents. Reading the table is in ``table.py``.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from PIL import Image

from visualjudge.apps.mmbench.table import Row, read_table
from visualjudge.apps.mmbench.table_images import image_parts
from visualjudge.core.errors import DataError

Sample = TypedDict(
    "Sample",
    {
        "img": Image.Image | list[Image.Image],
        "question": str,
        "answer": str | None,
        "options": str,
        "category": str,
        "l2-category": str,
        "options_dict": dict[str, str],
        "index": int,
        "context": str | None,
    },
)


class MMBenchDataset:
    """The questions of an MMBench table (TSV), with their images as PIL images.

    Parameters
    ----------
    data_file
        The table.
    sys_prompt
        The line above the options.

    Raises
    ------
    DataError
        If the table cannot be read, or has a record that is invalid.

    Examples
    --------
    >>> from visualjudge.mmbench import MMBenchDataset
    >>> dataset = MMBenchDataset("mmbench_dev.tsv")  # doctest: +SKIP
    >>> dataset[0]["options"]  # doctest: +SKIP
    'There are several options:\\nA. cat\\nB. dog\\n'
    """

    def __init__(
        self,
        data_file: str | Path,
        sys_prompt: str = "There are several options:",
    ) -> None:
        self.table = read_table(data_file)
        self.sys_prompt = sys_prompt
        if self.table.problems:
            raise DataError(str(self.table.problems[0]))

    def __len__(self) -> int:
        return len(self.table.rows)

    def __iter__(self) -> Iterator[Sample]:
        return map(self._sample, self.table.rows)

    def __getitem__(self, idx: int) -> Sample:
        """Return one sample; ``context`` and ``answer`` are None where the table has
        none.

        ``img`` is a list if the question has several images, and ``answer`` holds
        several letters if several options are right.
        """
        return self._sample(self.table.rows[idx])

    def _sample(self, row: Row) -> Sample:
        images: list[Image.Image] = [
            Image.open(io.BytesIO(part.data))
            for part in image_parts(self.table, row)
        ]
        lines = "".join(
            f"{letter}. {text}\n" for letter, text in row.options.items()
        )
        return {
            "img": images[0] if len(images) == 1 else images,
            "question": row.question,
            "answer": row.answer or None,
            "options": f"{self.sys_prompt}\n{lines}",
            "category": row.category,
            "l2-category": row.l2_category,
            "options_dict": dict(row.options),
            "index": row.index,
            "context": row.hint or None,
        }
