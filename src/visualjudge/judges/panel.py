"""A panel of judges: the majority verdict on each question, from finished runs. The
form of a judge is in ``base.py``; agreement is measured in
``analysis/statistics/rater_agreement.py``.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from visualjudge.core.records import FAILED, Answer, QuestionType, Verdict
from visualjudge.judges.base import Ask, Key, OfflineJudge


def majority(
    values: Sequence[Answer], question_type: QuestionType
) -> Answer | None:
    """Return the majority of the members.

    Parameters
    ----------
    values
        Value of each member; ``"Failed"`` is an abstention.

    Returns
    -------
    Answer or None
        The letter with more votes; the ranking nearest to all members' rankings
        (smallest total Kendall distance, Kemeny's rule); or the median score. None
        without votes or for a tie.
    """
    votes = [value for value in values if value != FAILED]
    if not votes:
        return None
    if question_type == "scoring":
        return float(median(float(vote) for vote in votes))
    if question_type == "pairwise":
        (first, most), *rest = Counter(str(vote) for vote in votes).most_common(
            2
        )
        return None if rest and rest[0][1] == most else first
    return _kemeny([str(vote) for vote in votes])


def _kemeny(rankings: list[str]) -> str | None:
    """Try all orders, at most 120 for 5 letters; the cost is the number of pairs of
    letters that the rankings have in another order.
    """
    cost = {
        "".join(order): sum(
            ranking.index(a) > ranking.index(b)
            for ranking in rankings
            for a, b in itertools.combinations(order, 2)
        )
        for order in itertools.permutations(sorted(rankings[0]))
    }
    best = [
        order for order, value in cost.items() if value == min(cost.values())
    ]
    return best[0] if len(best) == 1 else None


@dataclass
class PanelJudge(OfflineJudge):
    """A judge that returns the majority of existing verdicts, without any calls.

    Parameters
    ----------
    members
        Verdicts by name of the member.
    """

    members: Mapping[str, Mapping[Key, Verdict]]
    simulated: bool = False

    async def __call__(self, ask: Ask) -> Verdict:
        """Return the majority verdict; ``raw_response`` lists the votes. It is
        ``unparseable`` for a tie or without votes.
        """
        votes = {}
        for name, verdicts in self.members.items():
            if verdict := verdicts.get(ask.key):
                extracted = verdict.status == "ok_extracted"
                votes[name] = FAILED if extracted else verdict.value
        value = majority(list(votes.values()), ask.question.question_type)
        text = "; ".join(f"{name}: {vote}" for name, vote in votes.items())
        return Verdict(
            ask.question.id,
            ask.order,
            FAILED if value is None else value,
            "unparseable" if value is None else "ok",
            text,
            latency_s=0.0,
            repeat=ask.repeat,
            cause="tie or no vote" if value is None else None,
            calls=0,
        )

    def describe(self) -> Mapping[str, Any]:
        """Describe the members."""
        names = list(self.members)
        return {
            "backend": "panel",
            "base_url": None,
            "model": " + ".join(names),
            "parameters": {"members": names},
        }
