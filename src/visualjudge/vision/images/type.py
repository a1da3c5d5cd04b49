"""The rows of restored, edited and generated images: their tasks, metrics, encodings
and errors, which are in the other files of this folder. What a row has is in
``vision/rows.py``.
"""

from dataclasses import replace
from typing import Any

from visualjudge.core.records import Pixels
from visualjudge.vision import fields
from visualjudge.vision.contexts import Prompts, mixed
from visualjudge.vision.images import (
    draw,
    errors,
    faults,
    features,
    record,
    score,
)
from visualjudge.vision.rows import (
    Encoding,
    ErrorType,
    Faults,
    Metric,
    Misreading,
    PredictionType,
    Task,
)
from visualjudge.vision.view import Features, Given, correlation


def goal(asset: Any, scene: Any, prompts: Prompts) -> list[str]:
    """Return the part named after the task, and the parts about the given images and
    the text prompt or instruction.
    """
    details = [
        ("masked", scene.masked),
        ("controlled", scene.control and scene.original),
        ("control_only", scene.control and not scene.original),
    ]
    sentences = [
        asset.part(scene.task.name),
        *(asset.part(name) for name, holds in details if holds),
    ]
    if mixed(prompts):
        sentences.append(asset.part("prompt_mixed"))
    elif prompts[0]:
        sentences.append(
            asset.part(
                "instruction" if scene.task.instructed else "text_prompt",
                {"prompt": prompts[0]},
            )
        )
    return sentences


def _look_drawn(pixels: Pixels, _stem: str, inputs: Given) -> Features:
    return features.image_look(record.WholeImage(pixels), inputs)


GENERATION = PredictionType(
    "generation",
    record.WholeImage,
    record.read,
    record.write,
    arrays=record.from_arrays,
    check=record.check,
    files=fields.named_file("image"),
    file_field="image",
    is_image=True,
    tasks=(
        Task(
            "generation_controllable",
            "controllable image generation",
            "generation",
        ),
        Task(
            "generation_editing",
            "image editing",
            "generation",
            instructed=True,
            edits=True,
        ),
        Task(
            "generation_inpainting_high_level",
            "high-level image inpainting",
            "generation",
            edits=True,
        ),
        Task(
            "generation_inpainting_low_level",
            "low-level image inpainting",
            "generation",
            edits=True,
        ),
        Task(
            "generation_t2i",
            "text-to-image generation",
            "generation",
            sourced=False,
        ),
    ),
    encodings=(
        Encoding(
            "generation",
            "pixel",
            "pixel",
            draw.show_image,
            draw.ImageStyle(),
            title="The output image",
        ),
    ),
    context=goal,
    look=features.image_look,
    look_drawn=_look_drawn,
)

RESTORATION = replace(
    GENERATION,
    name="restoration",
    tasks=(
        Task(
            "lowlevel-deblur", "image deblurring", "restoration", restored=True
        ),
        Task(
            "lowlevel-derain", "image deraining", "restoration", restored=True
        ),
        Task(
            "lowlevel-desnow", "image desnowing", "restoration", restored=True
        ),
        Task(
            "lowlevel-super-resolution",
            "image super-resolution",
            "restoration",
            restored=True,
        ),
        # Extensions: the document has no task for noise, or for several degradations
        Task(
            "lowlevel-denoise",
            "image denoising",
            "restoration",
            restored=True,
            extension=True,
        ),
        Task(
            "lowlevel-restore",
            "image restoration",
            "restoration",
            restored=True,
            extension=True,
        ),
    ),
    encodings=(replace(GENERATION.encodings[0], type="restoration"),),
    metrics=(
        Metric(
            "restoration",
            "ssim",
            score.ssim,
            how="SSIM of RGB in 8 bits, mean over channels (σ 1.5); it is the same if "
            "restored and clean images are exchanged",
            note=score.light_note,
            defaults={"window_sigma": score.WINDOW_SIGMA},
        ),
        Metric(
            "restoration",
            "psnr",
            score.psnr,
            how="PSNR of RGB in 8 bits; 15 dB is 0, 40 dB is 10; it is the same if "
            "restored and clean images are exchanged",
            note=score.light_note,
            defaults={
                "psnr_range": [
                    score.PSNR_FLOOR,
                    score.PSNR_FLOOR + score.PSNR_RANGE,
                ]
            },
        ),
    ),
    errors=(
        ErrorType(
            "restoration",
            "residual",
            errors.residual,
            errors.degraded_given,
            matched=errors.displaced(errors.residual, first=True),
        ),
        ErrorType(
            "restoration",
            "oversmoothing",
            errors.oversmoothing,
            matched=errors.displaced(errors.oversmoothing),
        ),
        ErrorType(
            "restoration",
            "noise",
            errors.pixel_noise,
            matched=errors.displaced(errors.pixel_noise),
        ),
        ErrorType(
            "restoration",
            "colour_shift",
            errors.colour_shift,
            matched=errors.displaced(errors.colour_shift),
        ),
        ErrorType(
            "restoration",
            "blocking",
            errors.blocking,
            matched=errors.displaced(errors.blocking),
        ),
    ),
    faults=Faults(faults.KINDS, faults.image_faults),
    misreadings=(
        Misreading(
            "channels are blue, green, red",
            lambda prediction, _truth: record.WholeImage(
                prediction.pixels[:, :, ::-1]
            ),
        ),
        Misreading(
            "the image was mirrored",
            lambda prediction, _truth: record.WholeImage(
                prediction.pixels[:, ::-1]
            ),
        ),
        Misreading(
            "images are upside down",
            lambda prediction, _truth: record.WholeImage(
                prediction.pixels[::-1]
            ),
        ),
        Misreading(
            "images are turned by 180 degrees",
            lambda prediction, _truth: record.WholeImage(
                prediction.pixels[::-1, ::-1]
            ),
        ),
        Misreading(
            "black and white are exchanged",
            lambda prediction, truth: record.WholeImage(
                prediction.pixels
                if correlation(prediction.pixels, truth.pixels) >= 0
                else 255 - prediction.pixels
            ),
        ),
    ),
)
