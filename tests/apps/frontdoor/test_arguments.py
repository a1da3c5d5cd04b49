"""Public functions refuse arguments of wrong types, and arrays whose mask NumPy would
drop."""

from __future__ import annotations

import inspect
import io
import pickle
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import visualjudge as vj
from folding import each
from visualjudge.analysis.plots.plot import Plot
from visualjudge.apps.frontdoor.studies import Plots
from visualjudge.apps.planning.study_designs import Plan
from visualjudge.arguments import ArgumentError, checked
from visualjudge.clients import build_client, open_client
from visualjudge.core.errors import DataError, RunError, UsageError
from visualjudge.judges.judge_module import ClientPipe
from visualjudge.prompts import PromptAssetStore

CLIENT = vj.client("baseline", model="oracle:1.0")
BOXES = {"boxes": np.ones((1, 4)), "labels": ["dog"], "scores": np.ones(1)}


class Odd:
    """An object whose own methods raise."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError


def holding_itself() -> Any:
    values: list[Any] = []
    values.append(values)
    return values


@each(
    ("call", "wrong"),
    [
        (lambda: vj.import_samples("keypoint", [], "o", source="s", classes="dog"), "classes"),
        (lambda: vj.import_samples("keypoint", [], "o", source="s", classes=5), "classes"),
        (lambda: vj.import_samples("keypoint", 5, "o", source="s"), "samples"),
        (lambda: vj.encode("keypoint", "pose", {}, None, classes="dog"), "classes"),
        (lambda: vj.judge("ds", CLIENT, "o", swap="no"), "swap"),
        (lambda: vj.judge("ds", CLIENT, "o", repeats=True), "repeats"),
        (lambda: vj.build("data", "o", seed=1.5), "seed"),
        (lambda: vj.build("data", "o", task="keypoint"), "task"),
        (lambda: vj.build("data", "o", engine="fast"), "engine"),
        (lambda: vj.build("data", "o", progress=lambda stage: None), "progress"),
        (lambda: vj.build("data", "o", progress=int), "progress"),
        (lambda: vj.build("data", "o", score_range="ab"), "score_range"),
        (lambda: vj.analyse([1]), "runs"),
        (lambda: vj.plan("data", goal="win"), "goal"),
        (lambda: vj.register_task(5), "task"),
        (lambda: vj.score("keypoint", [], [], size=5), "size"),
        (lambda: vj.score("object_detection", BOXES, BOXES, class_of_interest=5), "class_of_"),
        (lambda: vj.adopt(5, "o"), "table"),
        (lambda: vj.adopt(iter([1]), "o"), "table: 0"),
        (lambda: vj.build("data", "o", min_margin=np.ma.masked), "min_margin"),
        (lambda: vj.build("data", "o", min_margin=30), "min_margin. must be at most 10"),
        (lambda: vj.client("api", model="m", temperature=70), "temperature"),
        (lambda: vj.build("data", "o", score_range=(0, np.inf)), "score_range"),
        (lambda: vj.build("data", "o", seed=np.ma.array([1, 2])), "seed"),
        (lambda: vj.read_reply("tie", "pairwise", ties=iter(["tie"])), "ties"),
        (lambda: vj.score("object_detection", BOXES, BOXES, size=(np.nan, 1)), "size"),
        (lambda: vj.score("object_detection", BOXES, BOXES, size=(0, 9)), "size must be at least"),
        (lambda: vj.score("object_detection", BOXES, BOXES, class_of_interest=[[1]]), "class_of_"),
        (lambda: vj.score("object_detection", BOXES, BOXES, metric=["f1"]), "metric"),
        (lambda: vj.read_reply("A", "pairwise", names={"a": 1}), "names"),
        (lambda: vj.read_reply("A", "pairwise", ties=np.ma.masked), "ties"),
        (lambda: vj.from_supervision(None, ["dog"]), "must be a payload"),
        (lambda: vj.encode("object_detection", "pixel_s0_m0", BOXES, io.BytesIO()), "image"),
        (lambda: vj.import_samples("keypoint", [], "/dev/null", source="s"), "/dev/null"),
        (lambda: vj.client(model="m", api_key=5), "api_key"),
        (lambda: vj.client(model="m", api_key="x", seed=10**30), "seed"),
        (lambda: vj.client(model="m", api_key="x", extra_body={"a": {1j}}), "extra_body"),
        (lambda: vj.build("data", "o", seed=10**30), "seed"),
        (lambda: vj.open_run("a\0b"), "path"),
        (lambda: vj.load_dataset('{"name": 1}' * 99), "path"),
        (lambda: vj.register_export("mine", 5), "export format mine"),
        (lambda: vj.register_probe("mine", "kind"), "probe mine"),
        (lambda: vj.adopt(np.array(5), "o"), "table"),
        (lambda: vj.adopt(["a.csv", 1], "o"), "table: 0"),
        (lambda: vj.adopt(pd.Series([1, 2]), "o"), "table: 0"),
        (lambda: vj.build("data", "o", prompts="v" * 100_000), "prompts"),
        (lambda: vj.build("data", "o", tasks=pd.DataFrame({"a": [1]})), "tasks"),
        (lambda: vj.judge("ds", CLIENT, "o", name="\ud800"), "name"),
        (lambda: vj.judge("ds", CLIENT, "o", tools=["a", "\ud800"]), "tools"),
        (lambda: vj.judge("ds", holding_itself(), "o"), "asked"),
        (lambda: vj.encode("keypoint", "pose", {}, None, classes=Odd()), "classes"),
        (lambda: vj.encodings(Odd()), "task"),
        (lambda: vj.label("run", kind="best"), "kind"),
        (lambda: vj.label("run", n="5"), "n must be int"),
        (lambda: vj.label("run", n=True), "n must be int"),
        (lambda: vj.score("t" * 100_000, BOXES, BOXES), "unknown task"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_one_line_that_names_the_argument(
    call: Callable[[], Any], wrong: str
) -> None:
    with pytest.raises((UsageError, RunError), match=wrong) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 3000


METHODS = [
    method
    for kind in (vj.Data, vj.Dataset, vj.Run, vj.Study, Plots, Plan)
    for name, method in vars(kind).items()
    if inspect.isfunction(method)
    and len(inspect.signature(method).parameters) > 1
    and not name.startswith(("_", "image"))  # once for each image of a question
]
DOORS = [
    *METHODS,
    vj.Data.__init__,
    vj.Run.__init__,
    Plot.save,
    ClientPipe.__init__,
    PromptAssetStore.get_prompt,
    open_client,
    build_client,
]


@each("method", DOORS)
def test_methods_refuse_wrong_types_as_functions_do(
    method: Callable[..., Any],
) -> None:
    parameters = inspect.signature(method).parameters
    wrong = {
        name: object()
        for name, item in parameters.items()
        if item.kind is not item.VAR_KEYWORD and name != "self"
    }
    itself = [None] if "self" in parameters else []
    first = next(iter(wrong))
    with pytest.raises(
        ArgumentError, match=f"^[A-Za-z_.]+: {first} must be .*, got <obj"
    ):
        method(*itself, **wrong)


def test_numbers_of_numpy_lists_and_texts_are_what_they_stand_for() -> None:
    for options in (
        {"seed": np.int64(1)},
        {"tasks": "keypoint"},
        {"tasks": ["keypoint"]},
        {"score_range": [0, 5]},
        {"min_margin": 1},
    ):
        with pytest.raises(UsageError, match="no such folder"):
            vj.build("nowhere", "out", **options)


def test_a_reply_may_hold_half_of_a_pair_of_utf_16() -> None:
    assert vj.read_reply("Hm \ud83d\nAnswer: B", "pairwise").value == "B"


def test_numbers_of_numpy_arrive_as_those_of_python() -> None:
    function = checked(_told, "told")
    values = function(
        np.int64(1), [np.float32(0.5)], np.array(["a"]), np.ones(2)
    )
    assert values[:3] == (1, [0.5], ["a"])
    assert [type(value) for value in (values[0], values[1][0])] == [int, float]
    assert isinstance(values[3], np.ndarray)


def _told(
    number: int, shares: Sequence[float], names: Collection[str], data: Any
) -> Any:
    return number, shares, names, data


def test_a_public_function_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(vj.score)) is vj.score


def test_a_masked_depth_is_unknown_where_it_is_masked() -> None:
    depth = np.linspace(1, 5, 48).reshape(6, 8)
    hole = np.zeros(depth.shape, bool)
    hole[:, :4] = True
    stored = np.where(hole, 9999.0, depth)
    assert (
        vj.score("depth_estimation", depth, np.ma.array(stored, mask=hole))
        == 10.0
    )


@pytest.mark.parametrize("field", ["boxes", "scores"])
def test_masked_boxes_are_refused(field: str) -> None:
    values = np.ma.array(BOXES[field], mask=True)
    with pytest.raises(
        DataError, match=f"{field}: must have no masked elements"
    ):
        vj.score("object_detection", {**BOXES, field: values}, BOXES)


def test_masked_masks_and_photographs_are_refused() -> None:
    mask = np.ma.array(np.ones((4, 4), bool), mask=np.eye(4))
    given = {"masks": [mask], "labels": ["dog"]}
    with pytest.raises(DataError, match="masks: must have no masked elements"):
        vj.score("instance_segmentation", given, given)
    photograph = np.ma.array(np.zeros((4, 4, 3), np.uint8), mask=True)
    with pytest.raises(DataError, match="must have no masked elements"):
        vj.encode(
            "object_detection",
            "pixel_s0_m0",
            BOXES,
            photograph,
            classes=["dog"],
        )
