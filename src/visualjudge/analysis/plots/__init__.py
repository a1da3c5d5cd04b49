"""Figures as SVG: a function for each kind of plot, all with one stylesheet, drawn for a screen, a
phone or paper.
"""
