"""Groups of commands that are listed by name and created when called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from visualjudge.cli.help import plain
from visualjudge.cli.overwriting import keep_inputs
from visualjudge.core.errors import UsageError


class LazyCommands(TyperGroup):
    """A command group with known names and help texts that imports a command only when it
    is used.
    """

    def helps(self) -> Mapping[str, str]:
        """Return the help of each command by name."""
        raise NotImplementedError

    def made(self, name: str) -> Any:
        """Create the command."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.helps())

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        text = self.helps().get(cmd_name)
        return None if text is None else TyperCommand(cmd_name, help=text)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        assert name is not None  # an unknown name has already raised a usage error
        command = self.made(name)
        command.name = name
        plain(command)
        keep_inputs(command)
        _name_values_left(command)
        return name, command, rest


def _name_values_left(command: Any) -> None:
    """Make a command and its sub-commands report which option got several values, such as from a
    shell-expanded pattern.
    """
    for child in getattr(command, "commands", {}).values():
        _name_values_left(child)
    if hasattr(command, "commands") or isinstance(command, LazyCommands):
        return
    parse, command.allow_extra_args = command.parse_args, True

    def parse_args(context: Any, args: list[str]) -> Any:
        given = list(args)
        left = parse(context, args)
        if context.args and not context.resilient_parsing:
            raise UsageError(_left(command, given, context.args))
        return left

    command.parse_args = parse_args


def _left(command: Any, given: list[str], left: list[str]) -> str:
    before = given[: given.index(left[0])]
    name = next((word for word in reversed(before) if word.startswith("-")), None)
    option = next((one for one in command.params if name in one.opts), None)
    values = before[before.index(name) + 1 :] if name else []
    if option is None or not values or getattr(option, "is_flag", False):
        return f"{command.name}: an argument too many, {left[0]!r}; see {command.name} --help"
    if Path(left[0]).exists():
        remedy = f"quote a pattern, as {name} 'folder/*.png', so that the shell does not expand it"
    elif option.multiple:
        remedy = f"repeat the option: {name} {values[0]} {name} {left[0]}"
    else:
        remedy = "quote a value that has spaces"
    count = "one value" if option.nargs < 2 else f"{option.nargs} values"
    got = ", ".join(map(repr, [*values, left[0]]))
    return f"{name} must be followed by {count}, got {got}; {remedy}"
