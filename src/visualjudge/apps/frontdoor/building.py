"""Build a judge dataset from a data folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from visualjudge.apps.frontdoor.data import Data
from visualjudge.core.errors import Problem
from visualjudge.dataset.folder import Dataset, load_dataset

if TYPE_CHECKING:
    from visualjudge.dataset.engines import EngineName
    from visualjudge.dataset.sampling import Caps
    from visualjudge.prompts.prompt_set import PromptSet

Progress = Callable[[str, int, int], None]
_SHOWN = 3


def build(
    data: Data | str | Path,
    out: str | Path,
    *,
    tasks: Sequence[str] | None = None,
    subsets: Sequence[str] | None = None,
    seed: int = 42,
    caps: Caps | None = None,
    prompts: str | Path | PromptSet | None = None,
    prompt_version: str | None = None,
    workers: int = 1,
    engine: EngineName = "local",
    skip_invalid: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """Build a judge dataset from a data folder, and open it.

    Parameters
    ----------
    data
        A data folder, or its path.
    out
        Folder of the dataset; must not exist, unless ``force`` is true and it is an older dataset.
    tasks, subsets
        Tasks and subsets to build; None = all.
    seed
        Seed of every draw. The same data, seed and options give the same bytes.
    caps
        Maximum number of groups, pairs and annotations to draw.
    prompts, prompt_version
        A version of the prompts (``"v1"``, the default, or ``"v2"``, which names the form of the answer), or a folder
        with your own prompts, and their version.
    workers
        Number of processes; more than 1 needs ``if __name__ == "__main__":`` in a script.
    skip_invalid
        Whether to leave out invalid records without a warning.
    progress
        Called with the stage, the number of items done, and their total.

    Raises
    ------
    UsageError
        If ``data`` is not a data folder, ``out`` exists, or an option is invalid.
    DataError
        If a file cannot be read at all, or no question can be asked.

    Examples
    --------
    >>> import visualjudge as vj
    >>> dataset = vj.build(example.data, example.out / "dataset", seed=42)
    >>> dataset
    Dataset(..., ... questions)
    """
    from visualjudge.dataset.build import BuildOptions
    from visualjudge.dataset.build import build as build_dataset
    from visualjudge.dataset.sampling import SUBSETS, Caps
    from visualjudge.prompts.prompt_set import prompt_set

    options = BuildOptions(
        seed,
        tuple(subsets or SUBSETS),
        tuple(tasks) if tasks else None,
        caps or Caps(),
        prompts=prompt_set(prompts, prompt_version),
    )
    folder = data.path if isinstance(data, Data) else data
    built = build_dataset(
        folder,
        out,
        options,
        workers=workers,
        engine=engine,
        force=force,
        progress=progress or (lambda stage, done, total: None),
    )
    if built.problems and not skip_invalid:
        warnings.warn(_left_out(built.problems), stacklevel=2)
    return load_dataset(out)


def _left_out(problems: Sequence[Problem]) -> str:
    first = "; ".join(map(str, problems[:_SHOWN]))
    return f"{len(problems)} invalid records were left out: {first}{'; …' if len(problems) > _SHOWN else ''}"
