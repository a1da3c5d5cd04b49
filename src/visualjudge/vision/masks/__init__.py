"""Masks: instances, label maps, and regions of referring expressions; ``type.py`` names
the files of this folder.
"""
