"""Matching and average precision for all types that consist of items."""
