"""A question as the judge reads it: blocks of versioned text in a fixed order, with marks where the pictures go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from visualjudge.data.wire import IMAGE_MARK
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.prompts.template import PromptTemplate
from visualjudge.records import QuestionType, Size
from visualjudge.tasks import Task

VERSION = "v1"
LETTERS = "ABCDE"
GRID = 32
"""Cells along the longer side of a sub-sampled grid."""
_NATURAL = ("restoration", "generation")


@dataclass(frozen=True, slots=True)
class Scene:
    """What all options of a question share.

    ``size`` is the (height, width) that the text formats speak of; None where no format does. ``combo`` marks an
    encoding of a text and a picture per option.
    """

    task: Task
    stem: str
    size: Size | None
    original: bool
    control: bool = False
    masked: bool = False
    combo: bool = False
    class_of_interest: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What one option shows; ``prompt`` is its annotation's expression, instruction or generation prompt."""

    image: bool
    text: str | None = None
    legend: str | None = None
    prompt: str | None = None


def final_questions() -> tuple[str, ...]:
    """The paraphrases that a pairwise question may end in."""
    return _asset("layout").choices


def question_prompt(kind: QuestionType, scene: Scene, options: Sequence[Shown], paraphrase: int = 0) -> str:
    """The prompt of one question.

    Parameters
    ----------
    kind
        ``"pairwise"`` with 2 options, ``"ranking"`` with 3 to 5, ``"scoring"`` with 1.
    scene
        What the options share.
    options
        In the order of their letters.
    paraphrase
        Number of the final question of a pairwise prompt.

    Returns
    -------
    str
        With one ``<image>`` for each picture, in the order: original, control, options.

    Raises
    ------
    PromptError
        If an asset is missing or a placeholder stays unfilled.
    """
    blocks: Mapping[str, Callable[[], str]] = {
        "original": lambda: "\n".join([IMAGE_MARK] * (scene.original + scene.control)),
        "role": lambda: " ".join(filter(None, (_role(scene), *_context(scene, options)))),
        "format": lambda: _format_block(kind, scene),
        "options_head": lambda: _asset("layout").part("options_head"),
        "options": lambda: "\n\n".join(
            _option(*pair, scene, _mixed(options)) for pair in zip(LETTERS, options, strict=False)
        ),
        "prediction": lambda: _prediction(scene, options[0]),
        "final": lambda: _final(kind, paraphrase),
    }
    order = _asset("layout").metadata["layout"][kind]
    return "\n\n".join(filter(None, (blocks[name]() for name in order)))


def format_text(scene: Scene) -> str:
    """The description of the scene's encoding; empty for restoration and generation, which show natural pictures."""
    if scene.task.family in _NATURAL:
        return ""
    asset = _asset(f"format/{scene.task.family}")
    return asset.part(
        scene.stem, {**_frame(scene.size), **{k: asset.parts[k] for k in ("order", "absent") if k in asset.parts}}
    )


def assets_used() -> dict[str, str]:
    """Each question asset with the version in use."""
    store = PromptAssetStore()
    return {name: VERSION for name, _ in store.prompts() if name.startswith("questions/")}


def _role(scene: Scene) -> str:
    layout = _asset("layout")
    given = layout.part("given") if scene.original else ""
    return layout.part("role", {"article": scene.task.article, "task": scene.task.prose, "given": given})


def _context(scene: Scene, options: Sequence[Shown]) -> list[str]:
    asset, task = _asset("context"), scene.task
    mixed = _mixed(options)
    prompt = {"prompt": options[0].prompt}
    match task.family:
        case "detection" | "instance" | "semantic":
            classes = ", ".join(scene.class_of_interest or ())
            return [asset.part("classes", {"classes": classes}) if classes else asset.part("all_classes")]
        case "referring":
            return [asset.part("referring_mixed") if mixed else asset.part("referring", prompt)]
        case "keypoint" | "depth":
            return [asset.part(task.family)]
    details = [("masked", scene.masked), ("controlled", scene.control)]
    sentences = [asset.part(task.name), *(asset.part(name) for name, holds in details if holds)]
    if mixed:
        sentences.append(asset.part("prompt_mixed"))
    elif options[0].prompt:
        sentences.append(asset.part("instruction" if task.instructed else "text_prompt", prompt))
    return sentences


def _mixed(options: Sequence[Shown]) -> bool:
    return len({option.prompt for option in options}) > 1


def _format_block(kind: QuestionType, scene: Scene) -> str:
    """A combo's options each show their own description, unless there is but one."""
    text = format_text(scene)
    if not text or (scene.combo and kind != "scoring"):
        return ""
    return _asset("layout").part("format_one" if kind == "scoring" else "format_many", {"format": text})


def _option(letter: str, option: Shown, scene: Scene, mixed: bool) -> str:
    layout = _asset("layout")
    lines = []
    if mixed and option.prompt:
        family = "referring" if scene.task.expression else "generation"
        lines.append(layout.part(f"prompt_of_option_{family}", {"prompt": option.prompt}))
    if scene.combo:
        lines.append(layout.part("format_inline", {"format": format_text(scene)}))
        lines.append(layout.part("text_inline", {"text": option.text}))
        lines.append(layout.part("image_inline"))
    else:
        lines.append(IMAGE_MARK if option.image else str(option.text))
    lines.append(option.legend or "")
    return layout.part("option", {"letter": letter, "content": "\n".join(filter(None, lines))})


def _prediction(scene: Scene, option: Shown) -> str:
    layout = _asset("layout")
    lines = []
    if option.image:
        number = 1 + scene.original + scene.control
        lines = [layout.part(f"images_{number}"), IMAGE_MARK, option.legend or ""]
    if option.text is not None:
        lines.append(layout.part("prediction_text", {"text": option.text}))
    return "\n".join(filter(None, lines))


def _final(kind: QuestionType, paraphrase: int) -> str:
    questions = final_questions()
    values = {"question": questions[paraphrase % len(questions)]}
    return _asset("layout").part(f"final_{kind}", values)


def _frame(size: Size | None) -> dict[str, int]:
    """Width, height and the grid of a sub-sampled encoding."""
    if size is None:
        return {}
    height, width = size
    cell = -(-max(height, width) // GRID)
    return {"width": width, "height": height, "cell": cell, "rows": -(-height // cell), "cols": -(-width // cell)}


@cache
def _asset(name: str) -> PromptTemplate:
    return PromptAssetStore().get_prompt(f"questions/{name}", VERSION)
