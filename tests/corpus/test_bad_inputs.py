"""Over 200 bad or odd inputs: each ends with one line that names what is wrong, and
never with a traceback.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import pytest

from corpus import coco_cases, file_cases
from corpus.workspace import Case
from visualjudge.cli.main import run

CASES = [*coco_cases.cases(), *file_cases.cases()]
_COUNT = re.compile(
    r"visualjudge: (invalid records left out: \d+|\d+ invalid records? left|\S+: must "
    r"contain "
    r"predictions for images of|warning: the mean score)"
)
"""Lines after those of the records."""


def outcome(case: Case, root: Path) -> tuple[int, str]:
    """Exit status and stderr of the command, with ``{}`` for the folder and without the
    closing line on all records.
    """
    case.make(root)
    sys.argv = [
        "visualjudge",
        *(word.replace("{}", str(root)) for word in case.words),
    ]
    said, status = io.StringIO(), 0
    with (
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            run()
        except SystemExit as ended:
            status = (
                ended.code
                if isinstance(ended.code, int)
                else int(ended.code is not None)
            )
    lines = [
        line
        for line in said.getvalue().replace(str(root), "{}").splitlines()
        if not _COUNT.match(line)
    ]
    return status, "\n".join(lines)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_line_and_the_right_status(case: Case, tmp_path: Path) -> None:
    status, said = outcome(case, tmp_path)
    assert status in (1, 2), said
    assert said and "\n" not in said
    assert "Traceback" not in said and "Error:" not in said
