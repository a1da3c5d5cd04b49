"""Masks: instances, label maps, the region of a referring expression."""
