"""CONTROLLED ERRORS: predictions with one named type of error at rising severity, from ground truth
alone.

The modules of this package are pure: typed truth in, typed prediction out, every draw from the
generator handed in.
"""
