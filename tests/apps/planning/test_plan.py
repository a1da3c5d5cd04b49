"""A plan: the judge's model, the search for the fewest images, cost, and what is built
from it."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from aiohttp import web
from hypothesis import given, strategies as st
from scipy import stats

import visualjudge as vj
from frontdoor_example import write_data
from visualjudge.apps.planning import (
    judge_simulation,
    plan_inputs,
    study_designs,
)
from visualjudge.apps.planning.judge_simulation import (
    Design,
    JudgeModel,
    Pool,
    Studies,
    orders,
)
from visualjudge.apps.planning.plan_inputs import Target
from visualjudge.apps.planning.study_designs import (
    Plan,
    _caps,
    commands,
    least_images,
    plan,
    plan_of,
    read_build,
)
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.seeding import rng_for
from visualjudge.dataset.folder import load_dataset
from visualjudge.runs.budget import Prices
from visualjudge.runs.cost_estimate import image_tokens

JUDGE = JudgeModel(0.8, 0.6, (0.15, 0.4, 0.7), failed=0.05)


def made_pool(images: int = 80, sources: int = 4) -> Pool:
    rng = rng_for(3, "pool")
    scores = (
        5 + 0.7 * np.arange(sources) + 1.5 * rng.normal(size=(images, sources))
    )
    rows = [
        (
            g,
            f"s{max(i, j, key=lambda k: scores[g, k])}",
            f"s{min(i, j, key=lambda k: scores[g, k])}",
            float(abs(scores[g, i] - scores[g, j])),
        )
        for g in range(images)
        for i in range(sources)
        for j in range(i)
    ]
    return judge_simulation.pool_of(
        pl.DataFrame(
            rows, schema=["image", "better", "worse", "margin"], orient="row"
        )
    )


def as_verdicts(studies: Studies) -> pl.DataFrame:
    """The first study as the analysis joins verdicts."""
    places = np.argwhere(
        np.broadcast_to(
            studies.held[0][..., None, None], studies.right[0].shape
        )
    )
    g, k, o, r = places.T
    return pl.DataFrame(
        {
            "task": np.zeros(g.size, dtype=np.int64),
            "cluster": g,
            "pair": g * studies.design.pairs + k,
            "encoding": np.zeros(g.size, dtype=np.int64),
            "order": o,
            "repeat": r,
            "margin": studies.pool.margin[studies.pair[0][g, k]],
            "right": studies.right[0][tuple(places.T)],
            "usable": studies.read[0][tuple(places.T)],
        }
    )


def test_a_pilot_gives_back_the_judge_it_was_drawn_from() -> None:
    study = judge_simulation.simulated(
        made_pool(), JUDGE, Design(2500, 4, 2, 2), 1, rng_for(0, "pilot")
    )
    found = judge_simulation.fitted(as_verdicts(study), plan_inputs.USUAL)
    assert found.assumed == ()
    assert found.failed == pytest.approx(0.05, abs=0.005)
    assert found.shared == pytest.approx(JUDGE.shared, abs=0.05)
    assert found.slope == pytest.approx(JUDGE.slope, abs=0.1)
    assert found.right(made_pool()) == pytest.approx(
        JUDGE.right(made_pool()), abs=0.015
    )


def test_what_a_pilot_does_not_tell_is_named_and_taken_as_usual() -> None:
    study = judge_simulation.simulated(
        made_pool(), JUDGE, Design(60, 1, 1, 1), 1, rng_for(0, "few")
    )
    found = judge_simulation.fitted(as_verdicts(study), plan_inputs.USUAL)
    assert found.assumed == ("image", "pair", "order")
    assert found.shared == plan_inputs.USUAL.shared


@given(st.floats(0.0, 0.95), st.floats(-1.5, 1.5))
def test_a_correlation_is_found_again_from_its_covariance(
    correlation: float, level: float
) -> None:
    line = np.full(3, level)
    both = stats.multivariate_normal(
        [0, 0], [[1, correlation], [correlation, 1]]
    ).cdf([level, level])
    assert judge_simulation.both_right(line, correlation) == pytest.approx(
        both, abs=2e-3
    )
    covariance = both - stats.norm.cdf(level) ** 2
    assert judge_simulation.correlation_of(covariance, line) == pytest.approx(
        correlation, abs=0.03
    )


def test_a_judge_is_moved_to_a_share_right_and_studies_have_it() -> None:
    pool = made_pool()
    judge = JUDGE.at(0.7, pool)
    study = judge_simulation.simulated(
        pool, judge, Design(300, 3), 20, rng_for(1, "share")
    )
    assert judge.right(pool) == pytest.approx(0.7)
    held = np.broadcast_to(study.held[..., None, None], study.right.shape)
    assert study.right[held].mean() == pytest.approx(0.7, abs=0.01)


@given(st.integers(6, 2500))
def test_the_search_finds_the_fewest_images(needed: int) -> None:
    found = least_images(lambda n: float(n >= needed), 0.8)
    assert found is not None
    assert needed <= found <= max(needed + 1, 1.07 * needed)


def test_a_power_that_no_number_of_images_reaches_is_not_found() -> None:
    assert least_images(lambda n: 0.5, 0.8) is None


# ---------------------------------------------------------------- from a folder to a
# dataset


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planned") / "data"
    write_data(root)
    return root


@pytest.fixture(scope="module")
def planned(data: Path) -> Plan:
    return plan(data, goal="right", effect=0.1, prices=Prices(1.0, 2.0))


def test_too_few_images_are_told_and_how_many_are_missing(
    planned: Plan,
) -> None:
    one = planned.chosen
    assert planned.target.pool.images == 6
    assert not planned.goal_reached
    assert one.missing == one.design.images - 6 > 0
    assert f"collect {one.missing} more" in str(planned)
    assert set(re.findall(r"([\d,]+) calls", str(planned))) == {
        f"{one.calls:,}"
    }
    assert one.cost is None  # no pilot has counted tokens
    assert planned.options[-1].missing == 0, (
        "the best on the images at hand stands beside it"
    )


def test_a_plan_is_written_and_build_follows_it(
    planned: Plan, data: Path, tmp_path: Path
) -> None:
    file = planned.save(tmp_path / "plan.json")
    task, seed, caps, asked = read_build(file)
    assert (task, seed) == ("object_detection", 42)
    assert f"judge dataset {' '.join(asked)} --model" in commands(planned)[1]
    vj.build(
        data,
        tmp_path / "dataset",
        tasks=[task],
        subsets=["judge_analysis"],
        seed=seed,
        caps=caps,
    )
    dataset = load_dataset(tmp_path / "dataset")
    pairs = {
        question.annotation_ids
        for question in dataset
        if question.question_type == "pairwise"
    }
    images = {question.image_id for question in dataset}
    assert {question.question_type for question in dataset} == {"pairwise"}
    assert len(images) == min(6, planned.chosen.design.images)
    assert (
        len({tuple(sorted(pair)) for pair in pairs})
        <= planned.chosen.design.images * planned.chosen.design.pairs
    )
    told = json.loads(file.read_text())
    assert told["designs"][0]["images_missing"] == planned.chosen.missing
    assert "--plan plan.json" in commands(planned)[0]


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", "no json", '{"build": {"task": 1, "seed": 2, "caps": {}}}'],
)
def test_what_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(
        DataError,
        match=r"`visualjudge plan` writes a plan to `json` FILE|is not JSON",
    ):
        read_build(tmp_path / "plan.json")


@pytest.fixture
def uneven(data: Path, tmp_path: Path) -> Path:
    """Four images with 6 pairs, two with 1."""
    notes = json.loads(
        (data / "annotations/object_detection_annotations.json").read_text()
    )
    kept = [
        note
        for note in notes
        if note["image_id"] < "photo4" or note["annotation_id"][-1] in "01"
    ]
    shutil.copytree(data, tmp_path / "uneven")
    write_json(
        tmp_path / "uneven/annotations/object_detection_annotations.json", kept
    )
    return tmp_path / "uneven"


def test_the_printed_commands_ask_as_many_questions_as_planned(
    uneven: Path, tmp_path: Path
) -> None:
    found = plan(uneven, goal="right", effect=0.2)
    design = replace(
        found.chosen.design, images=5, pairs=3, orders=2, repeats=1
    )
    caps, drawn = _caps(found.target, design, found.seed)
    built = vj.build(
        uneven,
        tmp_path / "dataset",
        subsets=["judge_analysis"],
        seed=42,
        caps=caps,
    )
    pairs = len(
        built.filter(encoding=found.target.encoding, question_type="pairwise")
    )
    assert pairs == round(5 * (4 * 3 + 2 * 1) / 6)
    assert drawn == 6


def test_images_that_a_plan_names_are_those_that_build_draws(
    tmp_path: Path,
) -> None:
    image = np.full((80, 90, 3), 200, np.uint8)
    near = np.array([[8 * k, 5, 8 * k + 6, 40] for k in range(3)])
    for source, moved in (("alder", 0), ("birch", 3)):
        samples = [
            {
                "image_id": f"photo{k}",
                "image": image,
                "truth": {"boxes": near, "labels": labels},
                "prediction": {"boxes": near + moved, "labels": labels},
            }
            for k, labels in enumerate(
                [["bat", "cat", "dog"], *[["ant"] * 3] * 3]
            )
        ]
        vj.import_samples(
            "object_detection", samples, tmp_path / "data", source=source
        )
    found = plan(tmp_path / "data", goal="right", effect=0.2)
    design = replace(found.chosen.design, images=4, pairs=1)
    caps, drawn = _caps(found.target, design, found.seed)
    built = vj.build(
        tmp_path / "data",
        tmp_path / "dataset",
        subsets=["judge_analysis"],
        seed=found.seed,
        caps=caps,
    )
    assert drawn == len({question.image_id for question in built})


def test_calls_are_of_the_pairs_that_images_have(uneven: Path) -> None:
    found = plan(uneven, goal="right", effect=0.2)
    of_three = [one for one in found.options if one.design.pairs == 3]
    assert of_three, "four images have 6 pairs, two have 1"
    for one in of_three:
        design = one.design
        pairs = design.images * (4 * 3 + 2 * 1) / 6
        assert one.calls == round(pairs) * design.orders * design.repeats


def test_wrong_goals_and_effects_are_refused(data: Path) -> None:
    with pytest.raises(UsageError, match="goal must be"):
        vj.plan(data, goal="fame")  # type: ignore[arg-type]
    with pytest.raises(
        UsageError, match=r"`effect` must be above 0 and at most .* got 11"
    ):
        plan(data, goal="rank", effect=11)
    for effect, told in (
        (15, r"0\.15 for 15 points\), got 15"),
        (-2, r"got -2"),
    ):
        with pytest.raises(
            UsageError, match=rf"`effect` must be between 0 and 1 .*{told}"
        ):
            plan(data, goal="right", effect=effect)
    with pytest.raises(
        UsageError,
        match=r"threshold \+ `effect` must be from 0.01 to 0.99, got",
    ):
        plan(data, goal="right", effect=0.3)
    with pytest.raises(UsageError, match="`power` must be"):
        plan(data, power=1.0)
    with pytest.raises(
        UsageError, match="`tasks` must be one of object_detection"
    ):
        plan(data, tasks=("keypoint",))


def test_a_pilot_without_a_usable_reply_is_refused(
    data: Path, tmp_path: Path
) -> None:
    built = vj.build(data, tmp_path / "dataset", subsets=["judge_analysis"])
    pairwise = built.filter(question_type="pairwise")[:10]
    client = vj.client(
        "baseline", model="sharpness"
    )  # declines all but restoration
    vj.judge(pairwise, client, tmp_path / "pilot", progress=False)
    with pytest.raises(
        DataError, match="no reply to a pairwise question can be used"
    ):
        plan(tmp_path / "pilot", goal="right")


# ---------------------------------------------------------------- what it costs


class Counting:
    """A server that counts tokens by its own rules: 4 characters, or 28 × 28 pixels, a
    token."""

    def __init__(self) -> None:
        self.tokens_in = self.tokens_out = 0

    async def handle(self, request: web.Request) -> web.Response:
        content = (await request.json())["messages"][-1]["content"]
        parts = (
            [{"type": "text", "text": content}]
            if isinstance(content, str)
            else content
        )
        text = sum(
            len(part["text"]) for part in parts if part["type"] == "text"
        )
        images = sum(part["type"] == "image_url" for part in parts)
        asked = math.ceil(text / 4) + images * image_tokens(64, 48)
        reply = "The first one fits the dog better. Answer: A"
        usage = {
            "prompt_tokens": asked,
            "completion_tokens": 40,
            "total_tokens": asked + 40,
        }
        self.tokens_in += asked
        self.tokens_out += 40
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": reply},
        }
        return web.json_response({"choices": [choice], "usage": usage})


async def _asked(dataset: Path, out: Path, **options: object) -> Counting:
    server = Counting()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        client = vj.client("api", model="m", base_url=url, cache=False)
        await vj.judge_async(
            load_dataset(dataset), client, out, mode="text", **options
        )  # type: ignore[arg-type]
    finally:
        await runner.cleanup()
    return server


def test_planned_cost_is_what_a_run_then_costs(
    data: Path, tmp_path: Path
) -> None:
    import asyncio

    from visualjudge.options import Choice

    prices = Prices(1.0, 2.0)
    vj.build(data, tmp_path / "first", subsets=["judge_analysis"])
    pilot = Choice(types=("pairwise",), sample=40)
    asyncio.run(
        _asked(tmp_path / "first", tmp_path / "pilot", choice=pilot, swap=True)
    )
    found = plan(tmp_path / "pilot", goal="right", power=0.5, prices=prices)
    one = next(option for option in found.options if not option.missing)
    design = one.design
    caps = study_designs.Caps(
        0, 0, design.images, design.images * design.pairs, 0, 0
    )
    vj.build(data, tmp_path / "second", subsets=["judge_analysis"], caps=caps)
    chosen = Choice(types=("pairwise",), encodings=(found.target.encoding,))
    options = {
        "choice": chosen,
        "swap": design.orders == 2,
        "repeats": design.repeats,
    }
    server = asyncio.run(
        _asked(tmp_path / "second", tmp_path / "run", **options)
    )
    spent = prices.of(server.tokens_in, server.tokens_out)
    assert one.cost == pytest.approx(spent, rel=0.15)


def test_more_images_separate_more_pairs_and_none_that_are_equal() -> None:
    pool, judge = made_pool(), JUDGE.at(0.85, made_pool())
    powers = []
    for images in (20, 80, 320):
        study = judge_simulation.simulated(
            pool, judge, Design(images, 3), 60, rng_for(2, images)
        )
        powers.append(
            judge_simulation.separated(study, orders(pool, 1.0)).mean()
        )
        low, high = judge_simulation.share_intervals(study)
        assert ((low < 0.85) & (high > 0.85)).mean() > 0.85
    assert powers[0] < powers[1] < powers[2]
    assert not judge_simulation.separated(study, orders(pool, 9.0)).any(), (
        "no two models differ so much"
    )


def target_of(pool: Pool, judge: JudgeModel) -> Target:
    return Target("dataset", "pool", "task", pool, judge, "any", None)


def test_the_same_pairs_are_planned_alike_from_whatever_they_are_read() -> None:
    columns = ["image", "better", "worse", "margin"]
    rows = [("i", "a", "b", 2.0), ("i", "c", "a", 1.0), ("j", "b", "c", 3.0)]
    pools = [
        judge_simulation.pool_of(pl.DataFrame(order, columns, orient="row"))
        for order in (rows, rows[::-1])
    ]
    assert pools[0].margin.tolist() == pools[1].margin.tolist()
    assert pools[0].better.tolist() == pools[1].better.tolist()


def test_few_more_images_are_not_saved_by_twice_the_calls() -> None:
    pool = made_pool(60, 2)
    judge = replace(JUDGE.at(0.75, pool), shared=(0.05, 0.35, 0.9))
    planned = plan_of(target_of(pool, judge), "right", 0.06, 0.8, Prices(), 0)
    collected = [item for item in planned.options if item.missing]
    fewest = min(item.design.images for item in collected)
    near = [item for item in collected if item.design.images <= 1.15 * fewest]
    assert len(near) > 1
    assert planned.chosen == min(near, key=lambda item: item.calls)


def test_where_no_design_suffices_the_judge_or_the_truth_is_named() -> None:
    pool = made_pool(60, 2)
    blind = plan_of(
        target_of(pool, JUDGE.at(0.5, pool)), "rank", 0.4, 0.8, Prices(), 1
    )
    alike = made_pool(8, 4)
    sharp = plan_of(
        target_of(alike, JUDGE.at(0.99, alike)), "rank", 0.1, 0.9, Prices(), 1
    )
    assert not blind.goal_reached and study_designs.POOR in str(blind.notes)
    assert not sharp.goal_reached and study_designs.OPEN in str(sharp.notes)


def test_a_power_counts_what_the_images_leave_open_of_the_models() -> None:
    pool = made_pool(40, 2)
    judge = JUDGE.at(0.9, pool)
    design = Design(600, 1)
    powers = []
    for like_these in (False, True):
        studies = judge_simulation.simulated(
            pool, judge, design, 200, rng_for(4, "open"), like_these=like_these
        )
        reached = judge_simulation.separated(studies, orders(pool, 0.4))
        powers.append(reached.mean())
    known, open_ = powers
    assert known > 0.9, "the models' scores are exactly those of the pool"
    assert 0.5 < open_ < known - 0.1
