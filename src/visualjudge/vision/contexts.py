"""Sentences of a prompt about the task, after the role sentence. The words are in the
assets. The prompt around them is in ``prompts/question_text.py``.

Each function takes the asset ``questions/context``
(:class:`~visualjudge.prompts.store.PromptTemplate`), the common part of the options
(:class:`~visualjudge.prompts.question_text.QuestionScene`) and the ``prompt`` of each
option.
"""

from collections.abc import Sequence
from typing import Any

Prompts = Sequence[str | None]


def classes(asset: Any, scene: Any, _prompts: Prompts) -> list[str]:
    """Return the part named after the prediction type, if any, and the class of
    interest or the statement that all categories are of interest.
    """
    names = ", ".join(scene.class_of_interest or ())
    known = (
        type_sentence(asset, scene, _prompts)
        if scene.task.type in asset.parts
        else []
    )
    sentence = (
        asset.part("classes", {"classes": names})
        if names
        else asset.part("all_classes")
    )
    return [*known, sentence]


def type_sentence(asset: Any, scene: Any, _prompts: Prompts) -> list[str]:
    """Return the part named after the prediction type."""
    return [asset.part(scene.task.type)]


def mixed(prompts: Prompts) -> bool:
    """Return whether the options differ in their prompts."""
    return len(set(prompts)) > 1
