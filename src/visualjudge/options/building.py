"""The options of building a dataset."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from visualjudge.core.errors import UsageError
from visualjudge.options.declared import Options, option, setting
from visualjudge.options.questions import Selection, Tasks

ENCODING_ANALYSIS = "encoding_analysis"
JUDGE_ANALYSIS = "judge_analysis"
SUBSETS = (ENCODING_ANALYSIS, JUDGE_ANALYSIS)
MOST_RANKED = 5
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Caps(Options):
    """Maximum numbers of questions per task in the two subsets."""

    encoding_groups: int = setting(10, least=0)
    encoding_pairs: int = setting(10, least=0)
    judge_groups: int = option(20, "Images of these pairs.", "N", least=0)
    judge_pairs: int = option(50, "Pairs of a task in judge_analysis.", "N", least=0)
    scoring_groups: int = setting(20, least=0)
    ranking_groups: int = setting(20, least=0)
    per_group: int = setting(5, least=0)
    min_margin: float = setting(0.0, least=0)
    """Minimum score difference of a pair; 0 = any difference."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per_group > MOST_RANKED:
            raise UsageError(f"per_group must be at most {MOST_RANKED}, got {self.per_group}")

    def differ(self, first: float, second: float) -> bool:
        """Whether two scores differ enough for a pair."""
        return first != second and round(abs(first - second), 9) >= self.min_margin


@dataclass(frozen=True, kw_only=True)
class WorkOptions(Tasks):
    """How the questions of a data folder are made and written."""

    seed: int = option(42, "Random seed.", "N")
    workers: int = option(
        1, "Processes; default: one per core.", "N", least=1, typed=CORES, quiet=True
    )
    engine: Literal["local", "ray"] = option("local", "Who runs them.")
    prompts: Any = option(None, "v1 (default), v2 or a folder.", "NAME", kind=str)
    """A version, a folder, or a :class:`~visualjudge.prompts.prompt_set.PromptSet`."""
    prompt_version: str | None = None
    max_side: int | None = setting(None, least=1)
    """Maximum length of the longer side of images in the dataset; None = unchanged."""
    force: bool = option(False, "Replace a dataset at --out.")

    def __post_init__(self) -> None:
        super().__post_init__()
        from visualjudge.prompts.prompt_set import prompt_set

        object.__setattr__(self, "prompts", prompt_set(self.prompts, self.prompt_version))


@dataclass(frozen=True, kw_only=True)
class BuildOptions(WorkOptions, Selection):
    """The options of `visualjudge build` and :func:`visualjudge.build`, which describes them."""

    subsets: tuple[str, ...] = option(
        (), "encoding_analysis or judge_analysis; repeatable.", "NAME", name="subset"
    )
    caps: Caps = Caps()
    score_range: tuple[float, float] | None = option(
        None, "Range of the data's scores, which become 0 to 10.", "LOW HIGH"
    )
    form: Literal["json", "parquet"] | None = setting(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.score_range is not None and not self.score_range[0] < self.score_range[1]:
            raise UsageError("--score-range must have the lowest score first")
        for name in self.subsets:
            if name not in SUBSETS:
                raise UsageError(f"--subset must be one of {', '.join(SUBSETS)}, got {name!r}")
