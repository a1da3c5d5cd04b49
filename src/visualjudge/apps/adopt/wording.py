"""The prompt of a question of others, in our words: the asset ``published/pair``."""

from __future__ import annotations

from functools import cache

from visualjudge.apps.adopt.items import ImageSource, Item, safe
from visualjudge.core.records import IMAGE_MARK, LETTERS, Spans
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate

PROMPT = "published/pair"
GAP = "\n\n"


@cache
def _asset() -> PromptTemplate:
    return PromptAssetStore().get_prompt(PROMPT)


def wording(item: Item) -> tuple[str, Spans | None, tuple[ImageSource, ...]]:
    """Return the prompt of an item, the positions of its parts, and the images of its marks.

    For an item without content, as in a copy with only labels, this is its request.
    """
    asset = _asset()
    if not any(option.text or option.images for option in item.options):
        return asset.part("labels", {"request": safe(item.request)}), None, ()
    text, spans, original = asset.part(_part("head", item, asset)), [], None
    if item.images:
        marks = "\n".join(IMAGE_MARK for _ in item.images)
        text += GAP + asset.part("image" if len(item.images) == 1 else "images") + "\n" + marks
        original = len(text) - len(marks), len(text)
    text += GAP + asset.part("request", {"request": safe(item.request)})
    for letter, option in zip(LETTERS, item.options, strict=False):
        around = asset.around(_part("response", item, asset), "content", {"letter": letter})
        text += GAP + around[0]
        spans.append((len(text), len(text) + len(option.content)))
        text += option.content + around[1]
    final = len(text) + len(GAP)
    text += GAP + _final(asset, item)
    images = (*item.images, *(image for option in item.options for image in option.images))
    return text, Spans(tuple(spans), original, (final, len(text))), images


def _part(part: str, item: Item, asset: PromptTemplate) -> str:
    """Return the part for this type of question, if it has a separate one."""
    return f"{part}_{item.kind}" if f"{part}_{item.kind}" in asset.parts else part


def _final(asset: PromptTemplate, item: Item) -> str:
    if item.kind != "pairwise":
        count = len(item.options)
        return asset.part(f"final_{item.kind}", {"example": LETTERS[1:count] + LETTERS[0]})
    ties = "_both_bad" if "both_bad" in item.ties else "_ties" if item.ties else ""
    return asset.part(f"final{ties}")
