"""Download media that image indexes, records and questions refer to by URL."""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from visualjudge.apps.published.importing import MediaFiles
from visualjudge.apps.published.reading import Row, records, tables
from visualjudge.clients.image_download import fetch_image
from visualjudge.core.atomic import write_bytes, write_json
from visualjudge.core.checksums import file_sha256
from visualjudge.core.confined_paths import confined_path
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.plurals import pluralize
from visualjudge.dataset.folder import MEDIA
from visualjudge.dataset.json_form import question_from_wire
from visualjudge.dataset.staging import staged
from visualjudge.dataset.write_dataset import write_dataset
from visualjudge.formats.sample import read_json
from visualjudge.vision.raster.images import opened

FETCHED = "fetched.jsonl"
"""List of the name, size and SHA-256 of each downloaded file, in the folder of the files."""
MOST_GB = 20.0
AT_ONCE = 16
ADDRESS = re.compile(r"(https|hf)://\S+")
_HUB = re.compile(r"hf://(?P<kind>datasets/|spaces/|)(?P<name>[^/@]+/[^/@]+)(?:@(?P<rev>[^/]+))?/")
_NUMPY = b"\x93NUMPY"
Tick = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of :func:`fetch`: files downloaded, files that already existed, and one line per
    failure.
    """

    downloaded: int
    kept: int
    failed: tuple[str, ...]
    bytes: int


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
    found = _HUB.match(address)
    if found is None or not address[found.end() :]:
        raise DataError(f"{address[:100]}: must be hf://datasets/OWNER/NAME/FILE")
    home = f"https://huggingface.co/{found['kind']}{found['name']}"
    return f"{home}/resolve/{found['rev'] or 'main'}/{address[found.end() :]}"


def fetch(
    data: str | Path,
    out: str | Path | None = None,
    *,
    allow_private: bool = False,
    most_gb: float = MOST_GB,
    force: bool = False,
    tick: Tick = lambda done, total: None,
) -> Fetched:
    """Download the files that ``data`` refers to by ``https://`` and ``hf://`` addresses.

    Parameters
    ----------
    data
        A data folder, whose image indexes and records then refer to the downloaded files. Or
        questions of version 2.1 (``questions.json``, or Parquet with the images as columns), in a
        folder or as a file: they become the dataset ``out``.
    allow_private
        Allow ``http://`` addresses and local networks.
    most_gb
        Maximum total size of the files in gigabytes (10⁹ bytes).
    tick
        Called with the number of files present and the total number.

    Raises
    ------
    UsageError
        If ``data`` is neither, or ``out`` is missing, not needed, or exists.
    DataError
        If a file of ``data`` cannot be read, or a dataset would lack an image.

    Examples
    --------
    ::

        done = fetch("data")
        print(done.downloaded, done.failed)
    """
    home = Path(data)
    if (home / "images").is_dir():
        if out is not None:
            raise UsageError("--out: a data folder is completed in place; leave it out")
        downloads = Downloads(home / "files" / "fetched", allow_private, most_gb, tick)
        return _into_folder(home, downloads)
    table = home if home.is_file() else next(iter(_questions_of(home)), None)
    if table is None:
        raise UsageError(f"{home}: must be a data folder, or have questions.json or data/*.parquet")
    if out is None:
        raise UsageError("--out must name the dataset to write")
    if Path(out).exists() and not force:
        raise UsageError(f"{out} already exists; --force replaces it")
    if table.suffix not in (".json", ".jsonl", ".parquet"):
        raise UsageError(
            f"{table}: must be questions (.json, .jsonl, .parquet) or a data folder, whose image "
            "indexes hold addresses as url"
        )
    paths = [table] if home.is_file() else _questions_of(home)
    downloads = Downloads(Path(f"{out}.fetched"), allow_private, most_gb, tick)
    return _into_dataset(paths, Path(out), downloads)


def _questions_of(home: Path) -> list[Path]:
    named = home / "questions.json"
    return [named] if named.is_file() else tables(home, ("*.parquet", "*.jsonl"))


class Downloads:
    """Files of a folder, each named by its address, with a list of sizes and checksums.

    Listed files of the right size and checksum are not downloaded again.
    """

    def __init__(self, folder: Path, allow_private: bool, most_gb: float, tick: Tick) -> None:
        self.folder = folder
        self.failed: list[str] = []
        self.downloaded = self.kept = self.bytes = 0
        self._allow_private, self._most, self._tick = allow_private, most_gb * 1e9, tick
        self._paths: dict[str, Path] = {}

    def takes(self, value: Any) -> bool:
        """Return whether a value is an address that may be downloaded."""
        if not isinstance(value, str):
            return False
        is_http = self._allow_private and value.startswith("http://")
        return is_http or ADDRESS.fullmatch(value) is not None

    def get(self, addresses: Iterable[str]) -> dict[str, Path]:
        """Return the file of each address. Failed addresses are omitted and listed in
        ``failed``.
        """
        wanted = list(dict.fromkeys(addresses))
        if wanted:
            self.folder.mkdir(parents=True, exist_ok=True)
            asyncio.run(self._all(wanted))
        return self._paths

    @property
    def done(self) -> Fetched:
        """Return the result so far."""
        return Fetched(self.downloaded, self.kept, tuple(self.failed), self.bytes)

    async def _all(self, wanted: Sequence[str]) -> None:
        known = self._known()
        at_once = asyncio.Semaphore(AT_ONCE)
        finished = 0

        async def one(address: str) -> None:
            nonlocal finished
            async with at_once:
                try:
                    await self._one(address, known)
                except DataError as error:
                    self.failed.append(str(error))
            finished += 1
            self._tick(finished, len(wanted))

        await asyncio.gather(*map(one, wanted))

    async def _one(self, address: str, known: Mapping[str, Mapping[str, Any]]) -> None:
        stem = hashlib.sha256(address.encode()).hexdigest()[:20]
        line = known.get(stem)
        if line is not None:
            path = self.folder / str(line["file"])
            if path.is_file() and await asyncio.to_thread(file_sha256, path) == line["sha256"]:
                self._paths[address] = path
                self.kept += 1
                return
        url = https_of(address)
        shown = url.partition("?")[0][:200]  # the rest may be a signature
        if self.bytes >= self._most:
            raise DataError(f"{shown}: not fetched: --most-gb {self._most / 1e9:g} is reached")
        content = await fetch_image(url, allow_private=self._allow_private)
        try:
            path = self.folder / f"{stem}{_suffix(content)}"
        except DataError as error:
            raise DataError(f"{shown}: {error}") from None
        write_bytes(path, content)
        entry = {
            "file": path.name,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        with (self.folder / FETCHED).open("ab") as file:
            file.write(orjson.dumps(entry) + b"\n")
        self._paths[address] = path
        self.downloaded += 1
        self.bytes += len(content)

    def _known(self) -> dict[str, dict[str, Any]]:
        """Return the lines of the list by file stem, without a truncated one."""
        path = self.folder / FETCHED
        found = {}
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                entry = orjson.loads(line)
                found[str(entry["file"]).partition(".")[0]] = entry
            except (orjson.JSONDecodeError, KeyError, TypeError):
                continue
        return found


def _suffix(content: bytes) -> str:
    """Return the file extension for an image or a NumPy array.

    Raises
    ------
    DataError
        If it is neither.
    """
    if content.startswith(_NUMPY):
        return ".npy"
    with opened(io.BytesIO(content)) as image:
        return f".{(image.format or 'png').lower()}"


# ---------------------------------------------------------------- data folders


def _into_folder(home: Path, downloads: Downloads) -> Fetched:
    """Download the files of indexes and records, and make them refer to the files."""
    indexes = {path: read_json(path) for path in sorted((home / "images").glob("*.json"))}
    for path, index in indexes.items():
        if not isinstance(index, dict):
            raise DataError(f"{path}: must hold an object")
    annotations = {
        path: records(path)
        for path in sorted((home / "annotations").glob("*.json*"))
        if b"://" in path.read_bytes()
    }
    stated = [
        value for index in indexes.values() for one in index.values() for value in _named(one)
    ]
    stated += [value for rows in annotations.values() for row in rows for value in _texts(row)]
    plain = [one for one in stated if isinstance(one, str) and one.startswith("http://")]
    if plain and not downloads.takes(plain[0]):
        downloads.failed.append(
            f"{pluralize(len(plain), 'address', 'addresses')} must begin with https://, such as "
            f"{plain[0][:100]}; --allow-private-urls permits http://"
        )
    paths = downloads.get(filter(downloads.takes, stated))
    names = {address: path.relative_to(home).as_posix() for address, path in paths.items()}
    for path, index in indexes.items():
        changed = {name: _completed(record, names) for name, record in index.items()}
        if changed != index:
            write_json(path, changed)
    for path, rows in annotations.items():
        renamed = [_renamed(dict(row), names) for row in rows]
        if path.suffix == ".jsonl":
            write_bytes(path, b"".join(orjson.dumps(row) + b"\n" for row in renamed))
        else:
            write_json(path, renamed)
    return downloads.done


def _named(record: Any) -> list[Any]:
    """Return the files of an image record, or its address if it names no file."""
    if not isinstance(record, dict):
        return []
    return [record.get("file") or record.get("url"), record.get("mask"), record.get("control")]


def _completed(record: Any, names: Mapping[str, str]) -> Any:
    """Return an image record with the downloaded files."""
    fields = zip(("file", "mask", "control"), _named(record), strict=False)
    found = {field: names[value] for field, value in fields if value in names}
    return {**record, **found} if found else record


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


# ---------------------------------------------------------------- questions


def _into_dataset(paths: Sequence[Path], out: Path, downloads: Downloads) -> Fetched:
    rows = [row for path in paths for row in records(path)]
    stated = (image for row in rows for image in row.get("images") or ())
    files = downloads.get(filter(downloads.takes, stated))
    if downloads.failed:
        raise DataError(
            f"{len(downloads.failed)} images cannot be fetched, the first: {downloads.failed[0]}; "
            "run the command again to resume"
        )
    with staged(out) as stage:
        (stage / MEDIA).mkdir()
        media = MediaFiles(stage)
        questions = []
        for row in rows:
            images = [media.add(_image(row, image, files)) for image in row.need("images")]
            wire = {**row, "images": images}
            if wire.get("question_type") == "scoring":
                wire["answer"] = row.get("answer_score", row.get("answer"))
            questions.append(question_from_wire(wire, row.number - 1))
        write_dataset(stage, questions, {"seed": None, "options": {}, "prompts": {}})
    shutil.rmtree(downloads.folder, ignore_errors=True)
    return downloads.done


def _image(row: Row, image: Any, files: Mapping[str, Path]) -> Path | bytes:
    """Return an image of a question: a downloaded file, bytes of a column, or a file in the
    questions' folder.
    """
    if isinstance(image, dict):
        image = image.get("bytes") or image.get("path")
    if isinstance(image, bytes):
        return image
    if not isinstance(image, str):
        raise row.fault("images", "must hold addresses, paths or images")
    if image in files:
        return files[image]
    if "://" in image:
        raise row.fault(
            "images", f"must be https:// or hf:// (see --allow-private-urls), got {image[:100]!r}"
        )
    return confined_path(row.path.parent, image, of="the questions")
