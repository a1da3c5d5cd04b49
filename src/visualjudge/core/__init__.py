"""Foundations: records, errors, registries, files, seeds."""
