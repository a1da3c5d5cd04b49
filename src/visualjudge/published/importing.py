"""A local copy of a benchmark into a dataset, and the replies that its authors published into run folders beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from visualjudge import __version__
from visualjudge.atomic import write_json
from visualjudge.dataset.build import counts
from visualjudge.dataset.folder import MEDIA, META, QUESTIONS, VERSION, load_dataset, question_to_wire
from visualjudge.dataset.staging import staged
from visualjudge.errors import DataError, UsageError
from visualjudge.judges.asks import Ask, in_stored_letters, verdict_line
from visualjudge.prompts.store import PromptAssetStore
from visualjudge.published.asking import PROMPT, wording
from visualjudge.published.catalogue import BENCHMARKS
from visualjudge.published.items import Benchmark, Copy, Item, PublishedReply
from visualjudge.raster.images import read_rgb, write_png
from visualjudge.records import FAILED, OptionFeatures, Question, Status, Verdict
from visualjudge.replies import read_reply
from visualjudge.runs.folder import RunFolder

ENCODING = "published"
SCORES = {"A": (10.0, 0.0), "B": (0.0, 10.0), "tie": (10.0, 10.0), "both_bad": (0.0, 0.0)}


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import wrote: ``runs`` has the folder and number of verdicts of each judge."""

    questions: int
    labels_only: bool
    runs: tuple[tuple[Path, int], ...]


def import_benchmark(
    name: str, folder: str | Path, out: str | Path, *, replies: Sequence[str] = (), force: bool = False
) -> Imported:
    """Read the benchmark ``name`` from ``folder``; write a dataset at ``out`` and a run folder for each of ``replies``.

    Parameters
    ----------
    name
        A row of :data:`~visualjudge.published.catalogue.BENCHMARKS`.
    folder
        A local copy, as the benchmark's row describes it. Nothing is downloaded.
    replies
        Judges whose published replies become runs, ``out/../<judge>``.
    force
        Replace an older dataset and older runs.

    Raises
    ------
    UsageError
        If there is no such benchmark or judge, or a folder to be written exists.
    DataError
        If a file of the copy cannot be read.
    """
    row, home, target = BENCHMARKS.find(name), Path(folder), Path(out)
    if not home.is_dir():
        raise UsageError(f"--from: {home} must be a folder with {row.layout}")
    copy = row.read(home)
    _check_replies(copy, replies, home)
    runs = {model: target.resolve().parent / _file_name(model) for model in replies}
    _check_targets(target, runs.values(), force)
    questions = _write(row, copy, target)
    # Runs come last: they name the checksum of the dataset that is there by now.
    written = tuple((path, _write_run(row, copy, questions, target, model, path)) for model, path in runs.items())
    return Imported(len(questions), copy.labels_only, written)


def _check_replies(copy: Copy, replies: Sequence[str], home: Path) -> None:
    for model in replies:
        if model not in copy.replies:
            known = ", ".join(copy.replies) or "none"
            raise UsageError(f"--replies: {home} holds no replies of {model!r}; it holds: {known}")
    if len(set(replies)) < len(replies):
        raise UsageError("--replies: names a judge twice")


def _file_name(model: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in model).strip(".") or "judge"


def _check_targets(target: Path, runs: Iterable[Path], force: bool) -> None:
    for path in runs:
        if path == target.resolve():
            raise UsageError(f"--out: {target} is the name of a run too; choose another")
        if path.exists() and not (force and RunFolder(path).manifest().get("backend") == "published"):
            raise UsageError(f"{path}: exists already; --force replaces an older import")
    if target.exists() and not (force and (target / META).is_file()):
        raise UsageError(f"{target}: exists already; --force replaces an older dataset")


# ---------------------------------------------------------------- the dataset


def _write(row: Benchmark, copy: Copy, target: Path) -> dict[str, Question]:
    """Write the dataset; its questions by the pair's key."""
    store = PromptAssetStore()
    with staged(target) as stage:
        (stage / MEDIA).mkdir()
        media = _Media(stage)
        questions = {item.key: _question(row, item, copy.labels_only, media, store) for item in copy.items}
        lines = b",\n".join(orjson.dumps(question_to_wire(question)) for question in questions.values())
        content = b"[\n" + lines + b"\n]\n"
        (stage / QUESTIONS).write_bytes(content)
        files = {**media.files, QUESTIONS: hashlib.sha256(content).hexdigest()}
        write_json(stage / META, _meta(row, copy, list(questions.values()), files))
    return questions


class _Media:
    """The images of a benchmark as PNG files of the dataset, each written once."""

    def __init__(self, stage: Path) -> None:
        self.stage = stage
        self.files: dict[str, str] = {}
        self._names: dict[Path, str] = {}

    def add(self, source: Path) -> str:
        """The path of ``source`` in the dataset."""
        if source not in self._names:
            name = f"{MEDIA}/{hashlib.sha256(str(source).encode()).hexdigest()[:16]}.png"
            write_png(self.stage / name, read_rgb(source))
            self.files[name] = hashlib.sha256((self.stage / name).read_bytes()).hexdigest()
            self._names[source] = name
        return self._names[source]


def _question(row: Benchmark, item: Item, labels_only: bool, media: _Media, store: PromptAssetStore) -> Question:
    said = wording(item, labels_only=labels_only, store=store)
    shown = [] if labels_only else [*([item.image] if item.image else []), *(i for o in item.options for i in o.images)]
    scores = item.scores or SCORES[item.answer]
    texts = tuple(OptionFeatures(text_chars=len(option.text)) for option in item.options)
    return Question(
        id=hashlib.sha256(f"{row.name}\0{item.key}".encode()).hexdigest()[:16],
        task=item.task,
        encoding=ENCODING,
        question_type="pairwise",
        subset=(row.name,),
        image_id=item.cluster,
        class_of_interest=None,
        error_type=None,
        annotation_ids=(f"{item.key}/A", f"{item.key}/B"),
        final_scores=scores,
        sources=tuple(option.source for option in item.options),
        prompt=said.prompt,
        images=tuple(media.add(path) for path in shown),
        answer=item.answer,
        features=texts if all(option.text for option in item.options) else None,
        spans=said.spans,
        ties=item.ties or None,
    )


def _meta(row: Benchmark, copy: Copy, questions: Sequence[Question], files: dict[str, str]) -> dict[str, Any]:
    parts = tuple(dict.fromkeys(question.task for question in questions))
    return {
        "version": VERSION,
        "tool": {"name": "visualjudge", "version": __version__},
        "seed": None,
        "options": {},
        "prompts": {PROMPT: "v1"},
        "benchmark": {
            "name": row.name,
            "title": row.title,
            "licence": row.licence,
            "use": row.use,
            "source": row.source,
            "labels_only": copy.labels_only,
            "scores": [asdict(score) for score in row.scores(parts)],
        },
        "counts": counts(questions),
        "files": dict(sorted(files.items())),
    }


# ---------------------------------------------------------------- the runs


def _write_run(row: Benchmark, copy: Copy, questions: dict[str, Question], target: Path, model: str, out: Path) -> int:
    verdicts = list(_verdicts(questions, copy.replies[model](), model))
    orders = {verdict.order for verdict in verdicts}
    with staged(out) as stage:
        folder = RunFolder(stage)
        folder.journal_path.write_bytes(b"".join(orjson.dumps(verdict_line(one)) + b"\n" for one in verdicts))
        folder.write_manifest(
            {
                "judge": model,
                "backend": "published",
                "model": model,
                "base_url": None,
                "parameters": {"benchmark": row.name, "replies": row.source},
                "simulated": False,
                "swap": "BA" in orders,
                "repeats": 1,
                "limit": None,
                "asked": len(verdicts),
                "dataset": {"path": str(target.resolve()), "checksum": load_dataset(target).digest},
                "version": __version__,
            }
        )
    return len(verdicts)


def _verdicts(questions: dict[str, Question], replies: Iterator[PublishedReply], model: str) -> Iterator[Verdict]:
    for reply in replies:
        question = questions.get(reply.key)
        if question is None:
            raise DataError(f"replies of {model}: {reply.key!r} is no pair of the benchmark")
        yield _verdict(Ask(question, reply.order), reply)


def _verdict(ask: Ask, reply: PublishedReply) -> Verdict:
    """What we read, with what the authors read beside it; where no text is published, theirs."""
    extra = {"published_value": reply.value, "published_right": reply.right}
    kept = {name: value for name, value in extra.items() if value is not None}
    if reply.text is None:
        value = reply.value or FAILED
        status: Status = "unparseable" if value == FAILED else "ok"
        cause = "not read by its authors" if value == FAILED else None
        return Verdict(ask.question.id, ask.order, value, status, None, cause=cause, extra=kept)
    found = read_reply(reply.text, ask.question.question_type, 2, ties=ask.question.ties or ())
    shown = Verdict(
        ask.question.id,
        ask.order,
        found.value,
        found.status,
        reply.text,
        cause=found.cause,
        extra={**kept, **({"rule": found.rule} if found.rule else {})},
    )
    return in_stored_letters(ask, shown)
