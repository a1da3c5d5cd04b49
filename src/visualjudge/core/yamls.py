"""Read YAML files as plain values, with limits on size and depth. Tags never create
objects, and scalars are those of JSON. JSON is read in ``jsons.py``.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic_core import from_json

from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import BOUNDS, read_file

# The scalars that JSON writes otherwise or only in small letters.
_JSON = {
    "": "null",
    "~": "null",
    "null": "null",
    "true": "true",
    "false": "false",
}
# No number: longer than this, a whole one that may have more than 64 bits, or digits
# around an "e", as in one of a thousand names of questions.
_LONG = re.compile(r".{400}|-?\d{19,}\Z|\d+e\d{4,}\Z|\d{12,}e\d+\Z", re.DOTALL)


def read_yaml(path: str | Path, prepared: Callable[[str], str] = str) -> Any:
    """Return the value of a YAML file, whose text is ``prepared`` before it is parsed.

    Raises
    ------
    DataError
        If the file does not exist, is not YAML, or exceeds the bounds of size or depth.
    """
    import yaml

    try:
        return loads(
            prepared(read_file(Path(path), "yaml").decode("utf-8-sig"))
        )
    except (yaml.YAMLError, ValueError, TypeError) as error:
        # the problem and its line number, but not the line, which may contain a key
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        problem = str(getattr(error, "problem", None) or error)
        raise DataError(
            f"{path}: must be YAML: {where}{' '.join(problem.split())[:300]}"
        ) from None


def loads(text: str) -> Any:
    """Return the value of a YAML text, whose scalars are those of JSON: ``yes``,
    ``1_000`` and ``59:30`` are texts.

    Raises
    ------
    yaml.YAMLError, ValueError, TypeError
        If it is not YAML, exceeds the bounds, or repeats a part by an alias.
    """
    import yaml

    bound = BOUNDS["yaml"]
    depth = 0
    count = 0
    # The parser's events need no recursion.
    for event in yaml.parse(text, Loader=_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        # what interpolations may grow to
        count += 1 + getattr(event, "value", "").count("${") ** 3
        if (
            isinstance(event, yaml.AliasEvent)
            or depth > bound.depth
            or count > bound.items
        ):
            raise ValueError(
                f"must be at most {bound.depth} levels deep and hold at most "
                f"{bound.items} values, counting what interpolations refer to, and no "
                "aliases"
            )
    return yaml.load(text, Loader=_loader())


@cache
def _loader() -> Any:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
        yaml_constructors: ClassVar[dict[str | None, Any]] = {
            tag: make
            for tag, make in yaml.SafeLoader.yaml_constructors.items()
            if tag is None or tag.endswith((":seq", ":map"))
        }

    Loader.add_constructor("tag:yaml.org,2002:str", _scalar)
    return Loader


def _scalar(loader: Any, node: Any) -> Any:
    """Return what JSON writes so, if it is without quotes, or else a text."""
    text = loader.construct_scalar(node)
    if node.style or _LONG.match(text):
        return text
    try:
        return from_json(
            _JSON.get(text.lower())
            or re.sub(r"^(-?)(?=\.\d)", r"\g<1>0", text),
            allow_inf_nan=False,
        )
    except ValueError:
        return text
