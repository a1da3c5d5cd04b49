"""Read YAML files as plain values, with limits on size and depth. Tags never create
objects."""

import re
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import BOUNDS, read_file

_TAG = "tag:yaml.org,2002:"
_TYPES = {"null", "bool", "str", "seq", "map"}
# The scalars that are not texts, as in JSON, and the characters that they begin with.
_SCALARS = {
    "null": (r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    "bool": (r"^(true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "int": (r"^-?(0|[1-9][0-9]*)$", "-0123456789"),
    "float": (
        r"^-?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][-+]?[0-9]+)?$(?<=[0-9])",
        "-.0123456789",
    ),
    "merge": (r"^<<$", "<"),
}


def read_yaml(path: str | Path) -> Any:
    """Return the value of a YAML file.

    Raises
    ------
    DataError
        If the file does not exist, is not YAML, or exceeds the bounds of size or depth.
    """
    import yaml

    text = yaml_text(path)
    try:
        return loads(text)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise _unreadable(path, error) from None


def loads(text: str) -> Any:
    """Return the value of a YAML text, whose scalars are those of JSON: ``yes``,
    ``1_000`` and ``59:30`` are texts.

    Raises
    ------
    yaml.YAMLError, ValueError, TypeError
        If it is not YAML.
    """
    import yaml

    return yaml.load(text, Loader=_loader())


def yaml_text(path: str | Path) -> str:
    import yaml

    try:
        text = read_file(Path(path), "yaml").decode("utf-8-sig")
        _check(text)
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable(path, error) from None
    return text


def _check(text: str) -> None:
    """Check the parser's events, which requires no recursion."""
    import yaml

    bound = BOUNDS["yaml"]
    sizes: dict[str | None, int] = {}
    opened: list[tuple[str | None, int]] = []
    count = 0
    for event in yaml.parse(text, Loader=_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, count))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            sizes[anchor] = count - before
        elif isinstance(event, yaml.AliasEvent):
            count += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            count += (
                1 + event.value.count("${") ** 3
            )  # what interpolations may grow to
        if len(opened) > bound.depth or count > bound.items:
            raise ValueError(
                f"must be at most {bound.depth} levels deep and hold at most "
                f"{bound.items} values, counting what aliases and interpolations "
                "refer to"
            )


@cache
def _loader() -> Any:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
        yaml_constructors: ClassVar[dict[str | None, Any]] = {
            tag: make
            for tag, make in yaml.SafeLoader.yaml_constructors.items()
            if tag is None or tag.rpartition(":")[2] in _TYPES
        }

    for name, (pattern, first) in _SCALARS.items():
        Loader.add_implicit_resolver(
            f"{_TAG}{name}", re.compile(pattern), list(first)
        )
    for kind in (int, float):  # PyYAML's own read numbers of base 60, too
        Loader.add_constructor(
            f"{_TAG}{kind.__name__}",
            lambda loader, node, kind=kind: kind(loader.construct_scalar(node)),
        )
    return Loader


def _unreadable(path: str | Path, error: Exception) -> DataError:
    return DataError(f"{path}: must be YAML: {yaml_reason(error)}")


def yaml_reason(error: Exception) -> str:
    """Return the problem and its line number, but not the line itself, which may
    contain a key."""
    mark = getattr(error, "problem_mark", None)
    text = (
        str(getattr(error, "problem", None) or error)
        if mark is not None
        else str(error)
    )
    where = "" if mark is None else f"line {mark.line + 1}: "
    return where + " ".join(text.split())[:300]
