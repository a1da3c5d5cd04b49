"""The prompt of a benchmark's question: in our words and reply form, or the benchmark's own.

Ours is the asset ``published/pair``. Where its licence lets the benchmark's text be passed on, it
is an asset too (``published/<name>``). Where it does not, or none is stated, the text is read from
the user's copy of the benchmark's repository, so that it is asked as published and is not in here.
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
"""Bytes of a file that holds prompts."""
_NOTHING = Option()

PROMPT = "published/pair"
GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt, where its parts stand, and the images of its marks."""

    prompt: str
    spans: Spans | None
    images: tuple[ImageSource, ...] = ()
    ties: tuple[str, ...] = ()


def wording(item: Item, *, store: PromptAssetStore) -> Wording:
    """The prompt of an item in our words, an image mark for each of its images.

    Of an item without any content to show, as where a copy has labels alone, its request.
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
    """The benchmark's own prompt."""
    return Wording(own.text, Spans(own.options), own.images, own.ties)


def _named(part: str, item: Item, asset: PromptTemplate) -> str:
    """The part for this type of question, where it has one of its own."""
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
    """The asset ``published/<name>``."""
    return PromptAssetStore().get_prompt(f"published/{name}")


def file_of(folder: Path, name: str) -> Path | None:
    """The file ``name`` of the benchmark's repository, below ``folder`` or in it."""
    for place in (name, Path(name).name):
        try:
            path = confined_path(folder, place, of="the copy")
        except DataError:
            continue
        if path.stat().st_size <= LARGEST:
            return path
    return None


def of_copy(name: str, text: str, slots: Mapping[str, str]) -> PromptTemplate:
    """A text of the copy as a template: what its authors fill in, such as ``{question}``, by our
    names for it.
    """
    text = safe(text)
    for theirs, ours in slots.items():
        text = text.replace(theirs, ours)
    return PromptTemplate(name, "copy", user=text)


def python_literal(path: Path | None, name: str) -> Any:
    """The constant that a Python file assigns to ``name``, or that its function ``name`` returns;
    nothing is executed.

    None where there is no such file or constant.
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
    """The prompt of a question as ``asset`` has it.

    Parameters
    ----------
    asset
        Its text shows the options at ``{{a}}`` and ``{{b}}``, or all of them at ``{{options}}``,
        each as its part ``option`` has it; and what the request is about at ``{{image}}``.
    values
        What else the text needs.
    about
        The images of the request, and its text where the two are mixed.
    ties
        Which ties the reply form has.
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
    """The text with its options in a row, where it lists them."""
    if "{{options}}" not in asset.user:
        return asset.user
    rows = (
        asset.parts["option"]
        .replace("{{letter}}", letter)
        .replace("{{content}}", "{{" + letter.lower() + "}}")
        for letter in LETTERS[:count]
    )
    return asset.user.replace("{{options}}", "".join(rows))
