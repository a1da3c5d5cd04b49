"""Probes: questions whose answer is known without ground truth, to test what a judge must ignore
and whether it has changed.
"""
