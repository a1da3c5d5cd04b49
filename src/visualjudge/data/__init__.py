"""Predictions: read and write data folders, masks, depth maps and images."""
