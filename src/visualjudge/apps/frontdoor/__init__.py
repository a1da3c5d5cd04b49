"""The functions of ``import visualjudge as vj``, in the order data flows; the command line is a
layer over them.

``data`` opens a data folder and builds a dataset of it, ``judging`` puts the dataset to a judge,
``run`` holds what it said, ``studies`` analyses runs, ``decisions`` answers what to do next. All
are plain calls that work in scripts and in notebooks, whose event loop is running already.
"""
