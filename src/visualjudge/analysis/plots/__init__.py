"""Figures as SVG: one function for each kind of plot, one shared stylesheet, for
screens, phones and paper.
"""
