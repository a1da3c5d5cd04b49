"""Results of promptfoo: a row per assertion that a model graded; without any, the
provider itself is the judge. The same variables and assertions asked again are repeats.
The other tools are beside it.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from visualjudge.apps.adopt.files import at, log_row
from visualjudge.core.errors import DataError
from visualjudge.core.jsons import Json
from visualjudge.formats.samples import warn_once

GRADED = (
    *(
        "llm-rubric",
        "search-rubric",
        "g-eval",
        "factuality",
        "model-graded-",
        "answer-relevance",
    ),
    *("context-", "conversation-relevance"),
)
"""Prefixes of the assertions that a model scores."""
FAILED = (
    "Could not extract JSON",
    "llm-rubric produced malformed response",
    "No output",
    "API error",
)
"""How the reasons of grades begin that are no grades; older versions give them 0."""


def rows(path: Path, log: Any) -> Iterator[Json]:
    """Yield the rows of all results: of the object of --output x.json, or of the lines
    of x.jsonl."""
    results = at(log, "results.results") if isinstance(log, dict) else log
    if not isinstance(results, list):
        raise DataError(
            f"{path}: results.results: must be a list, got {results!r:.40}; the "
            "evaluation did not finish"
        )
    prompts = {at(result, "prompt.label") for result in results}
    graded = any(_graded(result) for result in results)
    items: dict[bytes, str] = {}
    asked: Counter[tuple[str, str]] = Counter()
    ungraded = []
    for number, result in enumerate(results, 1):
        if graded and not _graded(result):
            ungraded.append(f"result {number}")
            continue
        provider = at(result, "provider.label") or at(
            result, "provider.id", "provider"
        )
        # Of one provider, each prompt is a judge or a source of its own.
        own = f" {at(result, 'prompt.label')}" if len(prompts) > 1 else ""
        model = f"{provider}{own}"
        case = orjson.dumps([result.get("vars"), at(result, "testCase.assert")])
        item = items.setdefault(case, str(result.get("testIdx", len(items))))
        known = {"item": item, "repeat": asked[item, model]}
        asked[item, model] += 1
        for row in (
            _grades(result, known, model)
            if graded
            else [_verdict(result, model)]
        ):
            yield log_row(
                known | row, result.get("vars"), at(result, "testCase.metadata")
            )

    warn_once(path, "no model graded it, so it is left out", ungraded)


def _graded(result: Json) -> list[Json]:
    """Return the graded assertions; of a result that failed, those that were asked
    for."""
    asked = [
        {"assertion": item, "error": "not graded"}
        for item in at(result, "testCase.assert") or []
    ]
    parts = at(result, "gradingResult.componentResults") or asked
    return [
        part
        for part in parts
        if str(at(part, "assertion.type")).startswith(GRADED)
    ]


def _people(result: Json, kind: str, field: str) -> Any:
    """Return a field of the first assertion of this kind."""
    return next(
        (
            at(part, field)
            for part in at(result, "gradingResult.componentResults") or []
            if at(part, "assertion.type") == kind
        ),
        None,
    )


def _text(result: Json) -> str:
    output = at(result, "response.output")
    if output is None:
        return ""
    return output if isinstance(output, str) else orjson.dumps(output).decode()


def _grades(result: Json, known: Json, model: str) -> Iterator[Json]:
    parts = _graded(result)
    for number, part in enumerate(parts):
        kind = at(part, "assertion.type")
        by = at(part, "assertion.provider")
        failed = (
            part.get("error")
            or at(part, "metadata.graderError")
            or result.get("error")
            or str(part.get("reason")).startswith(FAILED)
        )
        yield {
            "item": known["item"]
            if len(parts) == 1
            else f"{known['item']}/{number}",
            "judge": by if isinstance(by, str) else kind,
            "task": at(part, "assertion.metric") or kind,
            "model": model,
            "verdict": "" if failed else part.get("score", ""),
            "truth": _people(result, "human", "score"),
            "text_a": _text(result),
        }


def _verdict(result: Json, model: str) -> Json:
    return {
        "judge": model,
        "truth": _people(result, "equals", "assertion.value"),
        "verdict": "",
        "reply": _text(result),
        "finish_reason": "error"
        if result.get("error")
        else at(result, "response.finishReason"),
        "input_tokens": at(result, "response.tokenUsage.prompt"),
        "output_tokens": at(result, "response.tokenUsage.completion"),
    }
