"""Noise and sharpness of images. Metrics of restored images are in
``vision/images/score.py``.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

_IMMERKAER = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float32)


def noise_sigma(gray: NDArray[np.float32]) -> float:
    """Return the standard deviation of the noise of an H×W image, in grey levels
    (Immerkær, CVIU 1996).
    """
    response = cv2.filter2D(gray, -1, _IMMERKAER)[1:-1, 1:-1]
    return (
        float(np.sqrt(np.pi / 2) / 6 * np.abs(response).mean())
        if response.size
        else 0.0
    )


def edge_strength(gray: NDArray[np.float32]) -> float:
    """Return the root mean square gradient (Tenengrad) of the H×W image, smoothed
    slightly to reduce the influence of noise.
    """
    smooth = cv2.GaussianBlur(gray, (0, 0), 1.0)
    dx = cv2.Sobel(smooth, cv2.CV_32F, 1, 0)
    dy = cv2.Sobel(smooth, cv2.CV_32F, 0, 1)
    return float(np.sqrt(np.mean(dx * dx + dy * dy)))
