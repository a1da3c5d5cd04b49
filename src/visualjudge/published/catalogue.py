"""The table of benchmarks: one row each, in a file of its own that is imported when it is first needed."""

from __future__ import annotations

from visualjudge.published.items import Benchmark
from visualjudge.registry import Registry

BENCHMARKS: Registry[str, Benchmark] = Registry(
    "benchmark",
    {
        "genai-bench": "visualjudge.published.genai_bench:ROW",
        "judgebench": "visualjudge.published.judgebench:ROW",
        "mmrb2": "visualjudge.published.mmrb2:ROW",
        "multimodal-rewardbench": "visualjudge.published.multimodal_rewardbench:ROW",
        "vl-rewardbench": "visualjudge.published.vl_rewardbench:ROW",
    },
)
