"""The judge module ``pairwise-judge``: Image A, Image B, Tie, or Failed. For a
dataset's pairs see ``judges/question_judge.py``. Its base is in ``judge_module.py``.
"""

from collections.abc import Mapping
from typing import Any

from visualjudge.core.jsons import Json
from visualjudge.core.records import FAILED
from visualjudge.judges.judge_module import ClientPipe, Judgement
from visualjudge.judges.module_schemas import PairJudgeInput

ALIASES = {
    "Image A": ("image_a", "image a", "a"),
    "Image B": ("image_b", "image b", "b"),
    "Tie": ("tie", "equal", "both", "none"),
}
_WINNERS = {
    alias: winner for winner, aliases in ALIASES.items() for alias in aliases
}


class PairwiseJudge(ClientPipe):
    """Compare two edits in one call, repeated if the reply names no winner."""

    default_input = PairJudgeInput

    async def judge(self, input_dict: Mapping[str, Any]) -> Judgement:
        """Return ``{"type": "pairwise_comparison", "value": winner, "meta":
        {"raw_response": last reply}}``, and ``criteria`` with a rubric.

        Raises
        ------
        InvalidInput, DataError, ClientError
            For the same reasons as a synchronous call.
        """
        instruction, source, edits = await self.read_input(input_dict)
        winner, replies = await self.ask_until(
            self.request(instruction, source, edits), self._winner
        )
        result: Json = {
            "type": "pairwise_comparison",
            "value": winner or FAILED,
            "meta": {"raw_response": replies[-1].text},
        }
        criteria = self.criteria_in(replies[-1], len(edits))
        if criteria is not None:
            result["criteria"] = criteria
        why = {} if winner else {"cause": self.cause(replies[-1])}
        return Judgement(result, tuple(replies), why)

    def _is_valid_winner(self, winner_str: Any) -> str | None:
        """Return the winner that an alias stands for, ignoring case, or None. Nothing
        is trimmed.
        """
        return (
            _WINNERS.get(winner_str.lower())
            if isinstance(winner_str, str)
            else None
        )

    def _winner(self, text: str) -> str | None:
        result = self.object_with(text, "winner")
        return (
            None
            if result is None
            else self._is_valid_winner(result.get("winner"))
        )
