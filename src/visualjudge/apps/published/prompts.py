"""The prompt of a benchmark's question: our own, or the benchmark's.

Ours is the asset ``published/pair``. If its licence permits redistribution, the benchmark's text is
an asset too (``published/<name>``). Otherwise the text is read from the user's copy of the
benchmark's repository, so that it is asked as published without being included here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from visualjudge.apps.published.reading import ImageSource, Item, Option, OwnPrompt, safe
from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError
from visualjudge.core.records import IMAGE_MARK, LETTERS, Span, Spans
from visualjudge.prompts.store import PLACEHOLDER, PromptAssetStore, PromptTemplate

LARGEST = 1 << 20
"""Maximum bytes of a file with prompts."""
_NOTHING = Option()

PROMPT = "published/pair"
GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt, the positions of its parts, and the images of its marks."""

    prompt: str
    spans: Spans | None
    images: tuple[ImageSource, ...] = ()
    ties: tuple[str, ...] = ()


def wording(item: Item, *, store: PromptAssetStore) -> Wording:
    """Return the prompt of an item in our words, with an image mark for each of its images.

    For an item without content, as in a copy with only labels, this is its request.
    """
    asset = store.get_prompt(PROMPT)
    if not any(option.text or option.images for option in item.options):
        return Wording(asset.part("labels", {"request": safe(item.request)}), None, ties=item.ties)
    parts = [asset.part(_named("head", item, asset))]
    original = None
    if item.images:
        marks = "\n".join(IMAGE_MARK for _ in item.images)
        parts.append(asset.part("image" if len(item.images) == 1 else "images") + "\n" + marks)
        end = len(GAP.join(parts))
        original = end - len(marks), end
    parts.append(asset.part("request", {"request": safe(item.request)}))
    spans: list[Span] = []
    response = _named("response", item, asset)
    for letter, option in zip(LETTERS, item.options, strict=False):
        before, after = asset.around(response, "content", {"letter": letter})
        start = len(GAP.join(parts)) + len(GAP) + len(before)
        content = option.content
        spans.append((start, start + len(content)))
        parts.append(before + content + after)
    end = len(GAP.join(parts)) + len(GAP)
    parts.append(_final(asset, item))
    prompt = GAP.join(parts)
    images = (*item.images, *(i for option in item.options for i in option.images))
    return Wording(prompt, Spans(tuple(spans), original, (end, len(prompt))), images, item.ties)


def own_wording(own: OwnPrompt) -> Wording:
    """Return the benchmark's own prompt."""
    return Wording(own.text, Spans(own.options), own.images, own.ties)


def _named(part: str, item: Item, asset: PromptTemplate) -> str:
    """Return the part for this type of question, if it has a separate one."""
    return f"{part}_{item.kind}" if f"{part}_{item.kind}" in asset.parts else part


def _final(asset: PromptTemplate, item: Item) -> str:
    if item.kind != "pairwise":
        count = len(item.options)
        return asset.part(f"final_{item.kind}", {"example": LETTERS[1:count] + LETTERS[0]})
    return asset.part(
        "final_both_bad" if "both_bad" in item.ties else "final_ties" if item.ties else "final"
    )


@cache
def shipped(name: str) -> PromptTemplate:
    """Return the asset ``published/<name>``."""
    return PromptAssetStore().get_prompt(f"published/{name}")


def file_of(folder: Path, name: str) -> Path | None:
    """Return the file ``name`` of the benchmark's repository, in ``folder`` or below it."""
    for place in (name, Path(name).name):
        try:
            path = confined_path(folder, place, of="the copy")
        except DataError:
            continue
        if path.stat().st_size <= LARGEST:
            return path
    return None


def of_copy(name: str, text: str, slots: Mapping[str, str]) -> PromptTemplate:
    """Return a text of the copy as a template: its authors' placeholders, such as ``{question}``,
    are replaced by ours.
    """
    text = safe(text)
    for theirs, ours in slots.items():
        text = text.replace(theirs, ours)
    return PromptTemplate(name, "copy", user=text)


def python_literal(path: Path | None, name: str) -> Any:
    """Return the constant that a Python file assigns to ``name``, or that its function ``name``
    returns, without executing it.

    None without such a file or constant.
    """
    if path is None:
        return None
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        return next((ast.literal_eval(value) for value in _values(tree, name)), None)
    except (OSError, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _values(tree: ast.Module, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in node.targets
        ):
            yield node.value
        elif isinstance(node, ast.FunctionDef) and node.name == name:
            yield from (
                one.value
                for one in node.body
                if isinstance(one, ast.Return) and one.value is not None
            )


def own_prompt(
    asset: PromptTemplate,
    values: Mapping[str, object],
    options: Sequence[Option],
    about: Option = _NOTHING,
    *,
    ties: tuple[str, ...] = (),
) -> OwnPrompt:
    """Return the prompt of a question made from ``asset``.

    Parameters
    ----------
    asset
        Its text shows the options at ``{{a}}`` and ``{{b}}``, or all of them at ``{{options}}``,
        each formatted by its part ``option``, and the request's images at ``{{image}}``.
    values
        Values of the other placeholders.
    about
        The images of the request, with its text if the two are mixed.
    ties
        The ties that the reply format allows.
    """
    shown = {"image": about, **dict(zip(LETTERS.lower(), options, strict=False))}
    given = {name: safe(str(value or "")) for name, value in values.items()}
    text = ""
    images: list[ImageSource] = []
    spans: list[Span] = []
    pieces = PLACEHOLDER.split(_listed(asset, len(options)))
    for literal, name in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        text += literal
        if name in shown:
            start = len(text)
            text += shown[name].content
            images += shown[name].images
            spans += [(start, len(text))] if name != "image" else []
        elif name is not None:
            text += given.get(name, "{{" + name + "}}")
    return OwnPrompt(text, tuple(images), tuple(spans), (asset.prompt_id, asset.version), ties)


def _listed(asset: PromptTemplate, count: int) -> str:
    """Expand ``{{options}}`` into one row per option, if the text has it."""
    if "{{options}}" not in asset.user:
        return asset.user
    rows = (
        asset.parts["option"]
        .replace("{{letter}}", letter)
        .replace("{{content}}", "{{" + letter.lower() + "}}")
        for letter in LETTERS[:count]
    )
    return asset.user.replace("{{options}}", "".join(rows))
