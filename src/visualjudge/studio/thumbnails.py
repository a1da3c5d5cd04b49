"""Images of a dataset for the page: the original files, and thumbnails at the size
shown. Where a dataset's images are is in ``core/image_storage.py``.
"""

import io
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from PIL import Image
from starlette.responses import FileResponse, Response

from visualjudge.core.errors import DataError
from visualjudge.core.image_storage import Part, Place, bytes_of, image_at
from visualjudge.vision.raster.images import opened, rgb_of

# Allowed widths of thumbnails, so that requests for other widths cannot fill the
# memory.
WIDTHS = (96, 160, 240, 320, 480, 640)
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
# Number of thumbnails in memory, at 20 to 150 KB each.
KEPT = 200
_QUALITY = 82
# Makes thumbnails in request order, so that none waits long; two at a time limit
# memory.
_MAKING = ThreadPoolExecutor(2, "studio-thumbnails")


def confined(root: Path, name: str) -> Place | None:
    """Return the file ``name`` of the dataset at ``root``, or None if it is outside the
    folder, missing or not an image.
    """
    if Path(name).suffix.lower() not in TYPES:
        return None
    try:
        return image_at(root, name)
    except DataError:
        return None


def image_response(place: Place) -> Response:
    """Return the image as stored in the dataset."""
    kind = TYPES[place.suffix.lower()]
    headers = {"cache-control": "private, max-age=600"}
    if isinstance(place, Part):
        return Response(bytes_of(place), media_type=kind, headers=headers)
    return FileResponse(place, media_type=kind, headers=headers)


def thumbnail(image: Place, width: int) -> bytes:
    """Return the thumbnail of ``image`` as JPEG, ``width`` pixels wide (or the image's
    own width if smaller). The most recent ones are kept in memory.

    Raises
    ------
    DataError
        If the image cannot be read.
    """
    stat = image.stat()
    return _MAKING.submit(
        _made, image, width, stat.st_mtime_ns, stat.st_size
    ).result()


@lru_cache(KEPT)
def _made(image: Place, width: int, _changed: int, _size: int) -> bytes:
    content = io.BytesIO()
    with opened(image) as file:
        file.draft(
            "RGB", (2 * width, 2 * width)
        )  # a large JPEG is decoded at a half to an eighth
        small = Image.fromarray(rgb_of(file))
        small.thumbnail((width, small.height), Image.Resampling.BOX)
    small.save(content, "JPEG", quality=_QUALITY, subsampling=0)
    return content.getvalue()
