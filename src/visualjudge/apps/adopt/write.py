"""Last step: a study of others as a dataset, and a run for each judge. A dataset of
one's own predictions is written in ``dataset/write_dataset.py``.
"""

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from visualjudge import __version__
from visualjudge.apps.adopt.adopted_question import (
    ImageSource,
    Item,
    Origin,
    safe,
)
from visualjudge.core.checksums import file_sha256
from visualjudge.core.errors import UsageError
from visualjudge.core.jsons import Json
from visualjudge.core.records import (
    IMAGE_MARK,
    LETTERS,
    OptionFeatures,
    Question,
    Spans,
    Verdict,
)
from visualjudge.dataset.folder import MEDIA, META
from visualjudge.dataset.json_form import QUESTIONS
from visualjudge.dataset.write_dataset import staged, write_dataset
from visualjudge.prompts.store import PromptAssetStore, PromptTemplate
from visualjudge.runs.folder import RunFolder
from visualjudge.runs.verdicts import verdict_line
from visualjudge.vision.raster.images import opened, rgb_of, write_png

DATASET = "dataset"
PROMPT = "published/pair"
"""The asset with our words for the questions of others."""
GAP = "\n\n"
OF_RUNS = ("options", "order_unknown", "backend", "rubric")
"""Fields of an origin that stand elsewhere than in ``benchmark``."""
TIED = {"tie": 10.0, "both_bad": 0.0}


def check_targets(
    home: Path, judges: Iterable[str], force: bool
) -> dict[str, str]:
    """Return the folder name of each judge's run in ``home``.

    Raises
    ------
    UsageError
        If two judges would have one folder, or something exists there that is not, with
        ``force``, the result of an earlier adoption.
    """
    names = {}
    for judge in judges:
        # at most 240 bytes of UTF-8: file systems allow 255
        names[judge] = re.sub(r"[^\w.-]", "_", judge[:60]).strip(".") or "judge"
        run = home / names[judge]
        if run.exists() and not (
            force
            and RunFolder(run).manifest().get("backend")
            in ("adopted", "published")
        ):
            raise UsageError(
                f"{run} already exists; `force` replaces an older adoption"
            )
    if len({name.lower() for name in (*names.values(), DATASET)}) <= len(names):
        raise UsageError(
            f"judges must have different folder names, got {', '.join(names)}"
        )
    dataset = home / DATASET
    if dataset.exists() and not (force and (dataset / META).is_file()):
        raise UsageError(
            f"{dataset} already exists; `force` replaces an older dataset"
        )
    return names


def write_study(
    items: Iterable[Item],
    verdicts: Mapping[str, Sequence[Verdict]],
    home: Path,
    origin: Origin,
    *,
    force: bool = False,
) -> tuple[Path, ...]:
    """Write ``home/dataset`` and one run a judge; nothing appears before everything is
    complete. Return the folders of the runs.
    """
    names = check_targets(home, verdicts, force)
    about = {
        name: fact
        for name, fact in asdict(replace(origin, rubric=None)).items()
        if name not in OF_RUNS
    }
    with places(home, [DATASET, *names.values()]) as folders:
        stage = folders[DATASET]
        media = MediaFiles(stage)
        questions = [_question(origin, item, media) for item in items]
        meta = {
            "seed": None,
            "options": origin.options,
            "prompts": {PROMPT: "v1"},
            "benchmark": about,
        }
        write_dataset(stage, questions, meta)
        place = str((home / DATASET).resolve())
        digest = file_sha256(stage / QUESTIONS)
        rubric = (
            {} if origin.rubric is None else {"rubric": origin.rubric.json()}
        )
        for judge, name in names.items():
            head: Json = {
                "judge": judge,
                "backend": origin.backend,
                "model": judge,
                "base_url": None,
                "dataset": {
                    # its folder may have a name that is not UTF-8
                    "path": place.encode("utf-8", "backslashreplace").decode(),
                    "checksum": digest,
                },
                "parameters": {
                    "name": origin.name,
                    "source": origin.source,
                    **rubric,
                },
                **(
                    {"order_shown": False}
                    if judge in origin.order_unknown
                    else {}
                ),
            }
            write_run(folders[name], head, verdicts[judge])
    return tuple(home / name for name in names.values())


@contextmanager
def places(home: Path, names: Sequence[str]) -> Iterator[dict[str, Path]]:
    """Yield a folder to write for each name; they appear in ``home`` in one step if it
    is new."""
    with ExitStack() as stack:
        if home.exists():
            yield {
                name: stack.enter_context(staged(home / name)) for name in names
            }
        else:
            stage = stack.enter_context(staged(home))
            yield {name: stage / name for name in names}


def write_run(
    folder: Path, head: Mapping[str, Any], verdicts: Sequence[Verdict]
) -> None:
    """Write verdicts from elsewhere as a run; ``head`` describes the judge and the
    dataset."""
    folder.mkdir(exist_ok=True)
    run = RunFolder(folder)
    lines = (
        orjson.dumps(verdict_line(verdict)) + b"\n" for verdict in verdicts
    )
    run.journal_path.write_bytes(b"".join(lines))
    asked = {
        "limit": None,
        "simulated": False,
        "asked": len(verdicts),
        "swap": any(verdict.order == "BA" for verdict in verdicts),
        "repeats": 1 + max((verdict.repeat for verdict in verdicts), default=0),
    }
    run.write_manifest({**head, **asked, "version": __version__})


class MediaFiles:
    """Images of others as PNG files of the dataset in ``stage``, each written once."""

    def __init__(self, stage: Path) -> None:
        self.stage = stage
        (stage / MEDIA).mkdir(parents=True)

    def add(self, source: ImageSource) -> str:
        """Add ``source`` and return its path in the dataset."""
        key = source if isinstance(source, bytes) else str(source).encode()
        name = f"{MEDIA}/{hashlib.sha256(key).hexdigest()[:16]}.png"
        if not (self.stage / name).exists():
            with opened(
                io.BytesIO(source) if isinstance(source, bytes) else source
            ) as image:
                write_png(self.stage / name, rgb_of(image))
        return name


def _question(origin: Origin, item: Item, media: MediaFiles) -> Question:
    prompt, spans, images = wording(item)
    name = origin.id_of(item)
    ours = name if origin.backend == "adopted" else item.key
    ids = (
        option.id or f"{ours}/{LETTERS[k]}"
        for k, option in enumerate(item.options)
    )
    return Question(
        id=name,
        task=item.task,
        encoding=origin.backend,
        question_type=item.kind,
        subset=(origin.name,),
        image_id=item.cluster,
        class_of_interest=None,
        error_type=None,
        annotation_ids=tuple(ids),
        final_scores=item.scores or scores_of(item.answer, len(item.options)),
        sources=tuple(option.source for option in item.options),
        prompt=prompt,
        images=tuple(media.add(source) for source in images),
        answer=item.answer,
        features=tuple(
            OptionFeatures(text_chars=len(option.text))
            for option in item.options
        )
        if all(option.text for option in item.options)
        else None,
        spans=spans,
        ties=item.ties or None,
        criteria=item.criteria,
        votes=item.votes or None,
    )


def scores_of(answer: Any, count: int) -> tuple[float, ...]:
    """Return true scores from 0 to 10 of ``count`` options that say no more than the
    answer does; in the middle if it is unknown.
    """
    letters = LETTERS[:count]
    if count == 1 and isinstance(answer, int | float):
        return (answer,)
    if count == 1 or not isinstance(answer, str) or not {*answer} <= {*letters}:
        return (TIED.get(str(answer), 5.0),) * count
    order = answer + "".join(
        letter for letter in letters if letter not in answer
    )
    last = count - 1
    return tuple(
        10.0 * (last - order.index(letter)) / last for letter in letters
    )


@cache
def _asset() -> PromptTemplate:
    return PromptAssetStore().get_prompt(PROMPT)


def wording(item: Item) -> tuple[str, Spans | None, tuple[ImageSource, ...]]:
    """Return the prompt of an item, the positions of its parts, and the images of its
    marks.

    For an item without content, as in a copy with only labels, this is its request.
    """
    asset = _asset()
    if not any(option.text or option.images for option in item.options):
        return asset.part("labels", {"request": safe(item.request)}), None, ()
    text = asset.part(_part("head", item, asset))
    spans = []
    original = None
    if item.images:
        marks = "\n".join(IMAGE_MARK for _ in item.images)
        text += (
            GAP
            + asset.part("image" if len(item.images) == 1 else "images")
            + "\n"
            + marks
        )
        original = len(text) - len(marks), len(text)
    text += GAP + asset.part("request", {"request": safe(item.request)})
    for letter, option in zip(LETTERS, item.options, strict=False):
        around = asset.around(
            _part("response", item, asset), "content", {"letter": letter}
        )
        text += GAP + around[0]
        spans.append((len(text), len(text) + len(option.content)))
        text += option.content + around[1]
    final = len(text) + len(GAP)
    text += GAP + _final(asset, item)
    images = (
        *item.images,
        *(image for option in item.options for image in option.images),
    )
    return text, Spans(tuple(spans), original, (final, len(text))), images


def _part(part: str, item: Item, asset: PromptTemplate) -> str:
    return (
        f"{part}_{item.kind}" if f"{part}_{item.kind}" in asset.parts else part
    )


def _final(asset: PromptTemplate, item: Item) -> str:
    if item.kind != "pairwise":
        count = len(item.options)
        return asset.part(
            f"final_{item.kind}", {"example": LETTERS[1:count] + LETTERS[0]}
        )
    if "both_bad" in item.ties:
        return asset.part("final_both_bad")
    return asset.part("final_ties" if item.ties else "final")
