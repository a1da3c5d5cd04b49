"""Whole images: restored, edited or generated."""
