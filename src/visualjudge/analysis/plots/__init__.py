"""Figures as SVG: a function a kind of plot, all with one stylesheet, drawn for a screen, a phone or paper."""
