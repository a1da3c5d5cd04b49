"""CONTROLLED ERRORS: predictions with one named type of error at increasing severity,
made from ground truth alone.

The functions are pure: they take a typed truth and a random generator, and return a
typed prediction.
"""
