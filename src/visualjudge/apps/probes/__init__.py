"""Questions whose answer is known without ground truth: what a judge must not care about; has it
changed?
"""
