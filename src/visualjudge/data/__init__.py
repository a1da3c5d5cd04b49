"""PREDICTIONS: reading and writing data folders, masks, depth maps and images."""
