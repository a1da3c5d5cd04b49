from __future__ import annotations

import pytest

from visualjudge.core.errors import UsageError
from visualjudge.runs.budget import SILENT, Budget, Limits, Prices

USAGE = {"prompt_tokens": 90, "completion_tokens": 10}
PRICES = Prices(per_million_in=2, per_million_out=10)


def spend(budget: Budget, usage: dict[str, int] | None, **how: int) -> None:
    assert not budget.refusal()
    budget.begin()
    budget.settle(usage, **how)


def test_calls_in_flight_count() -> None:
    budget = Budget(Limits(max_calls=2))
    budget.begin()
    assert not budget.refusal()
    budget.begin()
    assert budget.refusal()
    budget.settle(None, calls=0)
    assert not budget.refusal()
    for _ in range(2):
        budget.settle(USAGE)
        budget.begin()
    budget.settle(None, calls=0)
    assert budget.refusal() == "the budget (2 calls) is used up"


def test_each_job_in_flight_is_booked_at_the_most_calls_that_it_may_take() -> (
    None
):
    budget = Budget(Limits(max_calls=9))
    budget.expect(4)
    budget.begin()
    budget.begin()
    assert budget.refusal()
    budget.settle(USAGE, calls=1)
    assert not budget.refusal()
    budget.settle(USAGE, calls=4)
    spend(budget, USAGE, calls=1)
    assert budget.calls == 6 and budget.refusal()
    assert (
        budget.refusal()
        == "stopped before the budget (9 calls) is exceeded: 6 calls used, the next "
        "may add 4 calls"
    )
    with pytest.raises(
        UsageError, match=r"`max_calls` must be at least 10, .*, got 9"
    ):
        budget.expect(10)


def test_tokens_stop_before_the_limit_at_what_the_largest_job_took() -> None:
    budget = Budget(Limits(max_tokens=350))
    for _ in range(3):
        spend(budget, USAGE)
    assert budget.tokens == 300 and budget.refusal()
    said = (
        "stopped before the budget (350 tokens) is exceeded: 300 tokens used, the next "
        "may add 100 tokens"
    )
    assert budget.refusal() == said


def test_jobs_in_flight_are_booked_at_what_the_largest_took() -> None:
    budget = Budget(Limits(max_tokens=390))
    spend(budget, USAGE)
    spend(budget, {"prompt_tokens": 1, "completion_tokens": 1})
    budget.begin()
    assert not budget.refusal()
    budget.begin()
    assert budget.refusal()


def test_one_job_begins_before_it_is_known_what_one_takes() -> None:
    for limits in (Limits(max_tokens=10_000), Limits(max_cost=1.0)):
        budget = Budget(limits, PRICES)
        budget.begin()
        assert budget.refusal()
        budget.settle(USAGE)
        budget.begin()
        assert not budget.refusal()


def test_a_server_that_counts_no_tokens_cannot_be_limited_by_them() -> None:
    budget = Budget(Limits(max_tokens=10_000))
    for _ in range(20):
        spend(budget, None)
    for _ in range(SILENT):
        spend(budget, {})
    assert budget.refusal()
    said = budget.refusal()
    assert (
        said is not None and "state no tokens" in said and "`max_calls`" in said
    )


def test_what_was_spent_beyond_a_limit_is_said() -> None:
    budget = Budget(Limits(max_cost=0.0011), PRICES)
    spend(budget, USAGE)
    assert budget.excess() is None
    spend(budget, {"prompt_tokens": 500, "completion_tokens": 0})
    assert (
        budget.excess()
        == budget.refusal()
        == "the budget (cost 0.0011) is exceeded: cost 0.00128 used"
    )


def test_money_follows_the_prices_of_both_directions() -> None:
    budget = Budget(Limits(max_cost=0.001), PRICES)
    spend(budget, USAGE)
    assert abs(budget.cost - (90 * 2 + 10 * 10) / 1e6) < 1e-12
    assert not budget.refusal()
    assert Prices(2, 10, share=0.5).of(90, 10) == pytest.approx(
        PRICES.of(90, 10) / 2
    )


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_limits_and_prices_that_limit_nothing_are_refused(wrong: float) -> None:
    with pytest.raises(UsageError, match="finite number of at least 0"):
        Limits(max_cost=wrong)
    with pytest.raises(UsageError, match="finite number of at least 0"):
        Prices(wrong, 1)
    with pytest.raises(UsageError, match="needs `prices`"):
        Budget(Limits(max_cost=1))


def test_cached_replies_cost_nothing() -> None:
    budget = Budget(Limits(max_calls=1, max_tokens=50))
    budget.begin()
    budget.settle(USAGE, calls=0)
    assert (budget.calls, budget.tokens, budget.refusal()) == (0, 0, None)


def test_other_names_of_usage_are_known() -> None:
    budget = Budget()
    budget.begin()
    budget.settle({"input_tokens": 5, "output_tokens": 2})
    assert (budget.spent.tokens_in, budget.spent.tokens_out) == (5, 2)
