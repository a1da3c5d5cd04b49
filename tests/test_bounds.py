"""What a bound lets in: one less, as much, and one more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from folding import each
from visualjudge.apps.pipelines.rows import RowFile
from visualjudge.clients.protocol_fields import counts_of
from visualjudge.clients.tool_calls import call_of
from visualjudge.core.addresses import address_name
from visualjudge.core.errors import DataError, one_of
from visualjudge.core.records import Mask
from visualjudge.core.untrusted import stated_path
from visualjudge.data.folder import AnnotationWire
from visualjudge.data.writer import slug
from visualjudge.dataset.render import file_name
from visualjudge.replies.json_answers import repaired
from visualjudge.replies.refusals import is_refusal
from visualjudge.replies.statements import stated
from visualjudge.replies.words import Asked
from visualjudge.runs.verdicts import verdict_of
from visualjudge.studio.serving import refused
from visualjudge.studio.stars_and_notes import Change, Marked
from visualjudge.vision import fields
from visualjudge.vision.masks.texts import polygons_of
from visualjudge.vision.raster.masks import (
    Budget,
    mask_from_array,
    mask_from_polygons,
)

SIZE = (8, 8)
PAIR = Asked("pairwise", "AB")
NOTE: dict[str, object] = {"annotation_id": "a", "image_id": "i", "task": "t"}
NOTE |= {"prediction": {}, "final_score": 1.0}
VERDICT = {"id": "q", "value": "A", "status": "ok"}


def _raises(function: Callable[[], object]) -> bool:
    try:
        function()
    except (DataError, ValueError):
        return True
    return False


def _arguments(size: int) -> bool:
    text = json.dumps({"x": ""})
    text = json.dumps({"x": "y" * (size - len(text))})
    called = call_of("id", 0, {"name": "zoom", "arguments": text}, "arguments")
    return called.arguments == text


def _polygon(points: int) -> list[list[float]]:
    triangle = [0.5, 0.5, 6.5, 0.5, 6.5, 6.5]
    return [[*triangle * (points // 3), *triangle[: points % 3 * 2]]]


def _keeps_its_corners(pixels: int) -> bool:
    """Whether a rectangle keeps the corners where its last pixels are missing."""
    mask = np.zeros((30, 30), np.bool_)
    mask[5:25, 5:21] = True
    for k in range(320 - pixels):
        mask[5 + k % 20, 20 - k // 20] = False
    assert mask.sum() == pixels
    [polygon] = polygons_of(mask_from_array(mask))
    return len(polygon) > 4


def _admits(pixels: int) -> bool:
    """Whether a prediction may have masks in boxes of so many pixels; they take no
    memory."""
    budget = Budget()
    for width in (pixels // 2, pixels - pixels // 2):
        budget.admit(Mask(SIZE, 0, 0, (1, width), 0, b""))
    return True


BOUNDS: dict[str, tuple[int, Callable[[int], object]]] = {
    "characters of a call's arguments": (4000, _arguments),
    "tokens of a reply": (10**12, lambda n: counts_of({"n": n}, ["n"])[0]),
    "names in a message": (
        24,
        lambda n: "such as" not in one_of("x", range(n)),
    ),
    "bytes of a stem that stays": (100, lambda n: slug("a" * n) == "a" * n),
    "bytes of a name that stays": (
        200,
        lambda n: file_name("a" * n) == "a" * n,
    ),
    "characters of a label": (
        500,
        lambda n: not _raises(lambda: fields.label({"label": "a" * n}, "x")),
    ),
    "characters of a path": (
        1024,
        lambda n: not _raises(lambda: stated_path("a" * n)),
    ),
    "a vertex": (
        10**7,
        lambda n: (
            not _raises(lambda: mask_from_polygons([[n, 0, n, 9, n, 0]], SIZE))
        ),
    ),
    "pixels in the boxes of an image's masks": (
        1_800_000_000,
        lambda n: not _raises(lambda: _admits(n)),
    ),
    "points of a polygon": (
        100_000,
        lambda n: not _raises(lambda: mask_from_polygons(_polygon(n), SIZE)),
    ),
    "pixels of a part that keeps its corners": (255, _keeps_its_corners),
    "a coordinate": (
        10**15,
        lambda n: not _raises(lambda: fields.box([0, 0, n, n], "bbox")),
    ),
    "repeats": (
        999_999,
        lambda n: not _raises(lambda: verdict_of(VERDICT | {"repeat": n})),
    ),
    "images of a row": (
        100,
        lambda n: (
            not _raises(
                lambda: RowFile(
                    instruction="x", input_image="y", edited_images=["z"] * n
                )
            )
        ),
    ),
    "tags of a question": (
        20,
        lambda n: (
            not _raises(
                lambda: Change(add="new").applied(
                    Marked(tags=tuple(f"t{k}" for k in range(n - 1)))
                )
            )
        ),
    ),
    "characters of a refusal that are read": (
        1000,
        lambda n: is_refusal("x" * (n - 15) + ". I cannot help"),
    ),
    "bytes of a request to the studio": (
        64 * 1024,
        lambda n: (
            not refused("POST", {"host": "localhost", "content-length": str(n)})
        ),
    ),
    "characters of JSON that is repaired": (
        20_000,
        lambda n: repaired("{a: '" + "b" * (n - 7) + "'}"),
    ),
    "items of a prediction": (
        100_000,
        lambda n: not _raises(lambda: fields.objects({"x": [{}] * n}, "x")),
    ),
    "characters of an annotation's prompt": (
        20_000,
        lambda n: (
            not _raises(
                lambda: AnnotationWire.model_validate(
                    NOTE | {"prompt": "a" * n}
                )
            )
        ),
    ),
    "characters of a name in addresses": (
        32,
        lambda n: len(address_name(Path("a" * n))) == n,
    ),
    "characters of an answer in words": (
        160,
        lambda n: stated("A is better" + " " * (n - 11), PAIR) is not None,
    ),
}


@each("what", BOUNDS)
def test_as_much_as_a_bound_is_let_in_and_one_more_is_not(what: str) -> None:
    bound, lets_in = BOUNDS[what]
    got = [bool(lets_in(bound + more)) for more in (-1, 0, 1)]
    assert got == [True, True, False]


@each(
    "wrong",
    [
        {"id": 1},
        {"order": "AA"},
        {"value": None},
        {"value": True},
        {"status": "fine"},
        {"repeat": 1.0},
        {"repeat": -1},
        {"latency_s": "1"},
        {"criteria": []},
    ],
)
def test_a_line_with_one_wrong_field_is_no_verdict(
    wrong: dict[str, object],
) -> None:
    assert verdict_of(VERDICT).status == "ok"
    assert _raises(lambda: verdict_of(VERDICT | wrong))
