"""Importers: one file format each. They read ground truth and a model's output into :class:`Sample`
values.

An importer is a generator: a record that cannot be used comes out as a
:class:`~visualjudge.core.errors.Problem` in its place, and its image is left out, since its score
could not be known.
"""
