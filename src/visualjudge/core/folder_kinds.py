"""What a folder is that a command cannot read, for messages. What a folder has to begin
a study with is in ``apps/starting/folder_contents.py``.
"""

from pathlib import Path

# What a folder is that has such a file, and the command that reads it.
KINDS = {
    "run.json": "it is a run: `visualjudge card {}`",
    "*/run.json": "it is a folder of runs: `visualjudge card {}/*`",
    "dataset.json": "it is a dataset: `visualjudge judge {}`",
    "annotations/*_annotations.*": "it is a data folder: `visualjudge build {}`",
    "data_json_v2/*_annotations.*": "it is a data folder: `visualjudge build {}`",
}


def what_it_is(folder: Path, other_than: str = "") -> str:
    """Return what a folder is, and the command that reads it, as a clause; not what has
    the file ``other_than``, since that cannot be read."""
    for pattern, clause in KINDS.items():
        if pattern != other_than and any(
            map(Path.is_file, folder.glob(pattern))
        ):
            return clause.format(folder)
    return (
        f"`visualjudge init {folder}` says what it has"
        if folder.exists()
        else "there is no such folder"
    )
