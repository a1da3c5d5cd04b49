"""PREDICTIONS: data folders of images and scored predictions.

``folder`` reads them, ``writer`` adds to them, ``importing`` fills them from files of
others, ``import_mistakes`` looks for what went wrong there, and ``perturbing`` fills
them with controlled errors. A dataset of *questions* is in ``visualjudge.dataset``.
"""
