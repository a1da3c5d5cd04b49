"""The table of benchmarks: one row each, in a file of its own that is imported when it is first needed."""

from __future__ import annotations

from visualjudge.published.items import Benchmark
from visualjudge.registry import Registry

BENCHMARKS: Registry[str, Benchmark] = Registry(
    "benchmark",
    {
        "dsg-tifa160": "visualjudge.published.dsg_tifa160:ROW",
        "editreward-bench": "visualjudge.published.gedit_bench:EDITREWARD",
        "editscore-bench": "visualjudge.published.gedit_bench:EDITSCORE",
        "genai-bench": "visualjudge.published.genai_bench:ROW",
        "imagenhub": "visualjudge.published.imagenhub:ROW",
        "judgebench": "visualjudge.published.judgebench:ROW",
        "mj-bench": "visualjudge.published.mj_bench:ROW",
        "mllm-as-a-judge": "visualjudge.published.mllm_judge:ROW",
        "mmrb2": "visualjudge.published.mmrb2:ROW",
        "multimodal-rewardbench": "visualjudge.published.multimodal_rewardbench:ROW",
        "rewardbench-2": "visualjudge.published.rewardbench2:ROW",
        "t2vscore": "visualjudge.published.t2vscore:ROW",
        "vision-judge": "visualjudge.published.vision_judge:ROW",
        "vl-rewardbench": "visualjudge.published.vl_rewardbench:ROW",
    },
)
