"""Probes: questions whose answer is known without truth, to test what a judge must
ignore."""
