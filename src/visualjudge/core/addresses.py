"""Addresses of the studio's questions and grids, which reports write and the studio
opens. The pages are served in ``studio/app.py``; addresses of images on the web are
downloaded in ``clients/image_download.py``.

They name a dataset by its questions and a run by its folder's name, so that they hold
wherever ``visualjudge studio DATASET RUN`` runs.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, urlencode

PORT = 8421
STUDIO = f"http://127.0.0.1:{PORT}"
NOT_RIGHT = ("wrong", "mixed", "failed", "cannot tell")
"""Outcomes of a judge's verdicts on a question of which not every one is right."""
ASKED = ("right", *NOT_RIGHT)
"""Every outcome: the questions that were put to a judge."""
LONGEST_NAME = 32


def address_name(folder: Path) -> str:
    """Return the name of a folder in addresses."""
    readable = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")
    return readable[:LONGEST_NAME] or "folder"


def dataset_name(digest: str) -> str:
    """Return the name of a dataset in addresses, from the SHA-256 of its questions."""
    return digest[:16]


def question_address(digest: str, question: str, studio: str = STUDIO) -> str:
    """Return the address of a question of the dataset whose questions have this
    SHA-256."""
    return f"{grid_address(digest, (), studio)}/{quote(question, safe='')}"


def grid_address(
    digest: str, filters: Iterable[tuple[str, str]], studio: str = STUDIO
) -> str:
    """Return the address of the questions of a dataset that pass all filters.

    Filters are pairs of a name and a value: ``task``, ``encoding`` (``task/encoding``),
    ``type``, ``class``, ``image``, ``source``, ``error_type``, ``probe``, and the
    results of a run (:func:`result_filter`). Values of one name are alternatives.
    """
    query = urlencode(list(filters))
    return f"{studio}/open/{dataset_name(digest)}{'?' if query else ''}{query}"


def result_filter(run: Path, result: str = "outcome") -> str:
    """Return the name of a filter by the results of the run in a folder; of ``outcome``
    the values are ``right`` and those of NOT_RIGHT.
    """
    return f"{result}.{address_name(run)}"
