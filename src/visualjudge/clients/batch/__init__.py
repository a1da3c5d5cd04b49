"""Batches: the client that takes replies from them (``batched_client.py``), and a file
a provider. How a run goes on over batches is in ``runs/batches.py``.
"""
