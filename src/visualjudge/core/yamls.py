"""Read YAML files as plain values, with limits on size and depth. Tags never create objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from visualjudge.core.errors import DataError
from visualjudge.core.untrusted import BOUNDS, read_file

_BOUND = BOUNDS["yaml"]


def read_yaml(path: str | Path, *, texts: bool = False) -> Any:
    """Return the value of a YAML file; with ``texts``, every scalar as text: ``yes`` is a word.

    Raises
    ------
    DataError
        If the file does not exist, is not YAML, or exceeds the bounds of size or depth.
    """
    import yaml

    text = yaml_text(path)
    try:
        return yaml.load(text, Loader=_loader("BaseLoader" if texts else "SafeLoader"))
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise _unreadable(path, error) from None


def yaml_text(path: str | Path) -> str:
    import yaml

    try:
        text = read_file(Path(path), "yaml").decode("utf-8-sig")
        _check(text)
    except (yaml.YAMLError, ValueError) as error:
        raise _unreadable(path, error) from None
    return text


# Check the parser's events, which requires no recursion.
def _check(text: str) -> None:
    import yaml

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
            count += 1 + event.value.count("${") ** 3  # what interpolations may grow to
        if len(opened) > _BOUND.depth or count > _BOUND.items:
            raise ValueError(
                f"must be at most {_BOUND.depth} levels deep and hold at most {_BOUND.items} "
                "values, counting what aliases and interpolations refer to"
            )


def _loader(name: str = "SafeLoader") -> Any:
    import yaml

    return getattr(yaml, f"C{name}", getattr(yaml, name))


def _unreadable(path: str | Path, error: Exception) -> DataError:
    return DataError(f"{path}: must be YAML: {yaml_reason(error)}")


def yaml_reason(error: Exception) -> str:
    """Return the problem and its line number, but not the line itself, which may contain a key."""
    mark = getattr(error, "problem_mark", None)
    said = (
        str(getattr(error, "problem", None) or error)
        if mark is not None
        else str(error)
    )
    where = "" if mark is None else f"line {mark.line + 1}: "
    return where + " ".join(said.split())[:300]
