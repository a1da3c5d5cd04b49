"""Test runs of DeepEval: ``.deepeval/.latest_test_run.json`` and the files of a results folder."""

from __future__ import annotations

from visualjudge.apps.adopting.logs import UNIT, Log, LogFormat, LogRows, log_row


def _fits(log: Log) -> bool:
    return log.suffix == ".json" and bool({"testCases", "testRunData"} & log.columns)


def _read(log: Log) -> LogRows:
    run = log.document.get("testRunData") or log.document
    cases = run.get("testCases")
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise log.fault("testCases", "must be an array of objects")
    rows = []
    for case in cases:
        for metric in case.get("metricsData") or ():
            failed = metric.get("error") is not None
            known = {
                "item": case.get("name"),
                "task": metric.get("name"),
                "judge": metric.get("evaluationModel") or metric.get("name"),
                "verdict": "" if failed else metric.get("score"),
                "request": case.get("input"),
                "text_a": case.get("actualOutput"),
                "expected": case.get("expectedOutput"),
            }
            about = case.get("metadata") or case.get("additionalMetadata")
            rows.append(log_row(known, about))
    if not rows:
        raise log.fault("testCases", "must hold at least one metric, got none")
    return LogRows(rows, UNIT)


DEEPEVAL = LogFormat("deepeval", "a test run of DeepEval (.json)", _fits, _read)
