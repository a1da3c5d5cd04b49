"""PROBES, the table of probes: the sampled questions each one uses, and the changes it
makes. What probes show is in ``analysis/figures/probes.py``.

A probe is a function from one sampled question to the questions that replace it. The
design named in each :class:`~visualjudge.core.records.Probe` determines how answers are
compared; see :mod:`visualjudge.analysis.figures.probes`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from visualjudge.apps.probes import ABOUT
from visualjudge.apps.probes.question_edits import (
    Edit,
    Paint,
    doubled,
    edited,
    mirrored_image,
    recompressed,
    toned,
    warmer,
    with_banner,
    with_lines,
    without_original,
)
from visualjudge.core.records import Probe, ProbeDesign, Question
from visualjudge.core.registry import Registry
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate

Pool = Literal["image", "other_image", "text", "steps", "grey", "other"]
LEVELS = (0.55, 0.75, 0.95)
"""Confidence values that the tool claims."""
_SIDES = re.compile(r"left|right", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Base:
    """Basis of a probe: a pair, or the steps of a staircase; ``number`` counts within
    the probe.

    ``group`` identifies all questions made from it; ``given`` is the prompt's word for
    the original.
    """

    questions: tuple[Question, ...]
    group: str
    given: str
    number: int = 0

    @property
    def pair(self) -> Question:
        """The question of a base that is not a staircase."""
        return self.questions[0]


Make = Callable[[Base, Edit], Sequence[Question]]


@dataclass(frozen=True, slots=True)
class ProbeKind:
    """One probe.

    Attributes
    ----------
    pool
        Questions from which it is made: pairs in an image encoding (``image``;
        ``other_image`` is the same pair in another such encoding), pairs in a text
        encoding, or scoring questions of decreasing quality; ``grey`` and ``other`` are
        the pairs of ``image`` on grey and on another photograph of their task.
    make
        (base, edit) → the questions to ask, each with its ``probe`` record; none if the
        base is unsuitable.
    about
        Description of the probe.
    compared
        Whether its questions are compared with the unchanged question.
    """

    pool: Pool
    make: Make
    about: str
    compared: bool = False


def _asset() -> PromptTemplate:
    return PromptAssetStore().get_prompt("probes/cues", "v2")


def _cues(name: str, **values: object) -> tuple[str, str]:
    asset = _asset()
    return asset.part(f"{name}_cued", values), asset.part(
        f"{name}_plain", values
    )


def _probed(
    question: Question,
    base: Base,
    name: str,
    design: ProbeDesign,
    changed: str,
    expected: Literal["answer", "any", "order"] = "answer",
    cue: str | None = None,
    level: float | None = None,
) -> Question:
    probe = Probe(name, design, base.group, changed, expected, cue, level)
    return replace(question, probe=probe)


def line_cue(
    name: str, base: Base, _edit: Edit, levels: Sequence[float | None] = (None,)
) -> Sequence[Question]:
    """Return the pair twice: with an irrelevant line of text at option A and its
    counterpart at B, and the reverse.
    """
    level = levels[base.number % len(levels)]
    cued, plain = _cues(name, level=level)
    texts = {"A": (cued, plain), "B": (plain, cued)}
    return [
        _probed(
            with_lines(base.pair, lines),
            base,
            name,
            "cue",
            f"option {letter} says: {cued}",
            cue=letter,
            level=level,
        )
        for letter, lines in texts.items()
    ]


def image_cue(
    name: str, cued: Paint, plain: Paint, changed: str, base: Base, edit: Edit
) -> Sequence[Question]:
    """Return the pair twice: with the images of option A changed by ``cued`` and those
    of B by ``plain``, and the reverse.
    """
    out = []
    for k, letter in enumerate("AB"):
        question = edited(base.pair, k, f"{name}_cued", cued, edit)
        question = edited(question, 1 - k, f"{name}_plain", plain, edit)
        out.append(
            _probed(
                question,
                base,
                name,
                "cue",
                f"option {letter}: {changed}",
                cue=letter,
            )
        )
    return out


def painted(base: Base, edit: Edit) -> Sequence[Question]:
    """Paint an instruction into the image of one option, and other words into the
    other."""
    cued, plain = _cues("painted")
    instruct, name = (partial(with_banner, text=text) for text in (cued, plain))
    return image_cue(
        "painted_instruction",
        instruct,
        name,
        f'"{cued}" painted into its image',
        base,
        edit,
    )


def image_change(
    name: str, paint: Paint, changed: str, base: Base, edit: Edit
) -> Sequence[Question]:
    """Change all images of the pair in the same way."""
    return [
        _probed(
            edited(base.pair, None, name, paint, edit),
            base,
            name,
            "change",
            changed,
        )
    ]


def mirrored(base: Base, edit: Edit) -> Sequence[Question]:
    """Mirror all images, if the prompt does not mention left and right."""
    if _SIDES.search(base.pair.prompt):
        return []
    return image_change(
        "mirrored", mirrored_image, "all images mirrored", base, edit
    )


def renamed(base: Base, _edit: Edit) -> Sequence[Question]:
    """Give both options a meaningless name."""
    asset = _asset()
    lines = [asset.part(f"renamed_{letter}") for letter in "AB"]
    return [
        _probed(
            with_lines(base.pair, lines),
            base,
            "renamed",
            "change",
            "options bear names that say nothing",
        )
    ]


def other_encoding(base: Base, _edit: Edit) -> Sequence[Question]:
    """Return the pair in another encoding."""
    return [
        _probed(
            base.pair,
            base,
            "encoding",
            "change",
            f"shown as {base.pair.encoding}",
        )
    ]


def blind(name: str, text: str, base: Base, _edit: Edit) -> Sequence[Question]:
    """Return the pair with something else in place of the photograph."""
    changed = f"{text} in place of the photograph"
    return [_probed(base.pair, base, name, "photograph", changed)]


def same_option(base: Base, _edit: Edit) -> Sequence[Question]:
    """Show the same option twice; the option, and the position recorded as right, are
    balanced."""
    question = doubled(base.pair, base.number // 2 % 2, base.number % 2)
    return [
        _probed(
            question,
            base,
            "same_option",
            "same",
            "both options are the same",
            "any",
        )
    ]


def withheld(base: Base, _edit: Edit) -> Sequence[Question]:
    """Return the pair, as text, without the original."""
    question = without_original(base.pair, base.given)
    if question is None:
        return []
    return [
        _probed(
            question,
            base,
            "withheld",
            "withheld",
            "the original is not shown",
            "any",
        )
    ]


def staircase(base: Base, _edit: Edit) -> Sequence[Question]:
    """Return each step unchanged."""
    steps = len(base.questions)
    return [
        _probed(
            q,
            base,
            "severity",
            "staircase",
            f"step {k + 1} of {steps}",
            "order",
            level=float(k),
        )
        for k, q in enumerate(base.questions)
    ]


def _line(name: str) -> ProbeKind:
    return ProbeKind("image", partial(line_cue, name), ABOUT[name])


_ROWS = {
    "same_option": ProbeKind("image", same_option, ABOUT["same_option"]),
    "withheld": ProbeKind("text", withheld, ABOUT["withheld"]),
    "renamed": ProbeKind("image", renamed, ABOUT["renamed"], compared=True),
    "recoloured": ProbeKind(
        "image",
        partial(image_change, "recoloured", warmer, "all images warmer"),
        ABOUT["recoloured"],
        compared=True,
    ),
    "recompressed": ProbeKind(
        "image",
        partial(
            image_change,
            "recompressed",
            recompressed,
            "all images through JPEG",
        ),
        ABOUT["recompressed"],
        compared=True,
    ),
    "mirrored": ProbeKind(
        "image",
        mirrored,
        ABOUT["mirrored"],
        compared=True,
    ),
    "encoding": ProbeKind(
        "other_image",
        other_encoding,
        ABOUT["encoding"],
        compared=True,
    ),
    "confidence": _line("confidence"),
    "decimals": _line("decimals"),
    "author": _line("author"),
    "length": _line("length"),
    "label": _line("label"),
    "file_format": _line("file_format"),
    "file_size": _line("file_size"),
    "painted_instruction": ProbeKind(
        "image", painted, ABOUT["painted_instruction"]
    ),
    "bright": ProbeKind(
        "image",
        partial(
            image_cue,
            "bright",
            partial(toned, saturation=1.5, light=25.0),
            partial(toned, saturation=0.45, light=-35.0),
            "its image brighter, the other duller",
        ),
        ABOUT["bright"],
    ),
    "tool": ProbeKind(
        "image",
        partial(line_cue, "tool", levels=LEVELS),
        ABOUT["tool"],
    ),
    "severity": ProbeKind("steps", staircase, ABOUT["severity"]),
    "grey": ProbeKind(
        "grey",
        partial(blind, "grey", "uniform grey"),
        ABOUT["grey"],
        compared=True,
    ),
    "other": ProbeKind(
        "other",
        partial(blind, "other", "another photograph"),
        ABOUT["other"],
        compared=True,
    ),
}
PROBES: Registry[str, ProbeKind] = Registry(
    "probe", _ROWS, home=f"{__name__}:PROBES"
)
