"""The supported logs, one table row each: Inspect, lmms-eval, VLMEvalKit, promptfoo, DeepEval,
LangSmith and Phoenix.

``fits`` checks only field names. ``read`` states the locations of items, replies, verdicts and
truth (:func:`~.log_to_table.at` takes paths); every other plain value becomes a column.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import Any

import orjson

from visualjudge.apps.adopting.answers import is_answer
from visualjudge.apps.adopting.log_to_table import (
    UNIT,
    Log,
    LogFormat,
    LogRows,
    at,
    log_row,
    parsed,
    text_of,
    unit_of,
)
from visualjudge.apps.adopting.zips import members

Rows = Iterator[dict[str, Any]]

# ---------------------------------------------------------------- Inspect

_SAMPLE = re.compile(r"samples/.*\.json")
CUT = ("max_tokens", "model_length")
"""Inspect's stop reasons for a truncated reply."""


def _inspect(log: Log) -> LogRows:
    if log.suffix == ".json":
        head, samples = log.document, log.document["samples"]
    else:
        try:
            held = {
                name: parsed(content, f"{log.path}: {name}")
                for name, content in members(log.path, _SAMPLE, "header.json")
            }
        except zipfile.BadZipFile as error:
            raise log.fault("is not a log of Inspect", str(error)) from None
        head, samples = held.pop("header.json", {}), list(held.values())
    if not isinstance(head.get("eval"), dict) or not samples:
        raise log.fault("header.json", f"must describe a finished eval, got {len(samples)} samples")
    rows = [row for sample in samples for row in _of_sample(sample, head["eval"])]
    return LogRows(rows, None if any("reply" in row for row in rows) else UNIT)


def _of_sample(sample: dict[str, Any], about: dict[str, Any]) -> Rows:
    """Return the model's own verdict if the target is one, else one grade per scorer."""
    target, scores = sample.get("target"), sample.get("scores") or {}
    text = at(sample, "output.completion") or text_of(
        at(sample, "output.choices.0.message.content")
    )
    known = {
        "item": sample.get("id"),
        "repeat": int(sample.get("epoch") or 1) - 1,
        "task": about.get("task"),
        "request": text_of(sample.get("input")),
    }
    if scores and not is_answer(target):
        for name, score in scores.items():
            graded = {"judge": name, "model": about.get("model"), "text_a": text}
            graded["verdict"] = score.get("value")
            yield log_row(known | graded, sample.get("metadata"))
        return
    stopped = str(at(sample, "output.choices.0.stop_reason") or "stop")
    answers = (score.get("answer") for score in scores.values())
    said = {
        "judge": about.get("model"),
        "truth": target,
        "verdict": next(filter(is_answer, answers), ""),
        "reply": text or "",
        "finish_reason": "length" if stopped in CUT else stopped,
        "input_tokens": at(sample, "output.usage.input_tokens"),
        "output_tokens": at(sample, "output.usage.output_tokens"),
    }
    yield log_row(known | said, sample.get("metadata"))


INSPECT = LogFormat(
    "inspect",
    "a log of Inspect (.eval or .json)",
    lambda log: log.suffix == ".eval" or (log.suffix == ".json" and log.has("eval", "samples")),
    _inspect,
)

# ---------------------------------------------------------------- lmms-eval, VLMEvalKit

_OF_LMMS_EVAL = frozenset(
    ("doc_id", "target", "resps", "filtered_resps", "doc", "doc_hash", "input", "arguments")
)


def _lmms_eval(log: Log) -> LogRows:
    folder = log.path.resolve().parent.name
    rows = []
    for sample in log.document:
        filtered, asked = _first(sample.get("filtered_resps")), sample.get("input")
        known = {
            "item": str(sample["doc_id"]),
            "task": log.path.stem.partition("samples_")[2] or log.path.stem,
            "judge": folder.rpartition("__")[2] or folder,
            "truth": sample.get("target"),
            "verdict": filtered if is_answer(filtered) else "",
            "reply": _first(sample.get("resps")) or filtered or "",
            "input_tokens": at(sample, "token_counts.0.input_tokens"),
            "output_tokens": at(sample, "token_counts.0.output_tokens"),
            "request": asked if isinstance(asked, str) else None,
        }
        metrics = {name: value for name, value in sample.items() if name not in _OF_LMMS_EVAL}
        rows.append(log_row(known, sample.get("doc"), metrics))
    return LogRows(rows)


def _first(value: Any) -> str | None:
    """Return the first text of nested lists: one reply per request, one request per question."""
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else None


LMMS_EVAL = LogFormat(
    "lmms-eval",
    "samples of lmms-eval (samples_*.jsonl)",
    lambda log: (
        log.suffix == ".jsonl"
        and log.has("doc_id", "target")
        and bool({"resps", "filtered_resps"} & log.columns)
    ),
    _lmms_eval,
)


def _vlmevalkit(log: Log) -> LogRows:
    model, _, dataset = log.path.stem.partition("_")
    rows = []
    for one in log.records():
        known = {
            "item": one.get("index"),
            "task": one.get("category") or dataset or None,
            "judge": model,
            "truth": one.get("answer"),
            "verdict": "",  # what it extracts is kept, if at all, as text in "log"
            "reply": str(at(one, "prediction") or ""),
            "request": one.get("question"),
            "text_a": one.get("A"),
            "text_b": one.get("B"),
            "metadata": None,
        }
        read = ("index", "prediction", "answer", *known)
        rows.append(log_row(known, {k: value for k, value in one.items() if k not in read}))
    return LogRows(rows)


VLMEVALKIT = LogFormat(
    "vlmevalkit",
    "predictions of VLMEvalKit (.xlsx, .tsv)",
    lambda log: (
        log.suffix in (".xlsx", ".tsv", ".csv", ".json")
        and log.has("index", "prediction", "answer")
        and bool({"question", "hit", "category", "split", "A"} & log.columns)
    ),
    _vlmevalkit,
)

# ---------------------------------------------------------------- promptfoo, DeepEval

GRADED = (
    *("llm-rubric", "search-rubric", "g-eval", "factuality", "model-graded-", "answer-relevance"),
    *("context-", "conversation-relevance"),
)
"""Prefixes of promptfoo's assertions that a model scores."""


def _promptfoo(log: Log) -> LogRows:
    results = at(log.document, "results.results")
    prompts = {at(result, "prompt.label") for result in results}
    rows = [row for result in results for row in _of_result(result, len(prompts) > 1)]
    return LogRows(rows, UNIT if rows and "text_a" in rows[0] else None)


def _of_result(result: dict[str, Any], several: bool) -> Rows:
    """Return one row per model-graded assertion; without any, the provider itself is the judge."""
    model = at(result, "provider.label", "provider.id", "provider")
    if several:  # prompts: of one provider, each is a judge or a source of its own
        model = f"{model} {at(result, 'prompt.label')}"
    parts = {
        str(at(part, "assertion.type")): part
        for part in reversed(at(result, "gradingResult.componentResults") or [])
    }
    judged = [
        part
        for part in at(result, "gradingResult.componentResults") or []
        if str(at(part, "assertion.type")).startswith(GRADED)
    ]
    said = at(result, "response.output")
    text = said if isinstance(said, str) else orjson.dumps(said).decode()
    item, more = (
        str(result.get("testIdx", 0)),
        (result.get("vars"), at(result, "testCase.metadata")),
    )
    if not judged:
        known = {
            "item": item,
            "judge": model,
            "truth": at(parts.get("equals"), "assertion.value"),
            "verdict": "",
            "reply": "" if said is None else text,
            "finish_reason": at(result, "response.finishReason"),
            "input_tokens": at(result, "response.tokenUsage.prompt"),
            "output_tokens": at(result, "response.tokenUsage.completion"),
        }
        yield log_row(known, *more)
    for number, part in enumerate(judged):
        kind, by = at(part, "assertion.type"), at(part, "assertion.provider")
        failed = part.get("error") or at(part, "metadata.graderError")
        known = {
            "item": item if len(judged) == 1 else f"{item}/{number}",
            "judge": by if isinstance(by, str) else kind,
            "task": at(part, "assertion.metric") or kind,
            "model": model,
            "verdict": "" if failed else part.get("score"),
            "truth": at(parts.get("human"), "score"),
            "text_a": text,
        }
        yield log_row(known, *more)


PROMPTFOO = LogFormat(
    "promptfoo",
    "results of promptfoo (--output x.json)",
    lambda log: log.suffix == ".json" and isinstance(at(log.document, "results.results"), list),
    _promptfoo,
)


def _deepeval(log: Log) -> LogRows:
    rows = []
    for case in at(log.document, "testRunData.testCases", "testCases"):
        for metric in case.get("metricsData") or ():
            known = {
                "item": case.get("name"),
                "task": metric.get("name"),
                "judge": metric.get("evaluationModel") or metric.get("name"),
                "verdict": metric.get("score") if metric.get("error") is None else "",
                "request": case.get("input"),
                "text_a": case.get("actualOutput"),
                "expected": case.get("expectedOutput"),
            }
            rows.append(log_row(known, case.get("metadata") or case.get("additionalMetadata")))
    return LogRows(rows, UNIT)


DEEPEVAL = LogFormat(
    "deepeval",
    "a test run of DeepEval (.json)",
    lambda log: log.suffix == ".json" and bool({"testCases", "testRunData"} & log.columns),
    _deepeval,
)

# ---------------------------------------------------------------- LangSmith, Phoenix

PEOPLE = ("app", "human", "annotation_queue")
"""Sources of LangSmith's feedback that come from people."""


def _langsmith(log: Log) -> LogRows:
    """Read ``results.to_pandas()`` as a table, or rows of run, example and evaluation results."""
    rows = [
        row
        for one in log.records()
        for row in (_nested(one) if "run" in one or "feedback" in one else _flat(one))
    ]
    return LogRows(rows, unit_of(row["verdict"] for row in rows))


def _flat(one: dict[str, Any]) -> Rows:
    """Return one row per feedback column."""
    parts: dict[str, dict[str, Any]] = {}
    for name, value in one.items():
        part, _, key = name.partition(".")
        parts.setdefault(part, {})[key] = value
    shown = {
        role: next(iter(parts.get(part, {}).values()), None)
        for role, part in (("request", "inputs"), ("text_a", "outputs"))
    }
    for key, value in parts.get("feedback", {}).items():
        known = {"item": one.get("example_id"), "judge": key, "task": key, **shown}
        yield log_row(known | {"verdict": "" if value is None else value}, parts.get("reference"))


def _nested(one: dict[str, Any]) -> Rows:
    """Return one row per feedback of a model; people's feedback with the same key is the truth."""
    run = one.get("run") or one
    results = at(one, "evaluation_results.results") or one.get("feedback") or []
    said = [(at(result, "feedback_source.type") in PEOPLE, result) for result in results]
    human = {result.get("key"): at(result, "score", "value") for own, result in said if own}
    known = {
        "item": at(one, "example.id") or run.get("reference_example_id") or run.get("id"),
        "text_a": _text(run.get("outputs")),
        "request": _text(run.get("inputs") or at(one, "example.inputs")),
    }
    for own, result in said:
        key, value = result.get("key"), at(result, "score", "value")
        given = {"judge": key, "task": key, "truth": human.get(key)}
        given["verdict"] = "" if value is None else value
        if not own:
            yield log_row(known | given, at(one, "example.outputs"))


def _text(fields: Any) -> str | None:
    return next((text for text in (fields or {}).values() if isinstance(text, str)), None)


LANGSMITH = LogFormat(
    "langsmith",
    "an experiment of LangSmith",
    lambda log: (
        log.suffix in (".json", ".jsonl")
        if log.has("run", "example", "evaluation_results") or log.has("feedback")
        else log.has("example_id") and any(name.startswith("feedback.") for name in log.columns)
    ),
    _langsmith,
)


def _phoenix(log: Log) -> LogRows:
    """Read ``get_span_annotations_dataframe()``, or the response of
    ``/v1/projects/…/span_annotations``; people's annotations are the truth for those of models.
    """
    found = log.document["data"] if isinstance(log.document, dict) else log.records()
    scored = any(at(one, "result.score", "score") is not None for one in found)
    place = ("result.score", "score") if scored else ("result.label", "label")
    said = [
        (at(one, "span_id", "context.span_id"), at(one, "annotation_name", "name"), one)
        for one in found
    ]
    people = [one.get("annotator_kind") == "HUMAN" for one in found]
    human = {
        (span, name): at(one, *place)
        for own, (span, name, one) in zip(people, said, strict=True)
        if own
    }
    rows = []
    for own, (span, name, one) in zip(people, said, strict=True):
        value = at(one, *place)
        known = {
            "item": span,
            "task": name,
            "judge": one.get("identifier") or name,
            "verdict": "" if value is None else value,
            "truth": human.get((span, name)),
        }
        if not own:
            rows.append(log_row(known, one.get("metadata")))
    return LogRows(rows, unit_of(at(one, *place) for one in found))


PHOENIX = LogFormat(
    "phoenix",
    "span annotations of Phoenix",
    lambda log: (
        log.has("annotator_kind")
        or (log.suffix == ".json" and at(log.document, "data.0.annotator_kind") is not None)
    ),
    _phoenix,
)
