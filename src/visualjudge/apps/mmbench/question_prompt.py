"""Make the prompt: fill a template with a row of the table. Prompts of a judge's
questions are made in ``prompts/question_text.py``.

A template has three parts: ``option`` (one option's line, from ``{{letter}}`` and
``{{text}}``), ``with_hint`` and ``without_hint`` (from ``{{question}}``,
``{{options}}`` and ``{{hint}}``). ``{{options}}`` stands for the options' lines, each
with a line feed.
"""

from collections.abc import Mapping
from pathlib import Path

from visualjudge.apps.mmbench.table import Row
from visualjudge.core.errors import DataError, PromptError, UsageError
from visualjudge.core.yamls import read_yaml
from visualjudge.prompts.store import (
    PLACEHOLDER,
    PromptAssetStore,
    PromptTemplate,
)

TEMPLATES = ("reference", "vlmevalkit")
_PARTS: Mapping[str, frozenset[str]] = {
    "option": frozenset({"letter", "text"}),
    "with_hint": frozenset({"hint", "question", "options"}),
    "without_hint": frozenset({"question", "options"}),
}


def choice_template(name: str = "reference") -> PromptTemplate:
    """Return a template by name, or your own by the path of its YAML file.

    Raises
    ------
    UsageError
        If neither such a name nor such a file exists.
    PromptError
        If the file lacks a part, or a part has an unknown placeholder.
    """
    if name in TEMPLATES:
        return PromptAssetStore().get_prompt(f"mmbench/{name}")
    path = Path(name)
    if not path.is_file():
        raise UsageError(
            f"`template` {name}: neither a template ({', '.join(TEMPLATES)}) nor a file"
        )
    return _from_file(path)


def prompt_text(row: Row, template: PromptTemplate) -> str:
    """Return the prompt for ``row``."""
    values = {
        "question": row.question,
        "options": options_text(row, template),
        "hint": row.hint,
    }
    return template.part("with_hint" if row.hint else "without_hint", values)


def options_text(row: Row, template: PromptTemplate) -> str:
    """Return the options, one line each."""
    lines = (
        template.part("option", {"letter": letter, "text": text})
        for letter, text in row.options.items()
    )
    return "".join(f"{line}\n" for line in lines)


def _from_file(path: Path) -> PromptTemplate:
    try:
        content = read_yaml(path)
    except DataError as error:
        raise PromptError(str(error)) from None
    parts = content.get("parts", content) if isinstance(content, dict) else {}
    for name, allowed in _PARTS.items():
        if not isinstance(parts.get(name), str):
            raise PromptError(
                f"{path}: a template must have the texts {', '.join(_PARTS)}; {name} "
                "is missing or not a text"
            )
        unknown = sorted(set(PLACEHOLDER.findall(parts[name])) - allowed)
        if unknown:
            raise PromptError(
                f"{path}: {name}: unknown placeholder {{{{{unknown[0]}}}}}; known: "
                f"{sorted(allowed)}"
            )
    return PromptTemplate(
        str(path), "file", parts={name: parts[name] for name in _PARTS}
    )
