"""The judge module ``viescore``: scores one edit, or picks the better of two (after
VIEScore, Ku et al. 2024). Its base is in ``judge_module.py``.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

from visualjudge.clients.base import Reply, Request
from visualjudge.clients.sync_calls import run_sync
from visualjudge.core.records import FAILED
from visualjudge.judges.judge_module import ClientPipe, Judgement
from visualjudge.judges.module_schemas import (
    OUTPUTS,
    VIEScoreInput,
    VIEScoreListOutput,
)
from visualjudge.replies.reply_to_value import Cause


class VIEscorePipe(ClientPipe):
    """Score each edit in a separate call with a separate limit on repeats."""

    default_input = VIEScoreInput

    async def judge(self, input_dict: Mapping[str, Any]) -> Judgement:
        """Return a "single_score" for one edit, or a "pairwise_comparison" for two: the
        higher score wins, equal scores tie.

        Raises
        ------
        InvalidInput, DataError, ClientError
            For the same reasons as a synchronous call.
        """
        instruction, source, edits = await self.read_input(input_dict)
        requests = [self.request(instruction, source, [edit]) for edit in edits]
        tasks = [
            asyncio.ensure_future(self._score(request)) for request in requests
        ]
        try:
            outcomes = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        scores = [score for score, _ in outcomes]
        meta = {
            "vie_score": scores,
            "raw_response": {
                f"edited_image_{i}": replies[-1].text
                for i, (_, replies) in enumerate(outcomes)
            },
        }
        criteria = {
            f"edited_image_{i}": self.criteria_in(own[-1], 1)
            for i, (_, own) in enumerate(outcomes)
        }
        asked = {} if None in criteria.values() else {"criteria": criteria}
        kind = "single_score" if len(edits) == 1 else "pairwise_comparison"
        replies = tuple(reply for _, own in outcomes for reply in own)
        unread = next(
            (own[-1] for score, own in outcomes if score is None), None
        )
        details = {} if unread is None else {"cause": self.cause(unread)}
        result = {"type": kind, "value": _value(scores), "meta": meta, **asked}
        return Judgement(result, replies, details)

    def most_calls(self, edits: int) -> int:
        """Return the maximum number of calls: that of :class:`ClientPipe` for each
        edit."""
        return edits * super().most_calls(edits)

    def score_single_input(self, messages: Request) -> tuple[float | None, str]:
        """Return the score of one edit and the last raw reply. The score is None if no
        reply had one.

        Parameters
        ----------
        messages
            Filled prompt with its images, as returned by :meth:`request`.
        """
        score, replies = run_sync(self._score(messages))
        return score, replies[-1].text

    async def _score(
        self, request: Request
    ) -> tuple[float | None, list[Reply]]:
        return await self.ask_until(request, self._read)

    def _read(self, text: str) -> float | None:
        result = self.object_with(text, "score")
        return None if result is None else self._parse_viescore(result)

    def _parse_viescore(self, json_response: Mapping[str, Any]) -> float | None:
        """Return the score in a reply, or None.

        Prompts of the v1 family give one number. Those of the v2 family give a list:
        ``instruction_following`` takes the first, ``visual_quality`` the smallest, any
        other the second. A number outside the scale of the prompt's output schema means
        that the reply has no score (GEditBench's rules do not check this).
        """
        score = json_response.get("score")
        dimension = self.prompt_template.prompt_id.split("/")
        if not self._on_scale(score):
            return None
        if not self._gives_list or not isinstance(score, list):
            return None if self._gives_list else _number(score)
        numbers = [_number(item) for item in score]
        if "visual_quality" in dimension:
            return None if None in numbers else min(numbers, default=None)  # type: ignore[type-var]
        at = 0 if "instruction_following" in dimension else 1
        return numbers[at] if at < len(numbers) else None

    def _on_scale(self, score: Any) -> bool:
        highest = getattr(
            OUTPUTS.get(self.prompt_template.output_schema or ""),
            "highest",
            None,
        )
        if highest is None or self.rules == "geditbench":
            return True
        numbers = map(_number, score if isinstance(score, list) else [score])
        return all(
            0 <= number <= highest for number in numbers if number is not None
        )

    def cause_in(self, text: str) -> Cause:
        """Return the cause, which may also be "other scale": the score is outside the
        prompt's scale.
        """
        result = self.object_with(text, "score") or {}
        return (
            super().cause_in(text)
            if self._on_scale(result.get("score"))
            else "other scale"
        )

    @property
    def _gives_list(self) -> bool:
        declared = self.prompt_template.output_schema
        family = VIEScoreListOutput.__name__ if declared else "v2"
        return (declared or self.prompt_template.version) == family


def _number(value: Any) -> float | None:
    """Return a number, or a text that is only a number; None for true, NaN and
    infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _value(scores: Sequence[float | None]) -> float | str:
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return FAILED
    if len(known) == 1:
        return known[0]
    first, second = known
    if first == second:
        return "Tie"
    return "Image A" if first > second else "Image B"
