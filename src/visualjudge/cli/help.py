"""``--help`` in plain text, with the options of a command under the headings of their groups."""

from __future__ import annotations

from typing import Any

WIDTH = 110
OWN = "Options"


def plain(command: Any) -> None:
    """Let a command, and those below it, show their help without Rich, whose import takes longer than the help."""
    command.rich_markup_mode = None
    command.context_settings = {"max_content_width": WIDTH, **(command.context_settings or {})}
    command.format_epilog = lambda ctx, formatter: _epilog(command.epilog, formatter)
    below = getattr(command, "commands", None)
    if below is None:
        command.format_options = lambda ctx, formatter: _options(command, ctx, formatter)
        return
    for child in below.values():
        plain(child)


def _options(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            heading = getattr(parameter, "rich_help_panel", None) or _own(parameter)
            sections.setdefault(heading, []).append(record)
    for heading, records in sections.items():
        with formatter.section(heading):
            formatter.write_dl(records)


def _epilog(text: str | None, formatter: Any) -> None:
    """Line by line as it is written: an example that is wrapped cannot be copied."""
    lines = [line for line in (text or "").splitlines() if line.strip()]
    if lines:
        formatter.write_paragraph()
    for line in lines:
        formatter.write(f"  {line}\n")


def _own(parameter: Any) -> str:
    return "Arguments" if parameter.param_type_name == "argument" else OWN
