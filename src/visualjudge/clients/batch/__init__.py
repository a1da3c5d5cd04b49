"""Batches: a client that sends requests in batches, and the providers' batch
interfaces."""
