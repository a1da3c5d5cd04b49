"""Fields of questions out of the columns of the Parquet form, checked for many rows together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

from visualjudge.core.records import TIES, OptionFeatures, Question, QuestionType, Spans
from visualjudge.dataset.question_wire import LARGEST_NUMBER, spans_in_order

if TYPE_CHECKING:
    import polars as pl

_FIELDS = tuple(field.name for field in fields(Question))
_TYPES = frozenset(get_args(QuestionType))
_OPTIONS = ("annotation_ids", "final_scores", "sources")


def questions_of(rows: pl.DataFrame) -> list[Question] | None:
    """The questions of ``rows``; None where one has bytes of its own, or is not as a question must be.

    Read such rows one by one: that tells which is wrong, and how.
    """
    if rows["json"].null_count() < rows.height:
        return None
    try:
        values = {name: values_of(rows, name) for name in _FIELDS}
        _check_together(rows, values)
    except (TypeError, ValueError):
        return None
    return list(map(Question, *values.values()))


def values_of(rows: pl.DataFrame, name: str) -> Sequence[Any]:
    """A field of all ``rows``, as :class:`Question` has it; None for each where there is no such column.

    Parameters
    ----------
    rows
        Also with the column ``question_type`` where the field is ``answer``.

    Raises
    ------
    TypeError, ValueError
        If a value cannot be that of a question.
    """
    if name not in rows.columns:
        return [None] * rows.height
    return _READERS.get(name, _texts)(rows, name)


def _check_together(rows: pl.DataFrame, values: dict[str, Sequence[Any]]) -> None:
    _must(_TYPES.issuperset(values["question_type"]), "question_type")
    lengths = [rows[name].list.len() for name in _OPTIONS]
    _must(lengths[0].equals(lengths[1]) and lengths[0].equals(lengths[2]), "annotation_ids, final_scores and sources")
    _must(all(map(spans_in_order, values["spans"], values["prompt"])), "spans")


def _must(holds: bool | None, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} must be as questions have it")


# ---------------------------------------------------------------- a column


def _texts(rows: pl.DataFrame, name: str) -> list[Any]:
    _must(name == "error_type" or not rows[name].null_count(), name)
    return rows[name].to_list()


def _answers(rows: pl.DataFrame, name: str) -> list[Any]:
    kinds = rows["question_type"].to_list()
    answers = [float(a) if kind == "scoring" else a for a, kind in zip(_texts(rows, name), kinds, strict=True)]
    _must(all(type(a) is str or -LARGEST_NUMBER <= a <= LARGEST_NUMBER for a in answers), name)
    return answers


def _arrays(rows: pl.DataFrame, name: str) -> list[Any]:
    found = _tuples(rows[name], _items(rows[name]).to_list())
    _must(name == "class_of_interest" or None not in found, name)
    return found


def _scores(rows: pl.DataFrame, name: str) -> list[Any]:
    _must(_items(rows[name]).is_between(-LARGEST_NUMBER, LARGEST_NUMBER).all(), name)
    return _arrays(rows, name)


def _sources(rows: pl.DataFrame, name: str) -> list[Any]:
    found = _tuples(rows[name], _items(rows[name], nulls=True).to_list())
    _must(None not in found, name)
    return found


def _ties(rows: pl.DataFrame, name: str) -> list[Any]:
    items = _items(rows[name]).to_list()
    _must(set(TIES).issuperset(items), name)
    return [ties or None for ties in _tuples(rows[name], items)]


def _features(rows: pl.DataFrame, name: str) -> list[Any]:
    columns = _items(rows[name]).struct.unnest()
    return _tuples(rows[name], map(OptionFeatures, *(columns[name].to_list() for name in columns.columns)))


def _spans(rows: pl.DataFrame, name: str) -> list[Any]:
    parts = rows[name].struct.unnest()
    _must(rows[name].null_count() == parts["options"].null_count(), name)
    options = _tuples(parts["options"], _pairs(_items(parts["options"])))
    places = zip(options, _pairs(parts["original"]), _pairs(parts["final"]), strict=True)
    return [None if of_options is None else Spans(of_options, *others) for of_options, *others in places]


def _pairs(column: pl.Series) -> list[Any]:
    _must((column.list.len() == 2).all(), column.name)
    return _tuples(column, _items(column).to_list())


def _items(column: pl.Series, *, nulls: bool = False) -> pl.Series:
    """The items of all arrays, one after another."""
    items = column.filter(column.list.len() > 0).explode()
    _must(nulls or not items.null_count(), column.name)
    return items


def _tuples(column: pl.Series, items: Iterable[Any]) -> list[Any]:
    """``items``, as many a row as its array has; None where the row has none."""
    following = iter(items)
    return [None if n is None else tuple(islice(following, n)) for n in column.list.len().to_list()]


_READERS: dict[str, Callable[[pl.DataFrame, str], list[Any]]] = {
    "answer": _answers,
    "class_of_interest": _arrays,
    "final_scores": _scores,
    "features": _features,
    "sources": _sources,
    "spans": _spans,
    "ties": _ties,
    **dict.fromkeys(("subset", "annotation_ids", "images"), _arrays),
}
