"""A study of others as a dataset, and a run for each judge."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from visualjudge import __version__
from visualjudge.apps.adopt.items import TEN, ImageSource, Item, Reply, Study, on_ten
from visualjudge.apps.adopt.wording import PROMPT, wording
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import UsageError
from visualjudge.core.records import (
    FAILED,
    LETTERS,
    TURNED,
    UNKNOWN,
    Answer,
    OptionFeatures,
    Question,
    Verdict,
)
from visualjudge.dataset.folder import MEDIA, META
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.dataset.staging import staged
from visualjudge.dataset.write_dataset import write_dataset
from visualjudge.replies import Reading, read_reply
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.verdicts import verdict_line
from visualjudge.vision.raster.images import opened, rgb_of, write_png

if TYPE_CHECKING:
    from visualjudge.analysis.benchmark_scores import Score

DATASET = "dataset"
BACKENDS = ("adopted", "published")
SCORES = {"A": (10.0, 0.0), "B": (0.0, 10.0), "tie": (10.0, 10.0), "both_bad": (0.0, 0.0)}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a study comes from, as ``dataset.json`` states it.

    ``backend`` is "adopted" for a table and "published" for a benchmark, whose authors' readings
    count in their own scores.
    """

    name: str
    title: str
    source: str
    backend: str = "adopted"
    licence: str = ""
    use: str = "any"
    scores: tuple[Score, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    order_unknown: frozenset[str] = frozenset()
    """Judges some of whose verdicts do not say which option was shown first."""


def folder_name(judge: str) -> str:
    """Return the folder name of a judge's run."""
    name = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in judge).strip(".")
    return name or "judge"


def check_targets(home: Path, judges: Iterable[str], force: bool) -> dict[str, str]:
    """Return the folder name of each judge's run in ``home``.

    Raises
    ------
    UsageError
        If two judges would have one folder, or something exists there that is not, with
        ``force``, the result of an earlier adoption.
    """
    names = {judge: folder_name(judge) for judge in judges}
    if len({name.lower() for name in (*names.values(), DATASET)}) <= len(names):
        raise UsageError(f"judges must have different folder names, got {', '.join(names)}")
    for name in names.values():
        run = home / name
        if run.exists() and not (force and RunFolder(run).manifest().get("backend") in BACKENDS):
            raise UsageError(f"{run} already exists; --force replaces an older adoption")
    dataset = home / DATASET
    if dataset.exists() and not (force and (dataset / META).is_file()):
        raise UsageError(f"{dataset} already exists; --force replaces an older dataset")
    return names


def write_study(
    study: Study,
    verdicts: Mapping[str, Sequence[Verdict]],
    home: Path,
    origin: Origin,
    *,
    force: bool = False,
) -> tuple[Path, ...]:
    """Write ``home/dataset`` and one run a judge; nothing appears before everything is complete.

    Returns
    -------
    The folders of the runs.
    """
    names = check_targets(home, verdicts, force)
    with places(home, [DATASET, *names.values()]) as folders:
        stage = folders[DATASET]
        (stage / MEDIA).mkdir(parents=True)
        media = MediaFiles(stage)
        questions = [_question(origin, item, media) for item in study.items]
        write_dataset(stage, questions, _meta(origin, study))
        about = {
            "path": str((home / DATASET).resolve()),
            "checksum": file_sha256(stage / QUESTIONS),
        }
        for judge, name in names.items():
            write_run(
                folders[name], _manifest(origin, judge, verdicts[judge], about), verdicts[judge]
            )
    return tuple(home / name for name in names.values())


@contextmanager
def places(home: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield a folder to write for each name; they appear in ``home`` in one step if it is new."""
    with ExitStack() as stack:
        if home.exists():
            yield {name: stack.enter_context(staged(home / name)) for name in names}
        else:
            stage = stack.enter_context(staged(home))
            yield {name: stage / name for name in names}


def write_run(folder: Path, manifest: Mapping[str, Any], verdicts: Sequence[Verdict]) -> None:
    """Write verdicts from elsewhere as a run."""
    folder.mkdir(exist_ok=True)
    run = RunFolder(folder)
    lines = (orjson.dumps(verdict_line(verdict)) + b"\n" for verdict in verdicts)
    run.journal_path.write_bytes(b"".join(lines))
    run.write_manifest(manifest)


def _manifest(
    origin: Origin, judge: str, verdicts: Sequence[Verdict], dataset: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "judge": judge,
        "backend": origin.backend,
        "model": judge,
        "base_url": None,
        "parameters": {"name": origin.name, "source": origin.source},
        "limit": None,
        "swap": any(verdict.order == "BA" for verdict in verdicts),
        "repeats": 1 + max((verdict.repeat for verdict in verdicts), default=0),
        **({"order_shown": False} if judge in origin.order_unknown else {}),
        "simulated": False,
        "asked": len(verdicts),
        "dataset": dict(dataset),
        "version": __version__,
    }


class MediaFiles:
    """Images of others as PNG files of the dataset, each written once."""

    def __init__(self, stage: Path) -> None:
        self.stage = stage
        self._names: dict[bytes, str] = {}

    def add(self, source: ImageSource) -> str:
        """Add ``source`` and return its path in the dataset."""
        key = hashlib.sha256(source if isinstance(source, bytes) else str(source).encode()).digest()
        if key not in self._names:
            name = f"{MEDIA}/{key.hex()[:16]}.png"
            with opened(io.BytesIO(source) if isinstance(source, bytes) else source) as image:
                write_png(self.stage / name, rgb_of(image))
            self._names[key] = name
        return self._names[key]


def question_id(origin: Origin, item: Item) -> str:
    """Return the id of a question."""
    key = item.key if origin.backend == "adopted" else f"{origin.name}\0{item.key}"
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _question(origin: Origin, item: Item, media: MediaFiles) -> Question:
    words = wording(item)
    ours = question_id(origin, item) if origin.backend == "adopted" else item.key
    texts = tuple(OptionFeatures(text_chars=len(option.text)) for option in item.options)
    return Question(
        id=question_id(origin, item),
        task=item.task,
        encoding=origin.backend,
        question_type=item.kind,
        subset=(origin.name,),
        image_id=item.cluster,
        class_of_interest=None,
        error_type=None,
        annotation_ids=tuple(
            option.id or f"{ours}/{letter}"
            for letter, option in zip(LETTERS, item.options, strict=False)
        ),
        final_scores=_scores(item),
        sources=tuple(option.source for option in item.options),
        prompt=words.prompt,
        images=tuple(media.add(source) for source in words.images),
        answer=item.answer,
        features=texts if all(option.text for option in item.options) else None,
        spans=words.spans,
        ties=words.ties or None,
    )


def _scores(item: Item) -> tuple[float, ...]:
    """Return true scores that fit the answer; in the middle if it is unknown."""
    if item.scores is not None:
        return item.scores
    count = len(item.options)
    if not isinstance(item.answer, str):
        return (item.answer,)
    if item.answer == UNKNOWN:
        return (5.0,) * count
    if item.kind == "ranking":
        places = (item.answer.index(letter) for letter in LETTERS[:count])
        return tuple(10.0 * (count - 1 - place) / (count - 1) for place in places)
    return SCORES[item.answer]


def _meta(origin: Origin, study: Study) -> dict[str, Any]:
    return {
        "seed": None,
        "options": dict(origin.options),
        "prompts": {PROMPT: "v1"},
        "benchmark": {
            "name": origin.name,
            "title": origin.title,
            "licence": origin.licence,
            "use": origin.use,
            "source": origin.source,
            "labels_only": study.labels_only,
            "left_out": len(study.left_out),
            "scores": [asdict(score) for score in origin.scores],
        },
    }


# ---------------------------------------------------------------- verdicts


def verdict_of(
    origin: Origin, item: Item, reply: Reply, letters: Mapping[str, str] | None = None
) -> Verdict:
    """Return our reading of a reply, with that of its authors beside it; only theirs if there is no
    text. ``letters`` are further answers of the judge (``--answer C=tie``).
    """
    stated = FAILED if reply.value is None else _on_ten(reply.value, item)
    counted = stated if reply.counted is None else _on_ten(reply.counted, item)
    theirs = Verdict(
        question_id(origin, item),
        reply.order,
        stated,
        "unparseable" if stated == FAILED else "ok",
        reply.text,
        reply.usage,
        repeat=reply.repeat,
        cause="not read by its authors" if stated == FAILED else None,
    )
    published = origin.backend == "published" and (
        reply.value is not None or reply.counted is not None
    )
    extra: dict[str, Any] = {}
    if published or (origin.backend == "adopted" and reply.text is not None):
        extra["published_value"] = str(counted)
    if reply.right is not None:
        extra["published_right"] = reply.right
    if reply.text is None:
        return replace(theirs, extra=extra)
    reading = _read(item, reply, letters or {})
    if reading.rule:
        extra |= {"rule": reading.rule, "read_by": reading.read_by}
    value = TURNED.get(str(reading.value), reading.value) if reply.order == "BA" else reading.value
    return replace(theirs, value=value, status=reading.status, cause=reading.cause, extra=extra)


def _on_ten(value: Answer, item: Item) -> Answer:
    return value if isinstance(value, str) else on_ten(value, item.scale)


def _read(item: Item, reply: Reply, letters: Mapping[str, str]) -> Reading:
    """Return our reading; a score on 0 to 10, if the judge's scale has it."""
    reading = read_reply(
        reply.text or "",
        item.kind,
        len(item.options),
        finish_reason=reply.finish_reason,
        ties=item.ties,
    )
    low, high = item.scale
    if isinstance(reading.value, str) or item.scale == TEN:
        return reading
    if not low <= reading.value <= high:
        return replace(reading, value=FAILED, status="unparseable", cause="other scale")
    return replace(reading, value=on_ten(reading.value, item.scale))
