"""FORMATS: importers, one per file format, that read ground truth and model output into
:class:`Sample` values; their table is in ``importers.py``. What becomes of samples is
in ``data/importing.py``.

An importer is a generator. For a record that cannot be used, it yields a
:class:`~visualjudge.core.errors.Problem` instead of a sample and skips the image,
because its score would be unknown.
"""
