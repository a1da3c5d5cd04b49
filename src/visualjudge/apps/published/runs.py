"""Replies that a benchmark's authors published, as a run folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from visualjudge import __version__
from visualjudge.apps.published.reading import TEN, Benchmark, Copy, PublishedReply, Scale, on_ten
from visualjudge.core.errors import DataError
from visualjudge.core.records import FAILED, Answer, Question, Status, Verdict
from visualjudge.dataset.folder import Dataset
from visualjudge.dataset.staging import staged
from visualjudge.judges.base import Ask, in_stored_letters
from visualjudge.replies import Reading, read_reply
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.verdicts import verdict_line


def published_run(
    row: Benchmark,
    copy: Copy,
    questions: dict[str, Question],
    dataset: Dataset,
    model: str,
    out: Path,
) -> int:
    """Write the replies of ``model`` as a run at ``out``; return their number."""
    verdicts = list(_verdicts(copy, questions, model))
    head = {
        "judge": model,
        "backend": "published",
        "model": model,
        "base_url": None,
        "parameters": {"benchmark": row.name, "replies": row.source},
        "swap": any(verdict.order == "BA" for verdict in verdicts),
        "repeats": 1,
        "limit": None,
    }
    write_run(out, dataset, verdicts, head)
    return len(verdicts)


def write_run(
    out: Path, dataset: Dataset, verdicts: Sequence[Verdict], head: Mapping[str, Any]
) -> None:
    """Write verdicts from elsewhere as a run folder; ``head`` is its manifest's description of the
    judge.
    """
    about = {"path": str(dataset.root.resolve()), "checksum": dataset.digest}
    rest = {"simulated": False, "asked": len(verdicts), "dataset": about, "version": __version__}
    with staged(out) as stage:
        folder = RunFolder(stage)
        folder.journal_path.write_bytes(
            b"".join(orjson.dumps(verdict_line(one)) + b"\n" for one in verdicts)
        )
        folder.write_manifest({**head, **rest})


def _verdicts(copy: Copy, questions: dict[str, Question], model: str) -> Iterator[Verdict]:
    scales = {item.key: item.scale for item in copy.items}
    for reply in copy.replies[model]():
        if reply.key not in scales:
            raise DataError(f"replies of {model}: {reply.key!r} is not a question of the benchmark")
        if reply.key in questions:
            yield _verdict(Ask(questions[reply.key], reply.order), reply, scales[reply.key])


def _verdict(ask: Ask, reply: PublishedReply, scale: Scale) -> Verdict:
    """Return a verdict with our reading and the authors'; only theirs if no text is published."""
    theirs = _on_ten(reply.value, scale)
    counted = theirs if reply.counted is None else _on_ten(reply.counted, scale)
    extra = {
        "published_value": None if counted is None else str(counted),
        "published_right": reply.right,
    }
    kept = {name: value for name, value in extra.items() if value is not None}
    if reply.text is None:
        failed = theirs is None or theirs == FAILED
        value = FAILED if theirs is None else theirs
        cause = "not read by its authors" if failed else None
        status: Status = "unparseable" if failed else "ok"
        return Verdict(ask.question.id, ask.order, value, status, None, cause=cause, extra=kept)
    found = _read(reply.text, ask.question, scale)
    shown = Verdict(
        ask.question.id,
        ask.order,
        found.value,
        found.status,
        reply.text,
        cause=found.cause,
        extra={
            **kept,
            **(
                {"rule": found.rule, "read_by": found.read_by}
                if found.rule and found.read_by
                else {}
            ),
        },
    )
    return in_stored_letters(ask, shown)


def _read(text: str, question: Question, scale: Scale) -> Reading:
    """Return our reading; a score is converted from the benchmark's scale to 0 to 10."""
    found = read_reply(
        text, question.question_type, len(question.annotation_ids), ties=question.ties or ()
    )
    if isinstance(found.value, str) or scale == TEN:
        return found
    if not scale[0] <= found.value <= scale[1]:
        return replace(found, value=FAILED, status="unparseable", cause="other scale")
    return replace(found, value=on_ten(found.value, scale))


def _on_ten(value: Answer | None, scale: Scale) -> Answer | None:
    return value if value is None or isinstance(value, str) else on_ten(value, scale)
