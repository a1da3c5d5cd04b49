"""Browser pages over a dataset and its runs, for this machine only.

``pages.create_app`` makes the application (FastAPI, an optional extra); ``shelf.Shelf`` is what it shows.
"""
