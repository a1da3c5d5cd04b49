"""The table of benchmarks: one row each, in a file of its own that is imported when it is first
needed.
"""

from __future__ import annotations

from visualjudge.apps.published.reading import Benchmark
from visualjudge.core.registry import Registry

BENCHMARKS: Registry[str, Benchmark] = Registry(
    "benchmark",
    {
        "dsg-tifa160": "visualjudge.apps.published.dsg_tifa160:ROW",
        "editreward-bench": "visualjudge.apps.published.gedit_bench:EDITREWARD",
        "editscore-bench": "visualjudge.apps.published.gedit_bench:EDITSCORE",
        "genai-bench": "visualjudge.apps.published.genai_bench:ROW",
        "imagenhub": "visualjudge.apps.published.imagenhub:ROW",
        "judgebench": "visualjudge.apps.published.judgebench:ROW",
        "mj-bench": "visualjudge.apps.published.mj_bench:ROW",
        "mllm-as-a-judge": "visualjudge.apps.published.mllm_judge:ROW",
        "mmrb2": "visualjudge.apps.published.mmrb2:ROW",
        "multimodal-rewardbench": "visualjudge.apps.published.multimodal_rewardbench:ROW",
        "rewardbench-2": "visualjudge.apps.published.rewardbench2:ROW",
        "t2vscore": "visualjudge.apps.published.t2vscore:ROW",
        "vision-judge": "visualjudge.apps.published.vision_judge:ROW",
        "vl-rewardbench": "visualjudge.apps.published.vl_rewardbench:ROW",
    },
)
