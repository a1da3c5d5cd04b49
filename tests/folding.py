"""Many cases of one test without fixtures in one test: all run, and each that fails is
named with its own traceback."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

LONGEST = 80
"""Characters of a case's name."""


def each(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Callable[[Any], object] | Sequence[str] = str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for every case, as ``pytest.mark.parametrize`` does, but in one
    test."""
    columns = names.split(",") if isinstance(names, str) else names
    columns = [name.strip() for name in columns]
    rows = [
        dict(zip(columns, case if len(columns) > 1 else [case], strict=True))
        for case in cases
    ]

    def folded(test: Callable[..., None]) -> Callable[..., None]:
        def run(**outer: Any) -> None:
            failures: list[BaseException] = []
            for number, row in enumerate(rows):
                try:
                    test(**outer, **row)
                except (Exception, pytest.fail.Exception) as error:
                    name = (
                        "-".join(str(ids(value)) for value in row.values())
                        if callable(ids)
                        else ids[number]
                    )
                    error.add_note(f"the case: {name[:LONGEST]}")
                    failures.append(error)
            if failures:
                message = f"{len(failures)} of {len(rows)} cases fail"
                raise BaseExceptionGroup(message, failures)

        run.__name__ = test.__name__
        run.__doc__ = test.__doc__
        run.__module__ = test.__module__
        run.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        return run

    return folded
