from __future__ import annotations

from visualjudge.runs.budget import Budget, Limits, Prices

USAGE = {"prompt_tokens": 90, "completion_tokens": 10}


def test_calls_in_flight_count() -> None:
    budget = Budget(Limits(max_calls=2))
    budget.begin()
    assert budget.refusal() is None
    budget.begin()
    assert "2 calls" in str(budget.refusal())
    budget.abandon()
    assert budget.refusal() is None


def test_tokens_stop_before_the_limit_at_the_mean_of_what_calls_took() -> None:
    budget = Budget(Limits(max_tokens=350))
    for _ in range(3):
        assert budget.refusal() is None
        budget.begin()
        budget.settle(USAGE)
    assert budget.tokens == 300
    assert "350 tokens" in str(budget.refusal())


def test_calls_in_flight_are_booked_at_the_mean() -> None:
    budget = Budget(Limits(max_tokens=350))
    budget.begin()
    budget.settle(USAGE)
    budget.begin()
    assert budget.refusal() is None
    budget.begin()
    assert budget.refusal() is not None


def test_money_follows_the_prices_of_both_directions() -> None:
    budget = Budget(Limits(max_cost=0.001), Prices(per_million_in=2, per_million_out=10))
    budget.begin()
    budget.settle(USAGE)
    assert abs(budget.cost - (90 * 2 + 10 * 10) / 1e6) < 1e-12
    assert budget.refusal() is None


def test_cached_replies_cost_nothing() -> None:
    budget = Budget(Limits(max_calls=1, max_tokens=50))
    budget.begin()
    budget.settle(USAGE, calls=0)
    assert (budget.calls, budget.tokens, budget.refusal()) == (0, 0, None)


def test_other_names_of_usage_are_known() -> None:
    budget = Budget()
    budget.begin()
    budget.settle({"input_tokens": 5, "output_tokens": 2})
    assert (budget.tokens_in, budget.tokens_out) == (5, 2)
