"""Which encoding, prompt version and mode suit this judge? Chosen on half of the images, measured
on the other.
"""

from visualjudge.apps.tuning.successive_halving import Arm, Tuned, tune, versions

__all__ = ["Arm", "Tuned", "tune", "versions"]
