"""The question that an item asks: in our words and reply form (prompt asset ``published/pair``), or the benchmark's.

The latter is made where the copy is read (:mod:`visualjudge.apps.published.own`).
"""

from __future__ import annotations

from dataclasses import dataclass

from visualjudge.apps.published.items import ImageSource, Item, OwnPrompt, safe
from visualjudge.core.records import IMAGE_MARK, LETTERS, Span, Spans
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.prompts.template import PromptTemplate

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
    return asset.part("final_both_bad" if "both_bad" in item.ties else "final_ties" if item.ties else "final")
