"""The page as a PDF, printed by an installed Chromium or Chrome."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from visualjudge.core.errors import RunError, UsageError
from visualjudge.core.outputs import OutputFile

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pdf-header-footer",
    "--virtual-time-budget=5000",
)
SECONDS = 180


def print_page(html: str, path: OutputFile) -> None:
    """Write the page as a PDF.

    The browser reads one file and uses a temporary profile.

    Raises
    ------
    UsageError
        If no browser is installed.
    RunError
        If it does not print within three minutes.
    """
    result = next(filter(None, map(shutil.which, BROWSERS)), None)
    if result is None:
        raise UsageError(
            f"{path}: needs Chromium or Chrome on the PATH; write an .html report and "
            "print it instead"
        )
    sandbox = (
        ("--no-sandbox",)
        if hasattr(os, "geteuid") and os.geteuid() == 0
        else ()
    )
    with TemporaryDirectory() as folder, path.scratch() as scratch:
        page = Path(folder) / "report.html"
        printed = Path(folder) / "report.pdf"
        page.write_text(html, "utf-8")
        own = (
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            page.as_uri(),
        )
        try:
            subprocess.run(
                [result, *FLAGS, *sandbox, *own],
                check=True,
                capture_output=True,
                timeout=SECONDS,
            )
            scratch.write_bytes(printed.read_bytes())
        except (subprocess.SubprocessError, OSError) as error:
            raise RunError(
                f"{path}: {Path(result).name} did not print the page: "
                f"{type(error).__name__}"
            ) from None
