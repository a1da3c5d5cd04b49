"""Templates of pages, which escape what they show."""

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    PackageLoader,
    StrictUndefined,
)

from visualjudge.core.escaping import visible
from visualjudge.core.user_cache import default_cache_dir


class _Compiled(FileSystemBytecodeCache):
    """Compiled templates in the user's cache, for the next process; several may write
    at once. Where nothing can be written, each process compiles its own.
    """

    def load_bytecode(self, bucket: Any) -> None:
        """Read a template, if it is there."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Any) -> None:
        """Keep a template."""
        with suppress(OSError):
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


@cache
def environment(package: str, folder: str = "templates") -> Environment:
    """Return the environment of the templates in a ``folder`` of a package, with
    autoescaping and strict undefined names.
    """
    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(str(default_cache_dir() / "templates")),
    )
