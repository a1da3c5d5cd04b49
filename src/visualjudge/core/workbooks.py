"""Read workbooks (``.xlsx``) of strangers, apart. Parquet and Arrow files are in
``parquet.py``.
"""

from functools import partial
from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import apart, archive

MOST_COLUMNS = 4096


def workbook_rows(
    path: Path, *, formulas: bool = False
) -> list[dict[str, Any]]:
    """Return the rows below the header of the first sheet, by column; a blank row is
    empty.

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
    try:
        with archive(path, "workbook"):
            rows = _cells(path, typed=True)
            if not formulas and any(
                str(cell).startswith("=") for row in rows for cell in row
            ):
                # a text that begins with "=" was saved as a formula without a value
                both = zip(_cells(path, typed=False), rows, strict=True)
                rows = [
                    tuple(
                        formula if value is None else value
                        for value, formula in zip(values, typed, strict=False)
                    )
                    for values, typed in both
                ]
    except MemoryError:
        raise
    # whatever an archive, an XML parser and openpyxl say of these bytes
    except Exception as error:
        message = str(error).removeprefix(f"{path}: ") or type(error).__name__
        reason = " ".join(message.split())[:300]
        raise DataError(
            f"{path}: must be a workbook (.xlsx): {reason}"
        ) from None
    header, *below = rows or [()]
    names = [
        f"column {k}" if name is None else str(name)
        for k, name in enumerate(header, 1)
    ]
    if len(set(names)) < len(names):
        raise DataError(
            f"{path}: a header must name a column once, got {', '.join(names)}"
        )
    return [
        {}
        if all(cell is None for cell in row)
        else dict(zip(names, row, strict=False))
        for row in below
    ]


def _cells(path: Path, *, typed: bool) -> list[tuple[Any, ...]]:
    """Return the cells of the first sheet, its header first: formulas as typed, or what
    they gave when it was saved (None if that is not known)."""
    import openpyxl

    sheet = openpyxl.load_workbook(
        path, read_only=True, data_only=not typed
    ).worksheets[0]
    header = next(
        sheet.iter_rows(values_only=True, max_row=1, max_col=MOST_COLUMNS), ()
    )
    width = max(
        (k for k, name in enumerate(header, 1) if name is not None), default=0
    )
    return (
        list(sheet.iter_rows(values_only=True, max_col=width)) if width else []
    )
