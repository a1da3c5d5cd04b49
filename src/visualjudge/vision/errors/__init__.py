"""CONTROLLED ERRORS: predictions with one named type of error at increasing severity,
made on purpose from ground truth alone. How a *given* prediction is wrong is in
``vision/faults.py``; the program's own errors are in ``core/errors.py``.

The functions are pure: they take a typed truth and a random generator, and return a
typed prediction.
"""
