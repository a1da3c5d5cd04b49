"""The command line: a file a command, ``main.py`` which finds them, ``options.py`` which
makes options of records, and ``console.py``, what commands print. The work is done
below, in ``apps/frontdoor`` and the packages that it calls.
"""
