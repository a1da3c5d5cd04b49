"""CircularEval's rotations: each question is asked once with every option in first
position (MMBench, Liu et al. 2023). They are counted in ``evaluate.py``.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from visualjudge.apps.mmbench.table import ROTATION, Row, Table
from visualjudge.core.errors import DataError, InvalidRecord, Problem
from visualjudge.core.output_files import OutputFile
from visualjudge.core.parquet import tsv_writer


def without_image(table: Table) -> dict[int, Problem]:
    """Return the rows whose image cell points to a missing row or in a cycle, by
    index."""
    collected: dict[int, Problem] = {}
    for row in table.rows:
        try:
            table.image_row(row)
        except InvalidRecord as error:
            collected[row.index] = error.problem
    return collected


def write_rotations(
    table: Table, out: str | Path, *, skip: Collection[int] = ()
) -> int:
    """Write every rotation of every question as a TSV. Return the number of rows.

    Rotation k moves each text k letters up (the text of the k-th next letter comes
    first) and the answer with it. Its index is the question's plus k·10^6, and its
    image cell names the row that holds the image. Rotation 0 is the original row. All
    other cells are kept.

    Parameters
    ----------
    skip
        Indices of rows to leave out.

    Raises
    ------
    DataError
        If the table already holds rotations.
    InvalidRecord
        If an image cell points at a missing row.
    """
    turned = next((row for row in table.rows if row.rotation), None)
    if turned is not None:
        raise DataError(
            f"{table.path}: index {turned.index} is already a rotation (their indices "
            f"begin at {ROTATION})"
        )
    count = 0
    with (
        OutputFile(Path(out), "`out`").scratch() as scratch,
        scratch.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = tsv_writer(file)
        writer.writerow(table.columns)
        for row in table.rows:
            if row.index in skip:
                continue
            for cells in rotations(table, row):
                writer.writerow([cells[column] for column in table.columns])
                count += 1
    return count


def rotations(table: Table, row: Row) -> Iterator[Mapping[str, str]]:
    """Yield the cells of each rotation of ``row``, beginning with the row itself."""
    cells = dict(row.cells)
    yield cells
    letters = list(row.options)
    texts = list(row.options.values())
    shared = (
        {"image": str(table.image_row(row).index)} if cells.get("image") else {}
    )
    for k in range(1, len(letters)):
        moved = dict(zip(letters, texts[k:] + texts[:k], strict=True))
        right = sorted(
            letters[letters.index(letter) - k] for letter in row.answer
        )
        answer = str(right) if row.answer_form == "list" else "".join(right)
        yield (
            cells
            | moved
            | ({"answer": answer} if right else {})
            | shared
            | {"index": str(row.index + k * ROTATION)}
        )
