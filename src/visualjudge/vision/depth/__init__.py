"""Depth maps."""
