"""The question that an item asks: in our words and reply form (prompt asset ``published/pair``), or the benchmark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from visualjudge.errors import DataError
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.prompts.template import PromptTemplate, fill
from visualjudge.published.items import ImageSource, Item, Option, OwnPrompt
from visualjudge.records import IMAGE_MARK, LETTERS, Span, Spans

PROMPT = "published/pair"
GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt, where its parts stand, and the images of its marks."""

    prompt: str
    spans: Spans | None
    images: tuple[ImageSource, ...] = ()


def own_wording(item: Item) -> Wording:
    """The benchmark's own prompt of an item.

    Raises
    ------
    DataError
        If the copy holds none.
    """
    if item.own is None:
        raise DataError(f"--prompt own: the copy holds no prompt of {item.key}; use --prompt ours")
    return Wording(item.own.text, Spans(item.own.options), item.own.images)


@cache
def _asset(name: str) -> PromptTemplate:
    return PromptAssetStore().get_prompt(f"published/{name}")


def own_prompt(name: str, values: Mapping[str, object], options: Sequence[Option], *images: ImageSource) -> OwnPrompt:
    """A benchmark's own prompt of a pair: the asset ``published/<name>``, whose options are ``{{a}}`` and ``{{b}}``.

    Parameters
    ----------
    values
        What the asset needs but the options and ``image``, the mark of the images that the request is about.
    """
    asset = _asset(name)
    given = {key: _safe(str(value or "")) for key, value in values.items()} | {"image": IMAGE_MARK * len(images)}
    before, _, rest = asset.user.partition("{{a}}")
    head, between, end = (fill(text, given, where=asset.name) for text in (before, *rest.split("{{b}}")))
    first, second = map(_content, options)
    start, other = len(head), len(head) + len(first) + len(between)
    shown = [image for option in options for image in option.images]
    return OwnPrompt(
        f"{head}{first}{between}{second}{end}",
        (*images, *shown) if "{{image}}" in before else (*shown, *images),
        ((start, start + len(first)), (other, other + len(second))),
    )


def wording(item: Item, *, store: PromptAssetStore) -> Wording:
    """The prompt of an item in our words, an image mark for each of its images.

    Of an item without any content to show, as where a copy has labels alone, its request.
    """
    asset = store.get_prompt(PROMPT)
    if not any(option.text or option.images for option in item.options):
        return Wording(asset.part("labels", {"request": _safe(item.request)}), None)
    parts = [asset.part(_named("head", item, asset))]
    original = None
    if item.images:
        marks = "\n".join(IMAGE_MARK for _ in item.images)
        parts.append(asset.part("image" if len(item.images) == 1 else "images") + "\n" + marks)
        end = len(GAP.join(parts))
        original = end - len(marks), end
    parts.append(asset.part("request", {"request": _safe(item.request)}))
    spans: list[Span] = []
    response = _named("response", item, asset)
    for letter, option in zip(LETTERS, item.options, strict=False):
        before, after = asset.around(response, "content", {"letter": letter})
        start = len(GAP.join(parts)) + len(GAP) + len(before)
        content = _content(option)
        spans.append((start, start + len(content)))
        parts.append(before + content + after)
    end = len(GAP.join(parts)) + len(GAP)
    parts.append(_final(asset, item))
    prompt = GAP.join(parts)
    images = (*item.images, *(i for option in item.options for i in option.images))
    return Wording(prompt, Spans(tuple(spans), original, (end, len(prompt))), images)


def _named(part: str, item: Item, asset: PromptTemplate) -> str:
    """The part for this type of question, where it has one of its own."""
    return f"{part}_{item.kind}" if f"{part}_{item.kind}" in asset.parts else part


def _content(option: Option) -> str:
    marks = "\n".join(IMAGE_MARK for _ in option.images)
    return "\n".join(part for part in (marks, _safe(option.text)) if part)


def _final(asset: PromptTemplate, item: Item) -> str:
    if item.kind != "pairwise":
        count = len(item.options)
        return asset.part(f"final_{item.kind}", {"example": LETTERS[1:count] + LETTERS[0]})
    return asset.part("final_both_bad" if "both_bad" in item.ties else "final_ties" if item.ties else "final")


def _safe(text: str) -> str:
    """A text of others that holds the mark of an image would ask for an image that is not there."""
    return text.replace(IMAGE_MARK, "[image]")
