"""Exit statuses and one-line errors of the command line."""

from __future__ import annotations

import pytest

from visualjudge.cli import main
from visualjudge.errors import DataError, UsageError


@pytest.mark.parametrize(("error", "status"), [(DataError("a.json: broken\nhere"), 1), (UsageError("no such"), 2)])
def test_errors_become_one_line_and_a_status(
    error: Exception, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == status
    assert capsys.readouterr().err.count("\n") == 1


def test_every_command_has_help_with_an_example() -> None:
    from typer.testing import CliRunner

    for name in main.COMMANDS:
        result = CliRunner().invoke(main.app, [name, "--help"])
        assert result.exit_code == 0, (name, result.output)
        assert f"visualjudge {name}" in result.output, name
