"""The features of a question's options, in the order as stored. Those of one prediction
are in ``features.py``.
"""

from functools import lru_cache
from pathlib import Path, PurePosixPath
from threading import Lock

from visualjudge.core.image_storage import image_at
from visualjudge.core.records import Fault, Pixels, Question, Size
from visualjudge.dataset.folder import CHANGED
from visualjudge.dataset.predictions_file import ShownPredictions
from visualjudge.judges.local.features import features_of
from visualjudge.vision.faults import faults_of, stated_faults
from visualjudge.vision.predictions import Prediction, type_of
from visualjudge.vision.raster.images import read_rgb
from visualjudge.vision.view import NOTHING, Features, Given

KEPT = 4096
"""Number of options whose features are cached; an option occurs in many questions."""


class QuestionFeatures:
    """The features of the options of a dataset's questions, computed once and cached.

    The cache key is what is assessed: media files for depth maps and whole images, and
    data for other predictions, which are the same in all encodings. Threads take turns,
    because concurrent questions share options.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)
        self._shown = ShownPredictions(root)
        self._given = lru_cache(maxsize=16)(self._read_given)
        self._features = lru_cache(maxsize=KEPT)(self._look)
        self._one_by_one = Lock()

    def options(self, question: Question) -> list[Features]:
        """Return the features of each option; empty if there is nothing to assess.

        Raises
        ------
        DataError
            If an image or a prediction cannot be read.
        """
        n = len(question.annotation_ids)
        kind = type_of(question.task)
        read_back = kind.file_field is not None
        drawn = question.images[-n:] if read_back else (None,) * n
        context = question.images[:-n] if read_back else question.images[:1]
        colours = question.encoding if read_back and not kind.is_image else ""
        place = question.task, question.image_id, context
        with self._one_by_one:
            return [
                self._features(place, name, image, colours)
                for name, image in zip(
                    question.annotation_ids, drawn, strict=True
                )
            ]

    def differences(
        self, question: Question, better: int
    ) -> tuple[tuple[Fault, ...], Size]:
        """Return the faults of a pair's worse option as if the ``better`` one (0 or 1)
        was the ground truth, and the (height, width) of the images; none of predictions
        that are drawn in colours.

        Raises
        ------
        DataError
            If an image or a prediction cannot be read.
        """
        supplied = self._given(question.images[:1]).image
        kind = type_of(question.task)
        if supplied is None or (
            kind.file_field is not None and not kind.is_image
        ):
            return (), (1, 1)
        size = supplied.shape[:2]
        if kind.is_image:
            options = [self._pixels(name) for name in question.images[-2:]]
            size = options[0].shape[:2]
            both: list[Prediction] = list(map(kind.record, options))
        else:
            both = [
                self._shown.prediction(question.task, name, size)
                for name in question.annotation_ids
            ]
        worse = both[1 - better]
        stated = faults_of(question.task, worse, both[better], None, supplied)
        return stated_faults(stated) or (), size

    def _look(
        self,
        place: tuple[str, str, tuple[str, ...]],
        annotation_id: str,
        image: str | None,
        colours: str,
    ) -> Features:
        task = place[0]
        stated = self._given(place[2][:1])
        if image is None:
            if stated.image is None:
                return NOTHING
            height, width = stated.image.shape[:2]
            prediction = self._shown.prediction(
                task, annotation_id, (height, width)
            )
            return features_of(task, prediction, stated)
        pixels = self._pixels(image)
        look = type_of(task).look_drawn
        return NOTHING if look is None else look(pixels, colours, stated)

    def _read_given(self, context: tuple[str, ...]) -> Given:
        return Given(self._pixels(context[0]) if context else None)

    def _pixels(self, name: str) -> Pixels:
        return read_rgb(image_at(self._root, name))


def changed(question: Question) -> bool:
    """Return whether predictions stored as data may no longer match the images."""
    named = any(
        PurePosixPath(image).name.startswith(CHANGED)
        for image in question.images
    )
    return named and not type_of(question.task).is_image
