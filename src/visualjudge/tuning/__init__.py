"""Which encoding should this judge be shown? Successive halving on half of the images, the figure from the other."""

from visualjudge.tuning.halving import Tuned, tune

__all__ = ["Tuned", "tune"]
