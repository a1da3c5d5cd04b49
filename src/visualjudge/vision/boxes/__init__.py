"""Boxes with labels."""
