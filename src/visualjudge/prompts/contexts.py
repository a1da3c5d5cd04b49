"""What a prompt says of the task after the role sentence, a row a prediction type. The words are in the assets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from visualjudge.core.registry import Registry
from visualjudge.prompts.template import PromptTemplate

if TYPE_CHECKING:
    from visualjudge.prompts.questions import QuestionScene

Prompts = Sequence[str | None]
Context = Callable[[PromptTemplate, "QuestionScene", Prompts], list[str]]
"""(asset ``questions/context``, what the options share, each option's ``prompt``) → sentences."""


def classes(asset: PromptTemplate, scene: QuestionScene, _prompts: Prompts) -> list[str]:
    """The class of interest, or that all categories are of interest."""
    shown = ", ".join(scene.class_of_interest or ())
    return [asset.part("classes", {"classes": shown}) if shown else asset.part("all_classes")]


def expression(asset: PromptTemplate, _scene: QuestionScene, prompts: Prompts) -> list[str]:
    """The referring expression, unless each option has its own."""
    return [asset.part("referring_mixed") if mixed(prompts) else asset.part("referring", {"prompt": prompts[0]})]


def type_sentence(asset: PromptTemplate, scene: QuestionScene, _prompts: Prompts) -> list[str]:
    """The part that bears the prediction type's name."""
    return [asset.part(scene.task.type)]


def goal(asset: PromptTemplate, scene: QuestionScene, prompts: Prompts) -> list[str]:
    """The part that bears the task's name, what the given images are, and the text prompt or instruction."""
    details = [
        ("masked", scene.masked),
        ("controlled", scene.control and scene.original),
        ("control_only", scene.control and not scene.original),
    ]
    sentences = [asset.part(scene.task.name), *(asset.part(name) for name, holds in details if holds)]
    if mixed(prompts):
        sentences.append(asset.part("prompt_mixed"))
    elif prompts[0]:
        sentences.append(asset.part("instruction" if scene.task.instructed else "text_prompt", {"prompt": prompts[0]}))
    return sentences


def mixed(prompts: Prompts) -> bool:
    """Whether the options differ in their prompt."""
    return len(set(prompts)) > 1


CONTEXTS: Registry[str, Context] = Registry(
    "context",
    {
        "detection": classes,
        "instance": classes,
        "semantic": classes,
        "referring": expression,
        "keypoint": type_sentence,
        "depth": type_sentence,
        "restoration": goal,
        "generation": goal,
    },
)
"""Of each prediction type; a type without a row has :func:`type_sentence`."""
