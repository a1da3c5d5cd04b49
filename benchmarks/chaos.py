"""2,000 questions to a server that fails in all the usual ways: is every verdict there,
once, each failure counted?

    python benchmarks/chaos.py [--questions 2000] [--seed 0]

The server answers 10 % of the requests with 429, 5 % with 500, lets 2 % hang until the
client gives up, sends 2 % that are not JSON and closes the connection on 1 %. Exit
status 1 if a verdict is missing or doubled, or if the causes that the client counted
differ from what the server did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from runs.chaotic_server import RATES, ChaoticServer, serving
from runs.made_dataset import make_dataset
from visualjudge.clients import RetryPolicy, open_client
from visualjudge.dataset.folder import load_dataset
from visualjudge.judges.question_judge import QuestionJudge
from visualjudge.options import RunSettings
from visualjudge.runs.judge_dataset import RunReport, run_judge

CONCURRENCY = 32
TIMEOUT_S = 3.0


async def judged(root: Path, server: ChaoticServer) -> RunReport:
    """One run over the dataset."""
    async with serving(server):
        config = {
            "backend": "api",
            "model_name": "m",
            "base_url": server.url,
            "timeout": TIMEOUT_S,
        }
        policy = RetryPolicy(first_wait_s=0.05, longest_wait_s=1.0)
        client = open_client(config, retry=policy, concurrency=CONCURRENCY)
        judge = QuestionJudge(client, root)
        return await run_judge(
            load_dataset(root),
            judge,
            root / "run",
            RunSettings(concurrency=CONCURRENCY),
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos_") as folder:
        root = make_dataset(
            Path(folder),
            pairwise=args.questions,
            ranking=0,
            scoring=0,
            size=(32, 32),
        )
        server = ChaoticServer(RATES, seed=args.seed)
        begun = time.perf_counter()
        report = asyncio.run(judged(root, server))
        seconds = time.perf_counter() - begun
        verdicts = [
            json.loads(line)
            for line in (root / "run" / "verdicts.jsonl")
            .read_text()
            .splitlines()
        ]
    return told(report, server, verdicts, args.questions, seconds)


def told(
    report: RunReport,
    server: ChaoticServer,
    verdicts: list[dict[str, str]],
    wanted: int,
    seconds: float,
) -> int:
    """Print the table; 0 if all holds."""
    times = Counter(verdict["id"] for verdict in verdicts)
    once = sum(number == 1 for number in times.values())
    print(
        f"{once} of {wanted} questions have exactly one verdict, in {seconds:.0f} s: "
        f"{dict(report.statuses)}"
    )
    print(f"{'cause':12} {'server':>7} {'client':>7}")
    causes = [
        cause
        for cause in (*RATES, *report.progress.failed_calls)
        if cause in server.did or cause in report.progress.failed_calls
    ]
    for cause in dict.fromkeys(causes):
        print(
            f"{cause:12} {server.did[cause]:7} {report.progress.failed_calls[cause]:7}"
        )
    print(f"{'replies':12} {server.did['ok']:7} {report.statuses['ok']:7}")
    same = all(
        server.did[cause] == report.progress.failed_calls[cause]
        for cause in causes
    )
    holds = (
        once == wanted == len(verdicts)
        and same
        and server.did["ok"] == report.statuses["ok"]
    )
    print("all holds" if holds else "NOT all holds")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
