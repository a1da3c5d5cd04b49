"""People's keypoints: the record, and what is done with it, a file each; ``type.py``
names them all.
"""
