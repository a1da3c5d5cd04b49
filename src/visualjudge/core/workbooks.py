"""Read workbooks (``.xlsx``) of strangers, apart."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import apart, archive

MOST_COLUMNS = 4096


def workbook_rows(path: Path, *, formulas: bool = False) -> list[dict[str, Any]]:
    """Return the rows below the header of the first sheet, by column; a blank row is empty.

    Parameters
    ----------
    formulas
        Return formulas as typed, not what they give.

    Raises
    ------
    DataError
        If it cannot be read, or reading it takes too much memory or time.
    """
    return apart(partial(_rows, formulas), path, "workbook")


def _rows(formulas: bool, path: Path) -> list[dict[str, Any]]:
    import openpyxl

    try:
        with archive(path, "workbook"):
            book = openpyxl.load_workbook(path, read_only=True, data_only=not formulas)
        sheet = book.worksheets[0]
        header = next(sheet.iter_rows(values_only=True, max_row=1, max_col=MOST_COLUMNS), ())
        names = [f"column {k}" if name is None else str(name) for k, name in enumerate(header, 1)]
        width = max((k for k, name in enumerate(header, 1) if name is not None), default=0)
        rows = sheet.iter_rows(values_only=True, min_row=2, max_col=width) if width else ()
        return [
            {} if all(cell is None for cell in row) else dict(zip(names, row, strict=False))
            for row in rows
        ]
    except MemoryError:
        raise
    except Exception as error:  # whatever an archive, an XML parser and openpyxl say of these bytes
        told = str(error).removeprefix(f"{path}: ") or type(error).__name__
        reason = " ".join(told.split())[:300]
        raise DataError(f"{path}: must be a workbook (.xlsx): {reason}") from None
