"""Groups of commands that are listed by name and created when called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

from visualjudge.cli.help import plain
from visualjudge.cli.overwriting import keep_inputs


class LazyCommands(TyperGroup):
    """A group that knows its commands' names and helps without importing what they need."""

    def helps(self) -> Mapping[str, str]:
        """The help of each command, by its name."""
        raise NotImplementedError

    def made(self, name: str) -> Any:
        """The command itself."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.helps())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        text = self.helps().get(cmd_name)
        return None if text is None else TyperCommand(cmd_name, help=text)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None  # an unknown name has ended in a usage error
        command = self.made(name)
        command.name = name
        plain(command)
        keep_inputs(command)
        return name, command, rest
