"""Over 200 bad or odd inputs: each gives the one line that ``expected.json`` has for it, and never
a traceback.

``python tests/corpus/test_bad_inputs.py`` prints what each case gives now, in the form of that
file.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from pathlib import Path

import pytest

from corpus import build_cases, coco_cases, file_cases
from corpus.workspace import Case
from visualjudge.cli.main import run

CASES = [*coco_cases.cases(), *file_cases.cases(), *build_cases.cases()]
EXPECTED: dict[str, list[str | int]] = json.loads(
    (Path(__file__).parent / "expected.json").read_text()
)
_COUNT = re.compile(
    r"visualjudge: (invalid records left out: \d+|\d+ invalid records? left|\S+: must contain "
    r"predictions for images of)"
)
"""The line after those of the records."""


def outcome(case: Case, root: Path) -> tuple[int, str]:
    """Exit status and stderr of the command, with ``{}`` for the folder and without the closing
    line on all records.
    """
    case.make(root)
    sys.argv = ["visualjudge", *(word.replace("{}", str(root)) for word in case.words)]
    said, status = io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            run()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    lines = [
        line
        for line in said.getvalue().replace(str(root), "{}").splitlines()
        if not _COUNT.match(line)
    ]
    return status, "\n".join(lines)


def test_there_are_at_least_200_and_each_has_its_line() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 200
    assert set(names) == set(EXPECTED)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_line_and_the_right_status(case: Case, tmp_path: Path) -> None:
    status, said = outcome(case, tmp_path)
    assert [status, said] == EXPECTED[case.name]
    assert status in (1, 2) and said
    assert "\n" not in said
    assert "Traceback" not in said


if __name__ == "__main__":
    found = {}
    for one in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found[one.name] = outcome(one, Path(folder))
    print(json.dumps(found, indent=1, ensure_ascii=False))
