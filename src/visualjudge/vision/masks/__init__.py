"""Masks: instances, label maps, and regions of referring expressions."""
