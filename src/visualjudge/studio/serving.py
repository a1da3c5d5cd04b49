"""Serves an application on this machine until Ctrl-C."""

import logging
import multiprocessing
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn


class Server(uvicorn.Server):  # type: ignore[misc]
    """A server that ends at once: no page is worth waiting for an analysis or an
    index."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the processes that requests wait for, without messages about their
        ends."""
        logging.disable()
        for process in multiprocessing.active_children():
            process.terminate()
        super().handle_exit(sig, frame)


def serve(app: Any, host: str, port: int) -> None:
    """Serve ``app`` until Ctrl-C."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    with suppress(KeyboardInterrupt):
        Server(config).run()
