"""Text of a question: blocks of versioned text in a fixed order, with marks for the
images. The texts are in ``assets``; the sentence about a task, in
``vision/contexts.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from visualjudge.core.records import (
    IMAGE_MARK,
    LETTERS,
    Fault,
    OptionFeatures,
    QuestionType,
    Size,
    Span,
    Spans,
)
from visualjudge.prompts.prompt_set import V1, PromptSet
from visualjudge.prompts.store import PromptTemplate
from visualjudge.vision.contexts import mixed, type_sentence
from visualjudge.vision.predictions import type_of
from visualjudge.vision.rows import Task

GRID = 32
"""Number of cells along the longer side of a sub-sampled grid."""
_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class QuestionScene:
    """Properties shared by all options of a question.

    ``size`` is the (height, width) stated in the text formats; None if no format states
    it. ``combo`` marks an encoding with a text and an image per option.
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
class Option:
    """One option as it is shown; ``prompt`` is its annotation's expression, instruction
    or generation prompt, ``image`` the path of its image in the dataset, whose SHA-256
    is ``digest``.
    """

    image: str | None
    text: str | None = None
    legend: str | None = None
    prompt: str | None = None
    digest: str | None = None
    features: OptionFeatures | None = None
    faults: tuple[Fault, ...] | None = None


Block = tuple[str, ...]
"""The text of a block: what stands outside the options' contents, and these, in
turn."""
SharedBlocks = Callable[
    [QuestionType, QuestionScene, tuple[str | None, ...], int, PromptSet],
    tuple[tuple[str, Block], ...],
]


def question_prompt(
    kind: QuestionType,
    scene: QuestionScene,
    options: Sequence[Option],
    paraphrase: int = 0,
    prompts: PromptSet = V1,
    *,
    shared: SharedBlocks | None = None,
) -> tuple[str, Spans]:
    """Return the prompt of one question, and the positions of its parts.

    Parameters
    ----------
    kind
        ``"pairwise"`` with 2 options, ``"ranking"`` with 3 to 5, ``"scoring"`` with 1.
    scene
        Properties shared by the options.
    options
        Options in the order of their letters.
    paraphrase
        Number of the final question of a pairwise prompt.
    prompts
        The assets to use.
    shared
        :func:`shared_blocks`, or a cache of it.

    Returns
    -------
    str, Spans
        The prompt, with one ``<image>`` for each image in the order: original, control,
        options.

    Raises
    ------
    PromptError
        If an asset is missing or a placeholder has no value.
    """
    phrasings = tuple(option.prompt for option in options)
    own: Mapping[str, Callable[[], Block]] = {
        "options": lambda: _options(prompts, scene, options),
        "prediction": lambda: _prediction(
            prompts.asset("layout"), scene, options[0]
        ),
    }
    blocks = (shared or shared_blocks)(
        kind, scene, phrasings, paraphrase, prompts
    )
    return _joined(
        [
            (name, own[name]() if name in own else block)
            for name, block in blocks
        ]
    )


def shared_blocks(
    kind: QuestionType,
    scene: QuestionScene,
    phrasings: tuple[str | None, ...],
    paraphrase: int,
    prompts: PromptSet,
) -> tuple[tuple[str, Block], ...]:
    """Return the blocks of a prompt by name, in order; those that show the options are
    empty.

    Parameters as for :func:`question_prompt`; ``phrasings`` is each option's
    ``prompt``.
    """
    layout = prompts.asset("layout")
    texts: Mapping[str, Callable[[], str]] = {
        "original": lambda: "\n".join(
            [IMAGE_MARK] * (scene.original + scene.control)
        ),
        "role": lambda: " ".join(
            filter(
                None,
                (_role(layout, scene), *_context(prompts, scene, phrasings)),
            )
        ),
        "format": lambda: _format_block(prompts, kind, scene),
        "options_head": lambda: layout.part("options_head"),
        "options": str,
        "prediction": str,
        "final": lambda: _final(layout, kind, paraphrase, len(phrasings)),
    }
    return tuple(
        (name, (texts[name](),)) for name in layout.metadata["layout"][kind]
    )


def format_text(scene: QuestionScene, prompts: PromptSet = V1) -> str:
    """Return the description of the scene's encoding; empty if the prediction is itself
    an image.
    """
    if type_of(scene.task.name).is_image:
        return ""
    asset = prompts.asset(f"format/{scene.task.type}")
    return asset.part(
        scene.stem,
        {
            **_frame(scene.size),
            **{
                k: asset.parts[k]
                for k in ("order", "absent")
                if k in asset.parts
            },
        },
    )


def _joined(blocks: Sequence[tuple[str, Block]]) -> tuple[str, Spans]:
    text = ""
    places = dict[str, Span]()
    options = list[Span]()
    for name, block in blocks:
        if not any(block):
            continue
        text += _GAP if text else ""
        start = len(text)
        for number, piece in enumerate(block):
            begin = len(text)
            text += piece
            if number % 2:
                options.append((begin, len(text)))
        places[name] = (start, len(text))
    original = places.get("original")
    return text, Spans(tuple(options), original, places.get("final"))


def _role(layout: PromptTemplate, scene: QuestionScene) -> str:
    role = layout.part("given") if scene.original or scene.control else ""
    return layout.part(
        "role",
        {
            "article": scene.task.article,
            "task": scene.task.prose,
            "given": role,
        },
    )


def _context(
    prompts: PromptSet, scene: QuestionScene, phrasings: Sequence[str | None]
) -> list[str]:
    context = type_of(scene.task.name).context or type_sentence
    return context(prompts.asset("context"), scene, list(phrasings))


def _format_block(
    prompts: PromptSet, kind: QuestionType, scene: QuestionScene
) -> str:
    """Return the format block. The options of a combo show their own descriptions,
    unless there is only one.
    """
    text = format_text(scene, prompts)
    if not text or (scene.combo and kind != "scoring"):
        return ""
    return prompts.asset("layout").part(
        "format_one" if kind == "scoring" else "format_many", {"format": text}
    )


def _options(
    prompts: PromptSet, scene: QuestionScene, options: Sequence[Option]
) -> Block:
    layout = prompts.asset("layout")
    own_prompts = mixed([option.prompt for option in options])
    outside = ""
    block = list[str]()
    for letter, option in zip(LETTERS, options, strict=False):
        before, after = layout.around("option", "content", {"letter": letter})
        content = _content(prompts, option, scene, own_prompts)
        block += [outside + before, content]
        outside = after + _GAP
    return (*block, outside.removesuffix(_GAP))


def _content(
    prompts: PromptSet, option: Option, scene: QuestionScene, own_prompt: bool
) -> str:
    layout = prompts.asset("layout")
    lines = []
    if own_prompt and option.prompt:
        part = (
            "prompt_of_option_referring"
            if scene.task.expression
            else "prompt_of_option_generation"
        )
        lines.append(layout.part(part, {"prompt": option.prompt}))
    if scene.combo:
        lines.append(
            layout.part(
                "format_inline", {"format": format_text(scene, prompts)}
            )
        )
        lines.append(layout.part("text_inline", {"text": option.text}))
        lines.append(layout.part("image_inline"))
    else:
        lines.append(
            IMAGE_MARK if option.image is not None else str(option.text)
        )
    lines.append(option.legend or "")
    return "\n".join(filter(None, lines))


def _prediction(
    layout: PromptTemplate, scene: QuestionScene, option: Option
) -> Block:
    lines = []
    if option.image is not None:
        alone = scene.control and not scene.original
        number = "control" if alone else 1 + scene.original + scene.control
        lines = [
            layout.part(f"images_{number}"),
            IMAGE_MARK,
            option.legend or "",
        ]
    if option.text is not None:
        lines.append(layout.part("prediction_text", {"text": option.text}))
    return "", "\n".join(filter(None, lines))


def _final(
    layout: PromptTemplate, kind: QuestionType, paraphrase: int, n_options: int
) -> str:
    question = layout.choices[paraphrase % len(layout.choices)]
    example = "".join(
        letter for letter in "BCAED" if letter in LETTERS[:n_options]
    )
    return layout.part(
        f"final_{kind}", {"question": question, "example": example}
    )


def _frame(size: Size | None) -> dict[str, int]:
    """Return width, height and the grid of a sub-sampled encoding."""
    if size is None:
        return {}
    height, width = size
    cell = -(-max(height, width) // GRID)
    return {
        "width": width,
        "height": height,
        "cell": cell,
        "rows": -(-height // cell),
        "cols": -(-width // cell),
    }
