"""Commands run in this process as a shell runs them: an exit status, and the texts on
stdout and stderr. Starting Python and importing the libraries takes a second of CPU
each time.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

import pytest

from visualjudge.cli.main import run


def command(
    *words: object, folder: Path | None = None
) -> CompletedProcess[str]:
    """``visualjudge`` with these words, in ``folder`` if one is given; no output is a
    terminal."""
    argv = ["visualjudge", *map(str, words)]
    texts = [
        io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        for _ in range(2)
    ]
    handler, threshold = signal.getsignal(signal.SIGTERM), gc.get_threshold()
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, handler)
        stack.callback(gc.set_threshold, *threshold)
        stack.enter_context(mock.patch.dict(os.environ))
        stack.enter_context(mock.patch.object(sys, "argv", argv))
        stack.enter_context(
            mock.patch.object(sys, "unraisablehook", sys.unraisablehook)
        )
        stack.enter_context(contextlib.redirect_stdout(texts[0]))
        stack.enter_context(contextlib.redirect_stderr(texts[1]))
        if folder is not None:
            stack.enter_context(contextlib.chdir(folder))
        with pytest.raises(SystemExit) as ended:
            run()
    out, err = (text.buffer.getvalue().decode() for text in texts)  # type: ignore[attr-defined]
    return CompletedProcess(argv, int(ended.value.code or 0), out, err)
