"""The noun for a study's independent cases in its texts: image, conversation, item.

Texts are written for images. :func:`cases_named` sets the noun while texts of a study are made, and
:func:`in_cases` puts it into a text. User data must not pass through :func:`in_cases`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from visualjudge.core.plurals import plural

IMAGE, ITEM = "image", "item"
_noun: ContextVar[str] = ContextVar("case noun", default=IMAGE)
_IMAGE = re.compile(r"\b(?:([Aa])n )?([Ii])mage(s?)\b")
_ID = re.compile(r"[ _-]*(id|name|key|no|number)s?$")
_NOUN = re.compile(r"[a-z]{2,20}( [a-z]{2,20})?(?:(?<=ss)|(?<!s))")
"""Names of columns that can be used as a noun in the singular."""
_LONG = {"conv": "conversation", "convo": "conversation", "vid": "video", "img": IMAGE}


class HasNoun(Protocol):
    """A study, or a result of one."""

    @property
    def case_noun(self) -> str:
        """The noun for its independent cases."""


Of = TypeVar("Of", bound=HasNoun)
P = ParamSpec("P")
R = TypeVar("R")


def noun_of(meta: Mapping[str, Any]) -> str:
    """Return the noun for the independent cases of a dataset, from its ``dataset.json``.

    Verdicts that were adopted are grouped by the column with this role; its name is the noun.

    Examples
    --------
    >>> columns = {"verdict": "winner", "group": "conversation_id"}
    >>> noun_of({"benchmark": {"name": "adopted"}, "options": {"columns": columns}})
    'conversation'
    >>> noun_of({"options": {}})
    'image'
    """
    benchmark, options = meta.get("benchmark"), meta.get("options")
    if not isinstance(benchmark, Mapping) or benchmark.get("name") != "adopted":
        return IMAGE
    columns = options.get("columns") if isinstance(options, Mapping) else None
    column = columns.get("group") if isinstance(columns, Mapping) else None
    if column is None:
        return ITEM
    noun = _ID.sub("", str(column).strip().lower()).replace("_", " ")
    noun = _LONG.get(noun, noun)
    return noun if _NOUN.fullmatch(noun) else "group"


def common_noun(nouns: Iterable[str]) -> str:
    """Return the noun of studies that are analysed together: "item" where they differ."""
    found = set(nouns)
    return found.pop() if len(found) == 1 else ITEM


def current_noun() -> str:
    """Return the noun of the texts that are made now."""
    return _noun.get()


@contextmanager
def cases_named(noun: str) -> Iterator[None]:
    """Use ``noun`` in the texts that are made in this context."""
    before = _noun.set(noun)
    try:
        yield
    finally:
        _noun.reset(before)


def in_cases_of(make: Callable[Concatenate[Of, P], R]) -> Callable[Concatenate[Of, P], R]:
    """Decorate a function so that it uses the noun of its first argument."""

    @wraps(make)
    def named(of: Of, /, *args: P.args, **more: P.kwargs) -> R:
        with cases_named(of.case_noun):
            return make(of, *args, **more)

    return named


def in_cases(text: str, noun: str | None = None) -> str:
    """Return one of our own texts with ``noun``, else the current one, in place of "image".

    Examples
    --------
    >>> with cases_named("conversation"):
    ...     in_cases("An image was left out: fewer than 5 images")
    'A conversation was left out: fewer than 5 conversations'
    """
    noun = noun or _noun.get()
    return text if noun == IMAGE else _IMAGE.sub(lambda found: _put(found, noun), text)


def _put(found: re.Match[str], noun: str) -> str:
    article, first, several = found.groups()
    word = plural(2 if several else 1, noun)
    word = word.capitalize() if first == "I" else word
    return word if article is None else f"{article}{'n' if word[0] in 'aeiouAEIOU' else ''} {word}"
