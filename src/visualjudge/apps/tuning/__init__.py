"""Which encoding, prompt version and mode suit this judge? Chosen on half of the images, measured on the other.

::

    arms      what is tuned, and a question as an arm asks it
    halving   successive halving, and the figure of the winner
"""

from visualjudge.apps.tuning.arms import Arm, versions
from visualjudge.apps.tuning.halving import Tuned, tune

__all__ = ["Arm", "Tuned", "tune", "versions"]
