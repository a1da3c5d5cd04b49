"""WHAT IS JUDGED: a folder a prediction type, the tables of all types, and what types
share.

``<type>/`` has ``record``, ``score``, ``faults`` (how a prediction is wrong, measured),
``errors`` (made on purpose), ``misread`` (files read in another form than theirs),
``draw``, ``features`` and its row, ``type``. ``rows`` says what a row has;
``built_in_types`` lists them; ``tasks``, ``encodings``, ``metrics``, ``error_types``
and ``predictions`` are tables over all types. Shared are ``drawing``, ``scoring``,
``errors``, ``raster``, ``view``.
"""
