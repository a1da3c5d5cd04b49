"""Find the encoding, prompt version and mode that suit a judge: chosen on half of the images,
measured on the other half.
"""

from visualjudge.apps.tuning.successive_halving import Arm, Tuned, tune, versions

__all__ = ["Arm", "Tuned", "tune", "versions"]
