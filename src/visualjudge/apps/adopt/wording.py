"""The prompt of a question of others, in our words: the asset ``published/pair``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from visualjudge.apps.adopt.items import ImageSource, Item, safe
from visualjudge.core.records import IMAGE_MARK, LETTERS, Span, Spans
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate

PROMPT = "published/pair"
GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt, the positions of its parts, and the images of its marks."""

    prompt: str
    spans: Spans | None
    images: tuple[ImageSource, ...] = ()
    ties: tuple[str, ...] = ()


@cache
def _asset() -> PromptTemplate:
    return PromptAssetStore().get_prompt(PROMPT)


def wording(item: Item) -> Wording:
    """Return the prompt of an item in our words, with an image mark for each of its images.

    For an item without content, as in a copy with only labels, this is its request.
    """
    asset = _asset()
    if not any(option.text or option.images for option in item.options):
        return Wording(asset.part("labels", {"request": safe(item.request)}), None, ties=item.ties)
    parts = [asset.part(_part("head", item, asset))]
    original = None
    if item.images:
        marks = "\n".join(IMAGE_MARK for _ in item.images)
        parts.append(asset.part("image" if len(item.images) == 1 else "images") + "\n" + marks)
        end = len(GAP.join(parts))
        original = end - len(marks), end
    parts.append(asset.part("request", {"request": safe(item.request)}))
    spans: list[Span] = []
    for letter, option in zip(LETTERS, item.options, strict=False):
        around = asset.around(_part("response", item, asset), "content", {"letter": letter})
        start = len(GAP.join(parts)) + len(GAP) + len(around[0])
        spans.append((start, start + len(option.content)))
        parts.append(around[0] + option.content + around[1])
    end = len(GAP.join(parts)) + len(GAP)
    parts.append(_final(asset, item))
    prompt = GAP.join(parts)
    images = (*item.images, *(image for option in item.options for image in option.images))
    return Wording(prompt, Spans(tuple(spans), original, (end, len(prompt))), images, item.ties)


def _part(part: str, item: Item, asset: PromptTemplate) -> str:
    """Return the part for this type of question, if it has a separate one."""
    return f"{part}_{item.kind}" if f"{part}_{item.kind}" in asset.parts else part


def _final(asset: PromptTemplate, item: Item) -> str:
    if item.kind != "pairwise":
        count = len(item.options)
        return asset.part(f"final_{item.kind}", {"example": LETTERS[1:count] + LETTERS[0]})
    if "both_bad" in item.ties:
        return asset.part("final_both_bad")
    return asset.part("final_ties" if item.ties else "final")
