"""The folder of what can be made again: replies, indices, compiled templates."""

import os
from pathlib import Path


def default_cache_dir() -> Path:
    """Return ``$XDG_CACHE_HOME/visualjudge``, by default ``~/.cache/visualjudge``."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "visualjudge"
