"""Images behind addresses, and question sets: ``questions.json`` of version 2.1 with its images."""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from visualjudge.apps.adopt.files import Row, document, first_tables, records
from visualjudge.apps.adopt.items import ImageSource
from visualjudge.apps.adopt.writing import DATASET, MediaFiles, check_targets, places
from visualjudge.clients.image_download import fetch_image
from visualjudge.core.atomic import write_bytes, write_json
from visualjudge.core.confined_paths import confined_path, own_path
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.dataset.folder import MEDIA
from visualjudge.dataset.json_form import question_from_wire
from visualjudge.dataset.write_dataset import write_dataset
from visualjudge.vision.raster.images import opened

MOST_BYTES = 20 * 10**9
"""Most bytes that one call downloads."""
LARGEST_IMAGE = 64 << 20
AT_ONCE = 8
FETCHED = "files/fetched"
INDEXES, ANNOTATIONS = ("images", "images_v2"), ("annotations", "data_json_v2")
ADDRESS = re.compile(r"(https|hf)://\S+")
_HUB = re.compile(r"hf://(?P<kind>datasets/|spaces/|)(?P<name>[^/@]+/[^/@]+)(?:@(?P<rev>[^/]+))?/")
Tick = Callable[[int, int], None]


@dataclass(slots=True)
class Fetched:
    """Files that were downloaded, files that were there already, their paths by address, and one
    line per failure.
    """

    downloaded: int = 0
    kept: int = 0
    bytes: int = 0
    failed: list[str] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)


def https_of(address: str) -> str:
    """Convert an ``hf://`` address to the ``https://`` address of the file.

    Raises
    ------
    DataError
        If it does not name a file.

    Examples
    --------
    >>> https_of("hf://datasets/org/name@main/images/1.png")
    'https://huggingface.co/datasets/org/name/resolve/main/images/1.png'
    """
    if not address.startswith("hf://"):
        return address
    hub = _HUB.match(address)
    if hub is None or not address[hub.end() :]:
        raise DataError(f"{address[:100]}: must be hf://datasets/OWNER/NAME/FILE")
    home = f"https://huggingface.co/{hub['kind']}{hub['name']}"
    return f"{home}/resolve/{hub['rev'] or 'main'}/{address[hub.end() :]}"


def fetch(
    data: str | Path, *, allow_private: bool = False, tick: Tick = lambda done, total: None
) -> Fetched:
    """Download what the image indexes and records of a data folder name by ``https://`` and
    ``hf://`` addresses into ``files/fetched``, and name the files instead. A second call downloads
    what is missing.

    Parameters
    ----------
    allow_private
        Allow ``http://`` addresses and local networks.
    tick
        Called with the number of files present and the total number.

    Raises
    ------
    UsageError
        If ``data`` is no data folder.
    DataError
        If one of its files cannot be read, or is a link.
    """
    home = Path(data)
    if not any((home / name).is_dir() for name in INDEXES):
        raise UsageError(f"{home}: must be a data folder, or questions.json with --out")
    indexes = {path: document(path) for path in _files(home, INDEXES)}
    annotations = {path: document(path) for path in _files(home, ANNOTATIONS)}
    stated = [
        *_texts([_media(one) for one in _records(indexes)]),
        *_texts(list(annotations.values())),
    ]
    done = download(stated, home, FETCHED, allow_private=allow_private, tick=tick)
    names = {address: path.relative_to(home).as_posix() for address, path in done.paths.items()}
    for path, index in indexes.items():
        whole = isinstance(index, dict)
        changed = [_completed(one, names) for one in (index.values() if whole else index)]
        _write(path, index, dict(zip(index, changed, strict=True)) if whole else changed)
    for path, content in annotations.items():
        _write(path, content, _renamed(content, names))
    return done


def _files(home: Path, folders: Iterable[str]) -> Iterator[Path]:
    """Yield the JSON files of a data folder, none of which may be a link."""
    for folder in folders:
        for path in sorted((home / folder).glob("*.json*")):
            yield own_path(home, f"{folder}/{path.name}", of="the data folder")


def _records(contents: Mapping[Path, Any]) -> Iterator[Any]:
    for content in contents.values():
        yield from content.values() if isinstance(content, dict) else content


def _write(path: Path, before: Any, content: Any) -> None:
    if content == before:
        return
    if path.suffix == ".jsonl":
        write_bytes(path, b"".join(orjson.dumps(row) + b"\n" for row in content))
    else:
        write_json(path, content)


def _media(record: Any) -> list[Any]:
    """Return the files of an image record, or its address if it names no file."""
    if not isinstance(record, dict):
        return []
    return [record.get("file") or record.get("url"), record.get("mask"), record.get("control")]


def _completed(record: Any, names: Mapping[str, str]) -> Any:
    """Return an image record with the downloaded files."""
    media = zip(("file", "mask", "control"), _media(record), strict=False)
    files = {name: names[value] for name, value in media if value in names}
    return {**record, **files} if files else record


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in nested lists and objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return the value with each text that is a key of ``names`` replaced."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, dict):
        return {name: _renamed(item, names) for name, item in value.items()}
    return names.get(value, value) if isinstance(value, str) else value


# ---------------------------------------------------------------- downloads


def download(
    stated: Iterable[str], home: Path, folder: str, *, allow_private: bool, tick: Tick
) -> Fetched:
    """Download the addresses among ``stated`` into a folder of ``home``, each to a file named by
    the address; files that are there stay.
    """
    stated = list(dict.fromkeys(stated))
    plain = [text for text in stated if text.startswith("http://")]
    wanted = [text for text in stated if ADDRESS.fullmatch(text)] + (plain if allow_private else [])
    done = Fetched()
    if plain and not allow_private:
        done.failed.append(
            f"{pluralize(len(plain), 'address', 'addresses')} must begin with https://, such as "
            f"{_shown(plain[0])}; --allow-private-urls permits http://"
        )
    if wanted:
        asyncio.run(_download(wanted, home, folder, allow_private, tick, done))
    return done


async def _download(
    wanted: Sequence[str], home: Path, folder: str, allow_private: bool, tick: Tick, done: Fetched
) -> None:
    place = own_path(home, f"{folder}/x", of="the data folder").parent
    place.mkdir(parents=True, exist_ok=True)
    there = {
        path.stem: path for path in place.iterdir() if path.is_file() and not path.is_symlink()
    }
    free = asyncio.Semaphore(AT_ONCE)

    async def one(address: str) -> None:
        stem = hashlib.sha256(address.encode()).hexdigest()[:20]
        if stem in there:
            done.paths[address] = there[stem]
            done.kept += 1
            return
        async with free:
            try:
                await _one(address, place / stem, allow_private, done)
            except DataError as error:
                done.failed.append(str(error))
        tick(len(done.paths) + len(done.failed), len(wanted))

    await asyncio.gather(*map(one, wanted))


async def _one(address: str, stem: Path, allow_private: bool, done: Fetched) -> None:
    url = https_of(address)
    if done.bytes + LARGEST_IMAGE > MOST_BYTES:
        raise DataError(f"{_shown(url)}: not fetched: {MOST_BYTES / 1e9:g} GB are reached")
    done.bytes += LARGEST_IMAGE  # until its size is known
    content = b""
    try:
        content = await fetch_image(url, allow_private=allow_private)
        path = stem.with_name(stem.name + _suffix(content))
    except DataError as error:
        raise DataError(str(error).replace(url, _shown(url))) from None
    finally:
        done.bytes += len(content) - LARGEST_IMAGE
    write_bytes(path, content)
    done.paths[address] = path
    done.downloaded += 1


def _shown(url: str) -> str:
    """Return an address without what may be a signature."""
    return url.partition("?")[0][:200]


def _suffix(content: bytes) -> str:
    """Return the file extension for an image or a NumPy array; raise an error if it is neither."""
    if content.startswith(b"\x93NUMPY"):
        return ".npy"
    with opened(io.BytesIO(content)) as image:
        return f".{(image.format or 'png').lower()}"


# ---------------------------------------------------------------- questions


def is_question_set(path: Path) -> bool:
    """Return whether a file or folder holds questions of version 2.1 rather than verdicts."""
    tables = _question_tables(path)
    rows = records(tables[0])[:1] if tables else []
    return bool(rows) and {"question_type", "prompt", "images", "answer"} <= set(rows[0])


def _question_tables(path: Path) -> list[Path]:
    if path.is_dir():
        return first_tables((path, path / "data"), "questions.json", "*.parquet", "*.jsonl")
    return [path] if path.suffix in (".json", ".jsonl", ".parquet") else []


def adopt_questions(
    questions: str | Path,
    out: str | Path,
    *,
    media: str | Path | None = None,
    fetched: bool = False,
    allow_private: bool = False,
    force: bool = False,
    tick: Tick = lambda done, total: None,
) -> int:
    """Write a published question set as a dataset, ``out/dataset``, and return its size.

    Parameters
    ----------
    questions
        ``questions.json``, or rows with its fields in Parquet or JSON lines, whose ``images`` are
        paths, addresses, or images as the ``datasets`` library stores them.
    media
        Folder of the images; that of ``questions`` if not given. Of an address, the end of its path
        is looked for.
    fetched
        Download the addresses that are not in ``media``.

    Raises
    ------
    DataError
        If a question cannot be read, or an image is missing.
    """
    tables = _question_tables(Path(questions))
    home, target = Path(media or tables[0].parent), Path(out)
    check_targets(target, (), force)
    rows = [row for table in tables for row in records(table)]
    stated = dict.fromkeys(text for row in rows for text in _texts(list(row.need("images"))))
    paths: dict[str, ImageSource] = {
        text: path for text in stated if (path := _local(text, home)) is not None
    }
    if len(set(paths.values())) < len(paths):
        raise DataError(f"{home}: two addresses have one file; keep the folders of the addresses")
    missing = [text for text in stated if text not in paths]
    if fetched and missing:
        done = download(missing, target, "fetched", allow_private=allow_private, tick=tick)
        paths |= done.paths
        if done.failed:
            raise DataError(
                f"{len(done.failed)} images cannot be fetched, the first: {done.failed[0]}; "
                "run the command again to resume"
            )
    with places(target, [DATASET]) as folders:
        stage = folders[DATASET]
        (stage / MEDIA).mkdir(parents=True)
        files = MediaFiles(stage)
        made = [question_from_wire(_wire(row, files, paths, home), k) for k, row in enumerate(rows)]
        write_dataset(stage, made, {"seed": None, "options": {}, "prompts": {}})
    return len(made)


def _wire(row: Row, files: MediaFiles, paths: Mapping[str, ImageSource], home: Path) -> Any:
    """Return a question in its stored form, with its images in the dataset."""
    images = []
    for image in row["images"]:
        inner = (image.get("bytes") or image.get("path")) if isinstance(image, dict) else image
        source = inner if isinstance(inner, bytes) else paths.get(str(inner))
        if source is None:
            hint = "; --fetch downloads it" if ADDRESS.fullmatch(str(inner)) else ""
            raise row.fault("images", f"there is no {_shown(str(inner))!r} in {home}{hint}")
        images.append(files.add(source))
    scored = {"answer": row.get("answer_score", row.get("answer"))}
    return {**row, "images": images, **(scored if row.get("question_type") == "scoring" else {})}


def _local(name: str, home: Path) -> Path | None:
    """Return the file of a path, or of an address, whose path may begin with folders that the copy
    lacks.
    """
    parts = PurePosixPath(unquote(urlsplit(name).path)).parts if "://" in name else ()
    ends = ["/".join(parts[k:]) for k in range(len(parts))]
    for end in ends or [name]:
        try:
            return confined_path(home, end, of="the media")
        except DataError:
            continue
    return None
