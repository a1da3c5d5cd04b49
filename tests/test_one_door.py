"""Whatever comes from a folder is a stranger's: ``core.untrusted`` opens every file,
because it knows the place and the bounds of each kind.
"""

from __future__ import annotations

import ast

from package_sources import ROOT, SOURCES, nodes
from test_house_rules import statements

READERS = {
    *(
        "open",
        "read_bytes",
        "read_text",
        "ZipFile",
        "load_workbook",
        "copyfile",
        "copy2",
    ),
    *("Image.open", "np.load", "np.loadtxt", "np.fromfile", "tarfile.open"),
    *(
        "pl.read_*",
        "pl.scan_*",
        "OmegaConf.load",
        "ElementTree.parse",
        "cv2.imread",
    ),
    *("write_bytes", "write_text"),
}
OWN = ("__file__", "files(", "scratch", "stage", "partial")
"""What names a file of the package, or a new one of ours."""
ALLOWED = {
    "core/untrusted.py": {
        "open(path, 'rb', opener=_without_waiting)": "the door",
        "os.open(path, flags | getattr(os, 'O_NONBLOCK', 0))": "the door",
        "zipfile.ZipFile(file)": "the door",
        "statm.read_text()": "of the system",
        "os.open(os.devnull, os.O_WRONLY)": "/dev/null",
    },
    "core/checksums.py": {
        "file.open('rb')": "reads in parts, and shows nothing"
    },
    "core/image_storage.py": {
        "place.read_bytes()": "an image in a file that is open",
        "self.read_bytes()": "an image in a file that is open",
        "tarfile.open(fileobj=file, mode='r:')": "of an opened file",
    },
    "core/output_files.py": {
        "(default_cache_dir() / 'outputs').read_bytes()": "a list of ours",
        "(default_cache_dir() / 'outputs').open('ab')": "a list of ours",
    },
    "core/parquet.py": {
        "pl.scan_parquet(source, glob=False, hive_partitioning=False)": "checked before",
        "pl.read_csv(path, separator=separator, quote_char=quote, infer_schema=False)": (
            "checked before"
        ),
        "pl.read_parquet_metadata(path)": "checked before",
        "path.open('wb')": "writes a new file",
        "path.open('r+b')": "the file just written",
    },
    "core/workbooks.py": {
        "openpyxl.load_workbook(path, read_only=True, data_only=not typed)": "checked, "
        "apart",
    },
    "vision/raster/images.py": {
        "Image.open(source, formats=FORMATS)": "of an opened file",
        "path.open()": "an image in a file that is open",
    },
    "vision/raster/arrays.py": {
        "arrays.open('depth.npy' if len(names) > 1 else names[0])": "a member of an "
        "opened archive",
    },
    "vision/drawing/fonts.py": {
        "path.read_bytes()": "a font of an installed package",
    },
    "analysis/study_table.py": {
        "pl.read_json(orjson.dumps(wires, option=orjson.OPT_SERIALIZE_NUMPY), "
        "schema=WIRE)": "ours",
    },
    "analysis/stored_tables.py": {
        "pl.read_json(piece, schema=WIRE)": "bytes of an opened file",
    },
    "apps/adopt/write.py": {
        "run.journal_path.write_bytes(b''.join(lines))": "a new folder of ours",
    },
    "apps/demo/study_data.py": {
        "labels.open(encoding='utf-8', newline='')": "the table that we wrote",
    },
    "apps/mmbench/report_page.py": {
        "(TEMPLATES / 'report.css').read_text('utf-8')": "of the package",
    },
    "apps/mmbench/samples.py": {
        "Image.open(io.BytesIO(part.data))": "checked before",
    },
    "apps/pipelines/config.py": {
        "OmegaConf.load(io.StringIO(plain))": "text of an opened file",
    },
    "cli/gate.py": {
        "Path(step).open('a', encoding='utf-8')": "GITHUB_STEP_SUMMARY"
    },
    "cli/main.py": {"os.open(os.devnull, os.O_WRONLY)": "/dev/null"},
    "clients/batch/anthropic.py": {"path.open('rb')": "requests that we wrote"},
    "clients/batch/google.py": {"path.open('rb')": "requests that we wrote"},
    "clients/batch/openai.py": {"path.open('rb')": "requests that we wrote"},
    "data/writer.py": {
        "path.write_bytes(content)": "a new folder of ours",
        "shutil.copyfile(path, self._stage / name)": "checked when it was named",
    },
    "dataset/exports/forms.py": {
        "target.write_bytes(image_bytes(dataset, name))": "a confined target",
        "shutil.copyfile(confined_path(dataset.root, PREDICTIONS), stage / PREDICTIONS)": (
            "checked before"
        ),
    },
    "dataset/json_form.py": {"path.open('wb')": "a new folder of ours"},
    "dataset/render.py": {
        "(self._out / relative).write_bytes(content)": "a new folder of ours"
    },
    "runs/batches.py": {"path.open('wb')": "a folder of ours in the run"},
    "runs/journal.py": {
        "os.open(self.path, flags | getattr(os, 'O_NOFOLLOW', 0) | "
        "getattr(os, 'O_NONBLOCK', 0), 420)": "never over a link",
    },
    "studio/app.py": {"file.read_bytes()": "of the package"},
    "studio/people/pages.py": {"path.read_bytes()": "a secret of the user"},
}
"""Other calls, by file, each with the reason why it opens nothing of a stranger
unchecked."""


GUARDS = (
    *(
        f"core/{name}.py"
        for name in ("untrusted", "jsons", "yamls", "typed_records")
    ),
    *("core/output_files.py", "core/escaping.py", "clients/masked_secrets.py"),
)
"""The doors in, those out, and what hides keys."""
MOST_GUARDS = 508
"""Statements of all guards without docstrings; to become 400."""


def _opens(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    if any(name in called for name in OWN):
        return False
    owner, _, method = called.rpartition(".")
    family = f"{owner}.{method.partition('_')[0]}_*"
    if isinstance(node.func, ast.Name) or owner in ("self._files", "atomic"):
        return method == "open"
    return bool({method, called, family} & READERS)


def test_only_the_door_opens_files() -> None:
    opened = {
        f"{path.relative_to(ROOT).as_posix()}: {ast.unparse(node)}"
        for path in SOURCES
        for node in nodes(path)
        if _opens(node)
    }
    allowed = {
        f"{file}: {call}" for file, calls in ALLOWED.items() for call in calls
    }
    assert opened - allowed == set()


def test_the_raw_open_of_the_door_is_private() -> None:
    """Others get bytes, lines, texts and records; only a decoder gets the file."""
    private = {
        f"{path.relative_to(ROOT).as_posix()}: {ast.unparse(node)}"
        for path in SOURCES
        for node in nodes(path)
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "visualjudge.core.untrusted"
            and any(alias.name.startswith("_") for alias in node.names)
        )
        or (
            isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and ast.unparse(node.value).endswith("untrusted")
        )
    }
    assert private == set()
    decoders = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Name) and node.id == "decoding"
    }
    assert decoders == {
        "core/untrusted.py",
        "core/image_storage.py",
        "vision/raster/arrays.py",
        "vision/raster/images.py",
    }


def test_the_guards_keep_to_their_budget() -> None:
    assert sum(statements(ROOT / name) for name in GUARDS) <= MOST_GUARDS
