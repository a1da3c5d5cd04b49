"""The functions of ``import visualjudge as vj``, in the order data flows; the command
line is a layer over them.

``data`` opens a data folder and builds a dataset of it, ``judge`` asks a judge its
questions, ``opened_run`` holds its verdicts, ``studies`` analyses runs, and
``decisions`` recommends what to do next. All are plain calls that work in scripts and
in notebooks, where an event loop is already running.
"""
