"""Logs of evaluation tools as tables of verdicts: a row of :data:`LOGS` says which
files a tool writes, and its reader where they have items, replies, verdicts and truth.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visualjudge.apps.adopt.adopted_question import TEN, UNIT, Scale
from visualjudge.apps.adopt.logs import (
    inspect,
    lmms_eval,
    pipeline,
    promptfoo,
    vlmevalkit,
)
from visualjudge.core.errors import DataError, UsageError, of_format


@dataclass(frozen=True, slots=True)
class Log:
    """A kind of log: suffixes of its files, fields of its first record (or of the
    object), of which ``one_of`` must be there too, and its reader: (file, content) → a
    row per verdict.

    ``scale`` is that of grades; verdicts with replies have the user's.
    """

    help: str
    suffixes: tuple[str, ...]
    fields: frozenset[str]
    rows: Callable[[Path, Any], Iterable[dict[str, Any]]]
    one_of: frozenset[str] = frozenset()
    scale: Scale | None = None


LOGS: Mapping[str, Log] = {
    "inspect": Log(
        "a log of Inspect (.eval or .json)",
        (".json", ".eval"),
        frozenset(("eval", "samples")),
        inspect.rows,
        scale=UNIT,
    ),
    "lmms-eval": Log(
        "samples of lmms-eval (samples_*.jsonl)",
        (".jsonl",),
        frozenset(("doc_id", "target")),
        lmms_eval.rows,
        frozenset(("resps", "filtered_resps")),
    ),
    "vlmevalkit": Log(
        "predictions of VLMEvalKit (.xlsx, .tsv)",
        (".xlsx", ".tsv", ".csv", ".json"),
        frozenset(("index", "prediction", "answer")),
        vlmevalkit.rows,
        frozenset(("question", "hit", "category", "split", "A")),
    ),
    "promptfoo": Log(
        "results of promptfoo (--output x.json)",
        (".json",),
        frozenset(("results",)),
        promptfoo.rows,
        frozenset(("evalId", "config", "shareableUrl")),
        UNIT,
    ),
    "promptfoo-lines": Log(
        "results of promptfoo (--output x.jsonl)",
        (".jsonl",),
        frozenset(("promptIdx", "testIdx", "provider")),
        promptfoo.rows,
        scale=UNIT,
    ),
    "pipeline": Log(
        "results of visualjudge pipeline (.jsonl)",
        (".jsonl",),
        frozenset(("key", "results")),
        pipeline.rows,
        scale=TEN,
    ),
}


def log_of(path: Path, content: Any, name: str | None) -> Log | None:
    """Return the kind of log called ``name``, or else the one that the file fits; None
    for a plain table.

    Raises
    ------
    UsageError
        If there is no such kind.
    """
    if name is not None and name not in (*LOGS, "table"):
        raise UsageError(
            f"`format` must be {', '.join(LOGS)} or table, got {name!r}"
        )
    if name is not None:
        return LOGS.get(name)
    first = content[0] if isinstance(content, list) and content else content
    fields = (first if isinstance(first, dict) else {}).keys()
    for log in LOGS.values():
        fits = fields >= log.fields and (not log.one_of or fields & log.one_of)
        if path.suffix.lower() in log.suffixes and fits:
            return log
    return None


def rows_of(log: Log, path: Path, content: Any) -> list[dict[str, Any]]:
    """Return the verdicts of a log.

    Raises
    ------
    DataError
        If it is not such a log, or holds no verdict.
    """
    try:
        rows = list(log.rows(path, content))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        # An unforeseen error in reading a foreign file is reported as an error of that
        # file.
        raise DataError(
            f"{path}: is not {log.help}: {of_format(error)}"
        ) from error
    if not rows:
        raise DataError(f"{path}: holds no verdict, although it is {log.help}")
    return rows
