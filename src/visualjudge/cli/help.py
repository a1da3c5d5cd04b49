"""The help of commands: common options on one screen, all options with ``--help-all``; written
without Rich.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

WIDTH = 110
SCREEN, LINES = 80, 30
"""Columns, and maximum number of lines before a help leaves out the options in RARE."""
MOST_EXAMPLES = 2
"""Maximum number of examples in a shortened help."""
WHOLE = "visualjudge.help_all"
ALL = "--help-all"
"""Options listed only in a shortened help."""

GROUPS: dict[str, Sequence[str]] = {
    "Start": ("demo", "doctor", "init"),
    "Data": ("import", "perturb", "describe", "build", "plan", "audit"),
    "Ask": ("judge", "probe", "pipeline"),
    "Answer": ("report", "card", "label", "correct"),
    "People": ("studio", "agreement"),
    "Share": ("adopt", "bench", "export"),
}
"""The commands that the help describes, by purpose; it names all others in one line."""

RARE = frozenset(
    """
    --accept-changes --allow-outside --allow-private-urls --as-published --attempts
    --batch --batch-folder --batch-size --cache-dir --calls-per-minute
    --classes --compare --concurrency
    --dataset --embed --encoding --encoding-groups --encoding-pairs --engine
    --epsilon --exclude --exif --extractor-api-key-env --extractor-backend
    --extractor-base-url --extractor-model --figures --filter --force --format --gap
    --gt-inverse --gt-pngs --gt-scale --host --id-from --id-prefix
    --importer-option --instances --items --judge-groups --key --known --label-price
    --least-seconds --limit
    --mask-white --matcher-api-key-env --matcher-backend --matcher-base-url
    --matcher-model --max-calls --max-cost --max-image-side --max-side --max-tokens
    --max-tokens-total --max-tool-calls --media --min-margin --mode --model-index
    --name --no-cache --no-wait --not-in --overlap --panel --per-group --per-item
    --poll --port --power --pred-pngs --price-in --price-out --processes
    --prompt-version --prompts --questions --ranking-groups --rater-right --raters
    --raters-per-question --read --repeats --replace --resize-mask --resize-pred
    --retries --retry-errors --sample-seed --score-at --scoring-groups --seed
    --server-temperature --skip-invalid --subset --temperature --template
    --thresholds --ties --timeout --tokens-per-minute
    --top-k --type --url --where --workers
    """.split()  # noqa: SIM905 - a hundred literals, one a line, are harder to read
)
"""Options left out of a shortened help."""
KEPT: Mapping[str, frozenset[str]] = {
    "adopt": frozenset(("--force",)),
    "build": frozenset(("--subset", "--seed", "--workers", "--engine")),
    "judge": frozenset(("--concurrency", "--limit")),
    "pipeline": frozenset(("--limit", "--no-cache")),
}
"""Exceptions: options in RARE that a command's help shows anyway."""


def plain(command: Any) -> None:
    """Make a command and its sub-commands show their help without Rich, which takes longer to
    import than the help itself.
    """
    command.rich_markup_mode = None
    command.context_settings = {"max_content_width": WIDTH, **(command.context_settings or {})}
    command.params.append(all_options())
    command.format_epilog = lambda ctx, formatter: _epilog(
        command.epilog, formatter, MOST_EXAMPLES if _shortened(command, ctx) else None
    )
    if hasattr(command, "commands"):
        for child in command.commands.values():
            plain(child)
        return
    command.format_options = lambda ctx, formatter: _options(command, ctx, formatter)
    whole = command.help or ""

    def format_text(ctx: Any, formatter: Any) -> None:
        command.help = _first(whole) if _shortened(command, ctx) else whole
        type(command).format_help_text(command, ctx, formatter)

    command.format_help_text = format_text


def all_options() -> Any:
    """Return the option for the full help.

    Typer creates it, since its option classes differ between versions.
    """
    app = typer.Typer(add_completion=False)

    @app.command()
    def _holder(
        whole: Annotated[
            bool,
            typer.Option(
                ALL,
                is_eager=True,
                expose_value=False,
                callback=_show,
                help="Show all options and exit.",
            ),
        ] = False,
    ) -> None:
        """Hold the option."""

    return next(option for option in typer.main.get_command(app).params if ALL in option.opts)


def _show(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[WHOLE] = True
        print(ctx.get_help())
        raise typer.Exit


def _shortened(command: Any, ctx: Any) -> bool:
    """Return whether options are left out: not with ``--help-all``, nor if all of them fit on a
    screen.
    """
    if ctx.meta.get(WHOLE):
        return False
    if command not in ctx.meta:
        ctx.meta[WHOLE] = True
        formatter = type(ctx.make_formatter())(width=SCREEN)
        command.format_help(ctx, formatter)
        del ctx.meta[WHOLE]
        ctx.meta[command] = formatter.getvalue().count("\n") >= LINES
    return bool(ctx.meta[command])


def _options(command: Any, ctx: Any, formatter: Any) -> None:
    short = _shortened(command, ctx)
    rare = RARE - KEPT.get(ctx.info_name or "", frozenset())
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in sorted(command.get_params(ctx), key=_place):
        record = parameter.get_help_record(ctx)
        left_out = not parameter.required and not rare.isdisjoint(parameter.opts)
        if record is None or (left_out if short else ALL in parameter.opts):
            continue
        heading = (
            _own(parameter)
            if short
            else getattr(parameter, "rich_help_panel", None) or _own(parameter)
        )
        sections.setdefault(heading, []).append(record)
    for heading, records in sections.items():
        with formatter.section(heading):
            formatter.write_dl(records)


def _place(parameter: Any) -> tuple[bool, bool]:
    """Return a sort key: arguments before options, then required ones first."""
    return parameter.param_type_name != "argument", not parameter.required


def _first(text: str) -> str:
    """Return the first paragraph and the example."""
    first, *rest = text.split("\n\n")
    return "\n\n".join([first, *(one for one in rest if one.lstrip().startswith("Example"))])


def _epilog(text: str | None, formatter: Any, most: int | None = None) -> None:
    """Write the text line by line without wrapping, so that examples can be copied."""
    lines = [line for line in (text or "").splitlines() if line.strip()]
    if lines:
        formatter.write_paragraph()
    for line in lines if most is None else lines[: most + 1]:
        formatter.write(f"  {line}\n")


def _own(parameter: Any) -> str:
    return "Arguments" if parameter.param_type_name == "argument" else "Options"


def write_commands(commands: Mapping[str, str], formatter: Any, *, whole: bool) -> None:
    """Write the commands by group, one per line, and the others by name only, unless ``whole``."""
    rows: list[tuple[str, str]] = []
    for group, names in (GROUPS | ({"More": _rest(commands)} if whole else {})).items():
        known = [name for name in names if name in commands]
        rows += [(f"{'' if k else group:8}{name}", commands[name]) for k, name in enumerate(known)]
    with formatter.section("Commands"):
        formatter.write_dl(rows if whole else [*rows, ("More", ", ".join(_rest(commands)))])


def _rest(commands: Iterable[str]) -> list[str]:
    described = {name for names in GROUPS.values() for name in names}
    # Lines may break at a hyphen, so names with one come last, at the beginning of a line.
    return sorted(set(commands) - described, key=lambda name: ("-" in name, name))
