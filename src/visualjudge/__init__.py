"""How far can a vision-language model be trusted as a judge of what vision models
produce?

Data flows from top to bottom, one package a step::

    core                   records, errors, tables of rows, files, seeds
    vision    IS JUDGED    a folder a type: boxes, masks, poses, depth, images
              ENCODE       a prediction as an image or a text: 53 encodings
              SCORE        a prediction against its ground truth, 0..10; errors
    formats                files of others: a file a format
    data      PREDICTIONS  data folders: reading, writing, importing
    prompts   PROMPT       versioned assets; prompt text lives nowhere else
    options                options of building, judging, measuring, declared once
    dataset   SAMPLE       groups, pairs, rankings; the dataset on disk; exports
    clients   ASK          OpenAI-compatible, Gemini, vLLM, …; retry, cache, limits
    replies   READ         a reply's value, or why it has none
    judges    JUDGE        a question, or a pair of edited images
    runs      VERDICTS     one judge over one dataset, journalled and resumable
    analysis  ANALYSE      how right, how biased, how consistent; report
    apps                   what stands on all that; apps/frontdoor: the functions below
    plugins                registering what the packages above are extended with
    studio                 the browser
    cli                    the command line, a layer over the front door

In scripts and notebooks::

    import visualjudge as vj

    data = vj.open_data("data")
    dataset = vj.build(data, "dataset", seed=42)
    run = vj.judge(dataset, vj.client("api", model="gpt-4o-mini"), "runs/mini", swap=True)
    vj.analyse([run]).report("report.html")

The names below are imported when first used, so that ``import visualjudge`` stays
quick; their types are in ``__init__.pyi``, which ``tools/docs_pages.py`` makes.
"""

import importlib
from typing import Any

__version__ = "1.2.0.dev0"


_NAMES = {
    "visualjudge.formats.importers": ("Importer",),
    "visualjudge.formats.python_samples": ("from_supervision",),
    "visualjudge.formats.samples": ("Sample",),
    "visualjudge.clients.base": ("Client",),
    "visualjudge.dataset.exports": ("Format",),
    "visualjudge.dataset.folder": ("Dataset", "load_dataset"),
    "visualjudge.vision.encode": ("Encoded", "encode", "encodings"),
    "visualjudge.apps.adopt.adopt": ("Adopted", "adopt"),
    "visualjudge.apps.frontdoor.data": (
        "Data",
        "build",
        "import_samples",
        "open_data",
    ),
    "visualjudge.apps.frontdoor.decisions": ("card", "correct", "label"),
    "visualjudge.apps.frontdoor.judge": ("client", "judge", "judge_async"),
    "visualjudge.apps.frontdoor.opened_run": ("Run", "open_run"),
    "visualjudge.apps.frontdoor.studies": ("Study", "analyse"),
    "visualjudge.apps.planning.study_designs": ("plan",),
    "visualjudge.vision.score": ("score",),
    "visualjudge.plugins": (
        "register_backend",
        "register_encoding",
        "register_export",
        "register_importer",
        "register_judge",
        "register_metric",
        "register_probe",
        "register_prompts",
        "register_question_judge",
        "register_task",
        "register_type",
    ),
    "visualjudge.vision.predictions": ("Prediction",),
    "visualjudge.vision.rows": (
        "Encoding",
        "ErrorType",
        "Metric",
        "PredictionType",
        "Ranked",
        "Task",
    ),
    "visualjudge.vision.base": ("Mark",),
    "visualjudge.vision.drawing.encoded": ("Scene",),
    "visualjudge.vision.view": ("Given",),
    "visualjudge.replies": ("read_reply",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

FOR_PLUGINS = frozenset(
    ("Adopted", "Encoded", "Format", "Given", "Mark", "Ranked", "Scene")
)
"""Types of arguments and rows, which only annotations in plug-ins name; not listed."""
__all__ = tuple(sorted((*(_HOMES.keys() - FOR_PLUGINS), "__version__")))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'visualjudge' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    if callable(value) and not isinstance(value, type):
        value = importlib.import_module("visualjudge.arguments").checked(
            value, name
        )
        value.__module__ = __name__  # where pickle finds it
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
