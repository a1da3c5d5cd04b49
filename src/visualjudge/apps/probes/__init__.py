"""Questions whose answer is known without ground truth: what a judge must ignore, and whether it
has changed.
"""
