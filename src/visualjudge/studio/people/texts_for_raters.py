"""Texts for raters: Markdown instructions, with HTML escaped and images from their own
folder, and questions without instructions for models.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from visualjudge.analysis.score_scale import ScoreScale
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.records import QuestionType
from visualjudge.core.untrusted import read_file
from visualjudge.studio.thumbnails import confined

LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Instructions:
    """The ``html`` for the page, and its ``images`` in order, files inside the Markdown
    file's folder.
    """

    html: str
    images: tuple[Path, ...]


def read_instructions(
    path: Path, address: Callable[[int], str]
) -> Instructions:
    """Read the instructions in a Markdown file.

    Parameters
    ----------
    address
        Function from an image's index to its address.

    Raises
    ------
    UsageError
        If the file cannot be read, or shows an image that is not a file in its folder.
    """
    try:
        text = read_file(path, "yaml").decode("utf-8-sig")
    except (DataError, UnicodeDecodeError) as error:
        raise UsageError(
            f"`instructions`: {path}: must be a Markdown file: {error}"
        ) from None
    if len(text) > LONGEST:
        raise UsageError(
            f"`instructions`: {path}: must have at most {LONGEST} characters, got "
            f"{len(text)}"
        )
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    images = list[Path]()
    for token in (child for block in tokens for child in block.children or ()):
        if token.type == "image":
            name = str(token.attrGet("src"))
            file = (
                None
                if urlsplit(name).scheme
                else confined(path.parent, unquote(name))
            )
            if not isinstance(file, Path):
                raise UsageError(
                    f"`instructions`: {path}: image {name!r} must be a file in its "
                    "folder"
                )
            token.attrSet("src", address(len(images)))
            images.append(file)
    return Instructions(
        markdown.renderer.render(tokens, markdown.options, {}), tuple(images)
    )


_IMAGES = re.compile(r"^(?:First image|Image): .*$", re.MULTILINE)
_BEFORE = (
    (re.compile(r"You are a judge to decide the quality of answers to an? (.+?) "
                r"task(?: based on "
                r"my given image)?\."),
     r"Task: \1."),
    (re.compile(r"^Format of predictions?:", re.MULTILINE), "How the predictions are "
                                                            "shown:"),
)  # fmt: skip
_AFTER = (
    (re.compile(r"\s*Please answer with A or B\.?"), ""),
    (
        re.compile(
            r"\s*Respond with the ranking as a single string of letters only.*",
            re.DOTALL,
        ),
        "",
    ),
    (re.compile(r"0 = random guessing / worst"), "0 = worst"),
    (
        re.compile(
            r"\s*Please answer with a single score from 0 to 10 only\.?"
        ),
        "",
    ),
)
# The question to show if the prompt states it before the options, for models only.
ASKED: Mapping[QuestionType, str] = {
    "pairwise": "Which one is better?",
    "ranking": "Put them in order, the best one first.",
    "scoring": "How good is it, from {low:g} (worst) to {high:g} (best)?",
}
_GAPS = re.compile(r"\n{3,}")


def for_people(
    before: str, after: str, kind: QuestionType, scale: ScoreScale
) -> tuple[str, str]:
    """Rewrite a prompt's texts before and after the options for people; other tools'
    prompts are unchanged.
    """
    for pattern, wording in _BEFORE:
        before = pattern.sub(wording, before)
    for pattern, wording in _AFTER:
        after = pattern.sub(wording, after)
    asked = ASKED[kind].format(low=scale.low, high=scale.high)
    return without_image_notes(before), after.strip() or asked


def without_image_notes(text: str) -> str:
    """Leave out lines that tell a model which image is which."""
    return _GAPS.sub("\n\n", _IMAGES.sub("", text)).strip()
