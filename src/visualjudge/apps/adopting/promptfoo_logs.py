"""Results of promptfoo: ``promptfoo eval --output results.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from visualjudge.apps.adopting.logs import UNIT, Log, LogFormat, LogRows, log_row

GRADED = (
    "llm-rubric",
    "search-rubric",
    "g-eval",
    "factuality",
    "model-graded-",
    "answer-relevance",
    "context-",
    "conversation-relevance",
)
"""How assertions begin whose score a model gives."""
HUMAN = "human"


def _fits(log: Log) -> bool:
    if log.suffix != ".json" or "results" not in log.columns:
        return False
    found = log.document["results"]
    return isinstance(found, dict) and isinstance(found.get("results"), list)


def _read(log: Log) -> LogRows:
    results = log.document["results"]["results"]
    if not all(isinstance(result, dict) for result in results):
        raise log.fault("results.results", "must be an array of objects")
    prompts = {(result.get("prompt") or {}).get("label") for result in results}
    rows = [row for result in results for row in _rows(result, len(prompts) > 1)]
    return LogRows(rows, UNIT if rows and "text_a" in rows[0] else None)


def _rows(result: Mapping[str, Any], several: bool) -> Iterator[dict[str, Any]]:
    """A row for each assertion that a model graded; without one, the provider itself judges."""
    provider = result.get("provider") or {}
    model = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
    graded = (result.get("gradingResult") or {}).get("componentResults") or []
    parts = [(part.get("assertion") or {}, part) for part in graded if isinstance(part, dict)]
    response = result.get("response") or {}
    tokens = response.get("tokenUsage") or {}
    human = next((part for claim, part in parts if claim.get("type") == HUMAN), None)
    judged = [(claim, part) for claim, part in parts if str(claim.get("type")).startswith(GRADED)]
    said = response.get("output")
    text = said if isinstance(said, str) else orjson.dumps(said).decode()
    if several:  # prompts: of one provider, each is a judge or a source of its own
        model = f"{model} {(result.get('prompt') or {}).get('label')}"
    item = str(result.get("testIdx", 0))
    more = result.get("vars"), (result.get("testCase") or {}).get("metadata")
    if not judged:
        equal = next((c.get("value") for c, _ in parts if c.get("type") == "equals"), None)
        known = {"item": item, "judge": model, "truth": equal}
        known |= {"verdict": "", "reply": text if said is not None else ""}
        known |= {"finish_reason": response.get("finishReason")}
        known |= {"input_tokens": tokens.get("prompt"), "output_tokens": tokens.get("completion")}
        yield log_row(known, *more)
    for number, (claim, part) in enumerate(judged):
        failed = part.get("error") or (part.get("metadata") or {}).get("graderError")
        by = claim.get("provider")
        known = {
            "item": item if len(judged) == 1 else f"{item}/{number}",
            "judge": by if isinstance(by, str) else claim["type"],
            "task": claim.get("metric") or claim["type"],
            "model": model,
            "verdict": "" if failed else part.get("score"),
            "truth": None if human is None else human.get("score"),
            "text_a": text,
        }
        yield log_row(known, *more)


PROMPTFOO = LogFormat("promptfoo", "results of promptfoo (--output x.json)", _fits, _read)
