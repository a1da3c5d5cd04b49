"""A plug-in for visualjudge: the task ``object_counting``, with its type
``counting``."""

from pathlib import Path

import visualjudge as vj


def register() -> None:
    """Register every row; visualjudge calls this once in each process."""
    from visualjudge_counting import rows

    vj.register_type(rows.TYPE)
    vj.register_importer(rows.IMPORTER)
    vj.register_prompts(Path(__file__).parent / "prompts")
