"""What metrics of items share: matching, average precision, operating points and TIDE's
faults. ``score`` itself is in ``vision/score.py``, formulas of a type in
``vision/<type>/score.py``.
"""
