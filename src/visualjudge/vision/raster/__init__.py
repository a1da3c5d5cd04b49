"""Raster data: images, masks, depth maps and arrays as files and in memory. Drawing on
them is in ``vision/drawing``.
"""
