"""RASTER: image files and masks as arrays, and back."""
