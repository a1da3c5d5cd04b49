"""First steps: what a folder has to begin with (``folder_contents.py``), and what is
missing for judging (``doctor.py``).
"""
