"""Engines run jobs in order and leave the process as they found it."""

from __future__ import annotations

import cv2

from visualjudge.core.engines import open_engine


def test_this_process_has_its_threads_of_opencv_back_after_the_work() -> None:
    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    try:
        with open_engine("local", 1) as engine:
            assert list(engine.map(lambda _: cv2.getNumThreads(), [0])) == [1]
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(before)
