"""Images behind addresses, in data folders and for question sets. Files on disk are in
``files.py``.
"""

import asyncio
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from visualjudge.apps.adopt.files import contents
from visualjudge.clients.image_download import fetch_image
from visualjudge.clients.masked_secrets import public_url
from visualjudge.core.atomic import write_bytes
from visualjudge.core.errors import DataError, UsageError
from visualjudge.core.untrusted import confined_target
from visualjudge.vision.raster.images import opened

MOST_BYTES = 20 * 10**9
"""Bytes after which a call downloads no further file."""
AT_ONCE = 8
INDEXES = ("images", "images_v2")
ANNOTATIONS = ("annotations", "data_json_v2")
ADDRESS = re.compile(r"(https?|hf)://\S+")
_HUB = re.compile(
    r"hf://(?P<kind>datasets/|spaces/|)(?P<name>[^/@]+/[^/@]+)(?:@(?P<rev>[^/]+))?/"
)
Tick = Callable[[int, int], None]


@dataclass(slots=True)
class Fetched:
    """Numbers of files that were downloaded and that were there already, bytes
    downloaded, a line per failure, and the file of each address.
    """

    downloaded: int = 0
    kept: int = 0
    bytes: int = 0
    failed: list[str] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)


def https_of(address: str) -> str:
    """Convert an ``hf://`` address to the ``https://`` address of the file.

    Examples
    --------
    >>> https_of("hf://datasets/org/name@main/images/1.png")
    'https://huggingface.co/datasets/org/name/resolve/main/images/1.png'
    """
    if not address.startswith("hf://"):
        return address
    hub = _HUB.match(address)
    if hub is None or not address[hub.end() :]:
        raise DataError(
            f"{public_url(address)[:200]}: must be hf://datasets/OWNER/NAME/FILE"
        )
    return (
        f"https://huggingface.co/{hub['kind']}{hub['name']}/resolve/{hub['rev'] or 'main'}/"
        f"{address[hub.end() :]}"
    )


def fetch(
    data: str | Path,
    *,
    allow_private: bool = False,
    tick: Tick = lambda done, total: None,
) -> Fetched:
    """Download what the image indexes and records of a data folder name by ``https://``
    and ``hf://`` addresses into ``files/fetched``, and name the files instead. A second
    call downloads what is missing.

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
        raise UsageError(
            f"{home}: must be a data folder, or questions.json with `out`"
        )
    files = {
        confined_target(
            home, f"{folder}/{path.name}", of="the data folder"
        ): folder in INDEXES
        for folder in (*INDEXES, *ANNOTATIONS)
        for path in sorted((home / folder).glob("*.json*"))
    }
    before = {path: contents(path) for path in files}
    done = download(
        texts_in([*before.values()]), home, "files/fetched", allow_private, tick
    )
    names = {
        address: path.relative_to(home).as_posix()
        for address, path in done.paths.items()
    }
    for path, is_index in files.items():
        after = _renamed(before[path], names, is_index)
        if after != before[path]:
            lines = after if path.suffix == ".jsonl" else [after]
            write_bytes(
                path, b"".join(orjson.dumps(line) + b"\n" for line in lines)
            )
    return done


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def _renamed(value: Any, names: Mapping[str, str], is_index: bool) -> Any:
    """Return the value with addresses replaced by files; an index keeps its ``url``
    beside the ``file``."""
    if isinstance(value, list):
        return [_renamed(item, names, is_index) for item in value]
    if isinstance(value, dict):
        files = {
            name: _renamed(item, names, is_index)
            for name, item in value.items()
        }
        url = value.get("url")
        if is_index and isinstance(url, str) and url in names:
            files = {
                **files,
                "url": url,
                "file": files.get("file") or files["url"],
            }
        return files
    return names.get(value, value) if isinstance(value, str) else value


def download(
    texts: Iterable[str],
    home: Path,
    folder: str,
    allow_private: bool,
    tick: Tick,
) -> Fetched:
    """Download the addresses among ``texts`` into a folder of ``home``, each to a file
    named by the address; files that are there stay.
    """
    wanted = [text for text in dict.fromkeys(texts) if ADDRESS.fullmatch(text)]
    if wanted:
        place = confined_target(
            home, f"{folder}/x", of="the data folder"
        ).parent
        place.mkdir(parents=True, exist_ok=True)
        return asyncio.run(_download(wanted, place, allow_private, tick))
    return Fetched()


async def _download(
    wanted: Sequence[str], place: Path, private: bool, tick: Tick
) -> Fetched:
    done = Fetched()
    rest = iter(wanted)
    there = {  # as we write them: the folder may be a stranger's
        path.stem: path
        for path in place.iterdir()
        if path.suffix[1:].isalnum()
        and path.is_file()
        and not path.is_symlink()
    }

    async def work() -> None:
        for address in rest:
            stem = hashlib.sha256(address.encode()).hexdigest()[:20]
            try:
                if stem in there:
                    done.paths[address] = there[stem]
                    done.kept += 1
                else:
                    done.paths[address] = await _one(
                        address, place / stem, private, done
                    )
                    done.downloaded += 1
            except DataError as error:
                done.failed.append(str(error))
            tick(len(done.paths) + len(done.failed), len(wanted))

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return done


async def _one(
    address: str, stem: Path, allow_private: bool, done: Fetched
) -> Path:
    displayed = public_url(address)[:200]
    if address.startswith("http://") and not allow_private:
        raise DataError(
            f"{displayed}: must begin with https://; `allow_private_urls` permits "
            "http://"
        )
    if done.bytes > MOST_BYTES:
        raise DataError(
            f"{displayed}: not fetched: {MOST_BYTES / 1e9:g} GB are reached"
        )
    content = await fetch_image(https_of(address), allow_private=allow_private)
    done.bytes += len(content)
    suffix = ".npy"
    if not content.startswith(b"\x93NUMPY"):
        with opened(io.BytesIO(content), displayed) as image:
            suffix = f".{(image.format or 'png').lower()}"
    path = stem.with_name(stem.name + suffix)
    write_bytes(path, content)
    return path
