"""Which tools were called, and what a right answer cost."""

from __future__ import annotations

import json
import re
from pathlib import Path

from judged_records import pair, said, write_dataset, write_run
from visualjudge.analysis import analyse
from visualjudge.analysis.report.paired import tool_lines, tool_tables
from visualjudge.analysis.tool_use import answer_cost, tool_use


def run_of(root: Path, dataset: Path, name: str, right: list[bool], tools: list[list[str]]) -> Path:
    """A run whose verdicts called these tools; of each, the second call failed."""
    verdicts = [said(pair(k, (1.0, 9.0)), "B" if good else "A") for k, good in enumerate(right)]
    write_run(root / name, dataset, verdicts, judge=name)
    journal = root / name / "verdicts.jsonl"
    lines = []
    for line, names in zip(journal.read_text().splitlines(), tools, strict=True):
        trace = [{"name": tool, "failed": k == 1} for k, tool in enumerate(names)]
        usage = {"prompt_tokens": 100 * (1 + len(names)), "completion_tokens": 10}
        lines.append(
            json.dumps({**json.loads(line), "usage": usage, "latency_s": 2.0, "tool_calls": trace})
        )
    journal.write_text("\n".join(lines) + "\n")
    return root / name


def test_tools_and_costs(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "ds", [pair(k, (1.0, 9.0)) for k in range(6)])
    plain = run_of(tmp_path, dataset, "plain", [True, False, False, True, False, False], [[]] * 6)
    called = [["zoom"], ["zoom", "zoom"], ["zoom", "count"], [], [], ["count"]]
    tools = run_of(tmp_path, dataset, "tools", [True, True, True, True, False, False], called)
    analysis = analyse([plain, tools])
    zoom, count = tool_use(analysis.study, 1)
    assert (zoom.tool, zoom.calls, zoom.failed) == ("zoom", 4, 1)
    assert (count.tool, count.calls, count.failed) == ("count", 2, 1)
    assert tool_use(analysis.study, 0) == ()
    cost = answer_cost(analysis.study, 1)
    assert cost.right == 4
    assert cost.tokens == (6 * 110 + 6 * 100) / 4
    assert cost.seconds == 6 * 2.0 / 4
    lines = " ".join(tool_lines(analysis, (0, 1)))
    assert re.search(r"tools +zoom +4 +1", lines) and re.search(r"tools +4 +315 +3.00", lines)


def test_runs_without_tools_have_no_tables(tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "ds", [pair(k, (1.0, 9.0)) for k in range(6)])
    runs = [run_of(tmp_path, dataset, name, [True] * 6, [[]] * 6) for name in ("one", "two")]
    assert tool_tables(analyse(runs), (0, 1)) == []
    assert tool_lines(analyse(runs), (0, 1)) == []
