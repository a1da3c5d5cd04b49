"""The registry of importers. Each row becomes a command of ``visualjudge import``, and
plug-ins can add rows. Their command is in ``cli/import_.py``.

The options of a command are the parameters of its reader. Their help comes from the
reader's docstring (:mod:`visualjudge.cli.import_`).
"""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from visualjudge.core.errors import UsageError
from visualjudge.core.registry import Registry

if TYPE_CHECKING:
    from visualjudge.formats.samples import Samples


@dataclass(frozen=True, slots=True)
class Importer:
    """Importer of one file format.

    Attributes
    ----------
    name
        Name of the command, such as "flow".
    read
        Function (task, gt, pred, images, *, ...) → an iterator of
        :class:`~visualjudge.formats.samples.Sample` and
        :class:`~visualjudge.core.errors.Problem`, or its location as "module:function".
        ``gt`` and ``images`` are the text that the user gave, or a path if annotated as
        one. ``pred`` is None if the ground truth is its own prediction.

        Further parameters become options of the command: each needs a type, and is
        required unless it has a default. A ``Sequence`` may be given several times, and
        a ``Mapping[str, str]`` is written ``OURS=THEIRS``. The first paragraph of a
        parameter's docstring entry is its help. ``resize_pred`` is the shared option of
        that name; ``scratch`` is a folder that is removed after the import; ``source``
        is the name that the user gave, or None.
    types
        Names of the prediction types that the importer reads.
    help, example
        Shown by ``--help``.
    each
        Parameters that the user gives once per source; predictions are read from the
        first.
    """

    name: str
    read: Callable[..., Samples] | str
    types: tuple[str, ...]
    help: str
    example: str = ""
    each: tuple[str, ...] = ("pred",)

    @property
    def reader(self) -> Callable[..., Samples]:
        """The function ``read``, imported on first use."""
        if not isinstance(self.read, str):
            return self.read
        module, _, name = self.read.partition(":")
        result: Callable[..., Samples] = getattr(
            importlib.import_module(module), name
        )
        return result

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Parameters of the reader by name."""
        return inspect.signature(self.reader).parameters

    def sources(
        self, names: Sequence[str], each: Sequence[object]
    ) -> Sequence[str | None]:
        """Return the name of each source, one for each of its files ``each``, or for
        the ground truth alone; None where a table names them.

        Raises
        ------
        UsageError
            If there are more or fewer names than files, or a name stands for two.
        """
        of_table = "source" in self.parameters
        if not names and (of_table or not each):
            return [None if of_table else "truth"] * max(1, len(each))
        if not names:
            raise UsageError(
                f"`source` is missing: the name of each `{self.each[0]}`"
            )
        if len(names) != max(1, len(each)):
            raise UsageError(
                f"`source` must be given once for each `{self.each[0]}`, in the same "
                f"order, got {len(names)} for {len(each)}"
            )
        if len(set(names)) < len(names) and not of_table:
            name, _ = Counter(names).most_common(1)[0]
            raise UsageError(f"`source` must differ, got {name!r} twice")
        return names


_OWN = (
    Importer(
        "coco",
        "visualjudge.formats.coco:coco",
        ("detection", "instance", "keypoint", "semantic"),
        "COCO instances, keypoints or panoptic, and results; LVIS. Prints COCO's AP if "
        "there are confidences.",
        "visualjudge import coco --task keypoint --gt person_keypoints.json --pred "
        "pose.json --images val2017 --source vitpose --out data",
        each=("pred", "pred_pngs"),
    ),
    Importer(
        "voc",
        "visualjudge.formats.voc:voc",
        ("detection",),
        "PASCAL VOC XML; predictions are a folder of XML or of VOC's *_CLASS.txt "
        "results. Difficult objects are treated as crowds.",
        "visualjudge import voc --gt Annotations --pred results/Main --images "
        "JPEGImages --source yolo --out data",
    ),
    Importer(
        "yolo",
        "visualjudge.formats.yolo:yolo",
        ("detection", "instance"),
        "YOLO text files of boxes or polygons; lines of predictions may end with a "
        "confidence.",
        "visualjudge import yolo --task object_detection --gt labels/val --pred "
        "runs/labels --images images/val --classes data.yaml --source yolo11 --out "
        "data",
    ),
    Importer(
        "shapes",
        "visualjudge.formats.labelling_tools:shapes",
        ("detection", "instance"),
        "Labelling tools: labelme, Label Studio (JSON), CVAT (Datumaro JSON).",
        "visualjudge import shapes --format labelme --task instance_segmentation "
        "--gt labels --pred out --images photos --source sam --out data",
    ),
    Importer(
        "label-map",
        "visualjudge.formats.label_maps:label_maps",
        ("semantic",),
        "Label-map PNGs with a class table: ADE20K, Cityscapes, CamVid and others.",
        "visualjudge import label-map --gt 'gtFine/*_gtFine_labelIds.png' --pred "
        "'out/*.png' --images 'leftImg8bit/*_leftImg8bit.png' --classes classes.csv "
        "--source segformer --out data",
    ),
    Importer(
        "referring",
        "visualjudge.formats.referring:referring",
        ("referring",),
        "Referring expressions: RefCOCO's refs as JSON or pickle, ReferIt-like JSON, "
        "or plain rows.",
        "visualjudge import referring --gt refs.json --instances instances.json "
        "--pred masks.json --images train2014 --source lisa --out data",
    ),
    Importer(
        "depth",
        "visualjudge.formats.depth_maps:depth_maps",
        ("depth",),
        "Depth or disparity maps: npy, npz, 16-bit PNG, PFM.",
        "visualjudge import depth --gt 'gt/*.png' --gt-scale 1/256 --pred "
        "'midas/*.pfm' --pred-inverse --align affine --images rgb --source midas "
        "--out data",
    ),
    Importer(
        "pairs",
        "visualjudge.formats.image_pairs:image_pairs",
        ("restoration",),
        "Restorations: degraded, restored and clean images.",
        "visualjudge import pairs --task lowlevel-deblur --images blurred --pred "
        "restored --gt sharp --source hinet --out data",
    ),
    Importer(
        "hugging-face",
        "visualjudge.formats.hugging_face:hugging_face",
        ("detection",),
        "Hugging Face data sets on disk: a folder of save_to_disk, or Parquet files, "
        "with images embedded.",
        "visualjudge import hugging-face --task object_detection --gt cppe5 --pred "
        "detr --source detr --out data",
    ),
    Importer(
        "outputs",
        "visualjudge.formats.outputs:outputs",
        ("generation", "restoration"),
        "Generated or restored images with scores given by people or a metric.\n\n"
        "Columns: output, score; optional: image, image_id, prompt, source, mask, "
        "control.",
        "visualjudge import outputs --task generation_t2i --table ratings.csv "
        "--root outputs --score-range 1 5 --source sdxl --out data",
        each=("table",),
    ),
)

IMPORTERS: Registry[str, Importer] = Registry(
    "importer", {row.name: row for row in _OWN}, home=f"{__name__}:IMPORTERS"
)


def tasks_of(importer: Importer) -> list[str]:
    """Return the tasks that an importer can read."""
    from visualjudge.vision.tasks import TASKS

    return [task.name for task in TASKS.values() if task.type in importer.types]
