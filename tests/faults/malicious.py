"""Records and files that somebody wrote to break a build, by name: each is one among
good ones of a data folder.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from making import detection, photograph
from visualjudge.vision.raster.images import write_png

Json = dict[str, Any]
SIZE = (48, 64)
RLE = {"size": list(SIZE), "counts": [100, 50, 48 * 64 - 150]}
Case = Callable[[Path], None]
"""Adds its one bad record (or file) to a data folder."""

_GOOD: dict[str, Callable[[int], Json]] = {
    "object_detection": lambda k: {
        "detections": [{"label": "dog", "bbox": [5 + k, 6, 30 + k, 40]}]
    },
    "instance_segmentation": lambda k: {
        "instances": [{"label": "dog", "segmentation": _rle(k)}]
    },
    "keypoint": lambda k: {
        "persons": [{"keypoints": [float(v % 40 + k) for v in range(51)]}]
    },
    "depth_estimation": lambda k: {"depth": f"d{k}.npy"},
    "lowlevel-deblur": lambda k: {"image": f"p{k}.png"},
}


TASKS = tuple(_GOOD)


def _rle(k: int) -> Json:
    return {"size": list(SIZE), "counts": [100 + k, 50, 48 * 64 - 150 - k]}


def good_folder(root: Path) -> Path:
    """Three good records of five tasks, of one image."""
    for name in ("annotations", "images"):
        (root / name).mkdir(parents=True)
    write_png(root / "photo.png", photograph(0, SIZE))
    for k in range(3):
        np.save(
            root / f"d{k}.npy",
            (np.linspace(1, 5, SIZE[0] * SIZE[1]) ** (k + 1))
            .reshape(SIZE)
            .astype(np.float32),
        )
        write_png(root / f"p{k}.png", photograph(k, SIZE))
    for task in _GOOD:
        add_records(
            root, task, [record(task, k, _GOOD[task](k)) for k in range(3)]
        )
        (root / f"images/{task}.json").write_text(
            '{"photo": {"file": "photo.png"}}'
        )
    return root


def record(task: str, number: int, prediction: Json, **fields: Any) -> Json:
    return (
        detection(number, float(number + 1), task=task)
        | {"prediction": prediction}
        | fields
    )


def add_records(root: Path, task: str, records: list[Json]) -> None:
    (root / f"annotations/{task}_annotations.json").write_text(
        json.dumps(records)
    )


def _append(root: Path, task: str, text: str) -> None:
    """One more record, as it is written here."""
    path = root / f"annotations/{task}_annotations.json"
    path.write_bytes(
        path.read_bytes().rstrip()[:-1]
        + b", "
        + text.encode("utf-8", "surrogatepass")
        + b"]"
    )


def _with(
    task: str,
    prediction: Any,
    files: Callable[[Path], None] | None = None,
    **fields: Any,
) -> Case:
    def case(root: Path) -> None:
        if files is not None:
            files(root)
        _append(root, task, json.dumps(record(task, 9, prediction, **fields)))

    return case


def _raw(task: str, text: str) -> Case:
    """As :func:`_with`, with ``@`` in a good record's score replaced by ``text``."""

    def case(root: Path) -> None:
        wire = json.dumps(record(task, 9, _GOOD[task](0), metadata={"x": "@"}))
        _append(root, task, wire.replace('"@"', text))

    return case


# ---------------------------------------------------------------- numbers, texts, paths


def _numbers() -> Iterator[tuple[str, Case]]:
    odd: dict[str, Any] = {
        "text": "7",
        "list": [7],
        "object": {"a": 7},
        "10**400": 10**400,
        "1e308": 1e308,
        "-1e308": -1e308,
        "nan": float("nan"),
        "inf": float("inf"),
        "true": True,
    }
    for name, value in odd.items():
        yield (
            f"score of a box is {name}",
            _with(
                "object_detection",
                {
                    "detections": [
                        {"label": "dog", "bbox": [1, 1, 9, 9], "score": value}
                    ]
                },
            ),
        )
        yield (
            f"corner of a box is {name}",
            _with(
                "object_detection",
                {"detections": [{"label": "dog", "bbox": [1, 1, 9, value]}]},
            ),
        )
        yield (
            f"keypoint is {name}",
            _with(
                "keypoint", {"persons": [{"keypoints": [value] + [1.0] * 50}]}
            ),
        )
        yield (
            f"area is {name}",
            _with(
                "keypoint",
                {"persons": [{"keypoints": [1.0] * 51, "area": value}]},
            ),
        )
        yield (
            f"scale is {name}",
            _with("depth_estimation", {"depth": "d0.npy", "scale": value}),
        )
        yield (
            f"final_score is {name}",
            _with(
                "object_detection",
                _GOOD["object_detection"](0),
                final_score=value,
            ),
        )
    yield (
        "a number of a million digits",
        _raw("object_detection", "1" * 1_000_000),
    )
    yield (
        "a box of 1e308",
        _with(
            "object_detection",
            {
                "detections": [
                    {"label": "dog", "bbox": [-1e308, -1e308, 1e308, 1e308]}
                ]
            },
        ),
    )


def _texts() -> Iterator[tuple[str, Case]]:
    odd = {
        "NUL": "a\0b",
        "a megabyte": "x" * 2**20,
        "right to left": "\u202edog",
        "HTML": "<img src=x onerror=alert(1)>",
    }
    for name, text in odd.items():
        for field in ("annotation_id", "source", "prompt", "error_type"):
            yield (
                f"{field} holds {name}",
                _with(
                    "object_detection",
                    _GOOD["object_detection"](0),
                    **{field: text},
                ),
            )
        yield (
            f"label holds {name}",
            _with(
                "object_detection",
                {"detections": [{"label": text, "bbox": [1, 1, 9, 9]}]},
                class_of_interest=[text],
            ),
        )
    yield "lone surrogate", _raw("object_detection", '"\\ud800"')
    yield (
        "lone surrogate in an id",
        lambda root: _append(
            root,
            "object_detection",
            json.dumps(record("object_detection", 9, {})).replace(
                "a09", "\\udfff"
            ),
        ),
    )
    yield "deep metadata", _raw("object_detection", "[" * 5_000 + "]" * 5_000)


def _paths() -> Iterator[tuple[str, Case]]:
    for name in (
        "../outside.png",
        "/etc/passwd",
        "C:\\x.png",
        "\\\\host\\x.png",
        "a\0.png",
        "http://127.0.0.1/x.png",
        ".",
    ):
        yield f"path {name!r}", _with("lowlevel-deblur", {"image": name})

    def link(target: str) -> Callable[[Path], None]:
        return lambda root: (root / "link.png").symlink_to(target)

    for target in ("/etc/passwd", "link.png", "/dev/zero"):
        yield (
            f"link to {target}",
            _with("lowlevel-deblur", {"image": "link.png"}, link(target)),
        )
    yield (
        "FIFO",
        _with(
            "lowlevel-deblur",
            {"image": "pipe.png"},
            lambda root: os.mkfifo(root / "pipe.png"),
        ),
    )
    yield (
        "annotation_id leads out",
        _with("lowlevel-deblur", {"image": "p0.png"}, annotation_id="../../x"),
    )


# ---------------------------------------------------------------- files


def _edited(
    task: str, edit: Callable[[bytes], bytes], suffix: str = ".json"
) -> Case:
    def case(root: Path) -> None:
        path = root / f"annotations/{task}_annotations.json"
        content = edit(path.read_bytes())
        path.unlink()
        path.with_suffix(suffix).write_bytes(content)

    return case


def _files() -> Iterator[tuple[str, Case]]:
    task = "object_detection"
    yield "BOM", _edited(task, lambda raw: b"\xef\xbb\xbf" + raw)
    yield "UTF-16", _edited(task, lambda raw: raw.decode().encode("utf-16"))
    yield "CRLF", _edited(task, lambda raw: raw.replace(b", ", b",\r\n"))
    yield (
        "JSONL named .json",
        _edited(
            task,
            lambda raw: b"\n".join(
                json.dumps(x).encode() for x in json.loads(raw)
            ),
        ),
    )
    yield "double keys", _raw(task, '1, "final_score": 3')
    yield (
        "50,000 escaped quotes",
        _edited(task, lambda raw: raw[:-1] + b', {"a": "' + b'\\"' * 50_000),
    )
    yield (
        "50,000 escaped quotes outside",
        _edited(task, lambda raw: raw[:-1] + b'\\"' * 50_000),
    )
    yield (
        "one malformed record",
        lambda root: _append(root, task, '{"annotation_id": ,}'),
    )
    yield (
        "garbage between records",
        lambda root: _append(root, task, "garbage, {}"),
    )
    yield "cut at the end", _edited(task, lambda raw: raw[:-30])
    yield (
        "a malformed line",
        _edited(
            task,
            lambda raw: b"\n".join(
                [*(json.dumps(x).encode() for x in json.loads(raw)), b'{"a": '],
            ),
            ".jsonl",
        ),
    )
    yield (
        "images file of another kind",
        lambda root: (
            (root / "images/keypoint.json").write_text("[" * 100_000) and None
        ),
    )
    yield (
        "no parquet",
        _edited(task, lambda raw: b"PAR1" + raw[:100] + b"PAR1", ".parquet"),
    )


# ---------------------------------------------------------------- masks


def _mask(segmentation: Any) -> Case:
    return _with(
        "instance_segmentation",
        {"instances": [{"label": "dog", "segmentation": segmentation}]},
    )


def _masks() -> Iterator[tuple[str, Case]]:
    for side in (10**5, 10**9, 2**62, -5, 0):
        yield (
            f"RLE of {side}²",
            _mask({"size": [side, side], "counts": [side * side]}),
        )
    yield (
        "RLE counts overflow",
        _mask({"size": list(SIZE), "counts": [2**63, 2**63]}),
    )
    yield (
        "RLE counts wrap round",
        _mask({"size": list(SIZE), "counts": [2**62] * 4 + [48 * 64]}),
    )
    yield "RLE counts do not add up", _mask({"size": list(SIZE), "counts": [5]})
    yield "RLE counts are text", _mask({"size": list(SIZE), "counts": ["5"]})
    yield (
        "compressed counts are long",
        _mask({"size": list(SIZE), "counts": "o" * 100_000 + "0"}),
    )
    yield (
        "compressed counts are no code",
        _mask({"size": list(SIZE), "counts": "\x7f\xff"}),
    )
    yield (
        "compressed counts are cut",
        _mask({"size": list(SIZE), "counts": "oooo"}),
    )
    yield (
        "a polygon of a million points",
        _mask([[float(k % 64) for k in range(2_000_000)]]),
    )
    yield (
        "a polygon of 90,000 long edges",
        _mask([[float((k % 2) * 60) for k in range(180_000)]]),
    )
    for power in (6, 7, 9, 12, 100, 308):
        yield (
            f"a polygon to 1e{power}",
            _mask([[0, 0, 10.0**power, 0, 0, 10.0**power]]),
        )
    yield "a polygon to 10**400", _mask([[0, 0, 10**400, 0, 0, 5]])
    yield "a polygon with nan", _mask([[0, 0, float("nan"), 0, 0, 5]])
    yield "a polygon of two points", _mask([[0, 0, 5, 5]])
    yield "a polygon of texts", _mask([["0", "0", "5", "5", "5", "0"]])
    yield "nested polygons", _mask([[[0, 0], [5, 5], [5, 0]]])


# ---------------------------------------------------------------- images


def _png(
    width: int,
    height: int,
    *,
    bits: int = 1,
    chunks: bytes = b"",
    rows: int | None = None,
) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

    packer = zlib.compressobj(9)
    row = bytes(1 + (width * bits + 7) // 8)
    count = min(height, 2_000) if rows is None else rows
    data = b"".join(packer.compress(row) for _ in range(count)) + packer.flush()
    head = chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    )
    return (
        b"\x89PNG\r\n\x1a\n"
        + head
        + chunks
        + chunk(b"IDAT", data)
        + chunk(b"IEND", b"")
    )


def _text_bomb() -> bytes:
    data = b"k\0\0" + zlib.compress(bytes(64 * 2**20), 9)
    return (
        struct.pack(">I", len(data))
        + b"zTXt"
        + data
        + struct.pack(">I", zlib.crc32(b"zTXt" + data))
    )


def _saved(kind: str, mode: str = "RGB", **options: Any) -> bytes:
    held = io.BytesIO()
    Image.fromarray(photograph(1, SIZE)).convert(mode).save(
        held, kind, **options
    )
    return held.getvalue()


def _image(content: Callable[[], bytes], name: str = "bad.png") -> Case:
    return _with(
        "lowlevel-deblur",
        {"image": name},
        lambda root: (root / name).write_bytes(content()) and None,
    )


def _images() -> Iterator[tuple[str, Case]]:
    yield "a PNG of 50,000²", _image(lambda: _png(50_000, 50_000))
    yield "a PNG of 13,312²", _image(lambda: _png(13_312, 13_312))
    yield "a PNG of 2**31", _image(lambda: _png(2**31 - 1, 2**31 - 1, rows=1))
    for kind in ("PNG", "JPEG", "BMP", "TIFF", "GIF", "WEBP"):
        for share in (0.1, 0.6):
            yield (
                f"a {kind} cut at {share:.0%}",
                _image(
                    lambda kind=kind, share=share: _saved(kind)[
                        : int(len(_saved(kind)) * share)
                    ]
                ),
            )
    yield (
        "a PNG with a text bomb",
        _image(lambda: _png(*SIZE[::-1], chunks=_text_bomb())),
    )
    yield (
        "a PNG of 100,000 chunks",
        _image(
            lambda: _png(*SIZE[::-1], chunks=b"\0\0\0\0abCd\0\0\0\0" * 100_000)
        ),
    )
    yield (
        "bad EXIF",
        _image(
            lambda: _saved(
                "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff" + b"\xff" * 50
            )
        ),
    )
    yield (
        "SVG",
        _image(
            lambda: (
                b"<svg "
                b'xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
            )
        ),
    )
    yield "a float TIFF", _image(lambda: _saved("TIFF", "F"), "bad.tif")
    yield (
        "PostScript named .png",
        _image(
            lambda: (
                b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(x) run\n"
            )
        ),
    )
    yield "an empty file", _image(lambda: b"")
    yield "an original of 50,000²", _original(lambda: _png(50_000, 50_000))
    yield "an original that is cut", _original(lambda: _saved("PNG")[:-2_000])


def _original(content: Callable[[], bytes]) -> Case:
    def case(root: Path) -> None:
        (root / "bad.png").write_bytes(content())
        index = {"photo": {"file": "photo.png"}, "bad": {"file": "bad.png"}}
        (root / "images/object_detection.json").write_text(json.dumps(index))
        _append(
            root,
            "object_detection",
            json.dumps(
                record(
                    "object_detection", 9, {"detections": []}, image_id="bad"
                )
            ),
        )

    return case


# ---------------------------------------------------------------- arrays


def _npy(shape: Any, dtype: str = "<f4", data: bytes = b"\0" * 64) -> bytes:
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header) + 1)
        + header
        + b"\n"
        + data
    )


def _npz(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return held.getvalue()


def _array(content: Callable[[], bytes], name: str = "bad.npy") -> Case:
    return _with(
        "depth_estimation",
        {"depth": name},
        lambda root: (root / name).write_bytes(content()) and None,
    )


def _saved_array(array: Any) -> bytes:
    held = io.BytesIO()
    np.save(held, array)
    return held.getvalue()


def _arrays() -> Iterator[tuple[str, Case]]:
    yield (
        "a pickle",
        _array(lambda: _saved_array(np.array([{"a": 1}], dtype=object))),
    )
    for shape in (
        "(100000, 100000)",
        "(-5, 5)",
        "(2**62, 2**62)",
        "(1e9, 1)",
        "()",
        "(48,)",
        "(1,) * 10**9",
        "48, 64, 9999",
    ):
        yield f"npy of shape {shape}", _array(lambda shape=shape: _npy(shape))
    for dtype in (
        "<c8",
        "<U5",
        "|S5",
        "<M8[s]",
        "|O",
        "<f16",
        "[('a', '<f4')]",
    ):
        yield (
            f"npy of dtype {dtype}",
            _array(lambda dtype=dtype: _npy(SIZE, dtype, b"\0" * 200_000)),
        )
    yield (
        "npy with a long header",
        _array(lambda: _npy("(" * 30_000 + ")" * 30_000)),
    )
    yield "npy cut", _array(lambda: _saved_array(np.ones(SIZE))[:-100])
    yield (
        "npz cut",
        _array(
            lambda: _npz(a__npy=_saved_array(np.ones(SIZE)))[:-60], "bad.npz"
        ),
    )
    yield (
        "npz bomb",
        _array(
            lambda: _npz(a__npy=_npy((40_000, 40_000), "<f4", bytes(2**28))),
            "bad.npz",
        ),
    )
    yield "npz without arrays", _array(lambda: _npz(a__txt=b"x"), "bad.npz")
    yield (
        "npz with a broken array",
        _array(lambda: _npz(a__npy=b"nonsense"), "bad.npz"),
    )
    for size in ("99999 99999", "-1 -1", "2e9 1", "9" * 5_000, ""):
        yield (
            f"PFM of {size[:12]!r}",
            _array(
                lambda size=size: f"Pf\n{size}\n-1.0\n".encode() + bytes(64),
                "bad.pfm",
            ),
        )


@cache
def cases() -> dict[str, Case]:
    """Every case by name."""
    kinds = (_numbers, _texts, _paths, _files, _masks, _images, _arrays)
    return {name: case for kind in kinds for name, case in kind()}
