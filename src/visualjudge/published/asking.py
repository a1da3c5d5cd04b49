"""The question that a pair of a benchmark asks, in our words and reply form (prompt asset ``published/pair``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualjudge.prompts.store import PromptAssetStore
from visualjudge.prompts.template import PromptTemplate
from visualjudge.published.items import Item, Option
from visualjudge.records import IMAGE_MARK, LETTERS, Span, Spans

PROMPT = "published/pair"
GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt and where its parts stand."""

    prompt: str
    spans: Spans | None


def wording(item: Item, *, labels_only: bool, store: PromptAssetStore) -> Wording:
    """The prompt of a pair, an image mark for each of its images; of a pair without content, its request."""
    asset = store.get_prompt(PROMPT)
    if labels_only:
        return Wording(asset.part("labels", {"request": _safe(item.request)}), None)
    parts = [asset.part("head")]
    if item.image is not None:
        parts.append(asset.part("image") + "\n" + IMAGE_MARK)
    parts.append(asset.part("request", {"request": _safe(item.request)}))
    original = _original(parts) if item.image is not None else None
    spans: list[Span] = []
    for letter, option in zip(LETTERS, item.options, strict=False):
        before, after = asset.around("response", "content", {"letter": letter})
        start = len(GAP.join(parts)) + len(GAP) + len(before)
        content = _content(option)
        spans.append((start, start + len(content)))
        parts.append(before + content + after)
    end = len(GAP.join(parts)) + len(GAP)
    parts.append(_final(asset, item.ties))
    prompt = GAP.join(parts)
    return Wording(prompt, Spans(tuple(spans), original, (end, len(prompt))))


def _original(parts: Sequence[str]) -> Span:
    """Where the mark of the image stands: at the end of the part before the request."""
    end = len(GAP.join(parts[:-1]))
    return end - len(IMAGE_MARK), end


def _content(option: Option) -> str:
    marks = "\n".join(IMAGE_MARK for _ in option.images)
    return "\n".join(part for part in (marks, _safe(option.text)) if part)


def _final(asset: PromptTemplate, ties: Sequence[str]) -> str:
    return asset.part("final_both_bad" if "both_bad" in ties else "final_ties" if ties else "final")


def _safe(text: str) -> str:
    """A text of others that holds the mark of an image would ask for an image that is not there."""
    return text.replace(IMAGE_MARK, "[image]")
